//! Device failures during a sorted map's build, and the memory that builds take. The tests check
//! the state of the map afterwards, and that no memory is used beyond what was announced.

use std::sync::atomic::Ordering::Relaxed;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Error, SortedConfig, SortedMap};
use warpnest_tests::built::faults::{self, failing_allocations, failing_launches, memory_is_as_said, times};
use warpnest_tests::maps::holds;
use warpnest_tests::{counting, distinct_keys, faulty, only};

fn default() -> SortedConfig {
    SortedConfig::default()
}

/// Checks bounds and ranges; in an empty map they are all 0 or empty.
fn has_bounds<K: Key, V: Value>(map: &SortedMap<K, V>) {
    let all = map.len() as u32;
    assert_eq!(map.upper_bound_many(&[K::ALL_ONES, K::ALL_ONES]).unwrap(), [all, all]);
    assert_eq!(map.range(..).unwrap(), 0..all);
    assert_eq!(map.lower_bound_many(&[K::default()]).unwrap(), [0]);
    assert!(map.lower_bound_many(&[K::from_u64(77), K::ALL_ONES]).unwrap().iter().all(|&rank| rank <= all));
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let mut keys: Vec<u32> = distinct_keys(300, 2);
    keys[100..200].fill(77);
    let names = ["radix_histogram", "scan", "radix_partition", "last_of_each", "compact", "sorted_index"];
    let kernels = failing_launches(&default(), &keys, has_bounds);
    assert_eq!((times(&kernels, names), kernels.len()), ([1, 1, 4, 1, 2, 1], 10), "{kernels:?}");
    let unique: Vec<u32> = distinct_keys(300, 2);
    let kernels = failing_launches(&default().assume_unique(), &unique, has_bounds);
    assert_eq!((times(&kernels, names), kernels.len()), ([1, 1, 4, 0, 0, 1], 7), "{kernels:?}");
}

#[test]
fn whichever_allocation_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let mut keys: Vec<u64> = distinct_keys(3000, 2);
    let failed = failing_allocations(&default().assume_unique(), &keys, has_bounds);
    // Keys and values have a small allocation each, then come keys, values and scratch.
    assert_eq!(failed, 5);
    keys[100..500].fill(u64::MAX);
    assert_eq!(failing_allocations(&default(), &keys, has_bounds), 5);
}

#[test]
fn whichever_allocation_of_another_operation_fails_nothing_is_left_of_it() {
    let (device, counts) = counting();
    let keys: Vec<u32> = distinct_keys(300, 2);
    let map = default().build(&device, &keys, &keys).unwrap();
    let before = counts.bytes.load(Relaxed);
    type Work<'w> = &'w dyn Fn() -> Result<(), Error>;
    let ranges: Vec<_> = keys.iter().map(|&key| key..u32::MAX).collect();
    let does: [(Work<'_>, u32); 9] = [
        (&|| default().build(&device, &keys, &keys).map(drop), 5),
        (&|| map.try_clone().map(drop), 2),
        (&|| map.to_pairs().map(drop), 2),
        (&|| map.get_many(&keys).map(drop), 3),
        (&|| map.contains_many(&keys).map(drop), 2),
        (&|| map.upper_bound_many(&keys).map(drop), 2),
        (&|| map.range(5..7).map(drop), 2),
        (&|| map.range_pairs(5..7).map(drop), 4),
        (&|| map.count_ranges_many(&ranges).map(drop), 3),
    ];
    for (number, (work, allocations)) in does.into_iter().enumerate() {
        for good in 0..=allocations {
            let done = only(&counts.allocations, good, work);
            assert_eq!(counts.bytes.load(Relaxed), before, "work {number} with {good} good allocations");
            match done {
                Ok(()) => assert_eq!(good, allocations, "work {number}"),
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }) && good < allocations, "{error}"),
            }
        }
    }
    holds(&map, &keys, &keys);
}

/// Checks that a call on buffers makes at most one launch and allocates nothing.
#[test]
fn work_on_buffers_allocates_nothing_and_leaves_the_map_alone_if_it_fails() {
    let (device, counts) = counting();
    let keys: Vec<u64> = distinct_keys(1000, 2);
    let map = default().build(&device, &keys, &keys).unwrap();
    let stream = device.default_stream();
    let queries = Buffer::from_slice(&device, &keys).unwrap();
    let mut ranks = Buffer::zeroed(&device, 1000).unwrap();
    let (mut keys_out, mut values_out) =
        (Buffer::zeroed(&device, 1000).unwrap(), Buffer::zeroed(&device, 1000).unwrap());
    only(&counts.allocations, 0, || {
        map.lower_bound_many_into(stream, &queries, &mut ranks).unwrap();
        map.upper_bound_many_into(stream, &queries, &mut ranks).unwrap();
        map.count_ranges_many_into(stream, &queries, &queries, &mut ranks).unwrap();
        map.pairs_into(stream, &mut keys_out, &mut values_out).unwrap();
    });

    let (device, launches) = faulty();
    let map = default().build(&device, &keys, &keys).unwrap();
    let failed = |error| matches!(error, Error::Kernel { .. });
    only(&launches, 0, || assert!(failed(map.lower_bound_many(&keys).unwrap_err())));
    only(&launches, 0, || assert!(failed(map.range(1..).unwrap_err())));
    only(&launches, 0, || assert!(failed(map.count_ranges_many(&[1..2, 5..9]).unwrap_err())));
    only(&launches, 0, || assert!(failed(map.get_many(&keys).unwrap_err())));
    holds(&map, &keys, &keys);
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_the_maps_part_of_it() {
    for pairs in [0, 1, 2, 15, 16, 255, 256, 1000, 4097, 100_000] {
        for config in [default(), default().assume_unique()] {
            memory_is_as_said(&config, pairs, |report| assert_eq!(report.repeats, 0));
        }
    }
}

#[test]
fn a_clone_takes_as_much_as_the_map_without_its_scratch() {
    for pairs in [0, 1, 2, 300, 4097] {
        faults::a_clone_takes_as_much_as_the_map_without_its_scratch(&default(), pairs, 0);
    }
}

#[test]
fn rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs() {
    for config in [default(), default().assume_unique()] {
        faults::rebuilds_use_the_memory_that_there_is_and_take_more_only_for_more_pairs(&config, |_| {});
    }
}
