//! The steps that change pairs, applied to a map and its reference.

use super::steps::{Step, check_removed, every, fail, without, words_of};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use warpnest::design::Inserts;
use warpnest::types::{Plain, WordKey as Key};
use warpnest::{Answers, Buffer, Device, Table};

/// Returns the keys to look up after a step that has no keys of its own.
pub fn few<K: Key>() -> Vec<K> {
    vec![K::from_u64(3), K::ALL_ONES]
}

/// Applies a step that inserts or removes to a map and its reference, and returns keys to look up.
/// `values_of` makes the given count of values from a seed.
pub fn change<K: Key, V: Plain + PartialEq + Debug>(
    device: &Device,
    (map, reference): (&mut Table<impl Inserts<Key = K, Value = V>>, &mut HashMap<K, V>),
    step: Step<K>,
    values_of: impl Fn(usize, u64) -> Vec<V>,
) -> std::result::Result<Vec<K>, TestCaseError> {
    let stream = device.default_stream();
    let on_device = |keys: &[K]| Buffer::from_slice(device, keys).map_err(fail);
    match step {
        Step::Insert(keys, seed) => {
            let values = values_of(keys.len(), seed);
            let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains_key(*key)).collect();
            prop_assert_eq!(map.insert_many(&keys, &values).map_err(fail)?, new.len());
            reference.extend(keys.iter().copied().zip(values));
            Ok(keys)
        }
        Step::Update(n, seed) => {
            let keys = every(reference.keys().copied(), n);
            let values = values_of(keys.len(), seed);
            let of_values = Buffer::from_slice(device, &values).map_err(fail)?;
            prop_assert_eq!(map.insert_many(&on_device(&keys)?, &of_values).map_err(fail)?, 0);
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
            let (all, _) = map.to_columns().map_err(fail)?;
            let kept: HashSet<K> = every(all.iter().copied(), n).into_iter().collect();
            let flags: Vec<bool> = all.iter().map(|key| kept.contains(key)).collect();
            let mask = Buffer::from_slice(device, &words_of(&flags)).map_err(fail)?;
            prop_assert_eq!(
                map.retain_many_on(stream, &on_device(&all)?, &mask).map_err(fail)?,
                all.len() - kept.len()
            );
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
            let value = values_of(1, key.to_u64())[0];
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
