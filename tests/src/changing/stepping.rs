//! The steps that change pairs, done with any map and its reference.

use super::steps::{Step, check_removed, every, fail, values_of, without, words_of};
use crate::rows::{Row, rows_of};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use warpnest::design::Changes;
use warpnest::types::{Plain, WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, BulkMap, Device, Result, RowMap, Stream};

/// A map that changes in place: the calls that all of them have.
#[allow(missing_docs, reason = "the calls have the names and the documentation of the maps'")]
pub trait Stepping<K> {
    type Value: Plain + PartialEq + Debug;

    /// Returns `n` values that follow from a number.
    fn values_of(n: usize, seed: u64) -> Vec<Self::Value>;
    fn device(&self) -> &Device;
    fn keys_on(&self, stream: &Stream) -> Result<Buffer<K>>;
    fn insert(&mut self, key: K, value: Self::Value) -> Result<bool>;
    fn insert_many(&mut self, keys: &[K], values: &[Self::Value]) -> Result<usize>;
    fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<Self::Value>) -> Result<usize>;
    fn remove(&mut self, key: K) -> Result<Option<Self::Value>>;
    fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, to: &mut Answers<Self::Value>) -> Result<usize>;
    fn erase_many(&mut self, keys: &[K]) -> Result<usize>;
    fn retain_many(&mut self, keys: &[K], keep: &[bool]) -> Result<usize>;
    fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, keep: &Buffer<u32>) -> Result<usize>;
}

/// Passes the calls on to those of a map, whose values follow from numbers by a function.
macro_rules! stepping {
    ($map:ident<$value:ident: $bound:ident> by $values:ident) => {
        impl<K: Key, $value: $bound, D: Changes> Stepping<K> for $map<K, $value, D> {
            type Value = $value;

            fn values_of(n: usize, seed: u64) -> Vec<$value> {
                $values(n, seed)
            }
            fn device(&self) -> &Device {
                self.device()
            }
            fn keys_on(&self, stream: &Stream) -> Result<Buffer<K>> {
                Ok(self.pairs_on(stream)?.0)
            }
            fn insert(&mut self, key: K, value: $value) -> Result<bool> {
                self.insert(key, value)
            }
            fn insert_many(&mut self, keys: &[K], values: &[$value]) -> Result<usize> {
                self.insert_many(keys, values)
            }
            fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<$value>) -> Result<usize> {
                self.insert_many_on(stream, keys, values)
            }
            fn remove(&mut self, key: K) -> Result<Option<$value>> {
                self.remove(key)
            }
            fn remove_many_into(
                &mut self,
                stream: &Stream,
                keys: &Buffer<K>,
                to: &mut Answers<$value>,
            ) -> Result<usize> {
                self.remove_many_into(stream, keys, to)
            }
            fn erase_many(&mut self, keys: &[K]) -> Result<usize> {
                self.erase_many(keys)
            }
            fn retain_many(&mut self, keys: &[K], keep: &[bool]) -> Result<usize> {
                self.retain_many(keys, keep)
            }
            fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, keep: &Buffer<u32>) -> Result<usize> {
                self.retain_many_on(stream, keys, keep)
            }
        }
    };
}
stepping!(BulkMap<V: Value> by values_of);
stepping!(RowMap<R: Row> by rows_of);

/// Returns keys to look up after a step without keys of its own.
pub fn few<K: Key>() -> Vec<K> {
    vec![K::from_u64(3), K::ALL_ONES]
}

/// Does a step that inserts or removes with a map and its reference, and returns keys to look up.
pub fn change<K: Key, M: Stepping<K>>(
    map: &mut M,
    reference: &mut HashMap<K, M::Value>,
    step: Step<K>,
) -> std::result::Result<Vec<K>, TestCaseError> {
    let device = &map.device().clone();
    let stream = device.default_stream();
    let on_device = |keys: &[K]| Buffer::from_slice(device, keys).map_err(fail);
    match step {
        Step::Insert(keys, seed) => {
            let values = M::values_of(keys.len(), seed);
            let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains_key(*key)).collect();
            prop_assert_eq!(map.insert_many(&keys, &values).map_err(fail)?, new.len());
            reference.extend(keys.iter().copied().zip(values));
            Ok(keys)
        }
        Step::Update(n, seed) => {
            let keys = every(reference.keys().copied(), n);
            let values = M::values_of(keys.len(), seed);
            let of_values = Buffer::from_slice(device, &values).map_err(fail)?;
            prop_assert_eq!(map.insert_many_on(stream, &on_device(&keys)?, &of_values).map_err(fail)?, 0);
            reference.extend(keys.into_iter().zip(values));
            Ok(few())
        }
        Step::Remove(keys) => {
            let mut answers = Answers::new(device, keys.len()).map_err(fail)?;
            let removed = map.remove_many_into(stream, &on_device(&keys)?, &mut answers).map_err(fail)?;
            let answers = answers.download(stream).map_err(fail)?;
            prop_assert_eq!(removed, answers.iter().flatten().count());
            check_removed(reference, &keys, &answers)?;
            without(reference, &keys);
            Ok(keys)
        }
        Step::Erase(keys) => {
            let there = keys.iter().filter(|key| reference.contains_key(*key)).collect::<HashSet<_>>().len();
            prop_assert_eq!(map.erase_many(&keys).map_err(fail)?, there);
            without(reference, &keys);
            Ok(keys)
        }
        Step::Thin(n) => {
            let keys = map.keys_on(stream).map_err(fail)?;
            let all = keys.download(stream).map_err(fail)?;
            let kept: HashSet<K> = every(all.iter().copied(), n).into_iter().collect();
            let flags: Vec<bool> = all.iter().map(|key| kept.contains(key)).collect();
            let mask = Buffer::from_slice(device, &words_of(&flags)).map_err(fail)?;
            prop_assert_eq!(map.retain_many_on(stream, &keys, &mask).map_err(fail)?, all.len() - kept.len());
            reference.retain(|key, _| kept.contains(key));
            Ok(all)
        }
        Step::Drop(keys, n) => {
            let flags: Vec<bool> = (0..keys.len()).map(|i| i % n != 0).collect();
            let dropped: HashSet<K> = keys.iter().copied().step_by(n).collect();
            let there = dropped.iter().filter(|key| reference.contains_key(key)).count();
            prop_assert_eq!(map.retain_many(&keys, &flags).map_err(fail)?, there);
            reference.retain(|key, _| !dropped.contains(key));
            Ok(keys)
        }
        Step::One(key, true) => {
            let value = M::values_of(1, key.to_u64())[0];
            let new = map.insert(key, value).map_err(fail)?;
            prop_assert_eq!(new, reference.insert(key, value).is_none());
            Ok(few())
        }
        Step::One(key, false) => {
            prop_assert_eq!(map.remove(key).map_err(fail)?, reference.remove(&key));
            Ok(few())
        }
        step => unreachable!("{step:?} neither inserts nor removes"),
    }
}
