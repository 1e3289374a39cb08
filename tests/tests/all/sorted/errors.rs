//! Every error that a user of the sorted map can cause, on every engine: its figures, its advice,
//! and the map's state afterwards.
//!
//! `sorted/faults.rs` tests device failures.

use warpnest::error::InputError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, SortedConfig, SortedMap};
use warpnest_tests::built::errors;
use warpnest_tests::maps::holds;
use warpnest_tests::{assert_lengths, assert_wrong_device, distinct_keys, elsewhere, parameterized, says, values};

fn default() -> SortedConfig {
    SortedConfig::default()
}

warpnest_tests::tests_of! { errors:
    inputs_whose_lengths_differ_are_refused_with_both_lengths(default(), default().assume_unique());
    what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(default());
}

#[test]
fn more_pairs_than_a_map_can_have_are_refused() {
    let limit = u32::MAX as u64;
    for config in [default(), default().assume_unique()] {
        assert!(
            config.memory_bytes::<u32, u32>(limit as usize).is_ok()
                && config.scratch_bytes::<u64, u64>(limit as usize).is_ok()
        );
        errors::more_pairs_than_a_map_can_have_are_refused(&config, limit);
    }
}

/// Checks the bytes a pair: 8 and 4/15 for 32-bit keys and values. The scratch of the build takes
/// about the same again.
#[test]
fn the_memory_of_large_maps() {
    for pairs in [1 << 27, 1u64 << 31] {
        let index = pairs / 15;
        let bytes = default().memory_bytes::<u32, u32>(pairs as usize).unwrap();
        assert!(bytes.abs_diff((8 * pairs + 4 * index) as usize) < 1000, "{bytes}");
        let bytes = default().memory_bytes::<u64, u32>(pairs as usize).unwrap();
        assert!(bytes.abs_diff((12 * pairs + 8 * index) as usize) < 2000, "{bytes}");
        let scratch = default().scratch_bytes::<u32, u32>(pairs as usize).unwrap();
        assert!(scratch > (8 * pairs) as usize && scratch < (9 * pairs) as usize, "{scratch}");
        assert!(default().assume_unique().scratch_bytes::<u32, u32>(pairs as usize).unwrap() < scratch);
    }
}

#[parameterized]
fn bounds_ranges_and_pairs_go_to_buffers_of_their_number_only(device: &Device) {
    let stream = device.default_stream();
    let map = default().build(device, &[1u64, 2, 3], &[1u32, 2, 3]).unwrap();
    let queries = Buffer::from_slice(device, &[5u64, 6, 7, 8]).unwrap();
    let few = Buffer::from_slice(device, &[5u64]).unwrap();
    for capacity in [0, 3, 5] {
        let mut ranks = Buffer::zeroed(device, capacity).unwrap();
        let error = map.lower_bound_many_into(stream, &queries, &mut ranks).unwrap_err();
        assert_lengths(error, ("the queries", 4), ("the ranks", capacity as u64));
        let error = map.upper_bound_many_into(stream, &queries, &mut ranks).unwrap_err();
        assert_lengths(error, ("the queries", 4), ("the ranks", capacity as u64));
        let error = map.count_ranges_many_into(stream, &queries, &queries, &mut ranks).unwrap_err();
        assert_lengths(error, ("the ranges", 4), ("the counts", capacity as u64));
        let error = map.count_ranges_many_into(stream, &queries, &few, &mut ranks).unwrap_err();
        assert_lengths(error, ("the starts", 4), ("the ends", 1));
    }
    for (capacity, values_capacity, what, found) in
        [(2, 3, "the keys", 2), (4, 3, "the keys", 4), (3, 2, "the values", 2), (3, 0, "the values", 0)]
    {
        let (mut keys, mut values) =
            (Buffer::zeroed(device, capacity).unwrap(), Buffer::zeroed(device, values_capacity).unwrap());
        let error = map.pairs_into(stream, &mut keys, &mut values).unwrap_err();
        assert_lengths(error, ("the map", 3), (what, found));
        let error = map.pairs_at_into(stream, 0..3, &mut keys, &mut values).unwrap_err();
        assert_lengths(error, ("the ranks", 3), (what, found));
    }
    holds(&map, &[1, 2, 3], &[1, 2, 3]);
}

#[parameterized]
fn ranks_that_the_map_does_not_have_are_refused(device: &Device) {
    let stream = device.default_stream();
    let map = SortedMap::build(device, &[1u32, 2, 3], &[1u64, 2, 3]).unwrap();
    let (mut keys, mut values) = (Buffer::zeroed(device, 1).unwrap(), Buffer::zeroed(device, 1).unwrap());
    for (start, end) in [(3, 4), (0, 4), (2, 1), (4, 3), (u32::MAX, 0), (u32::MAX - 1, u32::MAX)] {
        let error = map.pairs_at_into(stream, start..end, &mut keys, &mut values).unwrap_err();
        assert_eq!(error, Error::Input(InputError::Ranks { start, end, length: 3 }));
        says(&error, &[&format!("{start}..{end}"), "0..3", "`range`"]);
    }
    assert_eq!((keys.download(stream).unwrap(), values.download(stream).unwrap()), (vec![0], vec![0]));
    for (start, end) in [(3, 4), (2, 1), (u32::MAX, 0)] {
        let error = Error::Input(InputError::Ranks { start, end, length: 3 });
        assert_eq!(map.pairs_at(start..end).unwrap_err(), error);
        assert_eq!(map.pairs_at_on(stream, start..end).unwrap_err(), error);
    }
    assert_eq!((map.pairs_at(3..3).unwrap(), map.pairs_at(2..3).unwrap()), (vec![], vec![(3, 3)]));
    map.pairs_at_into(stream, 2..3, &mut keys, &mut values).unwrap();
    assert_eq!((keys.download(stream).unwrap(), values.download(stream).unwrap()), (vec![3], vec![3]));
}

#[parameterized(<u32, u32>, <u64, u64>)]
fn bounds_ranges_pairs_do_not_go_to_another_device<K: Key, V: Value>(here: &Device) {
    let there = &elsewhere();
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    let (keys, values): (Vec<K>, Vec<V>) = (distinct_keys(100, 3), values(100));
    let map = default().build(here, &keys, &values).unwrap();
    let report = map.report().clone();
    let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
    let (mut ranks, mut their_ranks) = (Buffer::zeroed(here, 100).unwrap(), Buffer::zeroed(there, 100).unwrap());
    let is_there = |error| assert_wrong_device(error, "a buffer", there, here);
    let is_here = |error| assert_wrong_device(error, "a buffer", here, there);
    is_there(map.lower_bound_many_into(stream, &theirs, &mut ranks).unwrap_err());
    is_there(map.upper_bound_many_into(stream, &ours, &mut their_ranks).unwrap_err());
    is_here(map.lower_bound_many_into(foreign, &ours, &mut ranks).unwrap_err());
    is_there(map.count_ranges_many_into(stream, &ours, &theirs, &mut ranks).unwrap_err());
    is_there(map.count_ranges_many_into(stream, &ours, &ours, &mut their_ranks).unwrap_err());
    let (mut keys_out, mut values_out) = (Buffer::zeroed(there, 100).unwrap(), Buffer::zeroed(here, 100).unwrap());
    is_there(map.pairs_into(stream, &mut keys_out, &mut values_out).unwrap_err());
    is_there(map.pairs_at_into(stream, 0..100, &mut keys_out, &mut values_out).unwrap_err());
    let (mut our_keys, mut their_values) = (Buffer::zeroed(here, 100).unwrap(), Buffer::zeroed(there, 100).unwrap());
    is_there(map.pairs_at_into(stream, 0..100, &mut our_keys, &mut their_values).unwrap_err());
    assert_eq!(our_keys.download(stream).unwrap(), [K::default(); 100]);
    assert_eq!(keys_out.download(foreign).unwrap(), [K::default(); 100]);
    assert_eq!(their_ranks.download(foreign).unwrap(), [0; 100]);
    assert_eq!(ranks.download(stream).unwrap(), [0; 100]);
    holds(&map, &keys, &values);
    assert_eq!((map.report(), map.device().name()), (&report, here.name()));
}

#[test]
fn a_configuration_can_be_shown_and_compared() {
    let config = SortedConfig::default();
    for other in [config.clone().assume_unique(), config.clone().timings()] {
        assert!(other != config && format!("{other:?}") != format!("{config:?}"));
    }
}
