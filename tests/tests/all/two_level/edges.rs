//! Edge cases of the two-level map: extreme keys and values, copies of keys, sizes around every
//! bound, and rebuilds.
//!
//! `two_level/faults.rs` tests the memory that it takes, and `two_level/restarts.rs` the attempts
//! that fail.

use warpnest::design::HashFamily;
use warpnest::two_level::TwoLevelReport;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, TwoLevelConfig, TwoLevelMap};
use warpnest_tests::built::{self, build, edges};
use warpnest_tests::{TestEngine, distinct_keys, engines, linear, parameterized, values};

fn default() -> TwoLevelConfig {
    TwoLevelConfig::default().seed(11)
}

/// Returns a configuration with small buckets, so the few items of the slow engines fill several
/// buckets, and copies overflow one.
fn small() -> TwoLevelConfig {
    default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32)
}

fn check<K: Key, V: Value>(
    config: &TwoLevelConfig,
    most: usize,
    keys: impl Fn(usize) -> Vec<K>,
    report: impl Fn(&TwoLevelReport, usize),
) {
    built::check::<_, K, V>(|_| config.clone(), most, keys, report);
}

warpnest_tests::tests_of! { edges:
    empty_input_and_empty_queries(default(), small());
    one_pair_of_every_extreme_key_and_value(default());
    the_key_that_is_all_ones_is_there_or_not_with_every_value(small());
    values_that_are_all_zeros_and_all_ones(small());
    a_clone_keeps_what_the_map_has_no_more(default());
    a_map_that_is_shrunk_takes_no_more_than_a_fresh_one(default());
}

#[parameterized]
fn a_map_of_no_pairs_has_one_bucket(device: &Device) {
    let empty: TwoLevelMap<u64, u32> = TwoLevelMap::build(device, &[], &[]).unwrap();
    assert_eq!((empty.table().buckets(), empty.table().probe_lengths().unwrap().histogram), (1, vec![0, 0, 0, 0]));
}

#[test]
fn all_keys_equal_are_sorted_if_they_are_more_than_a_bucket_holds_and_only_then() {
    fn with<K: Key, V: Value>(key: u64) {
        let sorted = |report: &TwoLevelReport, pairs| {
            assert_eq!((report.sorted, report.overflows), if pairs > 64 { (true, 2) } else { (false, 0) }, "{pairs}");
        };
        // A bucket can hold 64 copies alone, but not 65.
        for most in [2, 40, 65, 5000] {
            check::<K, V>(&small(), most, |n| vec![K::from_u64(key); n], sorted);
        }
        check::<K, V>(&small().items_per_bucket(64.0), 64, |n| vec![K::from_u64(key); n], sorted);
    }
    for key in [0, 77, u64::MAX] {
        with::<u32, u32>(key);
    }
    with::<u32, u64>(u64::MAX);
    with::<u64, u32>(0);
    with::<u64, u64>(1 << 40);
    with::<u64, u64>(u64::MAX);
    check::<u32, u32>(&default(), 100_000, |n| vec![5; n], |report, pairs| assert_eq!(report.sorted, pairs > 512));
}

#[test]
fn many_copies_of_one_key_among_others_leave_the_others_alone() {
    for copied in [0u64, 99, u64::MAX] {
        check::<u64, u32>(
            &small(),
            4000,
            |n| {
                let mut keys: Vec<u64> = distinct_keys(n, 6);
                (0..n).filter(|i| i % 3 != 1).for_each(|i| keys[i] = copied);
                keys
            },
            |report, _| assert!(report.sorted && report.overflows == 2),
        );
    }
}

#[test]
fn the_last_pair_wins_in_every_order_of_repeated_pairs() {
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(|_| default(), |_, _| {});
    // The buckets resolve the copies, or the sort does if they overflow.
    let config = default().bucket_capacity(16).items_per_bucket(2.0).sub_tables(3, 16);
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(
        |_| config.clone(),
        |report, pairs| assert_eq!(report.sorted, pairs == 14 * 20, "{report:?}"),
    );
}

#[parameterized]
fn a_broken_promise_of_unique_keys_gives_one_of_the_values_whole(engine: &TestEngine) {
    let once: Vec<u64> = distinct_keys(60, 4);
    let mut keys = once.repeat(3);
    keys.extend([u64::MAX; 3]);
    // Both halves of a value are equal.
    let values: Vec<u64> = (1..=183).map(|i| i << 32 | i).collect();
    let map = small().assume_unique().build(&engine.device, &keys, &values).unwrap();
    assert_eq!((map.len(), map.report().sorted), (183, false), "on {}", engine.device.name());
    let found = map.get_many(&keys).unwrap();
    for (key, value) in keys.iter().zip(found) {
        let (low, high) = value.map(|value| (value as u32 as usize, value >> 32)).expect("every key is there");
        assert_eq!((low as u64, keys[low - 1]), (high, *key), "on {}", engine.device.name());
    }
    assert_eq!(map.to_pairs().unwrap().len(), 61, "a key has one slot");
}

#[test]
fn sequential_and_strided_keys() {
    for family in [HashFamily::Mix, linear(4_294_967_291)] {
        let config = small().hash(family).sub_table_hash(family);
        for lg in 0..=24 {
            let unique = |report: &TwoLevelReport, _| assert!(!report.sorted, "stride 2^{lg}: {report:?}");
            // The stride limits the count of keys, so all keys differ.
            let most = 2000.min(1 << (32 - lg));
            check::<u32, u32>(&config, most, |n| (0..n as u32).map(|i| i << lg).collect(), unique);
            check::<u64, u32>(&config, 1000, |n| (0..n as u64).map(|i| i << lg).collect(), unique);
        }
    }
}

#[test]
fn wide_keys_that_differ_in_one_half_only() {
    for config in [default(), small()] {
        edges::wide_keys_that_differ_in_one_half_only(&config, |report| assert!(!report.sorted, "{report:?}"));
    }
}

#[test]
fn sizes_around_powers_of_two_and_around_what_buckets_hold() {
    for size in [2usize, 3, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4095, 4097, 65_535, 65_537] {
        check::<u32, u32>(&default(), size, |n| distinct_keys(n, size as u64), |_, _| {});
        check::<u64, u64>(&small(), size.min(2000), |n| distinct_keys(n, size as u64), |_, _| {});
    }
    for engine in engines() {
        for (size, buckets) in [(409, 1), (410, 2), (511, 2), (512, 2), (513, 2), (819, 2), (820, 3)] {
            let keys: Vec<u32> = distinct_keys(size, 5);
            assert_eq!(
                build::<_, _, u32>(&engine.device, &default(), &keys, &values(size)).table().buckets(),
                buckets,
                "{size} keys"
            );
        }
    }
}

#[parameterized]
fn a_bucket_filled_to_its_capacity(engine: &TestEngine) {
    // With 512 items in 576 slots, more than one seed may be needed; scratch for one attempt is
    // enough.
    for (size, buckets) in [(511, 1), (512, 1), (513, 2)] {
        let keys: Vec<u64> = distinct_keys(size, 12);
        let config = default().items_per_bucket(512.0).restarts(10);
        let map = build::<_, _, u32>(&engine.device, &config, &keys, &values(size));
        assert_eq!((map.table().buckets(), map.report().overflows, map.report().sorted), (buckets, 0, false));
    }
    // With a capacity of one, most builds of several keys overflow. A single pair always fits.
    build(&engine.device, &default().bucket_capacity(1).items_per_bucket(1.0).sub_tables(2, 1), &[9u32], &[1u32]);
}

/// Returns a configuration of one pair a bucket, so the count of buckets is exact, and so are the
/// digits by which the pairs are sorted.
fn tiny_buckets() -> TwoLevelConfig {
    default().bucket_capacity(16).items_per_bucket(1.0).sub_tables(3, 8)
}

#[parameterized]
fn numbers_of_buckets_around_what_one_pass_holds(engine: &TestEngine) {
    let around =
        [(1, 0), (2, 1), (3, 1), (4, 1), (5, 1), (8, 1), (9, 1), (255, 1), (257, 1), (1023, 1), (1024, 1), (1025, 2)];
    for (buckets, passes) in around {
        if buckets <= engine.max_items.max(9) {
            let keys: Vec<u32> = distinct_keys(buckets, 7);
            let map = build::<_, _, u64>(&engine.device, &tiny_buckets(), &keys, &values(buckets));
            assert_eq!((map.table().buckets(), map.report().passes), (buckets as u64, passes));
        }
    }
}

#[test]
fn numbers_of_buckets_around_what_two_passes_hold_and_more_than_a_million() {
    for (buckets, passes) in [(1 << 16, 2), ((1 << 16) + 1, 3), ((1 << 20) + 1, 3)] {
        let keys: Vec<u32> = distinct_keys(buckets, 7);
        let map = build::<_, _, u32>(&engines()[0].device, &tiny_buckets(), &keys, &values(buckets));
        assert_eq!((map.table().buckets(), map.report().passes), (buckets as u64, passes));
    }
}

#[test]
fn rebuilds_with_more_and_fewer_and_no_pairs() {
    // In some rebuilds a repeated key overflows its bucket, so that the pairs are sorted first. In
    // others several repeated keys share a bucket.
    edges::rebuilds_with_more_and_fewer_and_no_pairs(|_| small());
}

#[parameterized]
fn a_seed_repeats_the_constants_of_a_build(engine: &TestEngine) {
    let keys: Vec<u32> = distinct_keys(250, 9);
    let maps = [1, 1, 2].map(|seed| build::<_, _, u32>(&engine.device, &small().seed(seed), &keys, &values(250)));
    assert_eq!(maps.each_ref().map(|map| map.report().seed), [1, 1, 2]);
    assert_eq!(maps[0].table().layout(), maps[1].table().layout());
    assert_ne!(maps[0].table().layout(), maps[2].table().layout());
    let random = TwoLevelConfig::default().build(&engine.device, &keys, &keys).unwrap();
    let again = TwoLevelConfig::default().seed(random.report().seed).build(&engine.device, &keys, &keys).unwrap();
    assert_eq!(random.table().layout(), again.table().layout());
}

#[parameterized]
fn stages_and_rounds_are_reported_if_they_are_asked_for_and_only_then(engine: &TestEngine) {
    for pairs in [0, 1, 250] {
        let keys: Vec<u32> = distinct_keys(pairs, 9);
        let plain = build::<_, _, u32>(&engine.device, &small(), &keys, &values(pairs));
        assert_eq!((plain.report().stages, plain.report().rounds), (None, None));
        let timed = build::<_, _, u32>(&engine.device, &small().timings(), &keys, &values(pairs));
        assert_eq!(timed.report().rounds, None);
        let stages = timed.report().stages.expect("they were asked for");
        let each = [stages.initialization, stages.count, stages.scan, stages.shuffle, stages.cuckoo];
        assert!(each.iter().all(|&milliseconds| (0.0..60_000.0).contains(&milliseconds)), "{stages:?}");
        assert!((stages.total() - each.iter().sum::<f64>()).abs() < 1e-9);
        // Building the buckets takes measurable time. If there are several buckets, every earlier
        // stage does, too.
        assert!(stages.cuckoo > 0.0 && (pairs < 250 || each.iter().all(|&time| time > 0.0)), "{stages:?}");

        let counted = build::<_, _, u32>(&engine.device, &small().statistics(), &keys, &values(pairs));
        assert_eq!(counted.report().stages, None);
        let (most, all) = counted.report().rounds.expect("they were asked for");
        let (buckets, reseeded) = (counted.table().buckets(), counted.report().reseeded);
        assert!((1..=50).contains(&most) && all >= buckets && all <= most * (buckets + reseeded), "{most}, {all}");
        // With fewer than two keys nothing is moved, so there is one round.
        assert!(pairs > 1 || (most, all) == (1, 1), "{most}, {all}");
    }
    // A bucket that is nearly full takes more than one round.
    let keys: Vec<u32> = distinct_keys(490, 9);
    let map = build::<_, _, u32>(&engine.device, &default().items_per_bucket(512.0).statistics(), &keys, &values(490));
    assert!(map.report().rounds.unwrap().0 > 1, "{:?}", map.report());
}
