//! Failures of the device in the midst of a page map's build, and the memory that builds take: what a map is afterwards, and
//! that no byte is taken beyond what was said.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use warpnest::{Buffer, Error, Key, PageConfig, PageMap, Value};
use warpnest_tests::maps::holds;
use warpnest_tests::{counting, distinct_keys, faulty};

fn default() -> PageConfig {
    PageConfig::default().seed(2)
}

/// Four pages for 300 pairs: so that there is a split, whose bins overflow if most of the pairs have one key.
fn split() -> PageConfig {
    default().load(300.0 * 8.0 / (6.0 * 300.0 * 32.0))
}

/// So many pages for few pairs that there are two splits.
fn split_twice() -> PageConfig {
    default().load(300.0 * 8.0 / (800_000.0 * 32.0))
}

fn is_empty<K: Key, V: Value>(map: &PageMap<K, V>, once: &[K], after: &str) {
    holds(map, &[], &[]);
    assert_eq!(map.get_many(once).unwrap(), vec![None; once.len()], "after {after}");
    assert_eq!(map.contains_many(once).unwrap(), vec![false; once.len()], "after {after}");
    assert_eq!((map.len(), map.is_empty(), map.to_pairs().unwrap()), (0, true, vec![]), "after {after}");
}

/// Lets each launch of a rebuild fail once; gives the kernels that did.
fn failing_launches(config: &PageConfig, new: &[u32], counted: bool) -> Vec<String> {
    let (device, good_launches) = faulty();
    let stream = device.default_stream();
    let old: Vec<u32> = distinct_keys(100, 1);
    let new_values: Vec<u64> = (0..new.len() as u64).collect();
    let keys = Buffer::from_slice(&device, new).unwrap();
    let values = Buffer::from_slice(&device, &new_values).unwrap();
    let mut kernels: Vec<String> = Vec::new();
    let mut map = config.build(&device, &old, &[5u64; 100]).unwrap();
    let (old_keys, old_values) =
        (Buffer::from_slice(&device, &old).unwrap(), Buffer::from_slice(&device, &[5u64; 100]).unwrap());
    for good in 0.. {
        map.rebuild(stream, &old_keys, &old_values).unwrap();
        let report = map.report().clone();
        good_launches.store(good, Relaxed);
        let rebuilt = map.rebuild(stream, &keys, &values);
        good_launches.store(u32::MAX, Relaxed);
        if let Err(error) = &rebuilt {
            let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
            let once: Vec<u32> = old.iter().chain(new).copied().collect();
            is_empty(&map, &once, kernel);
            assert_eq!(map.report(), &report, "after {kernel} failed");
            map.rebuild(stream, &keys, &values).unwrap();
            kernels.push(kernel.clone());
        }
        holds(&map, new, &new_values);
        assert_eq!(map.report().counted, counted);
        if rebuilt.is_ok() {
            break;
        }
    }
    kernels
}

/// How many of the kernels have these names.
fn times<const N: usize>(kernels: &[String], names: [&str; N]) -> [usize; N] {
    names.map(|name| kernels.iter().filter(|kernel| kernel.starts_with(name)).count())
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let names = ["page_split", "page_build", "radix_partition", "two_level_starts"];
    let keys: Vec<u32> = distinct_keys(300, 2);
    let kernels = failing_launches(&default(), &keys, false);
    assert_eq!((times(&kernels, names), kernels.len()), ([0, 1, 0, 0], 1), "{kernels:?}");
    for config in [split(), split().assume_unique()] {
        let kernels = failing_launches(&config, &keys, false);
        assert_eq!((times(&kernels, names), kernels.len()), ([1, 1, 0, 0], 2), "{kernels:?}");
    }
    // Copies that overflow a bin: then all is counted, ordered and built.
    let mut copies = keys.clone();
    copies[20..280].fill(77);
    let kernels = failing_launches(&split(), &copies, true);
    assert_eq!(times(&kernels, names), [1, 2, 1, 1], "{kernels:?}");
    assert!(times(&kernels, ["radix_histogram", "scan"]).iter().all(|&times| times > 0), "{kernels:?}");
}

#[test]
fn whichever_launch_of_a_rebuild_with_two_splits_fails_the_map_is_empty() {
    let keys: Vec<u32> = distinct_keys(300, 2);
    let kernels = failing_launches(&split_twice(), &keys, false);
    assert_eq!((times(&kernels, ["page_split", "page_build"]), kernels.len()), ([2, 1], 3), "{kernels:?}");
}

#[test]
fn whichever_allocation_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let old: Vec<u64> = distinct_keys(100, 1);
    let unique: Vec<u64> = distinct_keys(3000, 2);
    let mut copied = unique.clone();
    copied[..2500].fill(u64::MAX);
    let several = default().load(3000.0 * 16.0 / (4.0 * 300.0 * 64.0));
    for (config, keys, counted, least) in [
        (default().load(1.0), &unique, false, 2),
        (several.clone(), &unique, false, 2),
        (several.clone().assume_unique(), &unique, false, 2),
        (several, &copied, true, 3),
    ] {
        let values: Vec<u64> = (0..3000).collect();
        let (on_device, device_values) =
            (Buffer::from_slice(&device, keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
        let mut failed = 0;
        for good in 0.. {
            let mut map = config.build(&device, &old, &old).unwrap();
            let report = map.report().clone();
            counts.allocations.store(good, Relaxed);
            let rebuilt = map.rebuild(stream, &on_device, &device_values);
            counts.allocations.store(u32::MAX, Relaxed);
            if let Err(error) = &rebuilt {
                assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
                let once: Vec<u64> = old.iter().chain(keys).copied().collect();
                is_empty(&map, &once, &format!("{good} good allocations"));
                assert_eq!(map.report(), &report);
                map.rebuild(stream, &on_device, &device_values).unwrap();
                failed += 1;
            }
            holds(&map, keys, &values);
            assert_eq!(map.report().counted, counted, "{:?}", map.report());
            if rebuilt.is_ok() {
                break;
            }
        }
        assert!(failed >= least, "only {failed} allocations");
    }
}

#[test]
fn whichever_allocation_of_a_build_or_a_clone_or_of_writing_pairs_fails_nothing_is_left_of_it() {
    let (device, counts) = counting();
    let keys: Vec<u32> = distinct_keys(300, 2);
    let map = split().build(&device, &keys, &keys).unwrap();
    let before = counts.bytes.load(Relaxed);
    let stream = device.default_stream();
    type Work<'w> = &'w dyn Fn() -> Result<(), Error>;
    let does: [(Work<'_>, u32); 5] = [
        (&|| split().build(&device, &keys, &keys).map(drop), 4),
        (&|| map.try_clone(stream).map(drop), 1),
        (&|| map.to_pairs().map(drop), 3),
        (&|| map.get_many(&keys).map(drop), 3),
        (&|| map.contains_many(&keys).map(drop), 2),
    ];
    for (number, (work, least)) in does.into_iter().enumerate() {
        for good in 0.. {
            counts.allocations.store(good, Relaxed);
            let done = work();
            counts.allocations.store(u32::MAX, Relaxed);
            assert_eq!(counts.bytes.load(Relaxed), before, "work {number} with {good} good allocations");
            match done {
                Ok(()) => {
                    assert!(good >= least, "work {number}: only {good} allocations");
                    break;
                }
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{error}"),
            }
        }
    }
    holds(&map, &keys, &keys);
}

fn memory_is_as_said<K: Key, V: Value>(config: &PageConfig, pairs: usize) {
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
    assert!(!map.report().counted && most < 32, "{} bytes, {memory} + {scratch} said", beside_input(&counts.most));
    let kept = beside_input(&counts.bytes);
    assert!(map.memory_bytes() == memory && kept.abs_diff(memory) < 32, "{kept} bytes kept, {memory} said");

    map.rebuild(stream, &keys, &values).unwrap();
    let kept = beside_input(&counts.bytes);
    assert!(kept.abs_diff(memory + scratch) < 32, "{kept} bytes kept after a rebuild, {memory} + {scratch} said");
    assert_eq!(map.memory_bytes(), memory);
    assert!(beside_input(&counts.most).abs_diff(memory + scratch) < 32, "the rebuild took more");
    // A clone is the map without the scratch.
    let clone = map.try_clone(stream).unwrap();
    assert!((beside_input(&counts.bytes) - kept).abs_diff(memory) < 32 && clone.memory_bytes() == memory);
    drop(clone);
    map.shrink_to_fit();
    assert!(beside_input(&counts.bytes).abs_diff(memory) < 32);
    drop(map);
    assert_eq!(beside_input(&counts.bytes), 0);
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_the_maps_part_of_it() {
    for pairs in [0, 1, 2, 300, 1000, 4097, 100_000] {
        for config in [default(), default().assume_unique(), default().load(0.1), default().load(1.0)] {
            memory_is_as_said::<u32, u32>(&config, pairs);
            memory_is_as_said::<u32, u64>(&config, pairs);
            memory_is_as_said::<u64, u32>(&config, pairs);
            memory_is_as_said::<u64, u64>(&config, pairs);
        }
    }
    // Two splits, the first of which may write to the table's memory.
    memory_is_as_said::<u32, u32>(&split_twice(), 300);
    memory_is_as_said::<u64, u32>(&default().load(0.02).assume_unique(), 50_000);
}

/// A build that counts takes more, but no more than the primitives that it is made of: counters, starts and published words.
#[test]
fn a_build_that_counts_takes_little_more_memory_than_was_said() {
    let (device, counts) = counting();
    let n = 300_000;
    let mut keys: Vec<u32> = distinct_keys(n, 4);
    keys.iter_mut().step_by(400).for_each(|key| *key = 7);
    let config = default();
    let on_device = Buffer::from_slice(&device, &keys).unwrap();
    let input = counts.bytes.load(Relaxed);
    let map = config.build_on(device.default_stream(), &device, &on_device, &on_device).unwrap();
    assert!(map.report().counted, "{:?}", map.report());
    let said = config.memory_bytes::<u32, u32>(n as u64).unwrap() + config.scratch_bytes::<u32, u32>(n as u64).unwrap();
    let most = counts.most.load(Relaxed) - input;
    assert!(most > said && most < said + said / 2, "{most} bytes, {said} said");
    assert_eq!(map.memory_bytes(), config.memory_bytes::<u32, u32>(n as u64).unwrap());
    holds(&map, &keys, &keys);
}

#[test]
fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let buffers = |n| {
        let keys: Vec<u32> = distinct_keys(n, n as u64);
        (keys.clone(), Buffer::from_slice(&device, &keys).unwrap())
    };
    let (large, many) = buffers(20_000);
    let (little, few) = buffers(700);
    let (more_keys, more) = buffers(40_000);
    for config in [default(), default().assume_unique().load(0.1)] {
        let bytes = |n| config.memory_bytes::<u32, u32>(n).unwrap();
        let mut map = config.build_on(stream, &device, &many, &many).unwrap();
        map.rebuild(stream, &many, &many).unwrap();
        // From here on nothing may be allocated.
        counts.allocations.store(0, Relaxed);
        for _ in 0..3 {
            map.rebuild(stream, &few, &few).unwrap();
            assert_eq!((map.len(), map.memory_bytes()), (700, bytes(20_000)));
            map.rebuild(stream, &many, &many).unwrap();
        }
        counts.allocations.store(u32::MAX, Relaxed);
        holds(&map, &large, &large);
        map.rebuild(stream, &few, &few).unwrap();
        holds(&map, &little, &little);
        map.rebuild(stream, &more, &more).unwrap();
        assert_eq!(map.memory_bytes(), bytes(40_000));
        holds(&map, &more_keys, &more_keys);
    }
}
