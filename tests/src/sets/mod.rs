//! The common interface of sets of any kind, and their common tests. A test file names the tests,
//! with its own configurations.

pub mod edges;
pub mod errors;
pub mod faults;
pub mod properties;

use crate::cuckoo_checker::check_cuckoo_set;
use crate::page_checker::check_page_set;
use std::collections::HashSet;
use std::fmt::Debug;
use warpnest::{
    Buffer, CuckooReport, CuckooSet, CuckooSetConfig, Device, Error, Key, PageReport, PageSet, PageSetConfig, Result,
    Stream,
};

/// A set that is built in one call.
pub trait Set<K: Key>: Sized {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;
    /// Builds the set with the default configuration.
    fn build(device: &Device, keys: &[K]) -> Result<Self>;
    /// The device of the set.
    fn device(&self) -> &Device;
    /// The number of keys.
    fn len(&self) -> u64;
    /// Whether the set has no keys.
    fn is_empty(&self) -> bool;
    /// The bytes that the set keeps.
    fn memory_bytes(&self) -> u64;
    /// Whether the set has each of the queries.
    fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>>;
    /// Queues a membership test of the queries.
    fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()>;
    /// Returns all keys.
    fn to_keys(&self) -> Result<Vec<K>>;
    /// Writes all keys into a buffer.
    fn keys_into(&self, stream: &Stream, keys: &mut Buffer<K>) -> Result<()>;
    /// Builds the set again from other keys.
    fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;
    /// Frees the spare memory of rebuilds, if there is any.
    fn shrink_to_fit(&mut self);
    /// Copies the set.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;
    /// Makes the set of the keys that are in at least one of the two.
    fn union(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// Makes the set of the keys that are in both.
    fn intersection(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// Makes the set of the keys that are only in this one.
    fn difference(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// Says what is wrong with the table's words, given that its keys should be those of
    /// `reference`.
    fn check_table(&self, reference: &HashSet<K>) -> std::result::Result<(), String>;
    /// The report of the last build.
    fn report(&self) -> &Self::Report;
    /// The hash functions of the set.
    fn hashing(&self) -> &(impl Debug + PartialEq);
}

/// The configuration of a set.
pub trait SetConfig: Clone + Debug {
    /// The report of a build.
    type Report: Clone + Debug + PartialEq;
    /// The set that it builds.
    type Set<K: Key>: Set<K, Report = Self::Report>;
    /// Builds a set.
    fn build<K: Key>(&self, device: &Device, keys: &[K]) -> Result<Self::Set<K>>;
    /// Builds a set from a buffer.
    fn build_on<K: Key>(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self::Set<K>>;
    /// The bytes that the set will keep.
    fn memory_bytes<K: Key>(&self, keys: u64) -> Result<u64>;
    /// The bytes that a build takes besides those that the set keeps.
    fn scratch_bytes<K: Key>(&self, keys: u64) -> Result<u64>;
    /// Promises unique keys.
    fn assume_unique(self) -> Self;
}

/// Makes a configuration a [`SetConfig`] and its set a [`Set`], by their methods. The arguments
/// name what differs: the check of the words, the method for the hash functions, and the method
/// that frees memory.
macro_rules! is_set {
    (
        $config:ident builds $set:ident, $report:ident tells of it;
        check $check:path;
        hashing $hashing:ident;
        shrink $shrink:expr;
    ) => {
        impl<K: Key> Set<K> for $set<K> {
            type Report = $report;
            fn build(device: &Device, keys: &[K]) -> Result<Self> {
                $set::build(device, keys)
            }
            fn device(&self) -> &Device {
                self.device()
            }
            fn len(&self) -> u64 {
                self.len()
            }
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
            fn memory_bytes(&self) -> u64 {
                self.memory_bytes()
            }
            fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
                self.contains_many(queries)
            }
            fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()> {
                self.contains_many_into(stream, queries, found)
            }
            fn to_keys(&self) -> Result<Vec<K>> {
                self.to_keys()
            }
            fn keys_into(&self, stream: &Stream, keys: &mut Buffer<K>) -> Result<()> {
                self.keys_into(stream, keys)
            }
            fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
                self.rebuild(stream, keys)
            }
            fn shrink_to_fit(&mut self) {
                ($shrink)(self);
            }
            fn try_clone(&self, stream: &Stream) -> Result<Self> {
                self.try_clone(stream)
            }
            fn union(&self, stream: &Stream, other: &Self) -> Result<Self> {
                self.union(stream, other)
            }
            fn intersection(&self, stream: &Stream, other: &Self) -> Result<Self> {
                self.intersection(stream, other)
            }
            fn difference(&self, stream: &Stream, other: &Self) -> Result<Self> {
                self.difference(stream, other)
            }
            fn check_table(&self, reference: &HashSet<K>) -> std::result::Result<(), String> {
                $check(self, reference)
            }
            fn report(&self) -> &$report {
                self.report()
            }
            fn hashing(&self) -> &(impl Debug + PartialEq) {
                self.$hashing()
            }
        }

        impl SetConfig for $config {
            type Report = $report;
            type Set<K: Key> = $set<K>;
            fn build<K: Key>(&self, device: &Device, keys: &[K]) -> Result<$set<K>> {
                self.build(device, keys)
            }
            fn build_on<K: Key>(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<$set<K>> {
                self.build_on(stream, device, keys)
            }
            fn memory_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
                self.memory_bytes::<K>(keys)
            }
            fn scratch_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
                self.scratch_bytes::<K>(keys)
            }
            fn assume_unique(self) -> Self {
                self.assume_unique()
            }
        }
    };
}

is_set! {
    PageSetConfig builds PageSet, PageReport tells of it;
    check check_page_set;
    hashing layout;
    shrink Self::shrink_to_fit;
}
is_set! {
    CuckooSetConfig builds CuckooSet, CuckooReport tells of it;
    check check_cuckoo_set;
    hashing functions;
    shrink |_| ();
}

/// Says what is wrong with a set, given that its keys should be those of `reference`. The `queries`
/// are keys to look up, present or not.
pub fn check<K: Key>(set: &impl Set<K>, reference: &HashSet<K>, queries: &[K]) -> std::result::Result<(), String> {
    let said = |error: Error| error.to_string();
    if (set.len(), set.is_empty()) != (reference.len() as u64, reference.is_empty()) {
        return Err(format!("{} keys, and the set says {}, {}", reference.len(), set.len(), set.is_empty()));
    }
    set.check_table(reference)?;
    let expected: Vec<bool> = queries.iter().map(|key| reference.contains(key)).collect();
    let answers = set.contains_many(queries).map_err(said)?;
    if answers != expected {
        let wrong = (0..queries.len()).find(|&i| answers.get(i) != expected.get(i));
        return Err(format!("{} answers to {} queries, wrong at {wrong:?}", answers.len(), queries.len()));
    }
    let keys = set.to_keys().map_err(said)?;
    if keys.len() != reference.len() || keys.iter().copied().collect::<HashSet<K>>() != *reference {
        return Err(format!("{} keys were written, and there are {}", keys.len(), reference.len()));
    }
    Ok(())
}

/// Fails unless the set has these keys and no others, by all of its methods.
pub fn holds<K: Key>(set: &impl Set<K>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).chain([K::default(), K::ALL_ONES]).collect();
    if let Err(wrong) = check(set, &keys.iter().copied().collect(), &queries) {
        panic!("{} keys on {}: {wrong}: {:?}", keys.len(), set.device().name(), set.report());
    }
}

/// Builds a set and checks all of it.
pub fn build<C: SetConfig, K: Key>(device: &Device, config: &C, keys: &[K]) -> C::Set<K> {
    let set = config.build(device, keys).unwrap_or_else(|error| panic!("{} keys: {error}: {config:?}", keys.len()));
    holds(&set, keys);
    set
}

/// Says what is wrong with the results of the operations on two sets.
pub fn wrong_operations<K: Key, S: Set<K>>(one: &S, other: &S) -> std::result::Result<(), String> {
    let said = |error: Error| error.to_string();
    let stream = one.device().default_stream();
    let (first, second): (HashSet<K>, HashSet<K>) =
        (one.to_keys().map_err(said)?.into_iter().collect(), other.to_keys().map_err(said)?.into_iter().collect());
    let queries: Vec<K> = first.union(&second).copied().collect();
    let made = [
        ("union", one.union(stream, other), first.union(&second).copied().collect()),
        ("intersection", one.intersection(stream, other), first.intersection(&second).copied().collect()),
        ("difference", one.difference(stream, other), first.difference(&second).copied().collect()),
    ];
    for (name, made, expected) in made {
        check(&made.map_err(said)?, &expected, &queries).map_err(|wrong| format!("{name}: {wrong}"))?;
    }
    Ok(())
}
