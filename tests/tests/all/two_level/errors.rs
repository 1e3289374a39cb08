//! Every error that a user of the two-level map can cause, on every engine: its figures, its
//! advice, and the map's state afterwards.
//!
//! `two_level/restarts.rs` tests the builds that fail, and `two_level/faults.rs` tests device
//! failures.

use std::time::Duration;
use warpnest::error::{BuildError, ConfigError, InputError};
use warpnest::{Buffer, Device, Error, TwoLevelConfig};
use warpnest_tests::built::{self, errors, refused};
use warpnest_tests::maps::holds;
use warpnest_tests::{distinct_keys, linear, parameterized, says};

fn default() -> TwoLevelConfig {
    TwoLevelConfig::default().seed(5)
}

warpnest_tests::tests_of! { errors:
    inputs_whose_lengths_differ_are_refused_with_both_lengths(default());
    what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(default());
}

#[parameterized]
fn buckets_of_sizes_that_are_none_are_refused(device: &Device) {
    for capacity in [0, 513, 1000, 1 << 20] {
        let error = refused(device, &default().bucket_capacity(capacity), 3);
        let Error::Config(ConfigError::Bucket { capacity: figure, max_in_bucket: 512, .. }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(figure, capacity);
        says(&error, &[&format!("at most {capacity} items"), "take 1 to 512 at most"]);
    }
    for mean in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1.0 - f64::EPSILON, 100.5, 1e300] {
        let error = refused(device, &default().bucket_capacity(100).items_per_bucket(mean), 3);
        let Error::Config(ConfigError::Bucket { capacity: 100, mean: figure, max_in_bucket: 512 }) = error else {
            panic!("{error:?}")
        };
        assert_eq!(figure.to_bits(), mean.to_bits());
        says(&error, &["100 items", &mean.to_string(), "on average at least 1"]);
    }
    for (capacity, mean) in [(1, 1.0), (512, 512.0), (512, 1.0), (100, 100.0)] {
        default().bucket_capacity(capacity).items_per_bucket(mean).build(device, &[9u32], &[1u32]).unwrap();
    }
    default().bucket_capacity(1).build(device, &[9u32], &[1u32]).unwrap();
}

/// Checks that an invalid capacity is refused immediately, whatever the mean count of items of such
/// buckets would be.
#[test]
fn a_senseless_capacity_is_refused_without_delay() {
    for capacity in [50_000_000, 1 << 30, u32::MAX - 1000, u32::MAX] {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(default().bucket_capacity(capacity).memory_bytes::<u32, u32>(1000)));
        let answer = receive.recv_timeout(Duration::from_secs(2));
        let answer = answer.unwrap_or_else(|error| panic!("a capacity of {capacity}: no answer ({error})"));
        assert!(
            matches!(answer, Err(Error::Config(ConfigError::Bucket { capacity: figure, .. })) if figure == capacity),
            "{answer:?}"
        );
    }
}

#[parameterized]
fn sub_tables_of_numbers_and_sizes_that_are_none_are_refused(device: &Device) {
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
        assert_eq!(error, Error::Config(ConfigError::SubTables { tables, slots, capacity: 512, max_slots: 1024 }));
        let first = format!("{tables} sub-tables of {slots} slots");
        says(&error, &[&first, "up to 512 items", "take 2 to 4", "at least 512", "at most 1024"]);
    }
    for (tables, slots) in [(2, 256), (3, 171), (4, 128), (2, 512), (3, 341), (4, 256)] {
        let map = default().sub_tables(tables, slots).build(device, &[9u64, 8], &[9u64, 8]).unwrap();
        holds(&map, &[9, 8], &[9, 8]);
        assert_eq!(map.table().probe_lengths().unwrap().histogram.len(), tables as usize + 1);
        assert_eq!(map.table().slots(), (tables * slots) as u64);
    }
}

#[parameterized]
fn no_seeds_and_no_rounds_are_refused(device: &Device) {
    for (seeds, rounds) in [(0, 50), (20, 0), (0, 0), (0, u32::MAX)] {
        let error = refused(device, &default().seeds(seeds, rounds), 3);
        assert_eq!(error, Error::Config(ConfigError::Attempts { seeds, rounds }));
        says(&error, &[&format!("{seeds} seeds"), &format!("{rounds} rounds"), "at least 1 of each"]);
    }
    default().seeds(1, 1).build(device, &[9u32], &[1u32]).unwrap();
    default().seeds(u32::MAX, u32::MAX).build(device, &[9u32], &[1u32]).unwrap();
}

#[test]
fn more_pairs_and_slots_than_can_be_numbered_are_refused() {
    let bytes = |config: &TwoLevelConfig, pairs| config.memory_bytes::<u32, u32>(pairs);
    let most = u32::MAX as u64;
    errors::more_pairs_than_a_map_can_have_are_refused(&default(), most);
    // With 576 slots for each pair, 2^32 - 2 slots are enough for at most 7,456,540 buckets.
    let one_each = default().items_per_bucket(1.0);
    let limit = most - 1;
    assert_eq!(bytes(&one_each, 7_456_540), Ok(8 * (7_456_540 * 576 + 4 + 8) + 4 * 7_456_540));
    let error = bytes(&one_each, 7_456_541).unwrap_err();
    assert_eq!(error, Error::Input(InputError::TooManySlots { asked: 7_456_541 * 576, limit }));
    says(&error, &[&(7_456_541u64 * 576).to_string(), &limit.to_string(), "build several tables"]);
    assert!(matches!(bytes(&default(), most as usize), Err(Error::Input(InputError::TooManySlots { .. }))));
    // These buckets have the fewest possible slots, 512 for 512 pairs; the last bucket exceeds the
    // limit.
    let full = default().items_per_bucket(512.0).sub_tables(4, 128);
    assert!(bytes(&full, (most - 512) as usize).is_ok());
    assert_eq!(bytes(&full, most as usize), Err(Error::Input(InputError::TooManySlots { asked: 1 << 32, limit })));
}

#[test]
fn a_modulus_that_is_no_prime_is_refused_on_both_levels() {
    errors::a_modulus_that_is_no_prime_is_refused(|family| default().hash(family));
    errors::a_modulus_that_is_no_prime_is_refused(|family| default().sub_table_hash(family));
}

#[parameterized]
fn a_prime_below_the_number_of_buckets_or_of_a_sub_tables_slots_is_refused_and_one_equal_to_it_is_not(device: &Device) {
    // With one pair a bucket, 13 pairs have 13 buckets.
    let config = default().items_per_bucket(1.0).bucket_capacity(16).sub_tables(4, 8).hash(linear(13));
    let error = refused(device, &config, 14);
    assert_eq!(error, Error::Config(ConfigError::PrimeBelowSlots { prime: 13, slots: 14 }));
    says(&error, &["13", "14", "a larger prime", "fewer slots", "the default hash family"]);
    let keys: Vec<u64> = (100..113).collect();
    let mut map = config.build(device, &keys, &keys).unwrap();
    holds(&map, &keys, &keys);
    // A rebuild with one more pair is refused and changes nothing.
    let report = map.report().clone();
    let more = Buffer::from_slice(device, &distinct_keys::<u64>(14, 9)).unwrap();
    assert_eq!(map.rebuild(&more, &more).unwrap_err(), error);
    holds(&map, &keys, &keys);
    assert_eq!((map.report(), map.table().buckets()), (&report, 13));

    let inner = |prime| default().sub_table_hash(linear(prime));
    let error = refused(device, &inner(191), 3);
    assert_eq!(error, Error::Config(ConfigError::PrimeBelowSlots { prime: 191, slots: 192 }));
    holds(&inner(191).sub_tables(3, 191).build(device, &keys, &keys).unwrap(), &keys, &keys);
    holds(&inner(193).build(device, &keys, &keys).unwrap(), &keys, &keys);
}

#[parameterized]
fn a_rebuild_that_fails_leaves_an_empty_map_and_the_report_of_the_last_that_did_not(device: &Device) {
    let keys: Vec<u64> = distinct_keys(64, 4);
    // No seed is found for 64 items in 64 slots, but one for 20.
    let shape = default().bucket_capacity(64).items_per_bucket(64.0).sub_tables(2, 32);
    let config = shape.seeds(5, 20).restarts(1);
    let mut map = built::build(device, &config, &keys[..20], &keys[..20]);
    let error = built::rebuild(&mut map, &keys, &keys).unwrap_err();
    let expected =
        Error::BuildFailed(BuildError::TwoLevel { pairs: 64, buckets: 1, overflows: 0, failures: 2, capacity: 64 });
    assert_eq!(error, expected);
    assert_eq!(map.table().probe_lengths().unwrap().histogram, [0, 0, 0]);
    built::rebuild(&mut map, &keys[30..50], &keys[30..50]).unwrap();
}
