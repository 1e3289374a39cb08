//! The memory that an extendible map takes, compared with its own figures, and its behaviour when
//! memory runs out.

use std::sync::atomic::Ordering::Relaxed;
use warpnest::error::InputError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Error, ExtendibleConfig, ExtendibleMap, Result};
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::extendible_parts::small;
use warpnest_tests::maps::equals;
use warpnest_tests::{counting, distinct_keys, only, parameterized};

fn insert<K: Key, V: Value>(map: &mut ExtendibleMap<K, V>, keys: &[K]) -> Result<usize> {
    map.insert_many(keys, &values(keys))
}

#[parameterized]
fn a_map_takes_the_memory_that_was_said_beforehand_and_gives_it_back<K: Key, V: Value>() {
    let (device, counts) = counting();
    // In addition, a map has fifteen empty lists of 16 bytes each, and eight counters. A list of
    // one segment or page takes 16 bytes, not 8.
    let holds = |bytes: u64, maps: u64| {
        let now = counts.bytes.load(Relaxed);
        let beside = maps * (15 * 16 + 64);
        assert!((bytes + beside..=bytes + beside + maps * 16).contains(&now), "{now} bytes, and {bytes} are said");
    };
    let one = ExtendibleConfig::default().segments(1).buckets(4).records(8);
    for config in [small(), one, small().records(256), small().segments(257), ExtendibleConfig::default()] {
        let said = config.initial_memory_bytes::<K, V>().unwrap();
        let mut map = config.create::<K, V>(&device).unwrap();
        assert_eq!(map.memory_bytes(), said);
        holds(said as u64, 1);
        let keys: Vec<K> = distinct_keys(9000, 5);
        insert(&mut map, &keys).unwrap();
        let copy = map.try_clone().unwrap();
        assert!(counts.bytes.load(Relaxed) > (map.memory_bytes() + copy.memory_bytes()) as u64);
        assert!(copy.memory_bytes() <= map.memory_bytes());
        map.shrink_to_fit().unwrap();
        holds((map.memory_bytes() + copy.memory_bytes()) as u64, 2);
        drop(copy);
        map.remove_many(&keys[100..]).unwrap();
        map.shrink_to_fit().unwrap();
        holds(map.memory_bytes() as u64, 1);
        assert_eq!(map.table().report().memory_bytes, map.memory_bytes() as u64);
        map.clear().unwrap();
        assert_eq!(map.memory_bytes(), said);
        holds(said as u64, 1);
        drop(map);
        assert_eq!(counts.bytes.load(Relaxed), 0);
    }
}

#[parameterized]
fn a_batch_takes_no_more_to_work_in_than_was_said_beforehand<K: Key, V: Value>() {
    let (device, counts) = counting();
    let one = ExtendibleConfig::default().segments(1).buckets(4).seed(3);
    let default = ExtendibleConfig::default().seed(3);
    // Each case has several batches, and the least share of the announced memory that one of them
    // must use. With fewer records a bucket, more memory is announced for buckets that overflow,
    // and it stays unused.
    for (config, batches, least) in [
        (small(), &[0, 1, 5000, 3, 20_000][..], 0.6),
        (small(), &[1], 0.0),
        (one.clone().records(8), &[40_000, 1000, 1000], 0.6),
        (default.clone(), &[9000, 1, 700_000], 0.8),
        (default.records(256), &[200_000], 0.8),
        (one, &[100_000, 100_000], 0.7),
    ] {
        let mut map = config.create::<K, V>(&device).unwrap();
        assert_eq!(config.batch_scratch_bytes::<K, V>(batches[0]), map.table().batch_scratch_bytes(batches[0]));
        let mut keys: &[K] = &distinct_keys(batches.iter().sum(), 5);
        let mut nearest = 0.0f64;
        for &n in batches {
            let batch = keys.split_off(..n).unwrap();
            let said = map.table().batch_scratch_bytes(n).unwrap();
            let before = counts.bytes.load(Relaxed);
            let (on_device, of_keys) = (
                Buffer::from_slice(&device, batch).unwrap(),
                Buffer::from_slice(&device, &values::<K, V>(batch)).unwrap(),
            );
            let input = counts.bytes.load(Relaxed) - before;
            counts.most.store(counts.bytes.load(Relaxed), Relaxed);
            map.insert_many(&on_device, &of_keys).unwrap();
            let took = counts.most.load(Relaxed) - input - map.memory_bytes() as u64;
            // A list of one segment or page takes 16 bytes instead of 8.
            assert!(took <= (said + 16) as u64, "{n} pairs and {config:?}: {took} bytes, and {said} were said");
            nearest = nearest.max(took as f64 / said as f64);
        }
        assert!(nearest >= least, "{config:?}: {nearest} of what was said");
        assert_eq!(
            map.table().batch_scratch_bytes(u64::MAX as usize),
            Err(Error::Input(InputError::TooManyItems { asked: u64::MAX, limit: u32::MAX as u64 }))
        );
    }
}

#[parameterized]
fn what_a_removal_could_not_do_for_want_of_memory_is_done_when_there_is_some<K: Key, V: Value>() {
    let (device, counts) = counting();
    let keys: Vec<K> = distinct_keys(4000, 1);
    // Only five keys are left, so each part of the range has one bucket, and no later removal can
    // merge any.
    let (kept, gone) = keys.split_at(5);
    let begin = || {
        let mut map: ExtendibleMap<K, V> = small().create(&device).unwrap();
        insert(&mut map, &keys).unwrap();
        map
    };
    let mut map = begin();
    map.remove_many(gone).unwrap();
    let (least, there) = (map.table().report(), pairs::<K, V>(&kept[1..]));
    assert_eq!((least.buckets, least.bucket_tables, least.global_depth), (8, 2, 0));
    for once in [true, false] {
        counts.once.store(once, Relaxed);
        let (mut spacious, mut deep) = (0, 0);
        for good in 0.. {
            let mut map = begin();
            if only(&counts.allocations, good, || map.remove_many(gone)).is_err() {
                continue;
            }
            let report = map.table().report();
            if report == least {
                break;
            }
            map.remove_many(&kept[..1]).unwrap();
            if report.buckets == least.buckets && report.global_depth == 0 {
                spacious += 1;
                assert_eq!(map.memory_bytes(), least.memory_bytes as usize, "{good} went well: {report:?}");
            } else if report.buckets == least.buckets {
                deep += 1;
                map.shrink_to_fit().unwrap();
                let shape = (map.table().report().bucket_tables, map.table().report().global_depth, map.memory_bytes());
                assert_eq!(shape, (2, 0, least.memory_bytes as usize), "{good} went well: {report:?}");
            }
            equals(&map, &there);
        }
        assert!(spacious >= 1 && deep >= 1, "{spacious} times room was kept, {deep} times the directory was");
    }
}
