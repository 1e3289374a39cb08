//! Tests of the page map with few or many repeated keys, and with keys that are chosen to collide.

use gpu_kernels::types::KeyWord as _;
use std::collections::HashSet;
use warpnest::error::BuildError;
use warpnest::low_level::kernels::page::Layout;
use warpnest::low_level::kernels::split::MAX_SPLIT_BITS;
use warpnest::low_level::kernels::types::Scalar;
use warpnest::page::PageReport;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Error, PageConfig, PageMap};
use warpnest_tests::built::{self, check, edges};
use warpnest_tests::maps::holds;
use warpnest_tests::pages::key_of_page;
use warpnest_tests::{TestEngine, distinct_keys, engines, parameterized, says, values};

/// Returns the configuration of large tables, whose fuller pages have less spare capacity for skew.
fn default() -> PageConfig {
    PageConfig::default().load(0.8).seed(7)
}

/// Returns a configuration with such a low load that even the few pairs of slow engines are split
/// into at least `pages` pages.
fn split_into(pages: u64, pairs: usize) -> PageConfig {
    default().load((pairs as f64 * 8.0 / (pages as f64 * 300.0 * 32.0)).min(0.8))
}

fn build<K: Key, V: Value>(engine: &TestEngine, config: &PageConfig, keys: &[K]) -> PageMap<K, V> {
    built::build(&engine.device, config, keys, &values(keys.len()))
}

/// Returns whether a bin overflowed.
fn overflowed(report: &PageReport) -> bool {
    report.split_again || report.counted
}

#[test]
fn all_keys_equal_however_many() {
    fn with<K: Key, V: Value>(key: u64) {
        for most in [1, 2, 33, 300, 1639, 2000, 10_000, 70_000] {
            check::<_, K, V>(|_| default(), most, |n| vec![K::from_u64(key); n], |_, _| {});
        }
        for pages in [2, 4, 64] {
            check::<_, K, V>(|n| split_into(pages, n), 300, |n| vec![K::from_u64(key); n], |_, _| {});
        }
    }
    with::<u32, u32>(0);
    with::<u32, u32>(77);
    with::<u32, u64>(u64::MAX);
    with::<u64, u32>(0);
    with::<u64, u64>(u64::MAX);
    let many = build::<u32, u32>(&engines()[0], &default(), &[5; 300_000]);
    assert!(many.report().skewed && !overflowed(many.report()), "{:?}", many.report());
    let wide = build::<u64, u64>(&engines()[0], &default(), &[5; 300_000]);
    assert!(wide.report().skewed && !overflowed(wide.report()), "{:?}", wide.report());
}

#[test]
fn two_keys_that_take_turns() {
    for (one, other) in [(0, u64::MAX), (1, 2), (7, 7 << 32 | 7)] {
        for most in [300, 2000, 100_000] {
            let turns = |n: usize| (0..n).map(|i| if i % 2 == 0 { one } else { other });
            check::<_, u64, u32>(|_| default(), most, |n| turns(n).collect(), |_, _| {});
            check::<_, u32, u64>(|n| split_into(8, n), most, |n| turns(n).map(|key| key as u32).collect(), |_, _| {});
        }
    }
}

#[test]
fn the_last_pair_wins_in_every_order_of_repeated_pairs() {
    // The pairs are in one page, and in several.
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(|_| default(), |_, _| {});
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(|pairs| split_into(4, pairs), |_, _| {});
}

#[test]
fn half_of_the_input_repeated_once_in_the_same_and_in_the_other_order() {
    for most in [300, 2000, 100_000] {
        for load in [0.8, 1.0, 0.1] {
            let same = |n: usize| distinct_keys::<u32>(n / 2, 3).repeat(2);
            let other = |n: usize| [distinct_keys::<u32>(n / 2, 3), same(n)[..n / 2].iter().rev().copied().collect()];
            check::<_, u32, u32>(|_| default().load(load), most, same, |_, _| {});
            check::<_, u32, u64>(|_| default().load(load), most, |n| other(n).concat(), |_, _| {});
        }
    }
}

/// Returns different keys, except that every `every`-th key is `key`.
fn one_at_every<K: Key>(n: usize, every: usize, key: u64) -> Vec<K> {
    let mut keys: Vec<K> = distinct_keys(n, 12);
    keys.iter_mut().step_by(every).for_each(|case| *case = K::from_u64(key));
    keys
}

#[test]
fn a_skewed_bin_of_one_key_in_every_tile_is_thinned_and_leaves_the_others_alone() {
    let skewed = |report: &PageReport, _| assert!(report.skewed && !overflowed(report), "{report:?}");
    for every in [1, 2, 3, 10, 40] {
        let keys = one_at_every::<u32>(100_000, every, 3);
        skewed(build::<_, u32>(&engines()[0], &default(), &keys).report(), 0);
        let keys = one_at_every::<u64>(100_000, every, u64::MAX);
        skewed(build::<_, u64>(&engines()[0], &default(), &keys).report(), 0);
    }
    // There are so many pages that even the few pairs of a slow engine make a skewed bin.
    check::<_, u32, u32>(|n| split_into(100, n), 300, |n| vec![9; n], skewed);
    check::<_, u64, u64>(|n| split_into(100, n), 300, |n| one_at_every(n, 2, 0).split_off(n / 100), |_, _| {});
    check::<_, u64, u32>(|n| split_into(100, n), 300, |n| vec![u64::MAX - n as u64; n], skewed);
}

#[test]
fn a_skewed_bin_in_one_tile_only_and_an_even_part_in_all_others() {
    for at in [0, 50_000, 92_000] {
        let mut keys: Vec<u32> = distinct_keys(100_000, 2);
        keys[at..at + 8000].fill(1234);
        keys[99_999] = 77;
        let map = build::<_, u32>(&engines()[0], &default(), &keys);
        assert!(map.report().skewed, "{:?}", map.report());
    }
}

/// Checks a split that is repeated. No tile has a skewed bin, but all tiles together have more
/// copies of a key than a bin's capacity.
#[test]
fn a_key_that_is_often_everywhere_has_the_last_split_made_again() {
    let again = |report: &PageReport, _| {
        assert!(report.split_again && !report.counted && !report.skewed, "{report:?}");
    };
    let keys = one_at_every::<u32>(300_000, 480, 3);
    again(build::<_, u32>(&engines()[0], &default(), &keys).report(), 0);
    let keys = one_at_every::<u32>(300_000, 300, 3);
    again(build::<_, u64>(&engines()[0], &default(), &keys).report(), 0);
    // On the slow engines, most of the few pairs are copies, in four pages.
    let most_of = |n: usize| (0..n).map(|i| if i % 10 == 7 { i as u64 } else { 1 << 30 });
    check::<_, u32, u32>(|n| split_into(4, n), 300, |n| most_of(n).map(|key| key as u32).collect(), again);
    check::<_, u64, u64>(|n| split_into(4, n), 300, |n| most_of(n).collect(), again);
    check::<_, u32, u64>(|n| split_into(5, n), 300, |n| most_of(n).map(|key| key as u32).collect(), again);
    // The promise of unique keys is broken, but the split cannot know that.
    let (device, keys) = (&engines()[0].device, one_at_every::<u32>(300_000, 480, 3));
    let map = default().assume_unique().build(device, &keys, &values::<u32>(keys.len())).unwrap();
    assert!(map.report().split_again && !map.report().counted, "{:?}", map.report());
    let held: HashSet<u32> = map.to_pairs().unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(held, keys.iter().copied().collect());
}

/// Checks inputs in which every 40th pair, or another share, has the same key, at many sizes. There
/// may be a skewed bin, or counted keys; the result must always be right.
#[test]
fn every_fortieth_pair_and_other_shares_at_many_sizes() {
    for n in [300, 1700, 2000, 4000, 8192, 8193, 20_000, 60_000, 100_000] {
        for every in [4, 40, 400] {
            check::<_, u32, u32>(|_| default(), n, |n| one_at_every(n, every, 5), |_, _| {});
            check::<_, u64, u32>(|_| default().load(0.3), n, |n| one_at_every(n, every, 5), |_, _| {});
        }
    }
}

/// Checks a key with more copies than the capacity of a bin, in the first of two splits or only in
/// the second, without skewed bins. Engines that would take minutes are skipped.
#[test]
fn which_of_two_splits_overflows_says_what_comes_then() {
    fn with<K: Key, V: Value>(n: usize, copies: usize, split_again: bool) {
        let mut keys: Vec<K> = distinct_keys(n, 12);
        keys.iter_mut().step_by(n.div_ceil(copies)).for_each(|case| *case = K::default());
        for engine in engines().iter().filter(|engine| engine.max_items >= n.max(2000)) {
            let map = build::<K, V>(engine, &split_into(2700, n), &keys);
            let report = map.report();
            assert_eq!((report.split_again, report.counted), (split_again, !split_again), "{copies}: {report:?}");
            assert!(!report.skewed, "{report:?}");
        }
    }
    with::<u32, u32>(100_000, 190, true);
    with::<u32, u32>(2000, 200, false);
    with::<u32, u32>(300, 75, true);
    with::<u32, u32>(300, 150, false);
    with::<u64, u32>(300, 75, true);
    with::<u64, u64>(300, 150, false);
}

/// Checks 2^14 pages. A scan of their counts writes four starts at a time, which must be aligned
/// for that. Engines that would take minutes are skipped.
#[test]
fn the_last_split_is_made_again_into_many_pages() {
    let n = 100_000;
    let mut keys: Vec<u32> = distinct_keys(n, 12);
    keys.iter_mut().step_by(n / 95).for_each(|case| *case = 0);
    for engine in engines().iter().filter(|engine| engine.max_items >= n) {
        let map = build::<u32, u32>(engine, &split_into(40_000, n), &keys);
        assert_eq!(map.table().layout().page_bits, 14);
        assert!(map.report().split_again && !map.report().counted, "{:?}", map.report());
    }
}

/// Checks that a repeated split drops the repeated keys again. The first split drops a fifth of the
/// pairs, so the last split looks for repeated keys in every tile. When it is repeated it must do
/// so again, because its capacity does not cover the pairs that were dropped. Engines that would
/// take minutes are skipped.
#[test]
fn a_last_split_that_is_made_again_leaves_out_the_same_pairs() {
    let (n, page) = (100_000, 7);
    let config = split_into(2700, n);
    let layout = layout_of::<u32, u32>(&engines()[0], &config, n);
    assert_eq!(layout.page_bits, 10);
    let spread: Vec<u32> = distinct_keys(n, 12);
    let keys: Vec<u32> = (0..n)
        .map(|i| match i % 200 {
            i if i % 5 == 0 => 3,
            // One page has so many pairs that its bin overflows.
            1 => key_of_page(&layout, page, spread[i] as u64),
            // Most other keys occur twice, next to each other.
            _ => spread[i / 2],
        })
        .collect();
    for engine in engines().iter().filter(|engine| engine.max_items >= n) {
        let report = build::<u32, u32>(engine, &config, &keys).report().clone();
        assert!(report.skewed && report.split_again && !report.counted, "{report:?}");
    }
}

/// Checks more pages than one split can distinguish. A skewed bin occurs in the first split, in the
/// second, or in neither.
#[test]
fn two_splits_with_repeated_keys() {
    let two_splits = |config: PageConfig, keys: &[u32]| {
        let map = build::<u32, u32>(&engines()[0], &config, keys);
        assert!(map.table().layout().page_bits > MAX_SPLIT_BITS, "{:?}", map.table().layout());
        (map.report().skewed, overflowed(map.report()))
    };
    let low = |n: usize| split_into(2700, n);
    assert_eq!(two_splits(low(100_000), &distinct_keys(100_000, 3)), (false, false));
    assert_eq!(two_splits(low(100_000).assume_unique(), &distinct_keys(100_000, 3)), (false, false));
    assert_eq!(two_splits(low(100_000), &[3; 100_000]), (true, false));
    for every in [1, 2, 10, 40, 100, 300, 700, 1000, 3000] {
        let (skewed, overflowed) = two_splits(low(100_000), &one_at_every(100_000, every, 3));
        assert!(skewed || overflowed || every > 300, "every {every}");
    }
    let twice: Vec<u32> = distinct_keys::<u32>(50_000, 3).repeat(2);
    assert_eq!(two_splits(low(100_000), &twice), (false, false));
    // The same key is repeated only at one end of the input.
    let mut late: Vec<u32> = distinct_keys(100_000, 5);
    late[99_000..].fill(8);
    two_splits(low(100_000), &late);
    late[..1000].fill(8);
    two_splits(low(100_000), &late);
}

#[test]
fn a_few_keys_very_often_and_many_seldom_as_in_texts() {
    // A key's probability is proportional to 1 / key.
    let zipf = |n: usize, i: u32| (n as f64).powf(i.mix(1, 2) as f64 / u32::MAX as f64) as u64;
    for n in [300, 2000, 100_000] {
        let keys = |n: usize| (0..n as u32).map(move |i| zipf(n, i));
        check::<_, u32, u32>(|_| default(), n, |n| keys(n).map(|key| key as u32).collect(), |_, _| {});
        check::<_, u64, u64>(|n| split_into(8, n), n, |n| keys(n).map(|key| key << 40).collect(), |_, _| {});
    }
}

#[test]
fn a_broken_promise_of_unique_keys_gives_one_of_the_values_of_each_key() {
    fn with<K: Key>(engine: &TestEngine, config: &PageConfig, keys: &[K]) {
        // Both halves of a value are equal.
        let values: Vec<u64> = (1..=keys.len() as u64).map(|i| i << 32 | i).collect();
        let map = config.clone().assume_unique().build(&engine.device, keys, &values).unwrap();
        let case = format!("on {}: {:?}", engine.device.name(), map.report());
        let is_of = |key: K, value: u64| {
            let (low, high) = (value as u32 as usize, value >> 32);
            assert_eq!((low as u64, keys[low - 1]), (high, key), "{case}");
        };
        let answers = map.get_many(keys).unwrap();
        assert_eq!(answers.len(), keys.len());
        for (key, value) in keys.iter().zip(answers) {
            is_of(*key, value.expect("every key is there"));
        }
        // The map may have a key several times.
        let held = map.to_pairs().unwrap();
        assert_eq!(held.len(), map.len(), "{case}");
        held.iter().for_each(|&(key, value)| is_of(key, value));
        let once: HashSet<K> = keys.iter().copied().collect();
        assert_eq!(held.into_iter().map(|(key, _)| key).collect::<HashSet<K>>(), once, "{case}");
    }
    for engine in engines() {
        let n = engine.max_items.min(30_000);
        for config in [default(), split_into(4, n), split_into(64, n), default().load(1.0)] {
            with::<u32>(engine, &config, &distinct_keys::<u32>(n / 3, 4).repeat(3));
            with::<u64>(engine, &config, &distinct_keys::<u64>(n / 3, 4).repeat(3));
            with::<u32>(engine, &config, &one_at_every(n, 2, 8));
            with::<u64>(engine, &config, &vec![u64::MAX; n]);
        }
    }
    with::<u32>(&engines()[0], &default(), &one_at_every(200_000, 2, 8));
    with::<u64>(&engines()[0], &default(), &[8; 100_000]);
}

/// Returns the layout of a first attempt with this configuration and `n` pairs.
fn layout_of<K: Key, V: Value>(engine: &TestEngine, config: &PageConfig, n: usize) -> Layout {
    let map = build::<K, V>(engine, config, &distinct_keys(n, 1));
    assert_eq!(map.report().failures, 0);
    *map.table().layout()
}

/// Checks keys that no first attempt can insert: the first attempt fails, and the second one
/// succeeds. Without restarts the build fails, and the map stays usable.
fn fails_at_first<K: Key, V: Value>(engine: &TestEngine, config: &PageConfig, keys: &[K]) {
    let device = &engine.device;
    for config in [config.clone(), config.clone().assume_unique()] {
        let map = build::<K, V>(engine, &config, keys);
        assert_eq!(map.report().failures, 1, "on {}", device.name());
        let alone = config.clone().restarts(0);
        let values = values::<V>(keys.len());
        let error = alone.build(device, keys, &values).unwrap_err();
        let Error::BuildFailed(BuildError::Page { pairs, attempts: 1, .. }) = error else { panic!("{error:?}") };
        assert_eq!(pairs, keys.len() as u64);
        says(&error, &[&pairs.to_string(), "1 attempt", "a lower load or more restarts"]);

        let others: Vec<K> = distinct_keys(keys.len(), 1);
        let mut map = build::<K, V>(engine, &alone, &others);
        assert_eq!(built::rebuild(&mut map, keys, &values).unwrap_err(), error);
        built::rebuild(&mut map, &others, &values).unwrap();
    }
}

#[test]
fn keys_that_all_fall_into_one_page_take_other_constants() {
    fn with<K: Key, V: Value>(engine: &TestEngine, n: usize) {
        let layout = layout_of::<K, V>(engine, &default(), n);
        let slots = (layout.page_buckets * layout.slots) as usize;
        assert!(layout.page_bits > 0 && n > slots, "{n} pairs, {layout:?}");
        for page in [0, layout.pages() - 1] {
            let keys: Vec<K> = distinct_keys::<K>(n << layout.page_bits.min(4), 6)
                .into_iter()
                .map(|bits| key_of_page(&layout, page, bits.to_u64()))
                .collect::<HashSet<K>>()
                .into_iter()
                .take(n)
                .collect();
            assert_eq!(keys.len(), n);
            fails_at_first::<K, V>(engine, &default(), &keys);
        }
    }
    for engine in engines().iter().filter(|engine| engine.max_items >= 2000) {
        with::<u32, u32>(engine, 2000);
        with::<u64, u64>(engine, 2000);
    }
    with::<u32, u64>(&engines()[0], 50_000);
    with::<u64, u32>(&engines()[0], 20_000);
}

/// Returns keys of one home whose candidates outside its line are all among the first `within`
/// buckets of the page.
fn full_home_keys(layout: &Layout, within: u32, n: usize) -> Vec<u32> {
    let first = layout.mixed_of::<u32, u32>(0, 0).max(1);
    let last = (first..u32::MAX).find(|mixed| mixed.scaled(layout.buckets()) != 0).unwrap();
    let near = |mixed: &u32| {
        let remainder: u32 = layout.remainder(*mixed);
        (2..layout.candidates).all(|number| layout.candidate(0, remainder, number) < within)
    };
    (1..last).filter(near).take(n).map(|mixed| mixed.unmixed(layout.a, layout.b)).collect()
}

#[parameterized]
fn keys_of_one_bucket_find_slots_in_the_page_or_take_other_constants(engine: &TestEngine) {
    let n = 290;
    let layout = layout_of::<u32, u32>(engine, &default(), n);
    // Some keys find slots at home and the others elsewhere. Then there are too many keys for a few
    // buckets, by far or by a few.
    let anywhere: Vec<u32> = (1..=n as u32).map(|mixed| (mixed << 15).unmixed(layout.a, layout.b)).collect();
    assert!(anywhere.iter().all(|key| layout.home_in_page(key.mixed(layout.a, layout.b)) == 0));
    let map = build::<u32, u32>(engine, &default(), &anywhere);
    assert_eq!(map.report().failures, 0, "on {}", engine.device.name());

    let near = full_home_keys(&layout, 12, n);
    assert!(near.len() == n, "only {} keys", near.len());
    fails_at_first::<u32, u32>(engine, &default(), &near);
    let mut some: Vec<u32> = distinct_keys(n, 1);
    some[..70].copy_from_slice(&near[..70]);
    fails_at_first::<u32, u32>(engine, &default(), &some);
}

#[test]
fn with_many_restarts_allowed_the_seed_that_fails_is_not_the_end() {
    let engine = &engines()[0];
    let layout = layout_of::<u32, u32>(engine, &default(), 290);
    let near = full_home_keys(&layout, 12, 290);
    let refused = PageConfig::default().seed(7).restarts(0).build(&engine.device, &near, &near);
    assert!(matches!(refused, Err(Error::BuildFailed(BuildError::Page { .. }))));
    for seed in [1, 2, 3] {
        let other = PageConfig::default().seed(seed).restarts(0).build(&engine.device, &near, &near).unwrap();
        holds(&other, &near, &near);
    }
}
