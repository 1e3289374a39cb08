//! Batches of a linear map on the CPU engine, with one thread that has the table for itself and
//! with several threads at once.

use std::collections::HashMap;
use warpnest::linear::LinearOperation::{self, Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, LinearConfig, LinearMap};
use warpnest_tests::changing::values;
use warpnest_tests::linear_checker::{check_answers, check_linear_map};
use warpnest_tests::maps::equals;
use warpnest_tests::{distinct_keys, in_all_widths};

/// Runs `test` with `threads` threads of the CPU engine.
fn with_threads(threads: usize, test: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(test);
}

/// Makes `n` keys: two extreme keys and others. Every third key is a copy of an earlier one.
fn keys<K: Key>(n: usize, seed: u64) -> Vec<K> {
    let mut keys: Vec<K> = [K::ALL_ONES, K::from_u64(0)].into_iter().chain(distinct_keys(n, seed)).take(n).collect();
    for i in (2..n).step_by(3) {
        keys[i] = keys[(i * 7 + 1) % i];
    }
    keys
}

/// Runs a batch by `run`. Fails unless some order of its operations gives its answers and the final
/// pairs.
fn checked<K: Key, V: Value>(
    map: &mut LinearMap<K, V>,
    operations: impl Iterator<Item = LinearOperation<K, V>>,
    run: impl FnOnce(&mut LinearMap<K, V>) -> Vec<Option<V>>,
) {
    let before = check_linear_map(map).unwrap().pairs;
    let answers = run(map);
    let after = check_linear_map(map).unwrap().pairs;
    check_answers(&before, operations.zip(answers), &after).unwrap();
}

/// Runs batches of all kinds with `n` keys each.
fn batches<K: Key, V: Value>(config: &LinearConfig, n: usize) {
    let mut map: LinearMap<K, V> = config.create(&Device::cpu()).unwrap();
    let (first, second) = (keys::<K>(n, 3), keys::<K>(n, 4));
    let (own, other): (Vec<V>, Vec<V>) = (values(&first), values(&second));
    let both: Vec<K> = first.iter().zip(&second).flat_map(|(&a, &b)| [a, b]).collect();
    let distinct = first.iter().collect::<std::collections::HashSet<_>>().len();
    assert_eq!(map.insert_many(&first, &own), Ok(distinct));
    equals(&map, &first.iter().copied().zip(own.iter().copied()).collect());

    let get = |map: &mut LinearMap<K, V>| {
        let answers = map.get_many(&both).unwrap();
        assert_eq!(map.contains_many(&both).unwrap(), answers.iter().map(Option::is_some).collect::<Vec<_>>());
        answers
    };
    checked(&mut map, both.iter().map(|&key| Get(key)), get);
    // Most keys are present. With little spare capacity, requests for slots are counted.
    let (new, late): (Vec<K>, Vec<V>) = (both.clone(), values(&both));
    let insert = new.iter().zip(&late).map(|(&key, &value)| Insert(key, value));
    checked(&mut map, insert, |map| map.replace_many(&new, &late).unwrap());
    checked(&mut map, first.iter().map(|&key| Remove(key)), |map| map.remove_many(&first).unwrap());
    checked(&mut map, both.iter().map(|&key| Get(key)), get);
    // Slots of removed keys are reused.
    let get_or_insert = first.iter().zip(&other).map(|(&key, &value)| GetOrInsert(key, value));
    checked(&mut map, get_or_insert, |map| {
        let before = map.contains_many(&first).unwrap();
        let answers = map.get_or_insert_many(&first, &other).unwrap();
        let mut new = std::collections::HashSet::new();
        let old = |(i, value)| (before[i] || !new.insert(first[i])).then_some(value);
        answers.into_iter().enumerate().map(old).collect()
    });
    let left = map.len();
    assert_eq!(map.erase_many(&both), Ok(left));
    equals(&map, &HashMap::new());
    check_linear_map(&map).unwrap();
}

fn configs() -> impl Iterator<Item = LinearConfig> {
    let config = LinearConfig::default().seed(7);
    [config.clone(), config.clone().load(0.99), config.load(0.9).linear_probing()].into_iter()
}

#[test]
fn batches_of_every_size_around_the_groups_of_a_thread() {
    fn with<K: Key, V: Value>() {
        for config in configs() {
            for n in [1, 2, 3, 31, 32, 33, 63, 64, 65, 95, 96, 97, 255, 256, 257, 1000] {
                batches::<K, V>(&config, n);
                // With enough capacity from the beginning, the code takes another path to the same
                // map.
                batches::<K, V>(&config.clone().pairs(3 * n), n);
            }
        }
    }
    with_threads(1, || {
        in_all_widths!(with());
    });
}

#[test]
fn large_batches_of_one_thread_and_of_several() {
    fn with<K: Key, V: Value>() {
        configs().for_each(|config| batches::<K, V>(&config, 20_001));
    }
    with_threads(1, || {
        in_all_widths!(with());
    });
    // With four threads, such batches are divided among them.
    with_threads(4, || {
        in_all_widths!(with());
    });
}

#[test]
fn all_keys_of_a_batch_are_one() {
    fn with<K: Key, V: Value>() {
        for (n, key) in [0, 5, u64::MAX].into_iter().flat_map(|key| [1, 32, 100, 17_000].map(|n| (n, key))) {
            let mut map: LinearMap<K, V> = LinearConfig::default().create(&Device::cpu()).unwrap();
            let (keys, values) = (vec![K::from_u64(key); n], values::<K, V>(&distinct_keys(n, 9)));
            for _ in 0..2 {
                assert_eq!(map.insert_many(&keys, &values), Ok(1));
                let value = map.get(keys[0]).unwrap();
                assert!(values.contains(&value.unwrap()));
                assert_eq!(map.get_many(&keys).unwrap(), vec![value; n]);
                let removed = map.remove_many(&keys).unwrap();
                assert_eq!(removed.iter().flatten().collect::<Vec<_>>(), [&value.unwrap()]);
                assert_eq!(map.contains_many(&keys).unwrap(), vec![false; n]);
                check_linear_map(&map).unwrap();
            }
        }
    }
    with_threads(1, || {
        in_all_widths!(with());
    });
    // With four threads, such batches are divided among them.
    with_threads(4, || {
        in_all_widths!(with());
    });
}

#[test]
fn a_map_on_cores_is_half_full_unless_another_load_is_asked_for() {
    let device = Device::cpu();
    for (config, load) in [(LinearConfig::default(), 0.5), (LinearConfig::default().load(0.8), 0.8)] {
        let config = config.pairs(10_000);
        let map = config.create::<u32, u32>(&device).unwrap();
        assert_eq!(map.memory_bytes(), config.initial_memory_bytes::<u32, u32>(&device).unwrap());
        let slots = map.table().slots() as f64;
        assert!(slots * load >= 10_000.0 && slots * load < 10_500.0, "{slots} slots at load {load}");
        // A file records whether a load was requested.
        let mut file = Vec::new();
        map.save(&mut file).unwrap();
        let mut read = LinearMap::<u32, u32>::load(&device, &file[..]).unwrap();
        let keys: Vec<u32> = distinct_keys(11_000, 1);
        read.insert_many(&keys, &keys).unwrap();
        assert!(read.table().slots() as f64 * load >= 11_000.0, "{} slots at load {load}", read.table().slots());
    }
}
