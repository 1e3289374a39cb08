//! What sets of any kind say of their keys, and must say; and inputs worth trying.

pub mod edges;

use crate::cuckoo_checker::check_cuckoo_set;
use crate::key;
use crate::page_checker::check_page_set;
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Debug;
use warpnest::{Buffer, CuckooSet, CuckooSetConfig, Device, Error, Key, PageSet, PageSetConfig, Result, Stream};

/// A set that is built in one go.
pub trait Set<K: Key>: Sized {
    /// Where it is.
    fn device(&self) -> &Device;
    /// The number of keys.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool;
    /// Which of the queries are there.
    fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>>;
    /// All keys.
    fn to_keys(&self) -> Result<Vec<K>>;
    /// All keys, into a buffer.
    fn keys_into(&self, stream: &Stream, keys: &mut Buffer<K>) -> Result<()>;
    /// Builds it anew.
    fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;
    /// A copy.
    fn try_clone(&self, stream: &Stream) -> Result<Self>;
    /// The keys that are in one of the two.
    fn union(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// The keys that are in both.
    fn intersection(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// The keys that are only in this one.
    fn difference(&self, stream: &Stream, other: &Self) -> Result<Self>;
    /// Says what is wrong with the table's words, if its keys should be those of `reference`.
    fn check_table(&self, reference: &HashSet<K>) -> std::result::Result<(), String>;
    /// How it was built, in words.
    fn told(&self) -> String;
}

/// The configuration of such a set.
pub trait SetConfig: Clone + Debug {
    /// The set.
    type Set<K: Key>: Set<K>;
    /// Builds a set.
    fn build<K: Key>(&self, device: &Device, keys: &[K]) -> Result<Self::Set<K>>;
    /// Promises unique keys.
    fn assume_unique(self) -> Self;
}

/// Makes a configuration a [`SetConfig`] and its set a [`Set`], by their methods.
macro_rules! is_set {
    ($config:ident builds $set:ident, checked by $check:path) => {
        impl<K: Key> Set<K> for $set<K> {
            fn device(&self) -> &Device {
                self.device()
            }
            fn len(&self) -> u64 {
                self.len()
            }
            fn is_empty(&self) -> bool {
                self.is_empty()
            }
            fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
                self.contains_many(queries)
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
            fn told(&self) -> String {
                format!("{:?}", self.report())
            }
        }

        impl SetConfig for $config {
            type Set<K: Key> = $set<K>;
            fn build<K: Key>(&self, device: &Device, keys: &[K]) -> Result<$set<K>> {
                self.build(device, keys)
            }
            fn assume_unique(self) -> Self {
                self.assume_unique()
            }
        }
    };
}

is_set! { PageSetConfig builds PageSet, checked by check_page_set }
is_set! { CuckooSetConfig builds CuckooSet, checked by check_cuckoo_set }

/// Says what is wrong with a set, if its keys should be those of `reference`; `queries` are keys to ask for, there or not.
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

/// Fails unless the set has these keys and no others, and says so in every way it can.
pub fn holds<K: Key>(set: &impl Set<K>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).chain([K::default(), K::ALL_ONES]).collect();
    if let Err(wrong) = check(set, &keys.iter().copied().collect(), &queries) {
        panic!("{} keys on {}: {wrong}: {}", keys.len(), set.device().name(), set.told());
    }
}

/// Builds a set and looks at all of it.
pub fn build<C: SetConfig, K: Key>(device: &Device, config: &C, keys: &[K]) -> C::Set<K> {
    let set = config.build(device, keys).unwrap_or_else(|error| panic!("{} keys: {error}: {config:?}", keys.len()));
    holds(&set, keys);
    set
}

/// Says what is wrong with the sets that two make.
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

/// Keys that repeat, any, copies of one, or one after the other at some distance.
pub fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let steps = (any::<u64>(), 0u32..48, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    let copies = (any::<u64>(), 1usize..9, 0..=most)
        .prop_map(|(one, every, n)| (0..n).map(|i| K::from_u64(if i % every == 0 { one } else { i as u64 })).collect());
    prop_oneof![
        3 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec(any::<u64>().prop_map(K::from_u64), 0..=most),
        1 => steps,
        1 => copies,
    ]
}
