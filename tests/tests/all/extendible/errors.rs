//! Every error that a user of the extendible map can cause, on every engine: its figures, its
//! advice, and that nothing has changed.
//!
//! `extendible/faults.rs` tests device failures.

use std::collections::HashMap;
use warpnest::error::{ConfigError, FullError, InputError};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, Error, ExtendibleConfig, ExtendibleMap};
use warpnest_tests::changing::errors;
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::extendible_parts::{close, small, spread};
use warpnest_tests::maps::refuses_buffers_of_other_lengths;
use warpnest_tests::maps::{equals, refuses_other_lengths};
use warpnest_tests::{assert_lengths, distinct_keys, on_all, parameterized, says};

/// Returns a map with some keys.
fn begin<K: Key, V: Value>(device: &Device, n: usize) -> (ExtendibleMap<K, V>, HashMap<K, V>) {
    let mut map = small().create(device).unwrap();
    let keys: Vec<K> = distinct_keys(n, 1);
    assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(n));
    (map, pairs(&keys))
}

#[parameterized]
fn directories_that_there_cannot_be_are_refused_with_all_their_figures<K: Key, V: Value>() {
    on_all(|device| {
        let (no, most) = (u64::MAX, 1 << 22);
        for (segments, buckets, records, max_segments) in [
            (0, 1024, 64, most),
            (8, 0, 64, most),
            (8, 1, 64, most),
            (8, 2, 64, most),
            (8, 6, 64, most),
            (8, 1023, 64, most),
            (8, 1024, 0, most),
            (8, 1024, 4, most),
            (8, 1024, 60, most),
            (8, 1024, 257, most),
            (8, 1024, 264, most),
            (8, 1024, u32::MAX, most),
            (8, 1024, 64, 7),
            (8, 1024, 64, 0),
            (1, 1 << 31, u32::MAX, no),
            ((1 << 29) + 1, 4, 8, no),
            (2, 1 << 31, 8, no),
            (u32::MAX, 1 << 31, 8, no),
            (u32::MAX, u32::MAX, u32::MAX, no),
        ] {
            let config = ExtendibleConfig::default().segments(segments).buckets(buckets).records(records);
            let config = config.max_segments(max_segments);
            let refused = [
                config.create::<K, V>(device).unwrap_err(),
                config.initial_memory_bytes::<K, V>().unwrap_err(),
                config.batch_scratch_bytes::<K, V>(1).unwrap_err(),
            ];
            for error in refused {
                assert_eq!(error, Error::Config(ConfigError::Directory { segments, buckets, records, max_segments }));
                let figures = [segments as u64, buckets as u64, records as u64, max_segments].map(|it| it.to_string());
                says(&error, &figures.each_ref().map(String::as_str));
                says(&error, &["power of two", "4 or more", "2^31", "multiple of 8", "256"]);
            }
        }
        // These figures are just allowed.
        for (segments, buckets, records, max_segments) in [(1, 4, 8, 1), (3, 4, 256, 3), (257, 8, 8, no)] {
            let config = ExtendibleConfig::default().segments(segments).buckets(buckets).records(records).seed(1);
            let mut map = config.max_segments(max_segments).create::<K, V>(device).unwrap();
            let keys = [K::from_u64(9), K::ALL_ONES];
            assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(2));
            equals(&map, &pairs(&keys));
        }
    });
    // These are the largest allowed tables, so only their memory is queried.
    for (segments, buckets) in [(1 << 29, 4), (1, 1 << 31)] {
        let config = ExtendibleConfig::default().segments(segments).buckets(buckets).records(8).max_segments(u64::MAX);
        assert!(config.initial_memory_bytes::<K, V>().unwrap() > 1 << 37);
        let (limit, scratch) = (u32::MAX as u64, |pairs| config.batch_scratch_bytes::<K, V>(pairs));
        assert!(scratch(limit as usize).unwrap() > 1 << 36);
        assert_eq!(
            scratch((limit + 1) as usize),
            Err(Error::Input(InputError::TooManyItems { asked: limit + 1, limit }))
        );
    }
}

#[parameterized]
fn a_batch_that_is_too_deep_is_refused_with_advice_that_helps(device: &Device) {
    let refusing = small().max_segments(8);
    let mut map: ExtendibleMap<u64, u32> = refusing.create(device).unwrap();
    let layout = map.table().layout();
    let keys: Vec<u64> = [spread(&layout, 2, "", 12), spread(&layout, 5, "1", 8), close(&layout, 6, "1", 9)].concat();
    let (some, deep) = keys.split_at(20);
    map.insert_many(some, &values(some)).unwrap();
    // The batch also has present keys, which are not counted and keep their values.
    let other = vec![7u32; 29];
    let error = map.insert_many(&keys, &other).unwrap_err();
    says(&error, &["9 new keys", "8 records", "2 more bits", "`max_segments`", "`records`", "another seed"]);
    assert_eq!(error, Error::Full(FullError::TooDeep { pairs: 9, records: 8, depth: 2 }));
    equals(&map, &pairs(some));
    assert_eq!(map.insert_many(&deep[..8], &other[..8]), Ok(8));
    // With another seed these keys have different hashes, and larger buckets can hold them.
    for config in [refusing.clone().seed(12), refusing.records(16)] {
        let mut map: ExtendibleMap<u64, u32> = config.create(device).unwrap();
        assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(29));
        equals(&map, &pairs(&keys));
    }
    // These keys agree in three bits, which twice as many segments can tell apart.
    let mut map: ExtendibleMap<u64, u32> = small().max_segments(16).create(device).unwrap();
    let keys = ["100", "101"].map(|path| close::<u64>(&map.table().layout(), 6, path, 5)).concat();
    assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(10));
    equals(&map, &pairs(&keys));
}

#[parameterized]
fn inputs_whose_lengths_differ_are_refused_with_both_lengths<K: Key, V: Value>(device: &Device) {
    let stream = device.default_stream();
    let (mut map, there) = begin::<K, V>(device, 2);
    let report = map.table().report();
    let (k, v) = ([1, 2, 3].map(K::from_u64), [3, 4, 5].map(V::from_u64));
    let (keys, two) = (("the keys", 3), ("the values", 2));
    assert_lengths(map.insert_many(&k, &v[..2]).unwrap_err(), keys, two);
    assert_lengths(map.insert_many(&[], &v[..1]).unwrap_err(), ("the keys", 0), ("the values", 1));
    let three = Buffer::from_slice(device, &k).unwrap();
    let two_values = Buffer::from_slice(device, &v[..2]).unwrap();
    assert_lengths(map.insert_many(&three, &two_values).unwrap_err(), keys, two);
    for answers_length in [0, 2, 4] {
        let mut answers = Answers::new(device, answers_length).unwrap();
        let error = map.remove_many_into(stream, &three, &mut answers).unwrap_err();
        assert_lengths(error, keys, ("the answers", answers_length as u64));
    }
    refuses_other_lengths(&map);
    refuses_buffers_of_other_lengths(&map);
    equals(&map, &there);
    assert_eq!(map.table().report(), report);
}

#[parameterized]
fn what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(here: &Device) {
    // The first batch fits, and for the second one the directory would have to grow.
    for n in [9, 200] {
        let (mut map, _) = begin::<u32, u32>(here, 30);
        let report = map.table().report();
        errors::what_belongs_to_another_device_is_refused(&mut map, n);
        assert_eq!(map.table().report(), report);
        let keys: Vec<u32> = distinct_keys(n, 3);
        assert_eq!(map.insert_many(&keys, &keys), Ok(n));
    }
}
