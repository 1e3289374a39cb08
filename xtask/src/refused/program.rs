//! Lines that rustc refuses, each with the beginning of its error.

use std::sync::Arc;

use warpnest::design::Sorted;
use warpnest::relational::GroupBy;
use warpnest::strings::{self, StringMap};
use warpnest::{Buffer, CuckooMap, Device, LinearMap, MultiMap, PageMap, PageSet, SortedConfig, SortedMap};

#[derive(Clone, Copy)]
struct Mine(u32);

fn keys(device: &Device) {
    let _ = PageMap::build(device, &[1.5f32], &[1]); //~ `f32` cannot be a key of a table
    let _ = PageMap::build(device, &["a"], &[1]); //~ `&str` cannot be a key of a table
    let _ = PageMap::build(device, &[1u16], &[1]); //~ `u16` cannot be a key of a table
    let _ = PageMap::build(device, &[(1u64, 1u64)], &[1]); //~ `(u64, u64)` cannot be a key of a table
    let _ = PageMap::build(device, &[[0u8; 16]], &[1]); //~ `[u8; 16]` cannot be a key of a table
    let _ = PageMap::build(device, &[Mine(1)], &[1]); //~ `Mine` cannot be a key of a table
    let _ = PageSet::build(device, &[1.5f64]); //~ `f64` cannot be a key of a table
}

fn values(device: &Device) {
    let _ = PageMap::build(device, &[1], &["a"]); //~ `&str` cannot be a key or a value of a table
    let _ = PageMap::build(device, &[1], &[(1u64, 1u64)]); //~ `(u64, u64)` cannot be a key or a value of a table
    let _ = PageMap::build(device, &[1], &[Mine(1)]); //~ `Mine` cannot be a key or a value of a table
}

fn elements(device: &Device) {
    let _ = Buffer::from_slice(device, &[1u16]); //~ `u16` cannot be an element of a buffer
    let _ = Buffer::from_slice(device, &[(1u64, 1u64)]); //~ `(u64, u64)` cannot be an element of a buffer
    let _ = Buffer::from_slice(device, &[Mine(1)]); //~ `Mine` cannot be an element of a buffer
}

fn columns_of_strings(device: &Device, rows: &Vec<Arc<str>>) {
    let _ = strings::unique(device, &"a b".split(' ')); //~ `Split<'_, char>` is no column of strings
    let _ = strings::unique(device, rows); //~ `Vec<Arc<str>>` is no column of strings
    let _ = StringMap::build(device, "a b", &[1]); //~ `str` is no column of strings
}

fn aggregates(device: &Device) {
    let _ = GroupBy::new(&[1]).sum(&[1]).run(device); //~ an aggregate is no query
}

fn designs(device: &Device, cuckoo: &mut CuckooMap<u32, u32>, sorted: &SortedMap<i32, u32>) {
    let _ = cuckoo.insert(1, 2); //~ a table of design `Cuckoo` does not change after its build
    let _ = LinearMap::build(device, &[1], &[1]); //~ a map of design `Linear` is not built in one go
    let _ = SortedConfig::default().build_set(device, &[1]); //~ there are no sets of design `Sorted`
    let _ = sorted.range(1..2); //~ a sorted map does not keep keys of type `i32` in their own order
}

fn under(_: &MultiMap<u32, u32, Sorted>) {} //~ compacting tables and multimaps are not built on maps of design `Sorted`

fn main() {}
