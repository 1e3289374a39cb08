//! The page map beside `std::collections::HashMap`, through sequences of all that it can do, on
//! every engine. Its words are checked after each step.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, PageConfig, PageMap};
use warpnest_tests::changing::steps::{Step, check_removed, every, fail, step, values_of, without, words_of};
use warpnest_tests::{TestEngine, maps, of_all_widths, on_every_engine};

/// Returns a strategy for configurations, which promise unique keys or do not. By the least loads
/// and the largest capacities buckets have five slots and there are many pages.
fn config(most: usize) -> impl Strategy<Value = (PageConfig, bool)> {
    let lowest = if most > 300 { 0.002 } else { 0.02 };
    let load = prop_oneof![2 => 0.05..=1.0f64, 2 => Just(0.8), 1 => Just(1.0), 1 => lowest..0.05f64];
    let capacity = prop_oneof![3 => Just(0), 1 => 0..=most];
    (load, capacity, any::<u64>(), any::<bool>()).prop_map(|(load, pairs, seed, unique)| {
        let config = PageConfig::default().load(load).pairs(pairs).seed(seed);
        (if unique { config.assume_unique() } else { config }, unique)
    })
}

/// Does a step with a map and its reference, and returns keys to look up.
fn take<K: Key, V: Value>(
    map: &mut PageMap<K, V>,
    reference: &mut HashMap<K, V>,
    step: Step<K>,
) -> Result<Vec<K>, TestCaseError> {
    let device = &map.device().clone();
    let stream = device.default_stream();
    let on_device = |keys: &[K]| Buffer::from_slice(device, keys).map_err(fail);
    match step {
        Step::Insert(keys, seed) => {
            let values = values_of::<V>(keys.len(), seed);
            let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains_key(*key)).collect();
            let inserted = map.insert_many(&keys, &values).map_err(fail)?;
            prop_assert_eq!(inserted, new.len());
            reference.extend(keys.iter().copied().zip(values));
            return Ok(keys);
        }
        Step::Update(n, seed) => {
            let keys = every(reference.keys().copied(), n);
            let values = values_of::<V>(keys.len(), seed);
            let (capacity, memory) = (map.capacity(), map.memory_bytes());
            let of_values = Buffer::from_slice(device, &values).map_err(fail)?;
            prop_assert_eq!(map.insert_many_on(stream, &on_device(&keys)?, &of_values).map_err(fail)?, 0);
            prop_assert_eq!((map.capacity(), map.memory_bytes()), (capacity, memory), "only values are new");
            reference.extend(keys.into_iter().zip(values));
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
            let value = values_of::<V>(1, key.to_u64())[0];
            let new = map.insert(key, value).map_err(fail)?;
            prop_assert_eq!(new, reference.insert(key, value).is_none());
        }
        Step::One(key, false) => {
            prop_assert_eq!(map.remove(key).map_err(fail)?, reference.remove(&key));
        }
        Step::Clear => {
            let memory = map.memory_bytes();
            map.clear_on(stream).map_err(fail)?;
            prop_assert_eq!(map.memory_bytes(), memory);
            reference.clear();
        }
        Step::Reserve(additional) => {
            map.reserve_on(stream, additional).map_err(fail)?;
            prop_assert!(map.capacity() >= map.len() + additional);
        }
        Step::Shrink => {
            let memory = map.memory_bytes();
            map.shrink_to_fit().map_err(fail)?;
            prop_assert!(map.memory_bytes() <= memory);
        }
        Step::Rebuild(keys, seed) => {
            let values = values_of::<V>(keys.len(), seed);
            map.rebuild(&keys, &values).map_err(fail)?;
            *reference = keys.into_iter().zip(values).collect();
        }
        Step::Clone => *map = map.try_clone_on(stream).map_err(fail)?,
        Step::SaveAndLoad => {
            let mut file = Vec::new();
            map.save(&mut file).map_err(fail)?;
            let loaded = PageMap::load(device, &file[..]).map_err(fail)?;
            prop_assert_eq!(loaded.capacity(), map.capacity());
            *map = loaded;
        }
    }
    Ok(vec![K::from_u64(3), K::ALL_ONES])
}

fn as_a_hash_map<K: Key, V: Value>() {
    let inputs = |engine: &TestEngine| {
        let most = (engine.max_items / 10).clamp(150, 2000);
        (config(most), prop::collection::vec(step::<K>(most), 1..8))
    };
    on_every_engine(inputs, |engine, ((config, unique), steps)| {
        let mut map = config.create::<K, V>(&engine.device).map_err(fail)?;
        let mut reference = HashMap::new();
        for step in steps {
            let queries = take(&mut map, &mut reference, if unique { step.unique() } else { step })?;
            maps::check(&map, &reference, &queries).map_err(TestCaseError::fail)?;
            // What was full by chance may have more; what grew or was built has capacity.
            prop_assert!(map.capacity() >= map.len(), "{} of {} keys", map.capacity(), map.len());
        }
        Ok(())
    });
}
of_all_widths!(as_a_hash_map);
