//! Edge cases of the extendible map: extreme keys and values, repeated keys, and sizes around every
//! bound, on every engine.

use std::collections::HashMap;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, ExtendibleConfig};
use warpnest_tests::changing::edges::{self, extremes};
use warpnest_tests::changing::{come_and_go, create, pairs, remove, values};
use warpnest_tests::extendible_checker::check_extendible_map;
use warpnest_tests::extendible_parts::{small, spread};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, on_each_engine, parameterized};

#[parameterized]
fn batches_of_nothing_do_nothing<K: Key, V: Value>(device: &Device) {
    let stream = device.default_stream();
    let none = Buffer::zeroed(device, 0).unwrap();
    let mut map = edges::batches_of_nothing_do_nothing::<_, K, V, _>(device, &small(), |map| {
        let mut answers = Answers::new(device, 0).unwrap();
        assert_eq!(map.remove_many_into(stream, &none, &mut answers), Ok(0));
        map.table().report()
    });
    map.shrink_to_fit().unwrap();
    equals(&map.try_clone().unwrap(), &HashMap::new());
    equals(&map, &HashMap::new());
}

/// Checks extreme keys and extreme mixed keys. Some of these mixed keys denote a free slot in
/// buckets of other parts of the range.
#[parameterized]
fn every_operation_on_every_extreme_key_and_value<K: Key, V: Value>(engine: &TestEngine) {
    let mut map = create::<_, K, V>(&engine.device, &small());
    let layout = map.table().layout();
    let mixed = extremes::<K>().into_iter().map(|mixed| mixed.unmixed(layout.a, layout.b));
    let keys: Vec<K> = extremes::<K>().into_iter().chain(mixed).collect();
    for (i, &key) in keys.iter().enumerate().step_by(if engine.max_items < 1000 { 9 } else { 1 }) {
        let all = extremes::<V>();
        let (value, other) = (all[i % all.len()], !all[i % all.len()]);
        assert_eq!(map.remove_many(&[key]), Ok(vec![None]));
        assert_eq!(map.insert_many(&[key], &[other]), Ok(1));
        assert_eq!(map.insert_many(&[key], &[value]), Ok(0));
        equals(&map, &HashMap::from([(key, value)]));
        let answers = map.remove_many(&[key, !key, key]).unwrap();
        assert!(answers[1].is_none() && answers.iter().flatten().eq([&value]), "{answers:?}");
        assert_eq!((map.get_many(&[key]), map.len()), (Ok(vec![None]), 0));
    }
    // Every batch has all keys with one of the values; some keys occur twice.
    for value in extremes::<V>() {
        map.insert_many(&keys, &vec![value; keys.len()]).unwrap();
        equals(&map, &keys.iter().map(|&key| (key, value)).collect());
    }
}

#[parameterized]
fn the_last_pair_of_a_key_counts_in_batches_of_new_and_of_present_keys<K: Key, V: Value>(engine: &TestEngine) {
    let n = if engine.max_items < 1000 { 70 } else { engine.max_items.min(3000) as u64 };
    let value = |number: u64| V::from_u64(number | number << 40);
    let mut map = create::<_, K, V>(&engine.device, &small());
    let mut there = HashMap::new();
    // All keys of a batch are equal, and it is inserted twice.
    for key in [K::from_u64(0), K::ALL_ONES] {
        let all: Vec<V> = (0..n).map(value).collect();
        for new in [1, 0] {
            assert_eq!(map.insert_many(&vec![key; n as usize], &all), Ok(new));
            there.insert(key, value(n - 1));
            equals(&map, &there);
        }
    }
    // A few keys are repeated often. Half of them are new in the first round, one in the second,
    // none in the third.
    for (round, new) in [(1, 15), (2, 1), (3, 0)] {
        let keys: Vec<K> = (0..n).map(|i| K::from_u64(if i == n / 2 { 15 + round.min(2) } else { i % 15 })).collect();
        let of_round: Vec<V> = (0..n).map(|i| value(n * round + i)).collect();
        assert_eq!(map.insert_many(&keys, &of_round), Ok(new));
        there.extend(keys.into_iter().zip(of_round));
        equals(&map, &there);
    }
    // Only one of many removals of a key returns its value.
    let keys: Vec<K> = (0..n).map(|i| K::from_u64(i % 5)).collect();
    let mut answers: Vec<(K, V)> = Vec::new();
    for (key, answer) in keys.iter().zip(map.remove_many(&keys).unwrap()) {
        answers.extend(answer.map(|value| (*key, value)));
    }
    answers.sort_unstable();
    assert_eq!(answers, (0..5).map(K::from_u64).map(|key| (key, there.remove(&key).unwrap())).collect::<Vec<_>>());
    equals(&map, &there);
}

#[parameterized]
fn one_key_at_a_time<K: Key, V: Value>() {
    on_each_engine(|engine| edges::one_key_at_a_time::<_, K, V>(&engine.device, &small()));
}

#[parameterized]
fn retaining<K: Key, V: Value>() {
    on_each_engine(|engine| edges::retaining::<_, K, V>(&engine.device, &small(), engine.max_items.min(64)));
}

#[parameterized]
fn sequential_and_strided_keys<K: Key, V: Value>(engine: &TestEngine) {
    let n = engine.max_items.min(1000) as u64;
    let every = if n < 1000 { 40 } else { 4 };
    edges::sequential_and_strided_keys::<_, K, V>(&engine.device, &small(), (n, every, 170));
}

/// Checks first batches of one pair up to thousands of times the table's capacity.
#[parameterized]
fn sizes_around_powers_of_two_warps_and_blocks<K: Key, V: Value>(engine: &TestEngine) {
    let slow = engine.max_items < 1000;
    let sizes = (0..14).step_by(if slow { 5 } else { 1 }).map(|lg| 1 << lg).chain([96, 288, 768, 30_000]);
    let config = ExtendibleConfig::default().segments(1).buckets(4).records(8).seed(8);
    for n in sizes.flat_map(|size| size - 1..=size + 1).filter(|&n| n <= engine.max_items && (!slow || n < 290)) {
        let keys: Vec<K> = distinct_keys(n, 5);
        come_and_go::<_, K, V>(&engine.device, &config, &keys, n.max(1));
    }
}

#[parameterized(each_width)]
fn as_many_records_as_a_bucket_holds_and_one_more_or_less<K: Key, V: Value>(engine: &TestEngine) {
    for records in [8, 16, 24, 40, 64, 256].into_iter().filter(|&records| records < engine.max_items as u32 / 2) {
        let config = small().records(records);
        for n in [records - 1, records, records + 1, 2 * records, 2 * records + 1].map(|n| n as usize) {
            if engine.max_items < 1000 && (records > 8 || n != 9) {
                continue;
            }
            // The keys are in the lowest part of the range, the highest, or another; inserted at
            // once, or first one more than half of them.
            for (root, batch) in [(0, n), (7, n), (3, n / 2 + 1)] {
                let mut map = create::<_, K, V>(&engine.device, &config);
                let keys: Vec<K> = spread(&map.table().layout(), root, "", n);
                for keys in keys.chunks(batch) {
                    assert_eq!(map.insert_many(keys, &values(keys)), Ok(keys.len()));
                }
                equals(&map, &pairs(&keys));
                let buckets = 7 + n.div_ceil(records as usize) as u64;
                assert_eq!(map.table().report().buckets, buckets, "{n} records in root {root}, {records} in a bucket");
            }
        }
    }
}

#[parameterized]
fn as_many_buckets_as_a_page_holds_and_some_more_or_less<K: Key, V: Value>(engine: &TestEngine) {
    // There are 1020 buckets, 1024 buckets of two segments, or 1028.
    for segments in [255, 256, 257].into_iter().take(if engine.max_items < 1000 { 1 } else { 3 }) {
        let config = ExtendibleConfig::default().segments(segments).buckets(4).records(8).seed(4);
        let mut map = create::<_, K, V>(&engine.device, &config);
        let (layout, first) = (map.table().layout(), 4 * segments as u64);
        let mut there = HashMap::new();
        let split = |root: u64| spread::<K>(&layout, root, "", 9);
        // First single buckets are split in two, and then many at once.
        for (roots, buckets) in [(3..4, 1), (9..10, 2), (1000..1001, 3), (20..22, 5), (30..50, 25)] {
            let keys: Vec<K> = roots.flat_map(split).collect();
            assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(keys.len()));
            there.extend(pairs::<K, V>(&keys));
            equals(&map, &there);
            assert_eq!(map.table().report().buckets, first + buckets);
            if engine.max_items < 1000 && buckets >= 3 {
                break;
            }
        }
        // All split buckets merge again.
        let keys: Vec<K> = there.keys().copied().collect();
        remove(&mut map, &keys);
        assert_eq!(map.table().report().buckets, first);
        check_extendible_map(&map).unwrap();
    }
}

#[parameterized]
fn numbers_of_segments_and_buckets_that_are_least_or_no_powers_of_two<K: Key, V: Value>(engine: &TestEngine) {
    let keys: Vec<K> = distinct_keys(engine.max_items.min(2500), 6);
    for (segments, buckets, records) in [(1, 4, 8), (1, 1024, 8), (7, 8, 40), (100, 4, 16)] {
        if engine.max_items >= 1000 || segments < 8 && buckets < 9 {
            let config = ExtendibleConfig::default().segments(segments).buckets(buckets).records(records);
            come_and_go::<_, K, V>(&engine.device, &config.seed(7), &keys, keys.len() / 2 + 1);
        }
    }
}
