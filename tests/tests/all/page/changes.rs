//! The page map, compared with `std::collections::HashMap` through sequences of all its operations,
//! on every engine. Its words are checked after each step.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{PageConfig, PageMap};
use warpnest_tests::changing::stepping::{change, few};
use warpnest_tests::changing::steps::{Step, fail, step, values_of};
use warpnest_tests::{TestEngine, maps, of_all_widths, on_every_engine};

/// Returns a strategy for configurations, with or without the promise of unique keys. At the lowest
/// loads and the largest capacities there are many pages, and buckets have five slots.
fn config(most: usize) -> impl Strategy<Value = (PageConfig, bool)> {
    let lowest = if most > 300 { 0.002 } else { 0.02 };
    let load = prop_oneof![2 => 0.05..=1.0f64, 2 => Just(0.8), 1 => Just(1.0), 1 => lowest..0.05f64];
    let capacity = prop_oneof![3 => Just(0), 1 => 0..=most];
    (load, capacity, any::<u64>(), any::<bool>()).prop_map(|(load, pairs, seed, unique)| {
        let config = PageConfig::default().load(load).pairs(pairs).seed(seed);
        (if unique { config.assume_unique() } else { config }, unique)
    })
}

/// Applies a step to a map and its reference, and returns keys to look up.
fn take<K: Key, V: Value>(
    map: &mut PageMap<K, V>,
    reference: &mut HashMap<K, V>,
    step: Step<K>,
) -> Result<Vec<K>, TestCaseError> {
    let device = &map.device().clone();
    match step {
        Step::Update(..) => {
            let memory = (map.capacity(), map.memory_bytes());
            change(device, (map, reference), step, values_of)?;
            prop_assert_eq!((map.capacity(), map.memory_bytes()), memory, "only values are new");
        }
        Step::Clear => {
            let memory = map.memory_bytes();
            map.clear().map_err(fail)?;
            prop_assert_eq!(map.memory_bytes(), memory);
            reference.clear();
        }
        Step::Reserve(additional) => {
            map.reserve(additional).map_err(fail)?;
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
        Step::Clone => *map = map.try_clone().map_err(fail)?,
        Step::SaveAndLoad => {
            let mut file = Vec::new();
            map.save(&mut file).map_err(fail)?;
            let loaded = PageMap::load(device, &file[..]).map_err(fail)?;
            prop_assert_eq!(loaded.capacity(), map.capacity());
            *map = loaded;
        }
        step => return change(device, (map, reference), step, values_of),
    }
    Ok(few())
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
            // The capacity covers all keys, whether the map was built, has grown, or had slots
            // left.
            prop_assert!(map.capacity() >= map.len(), "{} of {} keys", map.capacity(), map.len());
        }
        Ok(())
    });
}
of_all_widths!(as_a_hash_map);
