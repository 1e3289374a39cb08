//! Checks of all answers that a map of any design gives about its pairs.

use crate::extendible_checker::check_extendible_map;
use crate::page_checker::{check_page_map, same_pairs};
use crate::sorted_checker::check_sorted_map;
use crate::{assert_lengths, assert_wrong_device, elsewhere, linear_checker};
use std::collections::HashMap;
use warpnest::design::BulkMap;
use warpnest::design::ProbeLengths;
use warpnest::design::{Cuckoo, Design, Extendible, Linear, Page, Sorted, TwoLevel};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, CuckooMap, ExtendibleMap, LinearMap, PageMap, SortedMap, TwoLevelMap};

/// A design whose maps can be checked.
pub trait Checked: Design {
    /// Says what is wrong with the words of the table, or with the answers of methods that only
    /// this map has.
    fn check_table<K: Key, V: Value>(map: &BulkMap<K, V, Self>, reference: &HashMap<K, V>) -> Result<(), String>;
}

impl Checked for Cuckoo {
    fn check_table<K: Key, V: Value>(map: &CuckooMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        all_probed(map.table().probe_lengths(), reference)
    }
}

impl Checked for TwoLevel {
    fn check_table<K: Key, V: Value>(map: &TwoLevelMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        all_probed(map.table().probe_lengths(), reference)
    }
}

impl Checked for Page {
    fn check_table<K: Key, V: Value>(map: &PageMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        check_page_map(map, reference)
    }
}

impl Checked for Sorted {
    fn check_table<K: Key, V: Value>(map: &SortedMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        check_sorted_map(map)?;
        let mut sorted: Vec<(K, V)> = reference.iter().map(|(&key, &value)| (key, value)).collect();
        sorted.sort_unstable();
        match map.to_pairs().map_err(|error| error.to_string())? {
            pairs if pairs == sorted => Ok(()),
            _ => Err("the pairs are not all pairs in the order of their keys".to_owned()),
        }
    }
}

impl Checked for Extendible {
    fn check_table<K: Key, V: Value>(map: &ExtendibleMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        match check_extendible_map(map)? {
            found if found.pairs == *reference => Ok(()),
            found => Err(format!("the table has {} pairs, and should have {}", found.pairs.len(), reference.len())),
        }
    }
}

impl Checked for Linear {
    fn check_table<K: Key, V: Value>(map: &LinearMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
        linear_checker::check_pairs(map, reference).map(drop)
    }
}

/// Fails unless every key takes a probe, except a key that has a cell of its own.
fn all_probed<K: Key, V>(lengths: warpnest::Result<ProbeLengths>, reference: &HashMap<K, V>) -> Result<(), String> {
    let probed: u64 = lengths.map_err(|error| error.to_string())?.histogram.iter().sum();
    match reference.keys().filter(|&&key| key != K::ALL_ONES).count() as u64 {
        keys if keys == probed => Ok(()),
        keys => Err(format!("{keys} keys are in slots, and {probed} in the histogram of probes")),
    }
}

/// Says what is wrong with a map, given that its pairs should be the pairs of `reference`. The
/// `queries` are keys to look up, present or not.
pub fn check<K: Key, V: Value, D: Checked>(
    map: &BulkMap<K, V, D>,
    reference: &HashMap<K, V>,
    queries: &[K],
) -> Result<(), String> {
    let said = |error: warpnest::Error| error.to_string();
    let keys = reference.len();
    if (map.len(), map.is_empty()) != (keys, keys == 0) {
        return Err(format!("there should be {keys} keys, and the map says {}, {}", map.len(), map.is_empty()));
    }
    D::check_table(map, reference)?;
    let (values, contained) = (map.get_many(queries).map_err(said)?, map.contains_many(queries).map_err(said)?);
    if (values.len(), contained.len()) != (queries.len(), queries.len()) {
        return Err(format!("{} queries have {} and {} answers", queries.len(), values.len(), contained.len()));
    }
    for ((key, value), contained) in queries.iter().zip(values).zip(contained) {
        let expected = reference.get(key).copied();
        if (value, contained) != (expected, expected.is_some()) {
            return Err(format!("key {key} has {expected:?}, and the answers are {value:?} and {contained}"));
        }
    }
    let pairs = map.to_pairs().map_err(said)?;
    if pairs.len() != reference.len() {
        return Err(format!("{} pairs for {keys} keys", pairs.len()));
    }
    same_pairs(&pairs.into_iter().collect(), reference)?;
    let stream = map.device().default_stream();
    let (keys, values) = map.pairs_on(stream).map_err(said)?;
    let (keys, values) = (keys.download(stream).map_err(said)?, values.download(stream).map_err(said)?);
    if (keys.len(), values.len()) != (reference.len(), reference.len()) {
        return Err(format!("{} keys and {} values in buffers", keys.len(), values.len()));
    }
    same_pairs(&keys.into_iter().zip(values).collect(), reference)
}

/// Fails unless all methods of the map agree that it has the pairs of `reference` and nothing else.
pub fn equals<K: Key, V: Value, D: Checked>(map: &BulkMap<K, V, D>, reference: &HashMap<K, V>) {
    let keys: Vec<K> = reference.keys().copied().collect();
    looks_like(map, reference, &keys);
}

/// Fails unless all methods of the map agree that it has each key's last value and nothing else.
pub fn holds<K: Key, V: Value, D: Checked>(map: &BulkMap<K, V, D>, keys: &[K], values: &[V]) {
    looks_like(map, &keys.iter().copied().zip(values.iter().copied()).collect(), keys);
}

/// Fails unless the map is empty; `once` are keys that it had or should have got.
pub fn is_empty<K: Key, V: Value, D: Checked>(map: &BulkMap<K, V, D>, once: &[K]) {
    looks_like(map, &HashMap::new(), once);
}

fn looks_like<K: Key, V: Value, D: Checked>(map: &BulkMap<K, V, D>, reference: &HashMap<K, V>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).collect();
    if let Err(wrong) = check(map, reference, &queries) {
        panic!("{}Map of {} keys on {}: {wrong}", D::NAME, reference.len(), map.device().name());
    }
}

/// Fails unless lookups refuse buffers for answers that are too short or too long.
pub fn refuses_other_lengths<K: Key, V: Value>(map: &BulkMap<K, V, impl Design>) {
    let (device, stream) = (map.device(), map.device().default_stream());
    for (length, words) in [(3, 1), (33, 2)] {
        let queries = Buffer::<K>::zeroed(device, length).unwrap();
        for answers_length in [0, length - 1, length + 1] {
            let mut answers = Answers::new(device, answers_length).unwrap();
            let error = map.get_many_into(stream, &queries, &mut answers).unwrap_err();
            assert_lengths(error, ("the queries", length as u64), ("the answers", answers_length as u64));
        }
        for answers_length in [0, 1, 2, 3, 33].into_iter().filter(|&answers_length| answers_length != words) {
            let error = map
                .contains_many_into(stream, &queries, &mut Buffer::zeroed(device, answers_length).unwrap())
                .unwrap_err();
            assert_lengths(
                error,
                ("the queries, in words of 32,", words as u64),
                ("the found-words", answers_length as u64),
            );
        }
        map.get_many_into(stream, &queries, &mut Answers::new(device, length).unwrap()).unwrap();
        map.contains_many_into(stream, &queries, &mut Buffer::zeroed(device, words).unwrap()).unwrap();
    }
}

/// Fails unless a map refuses to write its pairs to buffers of other lengths.
pub fn refuses_buffers_of_other_lengths<K: Key, V: Value>(map: &BulkMap<K, V, impl Design>) {
    let (device, n) = (map.device(), map.len());
    for (keys, values, wrong) in
        [(n + 1, n, ("the keys", n + 1)), (n, n - 1, ("the values", n - 1)), (0, n, ("the keys", 0))]
    {
        let (mut keys, mut values) = (Buffer::zeroed(device, keys).unwrap(), Buffer::zeroed(device, values).unwrap());
        let error = map.pairs_into(device.default_stream(), &mut keys, &mut values).unwrap_err();
        assert_lengths(error, ("the map", n as u64), (wrong.0, wrong.1 as u64));
    }
}

/// Fails unless lookups and copies with a stream or buffers of another device are refused.
pub fn refuses_another_device<K: Key, V: Value>(map: &BulkMap<K, V, impl Design>) {
    let (here, there) = (map.device(), &elsewhere());
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    let keys = [K::ALL_ONES, K::from_u64(1), K::from_u64(2)];
    let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
    let is_there = |error| assert_wrong_device(error, "a buffer", there, here);
    let is_here = |error| assert_wrong_device(error, "a buffer", here, there);
    is_there(map.get_many_on(stream, &theirs).unwrap_err());
    is_here(map.get_many_on(foreign, &ours).unwrap_err());
    is_there(map.get_many_into(stream, &ours, &mut Answers::new(there, 3).unwrap()).unwrap_err());
    is_there(map.contains_many_into(stream, &ours, &mut Buffer::zeroed(there, 1).unwrap()).unwrap_err());
    is_here(map.contains_many_into(foreign, &ours, &mut Buffer::zeroed(here, 1).unwrap()).unwrap_err());
    let buffers = |device| (Buffer::zeroed(device, map.len()), Buffer::zeroed(device, map.len()));
    let (our_keys, our_values) = buffers(here);
    let (their_keys, their_values) = buffers(there);
    is_there(map.pairs_into(stream, &mut their_keys.unwrap(), &mut our_values.unwrap()).unwrap_err());
    is_there(map.pairs_into(stream, &mut our_keys.unwrap(), &mut their_values.unwrap()).unwrap_err());
    assert_wrong_device(map.clone().on(foreign).unwrap_err(), "the stream", there, here);
    let answers = map.get_many_on(stream, &ours).unwrap();
    is_here(answers.download(foreign).unwrap_err());
    assert_eq!(answers.download(stream).unwrap(), map.get_many(&keys).unwrap());
}
