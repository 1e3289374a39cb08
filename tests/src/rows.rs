//! Rows of several sizes, and the comparison of a row map with `std::collections::HashMap`.

use crate::extendible_parts::small;
use bytemuck::Pod;
use std::collections::HashMap;
use std::fmt::Debug;
use warpnest::RowMap;
use warpnest::design::Config;
use warpnest::design::{Changes, Extendible, Linear, Page};
use warpnest::types::{Plain, WordKey as Key};

/// A design of the map under a row map.
pub trait Under: Changes {
    /// Returns a configuration of maps that begin small, so they grow in tests.
    ///
    /// An extendible map begins with 8192 buckets (5 MB) by default, and every copy and every check
    /// of a map of few keys would read all of them.
    fn config(seed: u64) -> Config<Self>;
}

impl Under for Page {
    fn config(seed: u64) -> Config<Self> {
        Config::default().seed(seed)
    }
}

impl Under for Linear {
    fn config(seed: u64) -> Config<Self> {
        Config::default().seed(seed)
    }
}

impl Under for Extendible {
    fn config(seed: u64) -> Config<Self> {
        small().seed(seed)
    }
}

/// A row that tests make.
pub trait Row: Plain + Pod + Debug + PartialEq {
    /// Returns the row that follows from a seed. All of its words differ from the words of other
    /// seeds' rows.
    fn from_seed(seed: u64) -> Self;
}

impl<const N: usize> Row for [u32; N] {
    fn from_seed(seed: u64) -> Self {
        std::array::from_fn(|word| (seed as u32).wrapping_mul(0x9e37_79b1) ^ word as u32)
    }
}

impl<const N: usize> Row for [u64; N] {
    fn from_seed(seed: u64) -> Self {
        std::array::from_fn(|word| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word as u64)
    }
}

/// Returns `n` rows that follow from a seed.
pub fn rows_of<R: Row>(n: usize, seed: u64) -> Vec<R> {
    (0..n as u64).map(|i| R::from_seed(seed.wrapping_add(i))).collect()
}

/// Checks all answers of a map about itself, about its keys, and about other queries.
pub fn check<K: Key, R: Row, D: Changes>(
    map: &RowMap<K, R, D>,
    reference: &HashMap<K, R>,
    queries: &[K],
) -> Result<(), String> {
    let said = |error: warpnest::Error| error.to_string();
    if (map.len(), map.is_empty()) != (reference.len(), reference.is_empty()) {
        return Err(format!("{} keys, and not {}", map.len(), reference.len()));
    }
    let queries: Vec<K> = reference.keys().chain(queries).copied().collect();
    let (found, there) = (map.get_many(&queries).map_err(said)?, map.contains_many(&queries).map_err(said)?);
    for ((query, found), there) in queries.iter().zip(&found).zip(there) {
        let expected = reference.get(query);
        if found.as_ref() != expected || there != expected.is_some() {
            return Err(format!("{query}: {found:?}, {there}, and not {expected:?}"));
        }
    }
    let pairs = map.to_pairs().map_err(said)?;
    if pairs.len() != reference.len() || pairs.iter().any(|(key, row)| reference.get(key) != Some(row)) {
        return Err(format!("{} pairs are written out, and not those of the reference", pairs.len()));
    }
    // No two keys have the same row, and each row index is valid.
    let mut numbers: Vec<u32> = map.map().values().map_err(said)?.collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.len() != map.len() || numbers.last().is_some_and(|&last| last as usize >= map.rows().len()) {
        return Err(format!("{} rows of {} are those of {} keys", numbers.len(), map.rows().len(), map.len()));
    }
    Ok(())
}
