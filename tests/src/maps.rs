//! The common interface of all maps, and one check of all that a map says of its pairs.

use crate::extendible_checker::check_extendible_map;
use crate::page_checker::{check_page_map, same_pairs};
use crate::sorted_checker::check_sorted_map;
use crate::{assert_lengths, assert_wrong_device, elsewhere, linear_checker};
use std::collections::HashMap;
use std::fmt::Debug;
use warpnest::{
    Answers, Buffer, CompactingTable, CuckooMap, Device, ExtendibleMap, IdTable, Key, LinearMap, PageMap, SortedMap,
    Stream, TwoLevelMap, Value,
};

/// The lookups of a map, and the other methods that all maps have.
pub trait Map<K: Key, V: Value>: Debug + Sized {
    /// The device of the map.
    fn device(&self) -> &Device;
    /// The number of keys.
    fn len(&self) -> u64;
    /// Whether the map has no keys.
    fn is_empty(&self) -> bool;
    /// The bytes that the map keeps.
    fn memory_bytes(&self) -> u64;
    /// The values of queries.
    fn get_many(&self, queries: &[K]) -> warpnest::Result<Vec<Option<V>>>;
    /// Whether the map has each of the queries.
    fn contains_many(&self, queries: &[K]) -> warpnest::Result<Vec<bool>>;
    /// Queues a lookup.
    fn get_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> warpnest::Result<Answers<V>>;
    /// Queues a lookup into existing answers.
    fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<V>) -> warpnest::Result<()>;
    /// Queues a membership test of the queries.
    fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>)
    -> warpnest::Result<()>;
    /// Returns all pairs.
    fn to_pairs(&self) -> warpnest::Result<Vec<(K, V)>>;
    /// Says what is wrong with the words of the table, or with the answers of methods that only
    /// this map has.
    fn check_table(&self, reference: &HashMap<K, V>) -> Result<(), String>;
}

/// Makes a map a [`Map`] by its methods; `check` is the check of its table.
macro_rules! is_map {
    ([$($generics:tt)*] $map:ty: $key:ty => $value:ty, check |$this:ident, $reference:ident| $check:expr) => {
        impl<$($generics)*> Map<$key, $value> for $map {
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
            fn get_many(&self, queries: &[$key]) -> warpnest::Result<Vec<Option<$value>>> {
                self.get_many(queries)
            }
            fn contains_many(&self, queries: &[$key]) -> warpnest::Result<Vec<bool>> {
                self.contains_many(queries)
            }
            fn get_many_on(&self, stream: &Stream, queries: &Buffer<$key>) -> warpnest::Result<Answers<$value>> {
                self.get_many_on(stream, queries)
            }
            fn get_many_into(
                &self,
                stream: &Stream,
                queries: &Buffer<$key>,
                answers: &mut Answers<$value>,
            ) -> warpnest::Result<()> {
                self.get_many_into(stream, queries, answers)
            }
            fn contains_many_into(
                &self,
                stream: &Stream,
                queries: &Buffer<$key>,
                found: &mut Buffer<u32>,
            ) -> warpnest::Result<()> {
                self.contains_many_into(stream, queries, found)
            }
            fn to_pairs(&self) -> warpnest::Result<Vec<($key, $value)>> {
                self.to_pairs()
            }
            fn check_table(&self, $reference: &HashMap<$key, $value>) -> Result<(), String> {
                let $this = self;
                $check
            }
        }
    };
}

is_map! {
    [K: Key, V: Value] CuckooMap<K, V>: K => V, check |map, reference| all_probed(map.probe_histogram(), reference)
}
is_map! {
    [K: Key, V: Value] TwoLevelMap<K, V>: K => V, check |map, reference| all_probed(map.probe_histogram(), reference)
}
is_map! {
    [K: Key, V: Value] PageMap<K, V>: K => V, check |map, reference| check_page_map(map, reference)
}
is_map! {
    [K: Key, I: IdTable<K> + Map<K, u32>] CompactingTable<K, I>: K => u32,
    check |table, reference| table.ids().check_table(reference)
}
is_map! {
    [K: Key, V: Value] SortedMap<K, V>: K => V, check |map, reference| {
        check_sorted_map(map)?;
        let mut sorted: Vec<(K, V)> = reference.iter().map(|(&key, &value)| (key, value)).collect();
        sorted.sort_unstable();
        match map.to_pairs().map_err(|error| error.to_string())? {
            pairs if pairs == sorted => Ok(()),
            _ => Err("the pairs are not all pairs in the order of their keys".to_owned()),
        }
    }
}
is_map! {
    [K: Key, V: Value] ExtendibleMap<K, V>: K => V, check |map, reference| match check_extendible_map(map)? {
        found if found.pairs == *reference => Ok(()),
        found => Err(format!("the table has {} pairs, and should have {}", found.pairs.len(), reference.len())),
    }
}
is_map! {
    [K: Key, V: Value] LinearMap<K, V>: K => V, check |map, reference| linear_checker::check_pairs(map, reference).map(drop)
}

/// Fails unless every key takes a probe, except the one that has a cell of its own.
fn all_probed<K: Key, V>(histogram: warpnest::Result<Vec<u64>>, reference: &HashMap<K, V>) -> Result<(), String> {
    let probed: u64 = histogram.map_err(|error| error.to_string())?.iter().sum();
    match reference.keys().filter(|&&key| key != K::ALL_ONES).count() as u64 {
        keys if keys == probed => Ok(()),
        keys => Err(format!("{keys} keys are in slots, and {probed} in the histogram of probes")),
    }
}

/// Says what is wrong with a map, given that its pairs should be those of `reference`. The
/// `queries` are keys to look up, present or not.
pub fn check<K: Key, V: Value>(map: &impl Map<K, V>, reference: &HashMap<K, V>, queries: &[K]) -> Result<(), String> {
    let said = |error: warpnest::Error| error.to_string();
    let keys = reference.len() as u64;
    if (map.len(), map.is_empty()) != (keys, keys == 0) {
        return Err(format!("there should be {keys} keys, and the map says {}, {}", map.len(), map.is_empty()));
    }
    map.check_table(reference)?;
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
    same_pairs(&pairs.into_iter().collect(), reference)
}

/// Fails unless the map has the pairs of `reference` and nothing else, by all of its methods.
pub fn equals<K: Key, V: Value, M: Map<K, V>>(map: &M, reference: &HashMap<K, V>) {
    let keys: Vec<K> = reference.keys().copied().collect();
    looks_like(map, reference, &keys);
}

/// Fails unless the map has each key's last value and nothing else, by all of its methods.
pub fn holds<K: Key, V: Value, M: Map<K, V>>(map: &M, keys: &[K], values: &[V]) {
    looks_like(map, &keys.iter().copied().zip(values.iter().copied()).collect(), keys);
}

/// Fails unless the map is empty; `once` are keys that it had or was to have.
pub fn is_empty<K: Key, V: Value, M: Map<K, V>>(map: &M, once: &[K]) {
    looks_like(map, &HashMap::new(), once);
}

fn looks_like<K: Key, V: Value, M: Map<K, V>>(map: &M, reference: &HashMap<K, V>, keys: &[K]) {
    let others = |key: K| [key, K::from_u64(key.to_u64() ^ 0x5555), K::from_u64(!key.to_u64())];
    let queries: Vec<K> = keys.iter().flat_map(|&key| others(key)).collect();
    if let Err(wrong) = check(map, reference, &queries) {
        panic!("{} of {} keys on {}: {wrong}", std::any::type_name::<M>(), reference.len(), map.device().name());
    }
}

/// Fails unless lookups whose answers are too short or too long are refused.
pub fn refuses_other_lengths<K: Key, V: Value>(map: &impl Map<K, V>) {
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

/// Fails unless lookups with a stream, queries or answers of another device are refused.
pub fn refuses_another_device<K: Key, V: Value>(map: &impl Map<K, V>) {
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
    let answers = map.get_many_on(stream, &ours).unwrap();
    is_here(answers.download(foreign).unwrap_err());
    assert_eq!(answers.download(stream).unwrap(), map.get_many(&keys).unwrap());
}
