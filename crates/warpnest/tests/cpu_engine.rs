//! Tests that run every kernel of the library as a function on the CPU, both in few blocks and in
//! many blocks at the same time. `cargo xtask sanitize` runs them under sanitizers. The properties
//! of `tests/tests/all` check the results in more detail.
#![cfg(feature = "cpu")]

#[path = "cpu_engine/cores.rs"]
mod cores;
mod shuffled_threads;

use shuffled_threads::ShuffledThreads;
use std::collections::HashMap;
use warpnest::design::{Builds, Design, Ids, Sets};
use warpnest::design::{BulkMap, Config};
use warpnest::linear::LinearOperation::{Get, GetOrInsert, Insert, Remove};
use warpnest::low_level::engine::HostEngine;
use warpnest::primitives::{
    BitField, Scratch, binary_search, compact, exclusive_scan, exclusive_scan_in_place, flag_last_of_each, histogram,
    inclusive_scan, inclusive_scan_in_place, partition_pairs, sort_pairs,
};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    Answers, Buffer, CompactingConfig, CuckooConfig, Device, ExtendibleConfig, LinearConfig, MultiConfig, PageConfig,
    SortedConfig, TwoLevelConfig,
};

/// The counts of pairs. The CPU engine divides a launch among its cores for the larger count only.
/// `ShuffledThreads` also divides a launch with few blocks.
const SIZES: &[usize] = if cfg!(miri) { &[70] } else { &[1000, 20_000] };

/// Runs a test with keys and values of every width, on the CPU engine and on shuffled threads, with
/// few and with many pairs.
macro_rules! everywhere {
    ($test:ident) => {
        for device in [Device::cpu(), Device::from_engine(HostEngine::new(ShuffledThreads::new(1))).unwrap()] {
            for &n in SIZES {
                $test::<u32, u32>(&device, n);
                $test::<u32, u64>(&device, n);
                $test::<u64, u32>(&device, n);
                $test::<u64, u64>(&device, n);
            }
        }
    };
}

/// Returns distinct keys, including the key of all zeros and the key of all ones.
fn distinct<K: Key>(n: usize) -> Vec<K> {
    let number = |i: u64| K::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    [K::ALL_ONES].into_iter().chain((0..n as u64 - 1).map(number)).collect()
}

/// Returns keys that are mostly distinct, except one key that is frequent and some that occur
/// twice.
fn repeated<K: Key>(n: usize) -> Vec<K> {
    let keys = distinct(n);
    (0..n).map(|i| if i % 10 == 0 { keys[n / 2] } else { keys[if i % 7 == 0 { i / 2 } else { i }] }).collect()
}

fn values<V: Value>(n: usize) -> Vec<V> {
    (0..n as u64).map(|i| V::from_u64(i.wrapping_mul(0x1_0000_0001))).collect()
}

/// Returns keys that [`distinct`] does not return for the same `n`.
fn absent<K: Key>(n: usize) -> Vec<K> {
    distinct::<K>(2 * n).split_off(n)
}

/// Fails unless a map has exactly these pairs. If a key occurs several times, its last value
/// counts.
fn holds<K: Key, V: Value, D: Design>(map: &BulkMap<K, V, D>, keys: &[K], values: &[V]) {
    let pairs: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
    let queries: Vec<K> = keys.iter().copied().chain(absent(keys.len())).collect();
    let expected: Vec<Option<V>> = queries.iter().map(|key| pairs.get(key).copied()).collect();
    assert!(map.get_many(&queries).unwrap() == expected);
    assert!(map.contains_many(&queries).unwrap() == expected.iter().map(Option::is_some).collect::<Vec<_>>());
    assert!(map.len() == pairs.len() && map.to_pairs().unwrap().into_iter().collect::<HashMap<_, _>>() == pairs);
}

/// Builds a map from distinct keys and from repeated keys, and then rebuilds it with fewer pairs.
fn built<K: Key, V: Value, D: Builds>(device: &Device, n: usize, config: &Config<D>) {
    for keys in [distinct::<K>(n), repeated::<K>(n)] {
        let values = values::<V>(n);
        let mut map = config.build(device, &keys, &values).unwrap();
        holds(&map, &keys, &values);
        holds(&map.try_clone().unwrap(), &keys, &values);
        let (keys, values) = (&keys[n / 3..], &values[n / 3..]);
        let buffers = (Buffer::from_slice(device, keys).unwrap(), Buffer::from_slice(device, values).unwrap());
        map.rebuild(&buffers.0, &buffers.1).unwrap();
        holds(&map, keys, values);
    }
}

#[test]
fn cuckoo_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        built::<K, V, _>(device, n, &CuckooConfig::default());
        built::<K, V, _>(device, n, &CuckooConfig::default().functions(2).slots_per_pair(2.3));
    }
    everywhere!(with);
}

#[test]
fn two_level_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        built::<K, V, _>(device, n, &TwoLevelConfig::default());
    }
    everywhere!(with);
}

#[test]
fn page_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        built::<K, V, _>(device, n, &PageConfig::default());
        built::<K, V, _>(device, n, &PageConfig::default().load(0.95));
        let (keys, values) = (distinct::<K>(n), values::<V>(n));
        holds(&PageConfig::default().assume_unique().build(device, &keys, &values).unwrap(), &keys, &values);
    }
    everywhere!(with);
}

#[test]
fn page_maps_that_change() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        let (keys, values, stream) = (distinct::<K>(n), values::<V>(n), device.default_stream());
        for config in [PageConfig::default().load(0.8), PageConfig::default().pairs(n).assume_unique()] {
            let mut map = config.create(device).unwrap();
            // A build, a growth, and in-place inserts of every size follow.
            let mut end = 0;
            for part in [n / 4, n / 4, n / 100, n / 50] {
                let batch = end..end + part;
                assert_eq!(map.insert_many(&keys[batch.clone()], &values[batch]), Ok(part));
                end += part;
            }
            map.reserve(n).unwrap();
            for batch in [end..n, 0..n, 0..n / 50] {
                map.insert_many(&keys[batch.clone()], &values[batch]).unwrap();
            }
            holds(&map, &keys, &values);
            assert_eq!(map.remove_many(&keys[..n / 50]).unwrap().iter().flatten().count(), n / 50);
            assert_eq!(map.erase_many(&keys[..n / 3]), Ok(n / 3 - n / 50));
            map.insert_many(&keys[..n / 50], &values[..n / 50]).unwrap();
            map.insert_many(&keys[..n / 3], &values[..n / 3]).unwrap();
            holds(&map, &keys, &values);
            let (on_device, _) = map.pairs_on(stream).unwrap();
            let none = Buffer::zeroed(device, n.div_ceil(32)).unwrap();
            assert_eq!(map.retain_many_on(stream, &on_device, &none), Ok(n));
            assert!(map.is_empty());
            map.shrink_to_fit().unwrap();
        }
        // Here several threads change the same key.
        let mut map = PageConfig::default().build(device, &keys, &values).unwrap();
        let again = repeated::<K>(n);
        map.insert_many(&again[..n / 20], &values[..n / 20]).unwrap();
        map.insert_many(&again, &values).unwrap();
        map.erase_many(&again[..n / 20]).unwrap();
        map.erase_many(&again).unwrap();
        assert!(!map.contains_many(&again).unwrap().contains(&true));
    }
    everywhere!(with);
}

#[test]
fn sorted_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        built::<K, V, _>(device, n, &SortedConfig::default());
        let mut keys = distinct::<K>(n);
        let map = SortedConfig::default().assume_unique().build(device, &keys, &values::<V>(n)).unwrap();
        let ranges: Vec<_> = keys.iter().map(|&key| K::default()..key).collect();
        let counts = map.count_ranges_many(&ranges).unwrap();
        assert_eq!(map.lower_bound_many(&keys).unwrap(), counts);
        keys.sort();
        assert!(
            ranges
                .iter()
                .zip(counts)
                .all(|(range, count)| keys.partition_point(|&key| key < range.end) == count as usize)
        );
    }
    everywhere!(with);
}

#[test]
fn linear_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        let (keys, values) = (distinct::<K>(n), values::<V>(n));
        for config in [LinearConfig::default(), LinearConfig::default().linear_probing().load(0.95)] {
            let mut map = config.create(device).unwrap();
            assert_eq!(map.insert_many(&keys, &values), Ok(n));
            holds(&map, &keys, &values);
            // Here several threads access the same key.
            assert!(map.get_or_insert_many(&repeated(n), &values).unwrap().len() == n);
            let operations: Vec<_> = (0..n)
                .map(|i| {
                    [
                        Get(keys[i % 9]),
                        Insert(keys[i % 9], values[i]),
                        GetOrInsert(keys[i], values[i]),
                        Remove(keys[i % 9]),
                    ][i % 4]
                })
                .collect();
            assert_eq!(map.apply_many(&operations).unwrap().len(), n);
            map.table().probe_lengths().unwrap();
            map.remove_many(&keys[..n / 2]).unwrap();
            map.drop_tombstones().unwrap();
            map.shrink_to_fit().unwrap();
            map.replace_many(&keys, &values).unwrap();
            holds(&map, &keys, &values);
        }
    }
    everywhere!(with);
}

#[test]
fn extendible_maps() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        let (keys, values) = (repeated::<K>(n), values::<V>(n));
        // Under Miri, the memory of a thousand times as many buckets would take minutes.
        let config = ExtendibleConfig::default();
        let config = if cfg!(miri) { config.segments(1).buckets(4).records(8) } else { config };
        let mut map = config.create(device).unwrap();
        for batch in [0..n / 4, n / 4..n] {
            map.insert_many(&keys[batch.clone()], &values[batch]).unwrap();
        }
        holds(&map, &keys, &values);
        holds(&map.try_clone().unwrap(), &keys, &values);
        assert_eq!(map.remove_many(&keys).unwrap().len(), n);
        assert!(map.is_empty());
        map.insert_many(&keys[..5], &values[..5]).unwrap();
        map.remove_many(&keys[..1]).unwrap();
        map.shrink_to_fit().unwrap();
    }
    everywhere!(with);
}

#[test]
fn sets() {
    fn combined<K: Key, D: Sets>(device: &Device, n: usize, config: &Config<D>) {
        let keys = repeated::<K>(n);
        let [all, some] = [&keys[..], &keys[..n / 3]].map(|keys| config.build_set(device, keys).unwrap());
        let others = config.build_set(device, &absent::<K>(n)).unwrap();
        assert!(all.contains_many(&keys).unwrap().iter().all(|&is_in| is_in));
        assert!(!all.contains_many(&absent(n)).unwrap().contains(&true));
        assert_eq!(all.to_keys().unwrap().len(), all.len());
        assert_eq!(all.union(&others).unwrap().len(), all.len() + n);
        assert_eq!(all.intersection(&some).unwrap().len(), some.len());
        assert_eq!(all.difference(&some).unwrap().len(), all.len() - some.len());
    }
    fn changed<K: Key>(device: &Device, n: usize) {
        let keys = repeated::<K>(n);
        let mut set = PageConfig::default().build_set(device, &keys[..n / 2]).unwrap();
        set.insert_many(&keys).unwrap();
        set.insert_many(&keys[..n / 50]).unwrap();
        assert!(set.contains_many(&keys).unwrap().iter().all(|&is_in| is_in));
        assert!(set.remove_many(&keys[..n / 50]).unwrap().contains(&true));
        set.erase_many(&keys).unwrap();
        assert!(set.is_empty());
    }
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        if V::BITS == 32 {
            combined::<K, _>(device, n, &PageConfig::default());
            combined::<K, _>(device, n, &CuckooConfig::default());
            changed::<K>(device, n);
        }
    }
    everywhere!(with);
}

#[test]
fn compacting_tables_and_multimaps() {
    fn on<K: Key, V: Value, D: Ids>(device: &Device, n: usize, config: Config<D>) {
        let (keys, values) = (repeated::<K>(n), values::<V>(n));
        if V::BITS == 32 {
            let in_any_order = CompactingConfig::on(config.clone());
            for config in [in_any_order.clone(), in_any_order.in_order_of_appearance()] {
                let table = config.build(device, &keys).unwrap();
                let (keys, ids): (Vec<K>, Vec<u32>) = table.to_pairs().unwrap().into_iter().unzip();
                assert!(table.keys_of_many(&ids).unwrap().into_iter().eq(keys.into_iter().map(Some)));
            }
        }
        let map = MultiConfig::on(config).build(device, &keys, &values).unwrap();
        let mut all: HashMap<K, Vec<V>> = HashMap::new();
        keys.iter().zip(&values).for_each(|(&key, &value)| all.entry(key).or_default().push(value));
        let queries: Vec<K> = all.keys().copied().chain(absent(n)).collect();
        let found = map.retrieve_many(&queries).unwrap();
        let counts = map.count_many(&queries).unwrap();
        for ((query, ends), count) in queries.iter().zip(found.offsets.windows(2)).zip(counts) {
            let expected = all.get(query).map_or(&[][..], Vec::as_slice);
            assert!(found.values[ends[0] as usize..ends[1] as usize] == *expected && expected.len() == count as usize);
        }
        assert_eq!(map.to_pairs().unwrap().len(), n);
    }
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        on::<K, V, _>(device, n, PageConfig::default());
        on::<K, V, _>(device, n, CuckooConfig::default());
    }
    everywhere!(with);
}

#[test]
fn primitives() {
    fn with<K: Key, V: Value>(device: &Device, n: usize) {
        let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
        let (keys, values) = (repeated::<K>(n), values::<V>(n));
        let buffer = || Buffer::from_slice(device, &keys).unwrap();
        let (mut sums, mut in_place) = (buffer(), buffer());
        exclusive_scan(stream, &mut scratch, &buffer(), &mut sums).unwrap();
        exclusive_scan_in_place(stream, &mut scratch, &mut in_place).unwrap();
        let sums = sums.download(stream).unwrap();
        assert!(sums == in_place.download(stream).unwrap() && sums[2] == keys[0].plus(keys[1]));
        let (mut with_own, mut in_place) = (buffer(), buffer());
        inclusive_scan(stream, &mut scratch, &buffer(), &mut with_own).unwrap();
        inclusive_scan_in_place(stream, &mut scratch, &mut in_place).unwrap();
        let with_own = with_own.download(stream).unwrap();
        assert!(with_own == in_place.download(stream).unwrap() && with_own[..n - 1] == sums[1..]);

        let field = BitField { shift: 5, bits: 9 };
        let [mut counts, mut starts] = [(); 2].map(|()| Buffer::<u32>::zeroed(device, 1 << field.bits).unwrap());
        histogram(stream, &buffer(), field, &mut counts).unwrap();
        assert_eq!(counts.download(stream).unwrap().iter().sum::<u32>(), n as u32);
        let wide_field = BitField { shift: 3, bits: 14 };
        let mut wide_counts = Buffer::<u32>::zeroed(device, 1 << wide_field.bits).unwrap();
        histogram(stream, &buffer(), wide_field, &mut wide_counts).unwrap();
        assert_eq!(wide_counts.download(stream).unwrap().iter().sum::<u32>(), n as u32);
        let (mut sorted, mut moved) = (buffer(), Buffer::from_slice(device, &values).unwrap());
        let input = Buffer::from_slice(device, &values).unwrap();
        partition_pairs(stream, &mut scratch, (&buffer(), &input), field, (&mut sorted, &mut moved), &mut starts)
            .unwrap();
        sort_pairs(stream, &mut scratch, &mut sorted, &mut moved).unwrap();
        let mut expected = keys.clone();
        expected.sort();
        assert!(sorted.download(stream).unwrap() == expected);

        let mut keep = Buffer::zeroed(device, n.div_ceil(32)).unwrap();
        let (mut unique, mut count) = (buffer(), Buffer::zeroed(device, 1).unwrap());
        flag_last_of_each(stream, &sorted, &mut keep).unwrap();
        compact(stream, &mut scratch, &sorted, &keep, &mut unique, &mut count).unwrap();
        expected.dedup();
        assert_eq!(count.download(stream).unwrap(), [expected.len() as u32]);
        let mut answers = Answers::new(device, n).unwrap();
        binary_search(stream, (&sorted, &moved), &buffer(), &mut answers).unwrap();
        assert!(answers.download(stream).unwrap().iter().all(Option::is_some));
    }
    everywhere!(with);
}
