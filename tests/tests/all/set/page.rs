//! The page set, compared with `std::collections::HashSet`: any keys and operations, edge cases,
//! and repeated keys, on every engine.

use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::low_level::kernels::split::MAX_SPLIT_BITS;
use warpnest::types::WordKey as Key;
use warpnest::{Device, Error, PageConfig};
use warpnest_tests::sets::properties::{any_steps, keys, step};
use warpnest_tests::sets::{build, check, edges};
use warpnest_tests::{TestEngine, distinct_keys, engines, key, on_every_engine, parameterized};

fn default() -> PageConfig {
    PageConfig::default().seed(7)
}

/// Returns a configuration with such a low load that even few keys are split, into about `pages`
/// pages.
fn split_into(pages: u64, keys: usize) -> PageConfig {
    default().load((keys as f64 / (pages as f64 * 300.0 * 8.0)).clamp(1e-6, 0.8))
}

warpnest_tests::tests_of! { edges:
    no_key_one_key_and_the_extremes[&default()];
    keys_one_after_the_other_and_at_every_distance[&default()];
    copies_of_one_key_and_half_of_the_keys_twice[|n| vec![default(), split_into(4, n), default().load(1.0)]];
    a_broken_promise_of_unique_keys_loses_none_and_finds_no_others[&default().load(0.4), |_, _, _| ()];
}

#[parameterized(each_width)]
fn any_keys_and_operations<K: Key>() {
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(2500);
            let load = prop_oneof![2 => 0.05..=1.0f64, 1 => Just(0.8), 1 => Just(1.0), 1 => 0.002..0.05f64];
            let config = (load, any::<u64>(), any::<bool>(), any::<bool>());
            let queries = prop::collection::vec(key::<K>(), 0..70);
            (config, keys::<K>(most), prop::collection::vec(step(most), 0..5), queries)
        },
        |engine, ((load, seed, unique, timings), keys, steps, queries)| {
            let config = PageConfig::default().load(load).seed(seed);
            let config = if unique { config.assume_unique() } else { config };
            let config = if timings { config.timings() } else { config };
            // If unique keys are promised, only first copies are kept.
            let kept = |keys: Vec<K>| -> Vec<K> {
                let mut seen = HashSet::new();
                keys.into_iter().filter(|&key| !unique || seen.insert(key)).collect()
            };
            let steps = steps.into_iter().map(|step| step.with(kept)).collect();
            let excused = |error: &Error, _: &HashSet<K>| Err(error.to_string());
            any_steps(&engine.device, &config, (kept(keys), steps, queries), excused, |report| {
                prop_assert_eq!((report.seed, report.stages.is_some()), (seed, timings));
                Ok(())
            })
        },
    );
}

/// Checks counts of keys around the keys of a lookup's warp and block, of a bucket, of a page, and
/// of a split's tile.
#[test]
fn numbers_of_keys_around_what_kernels_take_at_once() {
    let borders = [8, 15, 16, 24, 32, 64, 128, 256, 384, 512, 1024, 1536, 2048, 4096, 6144, 8192, 16_384, 65_536];
    edges::numbers_of_keys_around(&default(), &borders);
}

/// Checks that sets have the requested load, up to 0.9, and that such sets can be built.
#[parameterized]
fn every_load_is_built_and_kept<K: Key>(engine: &TestEngine) {
    for load in [0.01, 0.3, 0.5, 0.8, 0.9, 1.0] {
        for n in [300, 2000, 60_000].into_iter().filter(|&n| n <= engine.max_items) {
            let set = build(&engine.device, &default().load(load), &distinct_keys::<K>(n, 5));
            let taken = set.len() as f64 / set.table().slots() as f64;
            // Pages are rounded up by a few buckets, and the smallest table has 20 buckets.
            assert!(taken <= load.min(0.9) && taken > load.min(0.9) * 0.8, "{taken} of {load}, {n} keys");
        }
    }
}

/// Checks, on the CPU, counts of keys for which buckets have fifteen slots, so 32-bit keys need
/// fewer bytes.
#[test]
fn many_keys_take_short_tags() {
    let n = 4_500_000;
    let keys: Vec<u32> = distinct_keys(n, 3);
    let set = PageConfig::default().assume_unique().seed(3).build_set(&Device::cpu(), &keys).unwrap();
    assert_eq!((set.len(), set.table().layout().slots), (n, 15));
    assert!(set.memory_bytes() < (28 * n as u64 / 10) as usize, "{} bytes for {n} keys", set.memory_bytes());
    let (keys, others) = keys.split_at(100_000);
    check(&set, &keys.iter().chain(others).copied().collect(), keys).unwrap();
    let absent: Vec<u32> = distinct_keys::<u32>(n + 100_000, 3).split_off(n);
    assert!(set.contains_many(&absent).unwrap().iter().all(|found| !found));
    // A table leaves slots empty before it uses longer tags.
    let fewer = PageConfig::default().set_memory_bytes::<u32>(3_500_000).unwrap();
    assert!((32 * 327_686..33 * 327_686 + 1).contains(&fewer), "{fewer} bytes");
}

/// Checks, on the CPU, copies that a tile drops in a skewed bin, copies that make a bin overflow,
/// and copies that do neither.
#[test]
fn a_key_a_million_times_and_other_shares() {
    fn with<K: Key>(config: &PageConfig, n: usize, every: usize) -> (bool, bool) {
        let once: Vec<K> = distinct_keys(n, 4);
        let keys: Vec<K> = (0..n).map(|i| if i % every == 0 { K::from_u64(9) } else { once[i] }).collect();
        let set = build(&engines()[0].device, config, &keys);
        assert!(!set.report().counted, "there is one split");
        (set.report().skewed, set.report().split_again)
    }
    assert_eq!(with::<u32>(&default(), 1_000_000, 1), (true, false));
    assert_eq!(with::<u64>(&default(), 1_000_000, 1), (true, false));
    assert!(with::<u32>(&default(), 2_000_000, 2).0);
    // No tile has a skewed bin, but all tiles together have more copies than the bin's capacity.
    assert_eq!(with::<u32>(&default(), 600_000, 480), (false, true));
    assert_eq!(with::<u64>(&default(), 600_000, 480), (false, true));
    for every in [3, 40, 100, 300, 1000, 3000] {
        with::<u32>(&default(), 100_000, every);
        with::<u64>(&default(), 100_000, every);
    }
}

/// Checks more pages than one split can distinguish.
#[test]
fn two_splits() {
    fn with<K: Key>(slots: u64, buckets: u64) {
        let (n, device) = (30_000, &engines()[0].device);
        let config = default().load(n as f64 / (slots * buckets) as f64);
        let keys: Vec<K> = distinct_keys(n, 3);
        let set = build(device, &config, &keys);
        assert!(set.table().layout().page_bits > MAX_SPLIT_BITS, "{:?}", set.table().layout());
        build(device, &config.clone().assume_unique(), &keys);
        let copies = build(device, &config, &vec![K::from_u64(3); n]);
        assert!(
            copies.report().skewed && !copies.report().counted && !copies.report().split_again,
            "{:?}",
            copies.report()
        );
        build(device, &config, &keys[..n / 2].repeat(2));
        for every in [2, 10, 100, 1000] {
            let often: Vec<K> = (0..n).map(|i| if i % every == 0 { K::from_u64(9) } else { keys[i] }).collect();
            build(device, &config, &often);
        }
    }
    with::<u32>(15, 700_000);
    with::<u64>(8, 500_000);
}

#[test]
fn rebuilds_with_more_and_fewer_and_no_keys() {
    edges::rebuilds_with_more_and_fewer_and_no_keys(
        |_| default(),
        |set| set.shrink_to_fit().unwrap(),
        |set| set.shrink_to_fit().unwrap(),
    );
    edges::rebuilds_with_more_and_fewer_and_no_keys(|_| default(), |_| (), |_| ());
}
