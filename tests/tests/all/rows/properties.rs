//! The row map beside `std::collections::HashMap`, over each map that changes and with rows of
//! several sizes, through sequences of all that it can do, on every engine.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::design::{Changes, Extendible, Linear, Page};
use warpnest::types::WordKey as Key;
use warpnest::{Answers, Buffer, Error, RowMap};
use warpnest_tests::changing::steps::{Step, check_removed, every, fail, step, without, words_of};
use warpnest_tests::rows::{Row, Under, check, rows_of};
use warpnest_tests::{TestEngine, on_every_engine};

/// Does a step with a map and its reference, and returns keys to look up.
fn take<K: Key, R: Row, D: Changes>(
    map: &mut RowMap<K, R, D>,
    reference: &mut HashMap<K, R>,
    step: Step<K>,
) -> Result<Vec<K>, TestCaseError> {
    let device = &map.device().clone();
    let stream = device.default_stream();
    let on_device = |keys: &[K]| Buffer::from_slice(device, keys).map_err(fail);
    match step {
        Step::Insert(keys, seed) => {
            let rows = rows_of::<R>(keys.len(), seed);
            let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains_key(*key)).collect();
            prop_assert_eq!(map.insert_many(&keys, &rows).map_err(fail)?, new.len());
            reference.extend(keys.iter().copied().zip(rows));
            return Ok(keys);
        }
        Step::Update(n, seed) => {
            let keys = every(reference.keys().copied(), n);
            let rows = rows_of::<R>(keys.len(), seed);
            let (length, of_rows) = (map.rows().len(), Buffer::from_slice(device, &rows).map_err(fail)?);
            prop_assert_eq!(map.insert_many_on(stream, &on_device(&keys)?, &of_rows).map_err(fail)?, 0);
            prop_assert_eq!(map.rows().len(), length, "no key is new");
            reference.extend(keys.into_iter().zip(rows));
        }
        Step::Remove(keys) => {
            let mut answers = Answers::new(device, keys.len()).map_err(fail)?;
            let removed = map.remove_many_into(stream, &on_device(&keys)?, &mut answers).map_err(fail)?;
            let answers = answers.download(stream).map_err(fail)?;
            prop_assert_eq!(removed, answers.iter().flatten().count());
            check_removed(reference, &keys, &answers)?;
            without(reference, &keys);
            return Ok(keys);
        }
        Step::Erase(keys) => {
            let there: HashSet<&K> = keys.iter().filter(|key| reference.contains_key(*key)).collect();
            let there = there.len();
            prop_assert_eq!(map.erase_many(&keys).map_err(fail)?, there);
            without(reference, &keys);
            return Ok(keys);
        }
        Step::Thin(n) => {
            let (keys, _) = map.pairs_on(stream).map_err(fail)?;
            let all = keys.download(stream).map_err(fail)?;
            let kept: HashSet<K> = every(all.iter().copied(), n).into_iter().collect();
            let flags: Vec<bool> = all.iter().map(|key| kept.contains(key)).collect();
            let mask = Buffer::from_slice(device, &words_of(&flags)).map_err(fail)?;
            prop_assert_eq!(map.retain_many_on(stream, &keys, &mask).map_err(fail)?, all.len() - kept.len());
            reference.retain(|key, _| kept.contains(key));
            return Ok(all);
        }
        Step::Drop(keys, n) => {
            let flags: Vec<bool> = (0..keys.len()).map(|i| i % n != 0).collect();
            let dropped: HashSet<K> = keys.iter().copied().step_by(n).collect();
            let there = dropped.iter().filter(|key| reference.contains_key(key)).count();
            prop_assert_eq!(map.retain_many(&keys, &flags).map_err(fail)?, there);
            reference.retain(|key, _| !dropped.contains(key));
            return Ok(keys);
        }
        Step::One(key, true) => {
            let row = R::from_seed(key.to_u64());
            let new = map.insert(key, row).map_err(fail)?;
            prop_assert_eq!(new, reference.insert(key, row).is_none());
        }
        Step::One(key, false) => {
            prop_assert_eq!(map.remove(key).map_err(fail)?, reference.remove(&key));
        }
        Step::Clear => {
            let capacity = map.rows().capacity();
            map.clear_on(stream).map_err(fail)?;
            prop_assert_eq!((map.rows().len(), map.rows().capacity()), (0, capacity));
            reference.clear();
        }
        Step::Reserve(additional) => {
            map.reserve(additional).map_err(fail)?;
            let free = map.rows().len() - map.len();
            prop_assert!(map.rows().capacity() - map.rows().len() >= additional.saturating_sub(free));
        }
        Step::Shrink => {
            map.shrink_to_fit().map_err(fail)?;
            prop_assert_eq!(map.rows().len(), map.len());
        }
        Step::Rebuild(keys, seed) => {
            // There is none; a copy with the keys in other rows takes its place.
            let rows = rows_of::<R>(keys.len(), seed);
            map.clear().map_err(fail)?;
            map.insert_many(&keys, &rows).map_err(fail)?;
            *reference = keys.into_iter().zip(rows).collect();
        }
        Step::Clone => *map = map.try_clone_on(stream).map_err(fail)?,
        Step::SaveAndLoad => {
            let mut file = Vec::new();
            map.save(&mut file).map_err(fail)?;
            *map = RowMap::load(device, &file[..]).map_err(fail)?;
        }
    }
    Ok(vec![K::from_u64(3), K::ALL_ONES])
}

fn as_a_hash_map<K: Key, R: Row, D: Under>() {
    let inputs = |engine: &TestEngine| {
        let most = (engine.max_items / 10).clamp(40, 1000);
        (any::<u64>(), prop::collection::vec(step::<K>(most), 1..7))
    };
    on_every_engine(inputs, |engine, (seed, steps)| {
        let mut map: RowMap<K, R, D> = match D::config(seed).create_rows(&engine.device) {
            Err(Error::NoWideAtomics { .. }) => return Ok(()),
            map => map.map_err(fail)?,
        };
        let mut reference = HashMap::new();
        let mut most = 0;
        for step in steps {
            let queries = take(&mut map, &mut reference, step)?;
            check(&map, &reference, &queries).map_err(TestCaseError::fail)?;
            most = most.max(map.len());
            prop_assert!(map.rows().len() <= most, "{} rows, for {most} keys at most", map.rows().len());
        }
        Ok(())
    });
}

#[test]
fn of_32_bits_to_rows_of_4_bytes_over_pages() {
    as_a_hash_map::<u32, [u32; 1], Page>();
}

#[test]
fn of_64_bits_to_rows_of_12_bytes_over_pages() {
    as_a_hash_map::<u64, [u32; 3], Page>();
}

#[test]
fn of_32_bits_to_rows_of_24_bytes_over_slots() {
    as_a_hash_map::<u32, [u64; 3], Linear>();
}

#[test]
fn of_64_bits_to_rows_of_64_bytes_over_slots() {
    as_a_hash_map::<u64, [u64; 8], Linear>();
}

#[test]
fn of_32_bits_to_rows_of_20_bytes_over_extendible_buckets() {
    as_a_hash_map::<u32, [u32; 5], Extendible>();
}
