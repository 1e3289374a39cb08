//! Every error that a user of the page map can cause, on every engine: its figures, its advice, and
//! the map's state afterwards.
//!
//! `page/skew.rs` tests the builds that fail, and `page/faults.rs` tests device failures.

use warpnest::error::ConfigError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, PageConfig};
use warpnest_tests::built::{errors, refused};
use warpnest_tests::maps::holds;
use warpnest_tests::{assert_wrong_device, distinct_keys, elsewhere, on_all, parameterized, says, values};

fn default() -> PageConfig {
    PageConfig::default().seed(5)
}

const LOADS: [f64; 10] =
    [0.0, -0.0, -1.0, 1e-9, 1.0 + f64::EPSILON, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];

#[parameterized]
fn loads_that_are_none_are_refused(device: &Device) {
    for load in LOADS {
        for pairs in [0, 3] {
            let error = refused(device, &default().load(load), pairs);
            let Error::Config(ConfigError::Load { load: figure }) = error else { panic!("{error:?}") };
            assert_eq!(figure.to_bits(), load.to_bits());
            says(&error, &[&format!("a load of {load}"), "at least 1/1024 and at most 1"]);
        }
    }
    for load in [1.0, 1.0 - f64::EPSILON, 0.5, 1e-3] {
        let map = default().load(load).build(device, &[9u64, 8], &[1u32, 2]).unwrap();
        holds(&map, &[9, 8], &[1, 2]);
    }
}

/// Checks tables of more than 1024 times the bytes of their pairs, and tables with more buckets
/// than indices: no memory is requested.
#[test]
fn a_load_that_takes_too_much_memory_is_refused() {
    on_all(|device| {
        for load in [f64::MIN_POSITIVE, 1e-300, 1e-9] {
            for pairs in [0, 1, 100] {
                let error = refused(device, &default().load(load), pairs);
                assert_eq!(error, Error::Config(ConfigError::Load { load }));
            }
            assert!(default().load(load).create::<u32, u32>(device).is_err());
            assert!(default().load(load).create_set::<u32>(device).is_err());
        }
        default().load(1e-6).build(device, &[1u32], &[2u32]).unwrap();
    });
    // The limit is 2^31 buckets, of 32 bytes or of 64.
    let bytes = |load, pairs| default().load(load).memory_bytes::<u32, u32>(pairs);
    assert!(bytes(1.0 / 1024.0, (1 << 23) - 100_000).is_ok());
    assert!(matches!(bytes(1.0 / 1024.0, (1 << 23) + 1), Err(Error::Config(ConfigError::Load { .. }))));
    assert!(default().load(1.0 / 1024.0).memory_bytes::<u64, u64>((1 << 23) - 100_000).is_ok());
    assert!(default().load(1.0 / 1024.0).memory_bytes::<u64, u64>((1 << 23) + 1).is_err());
    assert!(bytes(1e-4, 3000).is_ok() && bytes((1.0 - f64::EPSILON) / 1024.0, 1 << 16).is_err());
    // In every accepted configuration, bucket indices fit 32 bits.
    for load in [1.0, 0.8, 0.3, 0.25, 0.249, 0.1] {
        for pairs in [1 << 30, (1 << 31) - 1, 1 << 31] {
            if let Ok(bytes) = bytes(load, pairs) {
                assert!((bytes - 64) / 32 <= u32::MAX as usize, "{pairs} pairs at load {load}: {bytes} bytes");
                assert!((bytes - 64) / 32 * 6 >= pairs, "{pairs} pairs at load {load}: {bytes} bytes");
            }
        }
    }
}

#[test]
fn more_pairs_than_a_map_can_have_are_refused() {
    let limit = 1 << 31;
    assert!(default().memory_bytes::<u32, u32>(limit).is_ok());
    assert!(default().scratch_bytes::<u64, u64>(limit).is_ok());
    errors::more_pairs_than_a_map_can_have_are_refused(&default(), limit as u64);
    errors::more_pairs_than_a_map_can_have_are_refused(&default().assume_unique().load(1e-5), limit as u64);
}

#[parameterized(<u32, u32>, <u64, u64>)]
fn pairs_do_not_go_to_another_device<K: Key, V: Value>(here: &Device) {
    let there = &elsewhere();
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    let map = default().build::<K, V>(here, &distinct_keys(100, 3), &values(100)).unwrap();
    let report = map.report().clone();
    let (mut keys_out, mut values_out) = (Buffer::zeroed(there, 100).unwrap(), Buffer::zeroed(here, 100).unwrap());
    let error = map.pairs_into(stream, &mut keys_out, &mut values_out).unwrap_err();
    assert_wrong_device(error, "a buffer", there, here);
    assert_eq!(keys_out.download(foreign).unwrap(), [K::default(); 100]);
    holds(&map, &distinct_keys(100, 3), &values(100));
    assert_eq!((map.report(), map.device().name()), (&report, here.name()));
}

warpnest_tests::tests_of! { errors:
    inputs_whose_lengths_differ_are_refused_with_both_lengths(default());
    what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(default());
}

#[test]
fn a_configuration_can_be_shown_and_compared() {
    let config = PageConfig::default();
    assert_eq!(config, PageConfig::default().restarts(25));
    for other in [default(), config.clone().load(0.8), config.clone().restarts(24), config.clone().assume_unique()] {
        assert!(other != config && format!("{other:?}") != format!("{config:?}"));
    }
    assert_ne!(config.clone().timings(), config);
}
