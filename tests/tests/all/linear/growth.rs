//! Growth of the linear map: at every load, to the requested size, and no further.

use super::edges::configs;
use warpnest::linear::LinearOperation;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, LinearConfig, LinearMap};
use warpnest_tests::changing::{create, fill, pairs, values};
use warpnest_tests::linear_checker::linear_engines;
use warpnest_tests::maps::equals;
use warpnest_tests::{distinct_keys, is_thorough, only_cuda, parameterized};

#[parameterized]
fn growth_by_one_batch_and_by_many_at_every_load<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        for config in configs() {
            for load in [0.99, 0.8, 0.29, 0.01] {
                // Without these limits, most of the time would go into the many slots of the lowest
                // load and into searches for absent keys at the highest load.
                let most = engine.max_items.min(20_000);
                let n = match load {
                    0.01 if !is_thorough() => most / 10,
                    0.99 if !is_thorough() => most.min(2000),
                    _ => most,
                };
                let keys: Vec<K> = [K::ALL_ONES].into_iter().chain(distinct_keys(n - 1, 8)).collect();
                let config = config.clone().load(load);
                for batch in [n, n / 3, n / 40 + 1] {
                    let mut map = fill::<_, K, V>(&engine.device, &config, &keys, batch);
                    assert!(
                        map.table().taken() as f64 <= map.table().slots() as f64 * load,
                        "{} of {}",
                        map.table().taken(),
                        map.table().slots()
                    );
                    map.shrink_to_fit().unwrap();
                    equals(&map, &pairs(&keys));
                    let exact = config.clone().pairs(n).initial_memory_bytes::<K, V>(&engine.device).unwrap();
                    assert!(map.memory_bytes() <= exact, "{} bytes for {n} pairs, {exact} said", map.memory_bytes());
                }
                // Inserting keys one by one takes the same steps at every load, only more or fewer
                // of them.
                if n <= 300 && (load == 0.8 || is_thorough()) {
                    let mut map = create::<_, K, V>(&engine.device, &config);
                    keys.iter().for_each(|&key| drop(map.replace_many(&[key], &values(&[key])).unwrap()));
                    equals(&map, &pairs(&keys));
                }
            }
        }
    }
}

#[parameterized(each_width)]
fn a_map_has_room_for_the_pairs_that_it_was_made_for<K: Key, V: Value>() {
    let engine = linear_engines::<K, V>().next().expect("the CPU can");
    // The host computes the count of slots, so every size is tried on the CPU, and some under a
    // GPU's tools.
    let sizes = || (1..600).step_by(if only_cuda() { 37 } else { 1 });
    for load in [0.29, 0.35, 0.99, 0.8, 0.5, 0.05] {
        for (config, n) in configs().into_iter().flat_map(|config| sizes().map(move |n| (config.clone(), n))) {
            let config = config.load(load).pairs(n);
            let keys: Vec<K> = distinct_keys(n, 3);
            for mut map in [create::<_, K, V>(&engine.device, &config), create(&engine.device, &config.clone().fixed())]
            {
                let constants = (map.table().layout().a, map.table().slots());
                let new = map.insert_many(&keys, &values(&keys));
                assert_eq!(new, Ok(n), "{n} pairs at load {load} in {} slots", map.table().slots());
                assert_eq!((map.table().layout().a, map.table().slots()), constants, "{n} pairs at load {load}");
            }
        }
    }
}

/// Checks that operations on present keys need no spare capacity: a map at its full load keeps its
/// size.
#[parameterized]
fn giving_present_keys_other_values_makes_no_map_grow(device: &Device) {
    let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(200).seed(4).create(device).unwrap();
    let keys: Vec<u32> = distinct_keys(200, 3);
    map.insert_many(&keys, &keys).unwrap();
    let (slots, others): (u64, Vec<u32>) = (map.table().slots(), keys.iter().map(|key| !key).collect());
    assert_eq!(map.insert_many(&keys, &others).unwrap(), 0);
    assert_eq!(map.get_or_insert_many(&keys, &keys).unwrap(), others);
    let batch: Vec<LinearOperation<u32, u32>> = keys.iter().map(|&key| LinearOperation::Insert(key, key)).collect();
    let before: Vec<Option<u32>> = others.iter().copied().map(Some).collect();
    assert_eq!(map.apply_many(&batch).unwrap(), before);
    assert_eq!((map.len(), map.table().slots()), (200, slots));
    assert_eq!(map.get_many(&keys).unwrap(), keys.iter().copied().map(Some).collect::<Vec<_>>());
}
