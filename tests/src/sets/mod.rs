//! The tests that are shared by sets of any kind. A test file names the tests, with its own
//! configurations.

pub mod edges;
pub mod errors;
pub mod faults;
pub mod properties;

use crate::cuckoo_checker::check_cuckoo_set;
use crate::page_checker::check_page_set;
use std::collections::HashSet;
use warpnest::design::{BulkSet, Config};
use warpnest::design::{Cuckoo, Page, Sets};
use warpnest::types::WordKey as Key;
use warpnest::{Device, Error};

/// A design whose sets can be checked.
pub trait Tested: Sets {
    /// Says what is wrong with the table's words, given that its keys should be the keys of
    /// `reference`.
    fn check_table<K: Key>(set: &BulkSet<K, Self>, reference: &HashSet<K>) -> std::result::Result<(), String>;
}

impl Tested for Page {
    fn check_table<K: Key>(set: &BulkSet<K, Self>, reference: &HashSet<K>) -> std::result::Result<(), String> {
        check_page_set(set, reference)
    }
}

impl Tested for Cuckoo {
    fn check_table<K: Key>(set: &BulkSet<K, Self>, reference: &HashSet<K>) -> std::result::Result<(), String> {
        check_cuckoo_set(set, reference)
    }
}

/// Says what is wrong with a set, given that its keys should be the keys of `reference`. The
/// `queries` are keys to look up, present or not.
pub fn check<K: Key, D: Tested>(
    set: &BulkSet<K, D>,
    reference: &HashSet<K>,
    queries: &[K],
) -> std::result::Result<(), String> {
    let said = |error: Error| error.to_string();
    if (set.len(), set.is_empty()) != (reference.len(), reference.is_empty()) {
        return Err(format!("{} keys, and the set says {}, {}", reference.len(), set.len(), set.is_empty()));
    }
    D::check_table(set, reference)?;
    let expected: Vec<bool> = queries.iter().map(|key| reference.contains(key)).collect();
    let answers = set.contains_many(queries).map_err(said)?;
    if answers != expected {
        let wrong = (0..queries.len()).find(|&i| answers.get(i) != expected.get(i));
        return Err(format!("{} answers to {} queries, wrong at {wrong:?}", answers.len(), queries.len()));
    }
    let stream = set.device().default_stream();
    let on_device = set.keys_on(stream).and_then(|keys| keys.download(stream)).map_err(said)?;
    let keys = set.to_keys().map_err(said)?;
    if on_device.len() != keys.len() || !on_device.iter().all(|key| reference.contains(key)) {
        return Err(format!("{} keys in a buffer", on_device.len()));
    }
    if keys.len() != reference.len() || keys.iter().copied().collect::<HashSet<K>>() != *reference {
        return Err(format!("{} keys were written, and there are {}", keys.len(), reference.len()));
    }
    Ok(())
}

/// Fails unless all methods of the set agree that it has these keys and no others.
pub fn holds<K: Key>(set: &BulkSet<K, impl Tested>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).chain([K::default(), K::ALL_ONES]).collect();
    if let Err(wrong) = check(set, &keys.iter().copied().collect(), &queries) {
        panic!("{} keys on {}: {wrong}: {:?}", keys.len(), set.device().name(), set.report());
    }
}

/// Builds a set and checks all of it.
pub fn build<D: Tested, K: Key>(device: &Device, config: &Config<D>, keys: &[K]) -> BulkSet<K, D> {
    let set = config.build_set(device, keys).unwrap_or_else(|error| panic!("{} keys: {error}: {config:?}", keys.len()));
    holds(&set, keys);
    set
}

/// Says what is wrong with the results of the operations on two sets.
pub fn wrong_operations<K: Key, D: Tested>(
    one: &BulkSet<K, D>,
    other: &BulkSet<K, D>,
) -> std::result::Result<(), String> {
    let said = |error: Error| error.to_string();
    let (first, second): (HashSet<K>, HashSet<K>) =
        (one.to_keys().map_err(said)?.into_iter().collect(), other.to_keys().map_err(said)?.into_iter().collect());
    let queries: Vec<K> = first.union(&second).copied().collect();
    let made = [
        ("union", one.union(other), first.union(&second).copied().collect()),
        ("intersection", one.intersection(other), first.intersection(&second).copied().collect()),
        ("difference", one.difference(other), first.difference(&second).copied().collect()),
    ];
    for (name, made, expected) in made {
        check(&made.map_err(said)?, &expected, &queries).map_err(|wrong| format!("{name}: {wrong}"))?;
    }
    Ok(())
}
