//! Answers of lookups in the forms that other libraries have: with a value for absent keys, and
//! bits or bytes that say which keys are there, in any combination.

use warpnest::low_level::{PlainAnswers, find_plain};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, BufferSlice, Device, PageMap, PageSet};
use warpnest_tests::{distinct_keys, parameterized, says};

/// What is written to the arrays before a lookup, behind which nothing may be written.
const BEFORE: u8 = 0x5a;

/// Checks all combinations of answers to queries, of which every second one is there.
fn check<K: Key, V: Value>(device: &Device, keys: usize, queries: usize) {
    let stream = device.default_stream();
    let all: Vec<K> = distinct_keys(keys + queries, 3);
    let values: Vec<V> = (0..keys as u64).map(|value| V::from_u64(value + 7)).collect();
    let (map, set) =
        (PageMap::build(device, &all[..keys], &values).unwrap(), PageSet::build(device, &all[..keys]).unwrap());
    let index = |at: usize| if at.is_multiple_of(2) && keys > 0 { at % keys } else { keys + at };
    let asked: Vec<K> = (0..queries).map(|at| all[index(at)]).collect();
    let asked = Buffer::from_slice(device, &asked).unwrap();
    let is_there: Vec<bool> = (0..queries).map(|at| index(at) < keys).collect();
    let words: Vec<u32> = is_there
        .chunks(32)
        .map(|chunk| chunk.iter().enumerate().map(|(bit, &there)| (there as u32) << bit).sum())
        .collect();
    let absent = V::from_u64(u64::MAX / 3);
    for wanted in 0..8 {
        let is_wanted = |bit: u32| wanted >> bit & 1 == 1;
        let mut got = Buffer::<V>::zeroed(device, queries).unwrap();
        let mut bits = Buffer::<u32>::zeroed(device, queries.div_ceil(32)).unwrap();
        let mut flags = Buffer::<u8>::zeroed(device, queries + 16).unwrap();
        flags.fill(stream, BEFORE).unwrap();
        bits.fill(stream, BEFORE).unwrap();
        let mut front = flags.slice_mut(..queries).unwrap();
        let answers = PlainAnswers {
            values: is_wanted(0).then_some(&mut got as &mut BufferSlice<V>),
            absent,
            bits: is_wanted(1).then_some(&mut bits as &mut BufferSlice<u32>),
            flags: is_wanted(2).then_some(&mut *front),
        };
        if is_wanted(0) {
            find_plain(map.table(), stream, &asked, answers).unwrap();
        } else {
            let PlainAnswers { bits, flags, .. } = answers;
            find_plain(set.table(), stream, &asked, PlainAnswers { values: None, absent: 0, bits, flags }).unwrap();
        }
        let got = got.download(stream).unwrap();
        let expected = (0..queries).map(|at| match is_there[at] {
            _ if !is_wanted(0) => V::from_u64(0),
            true => values[index(at)],
            false => absent,
        });
        assert!(got.into_iter().eq(expected), "{keys} {queries} {wanted}");
        let word = u32::from_ne_bytes([BEFORE; 4]);
        let expected = if is_wanted(1) { words.clone() } else { vec![word; words.len()] };
        assert_eq!(bits.download(stream).unwrap(), expected, "{keys} {queries} {wanted}");
        let flags = flags.download(stream).unwrap();
        let of = |at: usize| if is_wanted(2) { is_there[at] as u8 } else { BEFORE };
        assert!(flags[..queries].iter().enumerate().all(|(at, &flag)| flag == of(at)), "{keys} {queries} {wanted}");
        assert_eq!(flags[queries..], [BEFORE; 16], "{keys} {queries} {wanted}");
    }
}

#[parameterized]
fn every_combination_of_answers(device: &Device) {
    for keys in [0, 1, 90] {
        for queries in [0, 1, 15, 16, 17, 31, 32, 33, 70] {
            check::<u32, u32>(device, keys, queries);
            check::<u64, u64>(device, keys, queries);
        }
    }
    check::<u32, u64>(device, 90, 300);
    check::<u64, u32>(device, 90, 300);
}

#[parameterized]
fn answers_of_other_lengths_are_refused(device: &Device) {
    let stream = device.default_stream();
    let map = PageMap::build(device, &[1u32, 2], &[3u32, 4]).unwrap();
    let asked = Buffer::from_slice(device, &[1u32; 33]).unwrap();
    let mut values = Buffer::<u32>::zeroed(device, 32).unwrap();
    let mut bits = Buffer::<u32>::zeroed(device, 1).unwrap();
    let mut flags = Buffer::<u8>::zeroed(device, 34).unwrap();
    let none = || PlainAnswers { values: None, absent: 0, bits: None, flags: None };
    let refused = |answers| find_plain(map.table(), stream, &asked, answers).unwrap_err();
    says(&refused(PlainAnswers { values: Some(&mut values), ..none() }), &["values", "32", "33"]);
    says(&refused(PlainAnswers { bits: Some(&mut bits), ..none() }), &["found-words", "1", "2"]);
    says(&refused(PlainAnswers { flags: Some(&mut flags), ..none() }), &["flags", "34", "33"]);
}
