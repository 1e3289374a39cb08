//! The page map on the CPU engine with different counts of threads, which determine its pages.
//! Fewer and larger pages are built directly in the table's memory.

use rayon::ThreadPoolBuilder;
use std::collections::HashMap;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, PageConfig, PageMap};
use warpnest_tests::page_checker::check_page_map;
use warpnest_tests::{distinct_keys, values};

/// Sizes around the counts of pairs that are processed at once (32), that one block splits (8192),
/// and that one core builds as a page.
const SIZES: [usize; 12] = [0, 1, 31, 32, 33, 1433, 8191, 8193, 20_000, 65_536, 70_000, 150_000];

/// Builds a map in a pool of `threads` threads, checks all of it, and returns it.
fn checked<K: Key, V: Value>(threads: usize, config: &PageConfig, keys: &[K], values: &[V]) -> PageMap<K, V> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let map = config.build(&Device::cpu(), keys, values).unwrap();
        let reference: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
        check_page_map(&map, &reference)
            .unwrap_or_else(|wrong| panic!("{} pairs, {threads} threads: {wrong}", keys.len()));
        assert_eq!(map.memory_bytes(), config.memory_bytes::<K, V>(keys.len()).unwrap());
        let answers = map.get_many(keys).unwrap();
        assert_eq!(answers.len(), keys.len(), "{threads} threads");
        assert!(keys.iter().zip(answers).all(|(key, answer)| answer == reference.get(key).copied()));
        map
    })
}

fn every_size<K: Key, V: Value>() {
    for n in SIZES {
        let (keys, values) = (distinct_keys::<K>(n, 7), values::<V>(n));
        // Each key occurs three times, far apart.
        let thirds: Vec<K> = (0..n).map(|i| keys[i % n.div_ceil(3)]).collect();
        for load in [0.8, 1.0] {
            let config = PageConfig::default().seed(5).load(load);
            let pages = [1, 2, 8].map(|threads| {
                checked(threads, &config, &thirds, &values);
                checked(threads, &config, &keys, &values);
                checked(threads, &config.clone().assume_unique(), &keys, &values).table().layout().pages()
            });
            assert!(pages.is_sorted(), "{n} pairs: {pages:?}");
            assert!(pages[0] == 1 || n > 20_000, "{n} pairs: {pages:?}");
            assert!(pages[2] >= 16 || n < 70_000, "{n} pairs: {pages:?}");
        }
    }
}

#[test]
fn narrow_pairs_in_pages_for_any_number_of_threads() {
    every_size::<u32, u32>();
}

#[test]
fn wide_pairs_in_pages_for_any_number_of_threads() {
    every_size::<u64, u64>();
    every_size::<u64, u32>();
    every_size::<u32, u64>();
}

/// Checks that a single core builds a page of up to twice the usual count of pairs if this saves
/// the split.
#[test]
fn the_largest_single_page() {
    let keys = distinct_keys::<u32>(1 << 18, 4);
    // The table has some 97,000 of the 98,304 buckets that a page may have.
    let config = PageConfig::default().seed(6).load(0.68);
    let values_of = |keys: &[u32]| values::<u32>(keys.len());
    for config in [&config, &config.clone().assume_unique()] {
        let map = checked(1, config, &keys, &values_of(&keys));
        assert_eq!(map.table().layout().pages(), 1);
        let pairs: HashMap<u32, u32> = map.to_pairs().unwrap().into_iter().collect();
        assert_eq!(pairs, keys.iter().copied().zip(values_of(&keys)).collect());
    }
    let more = distinct_keys::<u32>((1 << 18) + 1, 4);
    assert_eq!(checked(1, &config, &more, &values_of(&more)).table().layout().pages(), 2);
}

/// Checks copies of few keys, which fill their buckets and the lists of pairs without a slot.
#[test]
fn many_copies_of_few_keys_in_one_large_page() {
    for different in [1, 5, 300] {
        let few: Vec<u32> = distinct_keys(different, 3);
        let keys: Vec<u32> = (0..60_000).map(|i| few[i * 7 % different]).collect();
        checked::<u32, u32>(1, &PageConfig::default().seed(9), &keys, &values(keys.len()));
    }
}
