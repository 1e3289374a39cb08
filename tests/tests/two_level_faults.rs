//! Failures of the device in the midst of a two-level build, and the memory that builds take: what a map is afterwards, and
//! that no byte is taken beyond what was said.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use warpnest::{Buffer, Error, Key, TwoLevelConfig, TwoLevelMap, Value};
use warpnest_tests::{counting, distinct_keys, faulty};

fn small() -> TwoLevelConfig {
    TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(2)
}

/// Fails unless the map has each key's last value and nothing else.
fn holds<K: Key, V: Value>(map: &TwoLevelMap<K, V>, keys: &[K], values: &[V]) {
    let last: std::collections::HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
    let expected: Vec<Option<V>> = keys.iter().map(|key| last.get(key).copied()).collect();
    assert_eq!(map.get_many(keys).unwrap(), expected);
    assert_eq!((map.len(), map.to_pairs().unwrap().len()), (last.len() as u64, last.len()));
}

fn is_empty<K: Key, V: Value>(map: &TwoLevelMap<K, V>, once: &[K], after: &str) {
    assert_eq!(map.get_many(once).unwrap(), vec![None; once.len()], "after {after}");
    assert_eq!((map.len(), map.is_empty(), map.to_pairs().unwrap()), (0, true, vec![]), "after {after}");
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let (device, good_launches) = faulty();
    let stream = device.default_stream();
    let (old, mut new): (Vec<u32>, Vec<u32>) = (distinct_keys(100, 1), distinct_keys(300, 2));
    // Enough copies for the way through the sort, which has all the kernels; and the key with a cell of its own.
    new[100..200].fill(77);
    new[7] = u32::MAX;
    let new_values: Vec<u64> = (0..300).collect();
    let (keys, values) =
        (Buffer::from_slice(&device, &new).unwrap(), Buffer::from_slice(&device, &new_values).unwrap());
    let mut kernels: Vec<String> = Vec::new();
    for good in 0.. {
        good_launches.store(u32::MAX, Relaxed);
        let mut map = small().build(&device, &old, &[5u64; 100]).unwrap();
        let report = map.report().clone();
        good_launches.store(good, Relaxed);
        let rebuilt = map.rebuild(stream, &keys, &values);
        good_launches.store(u32::MAX, Relaxed);
        if let Err(error) = &rebuilt {
            let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
            let once: Vec<u32> = old.iter().chain(&new).copied().collect();
            is_empty(&map, &once, kernel);
            assert_eq!(map.report(), &report, "after {kernel} failed");
            map.rebuild(stream, &keys, &values).unwrap();
            kernels.push(kernel.clone());
        }
        holds(&map, &new, &new_values);
        assert!(map.report().sorted);
        if rebuilt.is_ok() {
            break;
        }
    }
    // Two attempts that overflow, the sort, and one that succeeds.
    let times = |name: &str| kernels.iter().filter(|kernel| kernel.starts_with(name)).count();
    assert_eq!(["two_level_starts", "two_level_build"].map(times), [3, 3], "{kernels:?}");
    assert_eq!(["last_of_each", "compact"].map(times), [1, 2], "{kernels:?}");
    assert_eq!(["radix_histogram", "scan", "radix_partition"].map(times), [4, 4, 3 + 4], "{kernels:?}");
}

#[test]
fn whichever_allocation_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let old: Vec<u64> = distinct_keys(100, 1);
    let unique: Vec<u64> = distinct_keys(3000, 2);
    let mut copied = unique.clone();
    copied[100..500].fill(u64::MAX);
    for (keys, least) in [(&unique, 3), (&copied, 8)] {
        let values: Vec<u64> = (0..3000).collect();
        let (on_device, device_values) =
            (Buffer::from_slice(&device, keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
        let mut failed = 0;
        for good in 0.. {
            let mut map = small().build(&device, &old, &old).unwrap();
            counts.allocations.store(good, Relaxed);
            let rebuilt = map.rebuild(stream, &on_device, &device_values);
            counts.allocations.store(u32::MAX, Relaxed);
            if let Err(error) = &rebuilt {
                assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
                let once: Vec<u64> = old.iter().chain(keys).copied().collect();
                is_empty(&map, &once, &format!("{good} good allocations"));
                map.rebuild(stream, &on_device, &device_values).unwrap();
                failed += 1;
            }
            holds(&map, keys, &values);
            if rebuilt.is_ok() {
                break;
            }
        }
        assert!(failed >= least, "only {failed} allocations");
        assert_eq!(small().build::<u64, u64>(&device, &old, &old).unwrap().len(), 100);
    }
}

fn memory_is_as_said<K: Key, V: Value>(config: &TwoLevelConfig, pairs: usize) {
    let (device, counts) = counting();
    let (stream, n) = (device.default_stream(), pairs as u64);
    let keys = Buffer::from_slice(&device, &distinct_keys::<K>(pairs, 4)).unwrap();
    let values = Buffer::<V>::zeroed(&device, pairs).unwrap();
    let input = counts.bytes.load(Relaxed);
    counts.most.store(0, Relaxed);
    let (memory, scratch) = (config.memory_bytes::<K, V>(n).unwrap(), config.scratch_bytes::<K, V>(n).unwrap());
    let mut map = config.build_on(stream, &device, &keys, &values).unwrap();
    let beside_input = |count: &AtomicU64| count.load(Relaxed) - input;
    // An allocation of fewer than 16 bytes takes 16.
    let most = (memory + scratch).abs_diff(beside_input(&counts.most));
    assert!(!map.report().sorted && most < 32, "{} bytes, {memory} + {scratch} said", beside_input(&counts.most));
    let kept = beside_input(&counts.bytes);
    assert!(map.memory_bytes() == memory && kept.abs_diff(memory) < 16, "{kept} bytes kept, {memory} said");

    map.rebuild(stream, &keys, &values).unwrap();
    let kept = beside_input(&counts.bytes);
    assert!(kept.abs_diff(memory + scratch) < 32, "{kept} bytes kept after a rebuild, {memory} + {scratch} said");
    assert_eq!(map.memory_bytes(), memory);
    map.shrink_to_fit();
    assert!(beside_input(&counts.bytes).abs_diff(memory) < 16);
    drop(map);
    assert_eq!(beside_input(&counts.bytes), 0);
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_the_maps_part_of_it() {
    for pairs in [0, 1, 2, 1000, 4097, 100_000] {
        for config in [TwoLevelConfig::default().seed(1), small(), small().items_per_bucket(20.0).assume_unique()] {
            memory_is_as_said::<u32, u32>(&config, pairs);
            memory_is_as_said::<u32, u64>(&config, pairs);
            memory_is_as_said::<u64, u32>(&config, pairs);
            memory_is_as_said::<u64, u64>(&config, pairs);
        }
    }
}

#[test]
fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let config = TwoLevelConfig::default().seed(1);
    let buffers = |n| {
        let keys: Vec<u32> = distinct_keys(n, n as u64);
        (keys.clone(), Buffer::from_slice(&device, &keys).unwrap())
    };
    let (large, many) = buffers(20_000);
    let (little, few) = buffers(700);
    let (_, more) = buffers(40_000);
    let mut map = config.build_on(stream, &device, &many, &many).unwrap();
    map.rebuild(stream, &many, &many).unwrap();
    // From here on nothing may be allocated.
    counts.allocations.store(0, Relaxed);
    for _ in 0..3 {
        map.rebuild(stream, &few, &few).unwrap();
        assert_eq!((map.buckets(), map.memory_bytes()), (2, config.memory_bytes::<u32, u32>(20_000).unwrap()));
        map.rebuild(stream, &many, &many).unwrap();
    }
    counts.allocations.store(u32::MAX, Relaxed);
    holds(&map, &large, &large);
    map.rebuild(stream, &few, &few).unwrap();
    holds(&map, &little, &little);
    map.rebuild(stream, &more, &more).unwrap();
    assert_eq!(map.memory_bytes(), config.memory_bytes::<u32, u32>(40_000).unwrap());
}
