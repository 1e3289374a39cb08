//! Every error that a user of the page map can cause, on every engine: its figures, its advice, and what is left behind.
//!
//! `page_skew.rs` has the builds that fail, `page_faults.rs` the failures that come from the device.

use warpnest::{Answers, Buffer, Device, Error, Key, PageConfig, PageMap, Value};
use warpnest_tests::maps::holds;
use warpnest_tests::{assert_lengths, assert_wrong_device, distinct_keys, elsewhere, on_all, says};

fn default() -> PageConfig {
    PageConfig::default().seed(5)
}

const LOADS: [f64; 10] =
    [0.0, -0.0, -1.0, -1e-300, 1.0 + f64::EPSILON, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];

/// What `config` answers to `pairs` pairs: the same from slices, from buffers and from the questions for its memory.
fn refused(device: &Device, config: &PageConfig, pairs: usize) -> Error {
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

#[test]
fn loads_that_are_none_are_refused() {
    on_all(|device| {
        for load in LOADS {
            for pairs in [0, 3] {
                let error = refused(device, &default().load(load), pairs);
                let Error::Load { load: figure } = error else { panic!("{error:?}") };
                assert_eq!(figure.to_bits(), load.to_bits());
                says(&error, &[&format!("a load of {load}"), "above 0 and at most 1"]);
            }
        }
        for load in [1.0, 1.0 - f64::EPSILON, 0.5, 1e-3] {
            let map = default().load(load).build(device, &[9u64, 8], &[1u32, 2]).unwrap();
            holds(&map, &[9, 8], &[1, 2]);
        }
    });
}

/// A table of more buckets than can be numbered: the load is too low for so many pairs, and no memory is asked for.
#[test]
fn a_load_that_needs_more_buckets_than_there_can_be_is_refused() {
    on_all(|device| {
        for load in [f64::MIN_POSITIVE, 1e-300, 1e-9] {
            let error = refused(device, &default().load(load), 100);
            assert_eq!(error, Error::Load { load });
        }
    });
    // The limit is 2^31 buckets of 32 bytes, or of 64.
    let bytes = |load, pairs| default().load(load).memory_bytes::<u32, u32>(pairs);
    assert!(bytes(1.0 / 1024.0, (1 << 23) - 100_000).is_ok());
    assert!(matches!(bytes(1.0 / 1024.0, (1 << 23) + 1), Err(Error::Load { .. })));
    assert!(default().load(1.0 / 1024.0).memory_bytes::<u64, u64>((1 << 23) - 100_000).is_ok());
    assert!(default().load(1.0 / 1024.0).memory_bytes::<u64, u64>((1 << 23) + 1).is_err());
    // Whatever is allowed has buckets that 32 bits can number.
    for load in [1.0, 0.8, 0.3, 0.25, 0.249, 0.1] {
        for pairs in [1 << 30, (1 << 31) - 1, 1 << 31] {
            if let Ok(bytes) = bytes(load, pairs) {
                assert!((bytes - 64) / 32 <= u32::MAX as u64, "{pairs} pairs at load {load}: {bytes} bytes");
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
    for asked in [limit + 1, 1 << 32, 1 << 40, u64::MAX] {
        let error = default().memory_bytes::<u32, u32>(asked).unwrap_err();
        assert_eq!(error, Error::TooManyItems { asked, limit });
        assert_eq!(default().scratch_bytes::<u64, u64>(asked).unwrap_err(), error);
        assert_eq!(default().assume_unique().load(1e-5).scratch_bytes::<u64, u32>(asked).unwrap_err(), error);
        says(&error, &[&asked.to_string(), &limit.to_string(), "in several batches"]);
    }
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
        assert_lengths(PageMap::build(device, &[1u32], &[0u32; 0]).unwrap_err(), ("the keys", 1), ("the values", 0));

        let mut map = default().build_on(stream, device, &keys, &keys).unwrap();
        let report = map.report().clone();
        let error = map.rebuild(stream, &few, &keys).unwrap_err();
        assert_lengths(error, ("the keys", 1), ("the values", 3));
        let mut answers = Answers::new(device, 2).unwrap();
        let error = map.get_many_into(stream, &keys, &mut answers).unwrap_err();
        assert_lengths(error, ("the queries", 3), ("the answers", 2));
        let error = map.contains_many_into(stream, &keys, &mut Buffer::zeroed(device, 3).unwrap()).unwrap_err();
        assert_lengths(error, ("the queries, in words of 32,", 1), ("the found-words", 3));
        for (keys_out, values_out, what, found) in
            [(2, 3, "the keys", 2), (4, 3, "the keys", 4), (3, 2, "the values", 2)]
        {
            let mut keys_out = Buffer::zeroed(device, keys_out).unwrap();
            let mut values_out = Buffer::zeroed(device, values_out).unwrap();
            let error = map.pairs_into(stream, &mut keys_out, &mut values_out).unwrap_err();
            assert_lengths(error, ("the map", 3), (what, found));
        }
        holds(&map, &[1, 2, 3], &[1, 2, 3]);
        assert_eq!(map.report(), &report);
    });
}

#[test]
fn what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was() {
    fn with<K: Key + Into<u64>, V: Value>(here: &Device) {
        let there = &elsewhere();
        let (stream, foreign) = (here.default_stream(), there.default_stream());
        let keys: Vec<K> = distinct_keys(100, 3);
        let values: Vec<V> = keys.iter().map(|&key| V::from_u64(key.into())).collect();
        let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
        let (our_values, their_values) =
            (Buffer::from_slice(here, &values).unwrap(), Buffer::from_slice(there, &values).unwrap());
        let build = |stream, keys, values| default().build_on::<K, V>(stream, here, keys, values);
        assert_wrong_device(build(foreign, &ours, &our_values).unwrap_err(), "the stream", there, here);
        assert_wrong_device(build(stream, &theirs, &our_values).unwrap_err(), "the buffer of keys", there, here);
        assert_wrong_device(build(stream, &ours, &their_values).unwrap_err(), "the buffer of values", there, here);
        let mut map = build(stream, &ours, &our_values).unwrap();
        let report = map.report().clone();
        let error = map.rebuild(foreign, &ours, &our_values).unwrap_err();
        assert_wrong_device(error, "the stream", there, here);
        let error = map.rebuild(stream, &theirs, &our_values).unwrap_err();
        assert_wrong_device(error, "the buffer of keys", there, here);
        let error = map.rebuild(stream, &ours, &their_values).unwrap_err();
        assert_wrong_device(error, "the buffer of values", there, here);
        assert_wrong_device(map.get_many_on(stream, &theirs).unwrap_err(), "a buffer", there, here);
        assert_wrong_device(map.get_many_on(foreign, &ours).unwrap_err(), "a buffer", here, there);
        let mut found = Buffer::zeroed(there, 4).unwrap();
        let error = map.contains_many_into(stream, &ours, &mut found).unwrap_err();
        assert_wrong_device(error, "a buffer", there, here);
        let (mut keys_out, mut values_out) = (Buffer::zeroed(there, 100).unwrap(), Buffer::zeroed(here, 100).unwrap());
        let error = map.pairs_into(stream, &mut keys_out, &mut values_out).unwrap_err();
        assert_wrong_device(error, "a buffer", there, here);
        assert_wrong_device(map.try_clone(foreign).unwrap_err(), "a buffer", here, there);
        holds(&map, &keys, &values);
        assert_eq!(map.report(), &report);
        assert_eq!((map.device().name(), keys_out.download(foreign).unwrap()), (here.name(), vec![K::default(); 100]));
    }
    on_all(|device| {
        with::<u32, u32>(device);
        with::<u64, u64>(device);
    });
}

#[test]
fn a_configuration_can_be_shown_and_compared() {
    let config = PageConfig::default();
    assert_eq!(config, PageConfig::default().load(0.8).restarts(25));
    for other in [default(), config.clone().load(0.9), config.clone().restarts(24), config.clone().assume_unique()] {
        assert!(other != config && format!("{other:?}") != format!("{config:?}"));
    }
    assert_ne!(config.clone().timings(), config);
}
