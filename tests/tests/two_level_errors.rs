//! Every error that a user of the two-level map can cause, on every engine: its figures, its advice, and what is left behind.
//!
//! `two_level_restarts.rs` has the builds that fail, `two_level_faults.rs` the failures that come from the device.

use std::time::Duration;
use warpnest::Arithmetic::{Exact, Wrapping};
use warpnest::{Answers, Buffer, Device, Error, HashFamily, TwoLevelConfig, TwoLevelMap};
use warpnest_tests::{assert_lengths, assert_wrong_device, distinct_keys, elsewhere, on_all, says};

fn default() -> TwoLevelConfig {
    TwoLevelConfig::default().seed(5)
}

fn linear(prime: u32) -> HashFamily {
    HashFamily::Linear { prime, arithmetic: Exact }
}

/// What `config` answers to `pairs` pairs: the same from slices, from buffers and from the questions for its memory.
fn refused(device: &Device, config: &TwoLevelConfig, pairs: usize) -> Error {
    let keys: Vec<u32> = distinct_keys(pairs, 1);
    let error = config.build(device, &keys, &keys).unwrap_err();
    let buffer = Buffer::from_slice(device, &keys).unwrap();
    let on_buffers = config.build_on(device.default_stream(), device, &buffer, &buffer).unwrap_err();
    // As texts, since a figure may be NaN.
    assert_eq!(format!("{on_buffers:?}"), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.memory_bytes::<u32, u32>(pairs as u64).unwrap_err()), format!("{error:?}"));
    assert_eq!(format!("{:?}", config.scratch_bytes::<u64, u32>(pairs as u64).unwrap_err()), format!("{error:?}"));
    error
}

/// Fails unless the map holds `keys`, each as its own value, and nothing else.
fn holds(map: &TwoLevelMap<u64, u64>, keys: &[u64]) {
    let queries: Vec<u64> = keys.iter().flat_map(|&key| [key, !key]).collect();
    let expected: Vec<Option<u64>> = keys.iter().flat_map(|&key| [Some(key), None]).collect();
    assert_eq!(map.get_many(&queries).unwrap(), expected, "on {}", map.device().name());
    let mut pairs = map.to_pairs().unwrap();
    pairs.sort_unstable();
    let mut sorted: Vec<(u64, u64)> = keys.iter().map(|&key| (key, key)).collect();
    sorted.sort_unstable();
    assert_eq!((map.len(), pairs), (keys.len() as u64, sorted));
}

#[test]
fn inputs_whose_lengths_differ_are_refused_with_both_lengths() {
    on_all(|device| {
        let stream = device.default_stream();
        let error = default().build(device, &[1u32, 2, 3], &[1u64, 2]).unwrap_err();
        assert_lengths(error, ("the keys", 3), ("the values", 2));
        let (keys, few) =
            (Buffer::from_slice(device, &[1u64, 2, 3]).unwrap(), Buffer::from_slice(device, &[7u64]).unwrap());
        let error = default().build_on(stream, device, &keys, &few).unwrap_err();
        assert_lengths(error, ("the keys", 3), ("the values", 1));

        let mut map = default().build_on(stream, device, &keys, &keys).unwrap();
        let report = map.report().clone();
        let error = map.rebuild(stream, &few, &keys).unwrap_err();
        assert_lengths(error, ("the keys", 1), ("the values", 3));
        holds(&map, &[1, 2, 3]);
        assert_eq!(map.report(), &report);

        let mut answers = Answers::new(device, 2).unwrap();
        let error = map.get_many_into(stream, &keys, &mut answers).unwrap_err();
        assert_lengths(error, ("the queries", 3), ("the answers", 2));
        let error = map.contains_many_into(stream, &keys, &mut Buffer::zeroed(device, 3).unwrap()).unwrap_err();
        assert_lengths(error, ("the queries, in words of 32,", 1), ("the found-words", 3));
    });
}

#[test]
fn buckets_of_sizes_that_are_none_are_refused() {
    on_all(|device| {
        for capacity in [0, 513, 1000, 1 << 20] {
            let error = refused(device, &default().bucket_capacity(capacity), 3);
            let Error::Bucket { capacity: figure, most_in_bucket: 512, .. } = error else { panic!("{error:?}") };
            assert_eq!(figure, capacity);
            says(&error, &[&format!("at most {capacity} items"), "take 1 to 512 at most"]);
        }
        for mean in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1.0 - f64::EPSILON, 100.5, 1e300] {
            let error = refused(device, &default().bucket_capacity(100).items_per_bucket(mean), 3);
            let Error::Bucket { capacity: 100, mean: figure, most_in_bucket: 512 } = error else { panic!("{error:?}") };
            assert_eq!(figure.to_bits(), mean.to_bits());
            says(&error, &["100 items", &mean.to_string(), "on average at least 1"]);
        }
        for (capacity, mean) in [(1, 1.0), (512, 512.0), (512, 1.0), (100, 100.0)] {
            default().bucket_capacity(capacity).items_per_bucket(mean).build(device, &[9u32], &[1u32]).unwrap();
        }
        default().bucket_capacity(1).build(device, &[9u32], &[1u32]).unwrap();
    });
}

/// A capacity that is refused is refused at once: what the mean of such buckets would be is of no interest.
#[test]
fn a_senseless_capacity_is_refused_without_delay() {
    for capacity in [50_000_000, 1 << 30, u32::MAX - 1000, u32::MAX] {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(default().bucket_capacity(capacity).memory_bytes::<u32, u32>(1000)));
        let answer = receive.recv_timeout(Duration::from_secs(2));
        let answer = answer.unwrap_or_else(|error| panic!("a capacity of {capacity}: no answer ({error})"));
        assert!(matches!(answer, Err(Error::Bucket { capacity: figure, .. }) if figure == capacity), "{answer:?}");
    }
}

#[test]
fn sub_tables_of_numbers_and_sizes_that_are_none_are_refused() {
    on_all(|device| {
        let senseless = [
            (0, 512),
            (1, 512),
            (5, 150),
            (u32::MAX, 1),
            (2, 255),
            (3, 170),
            (4, 127),
            (2, 0),
            (2, 513),
            (3, 342),
            (4, 257),
            (2, u32::MAX),
            (4, 1 << 30),
        ];
        for (tables, slots) in senseless {
            let error = refused(device, &default().sub_tables(tables, slots), 3);
            assert_eq!(error, Error::SubTables { tables, slots, capacity: 512, most_slots: 1024 });
            let first = format!("{tables} sub-tables of {slots} slots");
            says(&error, &[&first, "up to 512 items", "take 2 to 4", "at least 512", "at most 1024"]);
        }
        for (tables, slots) in [(2, 256), (3, 171), (4, 128), (2, 512), (3, 341), (4, 256)] {
            let map = default().sub_tables(tables, slots).build(device, &[9u64, 8], &[9u64, 8]).unwrap();
            holds(&map, &[9, 8]);
            assert_eq!(map.probe_histogram().unwrap().len(), tables as usize);
            assert_eq!(map.slots(), (tables * slots) as u64);
        }
    });
}

#[test]
fn no_seeds_and_no_rounds_are_refused() {
    on_all(|device| {
        for (seeds, rounds) in [(0, 50), (20, 0), (0, 0), (0, u32::MAX)] {
            let error = refused(device, &default().seeds(seeds, rounds), 3);
            assert_eq!(error, Error::Attempts { seeds, rounds });
            says(&error, &[&format!("{seeds} seeds"), &format!("{rounds} rounds"), "at least 1 of each"]);
        }
        default().seeds(1, 1).build(device, &[9u32], &[1u32]).unwrap();
        default().seeds(u32::MAX, u32::MAX).build(device, &[9u32], &[1u32]).unwrap();
    });
}

#[test]
fn more_pairs_and_slots_than_can_be_numbered_are_refused() {
    let bytes = |config: &TwoLevelConfig, pairs| config.memory_bytes::<u32, u32>(pairs);
    let most = u32::MAX as u64;
    for asked in [most + 1, 1 << 40, u64::MAX] {
        let error = bytes(&default(), asked).unwrap_err();
        assert_eq!(error, Error::TooManyItems { asked, limit: most });
        assert_eq!(default().scratch_bytes::<u64, u64>(asked).unwrap_err(), error);
        says(&error, &[&asked.to_string(), &most.to_string(), "in several batches"]);
    }
    // 576 slots for each pair: 7,456,540 buckets are the most that 2^32 - 2 slots make.
    let one_each = default().items_per_bucket(1.0);
    let limit = most - 1;
    assert_eq!(bytes(&one_each, 7_456_540), Ok(8 * (7_456_540 * 576 + 4 + 8) + 4 * 7_456_540));
    let error = bytes(&one_each, 7_456_541).unwrap_err();
    assert_eq!(error, Error::TooManySlots { asked: 7_456_541 * 576, limit });
    says(&error, &[&(7_456_541u64 * 576).to_string(), &limit.to_string(), "build several tables"]);
    assert!(matches!(bytes(&default(), most), Err(Error::TooManySlots { .. })));
    // As few slots as may be: 512 for each 512 pairs, and the last bucket is one too many.
    let full = default().items_per_bucket(512.0).sub_tables(4, 128);
    assert!(bytes(&full, most - 512).is_ok());
    assert_eq!(bytes(&full, most), Err(Error::TooManySlots { asked: 1 << 32, limit }));
}

#[test]
fn a_modulus_that_is_no_prime_is_refused_on_both_levels() {
    on_all(|device| {
        for modulus in [0, 1, 4, 1_900_812, 65_521 * 65_521, u32::MAX] {
            for family in [linear(modulus), HashFamily::Xor { prime: modulus, arithmetic: Wrapping }] {
                for config in [default().hash(family), default().sub_table_hash(family)] {
                    let error = refused(device, &config, 3);
                    assert_eq!(error, Error::NotPrime { modulus });
                    says(&error, &[&modulus.to_string(), "not a prime", "4294967291"]);
                }
            }
        }
    });
}

#[test]
fn a_prime_below_the_number_of_buckets_or_of_a_sub_tables_slots_is_refused_and_one_equal_to_it_is_not() {
    on_all(|device| {
        let stream = device.default_stream();
        // A pair a bucket: 13 buckets for 13 pairs.
        let config = default().items_per_bucket(1.0).bucket_capacity(16).sub_tables(4, 8).hash(linear(13));
        let error = refused(device, &config, 14);
        assert_eq!(error, Error::PrimeBelowSlots { prime: 13, slots: 14 });
        says(&error, &["13", "14", "a larger prime", "fewer slots", "the default hash family"]);
        let keys: Vec<u64> = (100..113).collect();
        let mut map = config.build(device, &keys, &keys).unwrap();
        holds(&map, &keys);
        // One pair more: refused, and the map is as it was.
        let report = map.report().clone();
        let more = Buffer::from_slice(device, &distinct_keys::<u64>(14, 9)).unwrap();
        assert_eq!(map.rebuild(stream, &more, &more).unwrap_err(), error);
        holds(&map, &keys);
        assert_eq!((map.report(), map.buckets()), (&report, 13));

        let inner = |prime| default().sub_table_hash(linear(prime));
        let error = refused(device, &inner(191), 3);
        assert_eq!(error, Error::PrimeBelowSlots { prime: 191, slots: 192 });
        holds(&inner(191).sub_tables(3, 191).build(device, &keys, &keys).unwrap(), &keys);
        holds(&inner(193).build(device, &keys, &keys).unwrap(), &keys);
    });
}

#[test]
fn what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was() {
    let there = &elsewhere();
    on_all(|here| {
        let (stream, foreign) = (here.default_stream(), there.default_stream());
        let keys: Vec<u64> = distinct_keys(100, 3);
        let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
        let build = |stream, keys, values| default().build_on::<u64, u64>(stream, here, keys, values);
        assert_wrong_device(build(foreign, &ours, &ours).unwrap_err(), "the stream", there, here);
        assert_wrong_device(build(stream, &theirs, &ours).unwrap_err(), "the buffer of keys", there, here);
        assert_wrong_device(build(stream, &ours, &theirs).unwrap_err(), "the buffer of values", there, here);
        let mut map = build(stream, &ours, &ours).unwrap();
        let report = map.report().clone();
        assert_wrong_device(map.rebuild(foreign, &ours, &ours).unwrap_err(), "the stream", there, here);
        assert_wrong_device(map.rebuild(stream, &theirs, &ours).unwrap_err(), "the buffer of keys", there, here);
        assert_wrong_device(map.rebuild(stream, &ours, &theirs).unwrap_err(), "the buffer of values", there, here);
        assert_wrong_device(map.get_many_on(stream, &theirs).unwrap_err(), "a buffer", there, here);
        assert_wrong_device(map.get_many_on(foreign, &ours).unwrap_err(), "a buffer", here, there);
        holds(&map, &keys);
        assert_eq!(map.report(), &report);
    });
}

#[test]
fn a_rebuild_that_fails_leaves_an_empty_map_and_the_report_of_the_last_that_did_not() {
    let keys: Vec<u64> = distinct_keys(64, 4);
    on_all(|device| {
        let stream = device.default_stream();
        // 64 items in 64 slots find no seed, 20 do.
        let shape = default().bucket_capacity(64).items_per_bucket(64.0).sub_tables(2, 32);
        let config = shape.seeds(5, 20).restarts(1);
        let mut map = config.build(device, &keys[..20], &keys[..20]).unwrap();
        let report = map.report().clone();
        let all = Buffer::from_slice(device, &keys).unwrap();
        let error = map.rebuild(stream, &all, &all).unwrap_err();
        let expected = Error::TwoLevelBuildFailed { pairs: 64, buckets: 1, overflows: 0, failures: 2, capacity: 64 };
        assert_eq!(error, expected, "on {}", device.name());
        assert_eq!(map.get_many(&keys).unwrap(), vec![None; 64], "on {}", device.name());
        assert_eq!(map.contains_many(&keys).unwrap(), vec![false; 64]);
        assert_eq!((map.len(), map.is_empty(), map.to_pairs().unwrap()), (0, true, vec![]));
        assert_eq!(map.probe_histogram().unwrap(), [0, 0]);
        assert_eq!(map.report(), &report);
        let some = Buffer::from_slice(device, &keys[30..50]).unwrap();
        map.rebuild(stream, &some, &some).unwrap();
        holds(&map, &keys[30..50]);
    });
}
