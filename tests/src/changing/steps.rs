//! Sequences of all calls of a map or a set that can be both built and changed.

use crate::key;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::Error;
use warpnest::types::{WordKey as Key, WordValue as Value};

/// A call of a map or a set.
#[derive(Clone, Debug)]
pub enum Step<K> {
    /// Inserts keys, with values that follow from a seed.
    Insert(Vec<K>, u64),
    /// Gives every n-th of the keys in the table another value.
    Update(usize, u64),
    /// Removes keys, and checks the values that the removal returns.
    Remove(Vec<K>),
    /// Removes keys without returning their values.
    Erase(Vec<K>),
    /// Removes all keys in the table except every n-th, by a mask on the device.
    Thin(usize),
    /// Removes every n-th of these keys, by flags on the host.
    Drop(Vec<K>, usize),
    /// Inserts or removes one key.
    One(K, bool),
    /// Removes all keys.
    Clear,
    /// Reserves capacity for this count of additional keys.
    Reserve(usize),
    /// Frees unused memory.
    Shrink,
    /// Rebuilds the whole table from other keys.
    Rebuild(Vec<K>, u64),
    /// Replaces the table by a copy.
    Clone,
    /// Replaces the table by one that is loaded from its file.
    SaveAndLoad,
}

/// Returns a strategy for keys: few different keys, which repeat; any keys; copies of one key; or
/// keys in sequence at a fixed distance.
pub fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let few = prop_oneof![4 => 0u64..40, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)].prop_map(K::from_u64);
    let row = (any::<u64>(), 0..K::BITS, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    let copies = (any::<u64>(), 1usize..9, 0..=most)
        .prop_map(|(one, every, n)| (0..n).map(|i| K::from_u64(if i % every == 0 { one } else { i as u64 })).collect());
    prop_oneof![
        2 => prop::collection::vec(few, 0..=most.min(100)),
        4 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec((0u64..500).prop_map(K::from_u64), 0..=most),
        3 => row,
        1 => copies,
    ]
}

/// Returns a strategy for a step with at most `most` keys.
pub fn step<K: Key>(most: usize) -> impl Strategy<Value = Step<K>> {
    prop_oneof![
        8 => (keys(most), any::<u64>()).prop_map(|(keys, seed)| Step::Insert(keys, seed)),
        2 => (1usize..10, any::<u64>()).prop_map(|(every, seed)| Step::Update(every, seed)),
        3 => keys(most).prop_map(Step::Remove),
        2 => keys(most).prop_map(Step::Erase),
        3 => (2usize..40).prop_map(Step::Thin),
        1 => (keys(most), 1usize..9).prop_map(|(keys, every)| Step::Drop(keys, every)),
        1 => (key(), any::<bool>()).prop_map(|(key, insert)| Step::One(key, insert)),
        1 => Just(Step::Clear),
        1 => (0..=2 * most).prop_map(Step::Reserve),
        1 => Just(Step::Shrink),
        1 => (keys(most), any::<u64>()).prop_map(|(keys, seed)| Step::Rebuild(keys, seed)),
        1 => Just(Step::Clone),
        1 => Just(Step::SaveAndLoad),
    ]
}

/// Returns the first copy of each key.
pub fn once<K: Key>(keys: Vec<K>) -> Vec<K> {
    let mut seen = HashSet::new();
    keys.into_iter().filter(|&key| seen.insert(key)).collect()
}

impl<K: Key> Step<K> {
    /// Returns the same step with only the first copy of each key, where the step can promise that.
    pub fn unique(self) -> Self {
        match self {
            Self::Insert(keys, seed) => Self::Insert(once(keys), seed),
            Self::Rebuild(keys, seed) => Self::Rebuild(once(keys), seed),
            step => step,
        }
    }
}

/// Returns `n` values that follow from a seed.
pub fn values_of<V: Value>(n: usize, seed: u64) -> Vec<V> {
    (0..n as u64).map(|i| V::from_u64(seed.wrapping_add(i).wrapping_mul(0x1_0000_0001))).collect()
}

/// Returns the test failure for an error of a call that should succeed.
pub fn fail(error: Error) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Checks a removal: of several equal keys one receives the value that the map had, and the others
/// receive none.
pub fn check_removed<K: Key, V: PartialEq + std::fmt::Debug>(
    before: &HashMap<K, V>,
    keys: &[K],
    answers: &[Option<V>],
) -> Result<(), TestCaseError> {
    let mut answered = HashSet::new();
    prop_assert_eq!(keys.len(), answers.len());
    for (key, answer) in keys.iter().zip(answers) {
        if answer.is_some() {
            prop_assert_eq!(answer.as_ref(), before.get(key));
            prop_assert!(answered.insert(*key), "key {} was removed twice", key);
        }
    }
    let there: HashSet<K> = keys.iter().copied().filter(|key| before.contains_key(key)).collect();
    prop_assert_eq!(answered, there);
    Ok(())
}

/// Removes keys from a reference.
pub fn without<K: Key, V>(reference: &mut HashMap<K, V>, keys: &[K]) {
    for key in keys {
        reference.remove(key);
    }
}

/// Returns every n-th of some keys, in their order.
pub fn every<K: Key>(keys: impl IntoIterator<Item = K>, every: usize) -> Vec<K> {
    let mut keys: Vec<K> = keys.into_iter().collect();
    keys.sort_unstable();
    keys.into_iter().step_by(every).collect()
}

/// Returns words with a bit for each flag.
pub fn words_of(flags: &[bool]) -> Vec<u32> {
    let word = |flags: &[bool]| flags.iter().enumerate().fold(0, |word, (i, &flag)| word | (flag as u32) << i);
    flags.chunks(32).map(word).collect()
}
