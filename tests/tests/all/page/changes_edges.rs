//! Edge cases of a page map that changes: capacity and growth, batches of one key, keys that all
//! belong to one page, and sizes.

use std::collections::HashMap;
use warpnest::error::InputError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, PageConfig, PageMap};
use warpnest_tests::changing::edges::{self, extremes};
use warpnest_tests::changing::errors;
use warpnest_tests::changing::{fill, own, pairs, values};
use warpnest_tests::maps::equals;
use warpnest_tests::pages::key_of_page;
use warpnest_tests::{TestEngine, distinct_keys, in_all_widths, on_all, on_each_engine, parameterized};

fn default() -> PageConfig {
    PageConfig::default().seed(11)
}

/// Returns configurations with few and with many pages, full and nearly empty.
fn configs() -> [PageConfig; 4] {
    [default(), default().load(1.0), default().load(0.02), default().pairs(300).load(0.05).assume_unique()]
}

#[parameterized]
fn batches_of_nothing_do_nothing<K: Key, V: Value>(device: &Device) {
    for config in configs() {
        let mut map = edges::batches_of_nothing_do_nothing::<_, K, V, _>(device, &config, |map| {
            assert_eq!((map.erase_many(&[]), map.retain_many(&[], &[])), (Ok(0), Ok(0)));
            map.reserve(0).unwrap();
            (map.capacity(), map.memory_bytes())
        });
        map.shrink_to_fit().unwrap();
        equals(&map, &HashMap::new());
        assert_eq!(map.insert(K::ALL_ONES, own(&K::ALL_ONES)), Ok(true));
        equals(&map, &pairs(&[K::ALL_ONES]));
    }
}

#[parameterized]
fn one_key_at_a_time<K: Key, V: Value>() {
    on_all(|device| configs().iter().for_each(|config| edges::one_key_at_a_time::<_, K, V>(device, config)));
}

/// Checks batches that are small relative to the table. Their pairs are inserted directly into the
/// table, by warps that run in any order.
#[test]
fn of_equal_keys_in_a_small_batch_the_last_pair_counts() {
    const HELD: usize = 2048;
    const BATCH: usize = 120;
    fn with<K: Key, V: Value>() {
        on_all(|device| {
            let held = distinct_keys::<K>(HELD, 7);
            let full = default().build(device, &held, &values(&held)).unwrap();
            for few in [1, 2, 7, 40, BATCH] {
                let mut map = full.try_clone().unwrap();
                // Four such batches have a quarter of the keys; another one would rewrite the
                // pages.
                for batch in 1..=4 {
                    let keys: Vec<K> = (0..BATCH).map(|i| held[i * i % few]).collect();
                    let new: Vec<V> = (0..BATCH).map(|i| V::from_u64((batch * HELD + i) as u64)).collect();
                    assert_eq!(map.insert_many(&keys, &new), Ok(0));
                    let last: HashMap<K, V> = keys.iter().copied().zip(new).collect();
                    let found = map.get_many(&keys).unwrap();
                    for (key, found) in keys.iter().zip(found) {
                        assert_eq!(found, last.get(key).copied(), "{key} of {few} in batch {batch}");
                    }
                }
            }
        });
    }
    with::<u32, u32>();
    with::<u64, u64>();
}

#[parameterized]
fn sequential_and_strided_keys<K: Key, V: Value>(engine: &TestEngine) {
    let n = engine.max_items.min(1000) as u64;
    let every = if n < 1000 { 40 } else { 8 };
    edges::sequential_and_strided_keys::<_, K, V>(&engine.device, &default(), (n, every, 170));
}

#[parameterized]
fn retaining<K: Key, V: Value>(engine: &TestEngine) {
    edges::retaining::<_, K, V>(
        &engine.device,
        &default(),
        engine.max_items.min(if engine.in_turn { 200 } else { 64 }),
    );
}

#[parameterized]
fn every_extreme_key_comes_and_goes_with_every_extreme_value<K: Key, V: Value>(device: &Device) {
    let mut map: PageMap<K, V> = default().create(device).unwrap();
    for value in extremes::<V>() {
        for keys in [extremes::<K>(), extremes::<K>().into_iter().rev().collect()] {
            let there = map.len();
            assert_eq!(map.insert_many(&keys, &vec![value; keys.len()]), Ok(keys.len() - there));
            equals(&map, &keys.iter().map(|&key| (key, value)).collect());
            let gone = map.remove_many(&keys[1..]).unwrap();
            assert_eq!(gone, vec![Some(value); keys.len() - 1]);
            equals(&map, &HashMap::from([(keys[0], value)]));
        }
    }
}

/// Checks that a map does not grow up to its capacity, and that the next key makes it at least one
/// and a half times as large.
#[test]
fn a_map_grows_when_it_has_more_keys_than_its_capacity_and_not_before() {
    fn with<K: Key, V: Value>(device: &Device, config: &PageConfig, pairs_before: usize) {
        let first: Vec<K> = distinct_keys(pairs_before, 5);
        let mut map: PageMap<K, V> = config.build(device, &first, &values(&first)).unwrap();
        let (capacity, memory) = (map.capacity(), map.memory_bytes());
        assert!(capacity >= pairs_before);
        let keys: Vec<K> = distinct_keys(capacity + 1, 5);
        assert_eq!(keys[..pairs_before], first);
        let mut batch = 1;
        let mut there = pairs_before;
        while there < capacity {
            let end = capacity.min(there + batch);
            assert_eq!(map.insert_many(&keys[there..end], &values(&keys[there..end])), Ok(end - there));
            assert_eq!((map.capacity(), map.memory_bytes(), map.len()), (capacity, memory, end));
            (there, batch) = (end, 2 * batch);
        }
        equals(&map, &pairs(&keys[..capacity]));
        // All present keys, half of them twice, need no more capacity.
        let again = [&keys[..capacity], &keys[..capacity / 2]].concat();
        assert_eq!(map.insert_many(&again, &values(&again)), Ok(0));
        assert_eq!((map.capacity(), map.memory_bytes()), (capacity, memory));
        assert_eq!(map.insert(keys[capacity], own(&keys[capacity])), Ok(true));
        assert!(map.capacity() >= capacity + capacity / 2, "{} after {capacity}", map.capacity());
        equals(&map, &pairs(&keys));
    }
    fn of_all_sizes<K: Key, V: Value>() {
        on_each_engine(|engine| {
            for n in [1, 20, 200, 700, 3000].into_iter().filter(|&n| n <= engine.max_items.min(3000)) {
                // At a load of 1, a page may be full before the table is, so it is not tried.
                for config in [default(), default().load(0.8), default().load(0.1)] {
                    with::<K, V>(&engine.device, &config, n);
                }
            }
        });
    }
    in_all_widths!(of_all_sizes());
}

#[parameterized]
fn reserved_capacity_stays_until_it_is_used(engine: &TestEngine) {
    let device = &engine.device;
    let n = engine.max_items.min(3000);
    let keys: Vec<u32> = distinct_keys(n, 9);
    let mut created: PageMap<u32, u64> = default().pairs(n).create(device).unwrap();
    assert_eq!(created.memory_bytes(), default().pairs(n).memory_bytes::<u32, u64>(0).unwrap());
    assert_eq!(created.memory_bytes(), default().memory_bytes::<u32, u64>(n).unwrap());
    let mut reserved: PageMap<u32, u64> = default().create(device).unwrap();
    reserved.reserve(n).unwrap();
    let mut with_keys: PageMap<u32, u64> = default().create(device).unwrap();
    with_keys.insert_many(&keys[..9], &values(&keys[..9])).unwrap();
    with_keys.reserve(n - 9).unwrap();
    equals(&with_keys, &pairs(&keys[..9]));
    let mut cleared: PageMap<u32, u64> = fill(device, &default(), &keys, n);
    cleared.clear().unwrap();
    for map in [&mut created, &mut reserved, &mut with_keys, &mut cleared] {
        assert!(map.capacity() >= n);
        let memory = map.memory_bytes();
        for keys in keys.chunks(n / 3) {
            map.insert_many(keys, &values(keys)).unwrap();
            assert_eq!(map.memory_bytes(), memory);
        }
        equals(map, &pairs(&keys));
        let error = map.reserve(usize::MAX / 2).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::TooManyPairs { .. })), "{error}");
        equals(map, &pairs(&keys));
    }
}

#[parameterized]
fn a_map_whose_keys_have_gone_is_shrunk_to_those_that_are_left(engine: &TestEngine) {
    let n = engine.max_items.min(3000);
    let keys: Vec<u64> = distinct_keys(n, 9);
    let mut map: PageMap<u64, u32> = fill(&engine.device, &default(), &keys, n);
    map.erase_many(&keys[n / 10..]).unwrap();
    map.shrink_to_fit().unwrap();
    assert_eq!(map.memory_bytes(), default().memory_bytes::<u64, u32>(n / 10).unwrap());
    assert!(!map.table().has_holes());
    equals(&map, &pairs(&keys[..n / 10]));
    map.erase_many(&keys).unwrap();
    map.shrink_to_fit().unwrap();
    assert_eq!(map.memory_bytes(), default().memory_bytes::<u64, u32>(0).unwrap());
    assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(n));
    equals(&map, &pairs(&keys));
}

#[parameterized]
fn one_key_in_a_batch_larger_than_the_table<K: Key, V: Value>(engine: &TestEngine) {
    let n = engine.max_items.min(2000);
    let there: Vec<K> = distinct_keys(40, 2);
    for one in [K::from_u64(0), K::ALL_ONES, there[7]] {
        let mut map: PageMap<K, V> = fill(&engine.device, &default(), &there, 40);
        let mut expected = pairs(&there);
        let new = !expected.contains_key(&one) as usize;
        let all: Vec<V> = (0..n as u64).map(V::from_u64).collect();
        assert_eq!(map.insert_many(&vec![one; n], &all), Ok(new));
        expected.insert(one, all[n - 1]);
        equals(&map, &expected);
        let answers = map.remove_many(&vec![one; n]).unwrap();
        assert_eq!(answers.iter().flatten().collect::<Vec<_>>(), [&all[n - 1]]);
        expected.remove(&one);
        equals(&map, &expected);
    }
}

/// Fills the first page of a table of at least two pages, with all keys at once and with a few at a
/// time. The map must grow when that page is full, long before all pages are.
#[parameterized]
fn keys_that_all_fall_into_one_page_make_the_map_grow(engine: &TestEngine) {
    for (first, rest) in [(1usize, 1200), (1000, 60), (1000, 200)] {
        let config = default().load(0.9).pairs(1400);
        let mut map: PageMap<u32, u32> = config.create(&engine.device).unwrap();
        map.insert(1, own(&1u32)).unwrap();
        let layout = *map.table().layout();
        let spread = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
        let mut keys: Vec<u32> = (0..).map(|i| key_of_page(&layout, 0, spread(i))).take(first + rest).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|&key| key != 1);
        let before = map.memory_bytes();
        for keys in [&keys[..first], &keys[first..]] {
            assert_eq!(map.insert_many(keys, &values(keys)), Ok(keys.len()));
        }
        let slots = layout.page_buckets as usize * layout.slots as usize;
        assert_eq!(map.memory_bytes() > before, keys.len() > slots, "{} in {slots} slots", keys.len());
        keys.push(1);
        equals(&map, &pairs(&keys));
    }
}

#[parameterized]
fn what_belongs_to_another_device_is_refused(here: &Device) {
    let mut map: PageMap<u32, u32> = fill(here, &default(), &distinct_keys(40, 3), 40);
    errors::what_belongs_to_another_device_is_refused(&mut map, 40);
}
