//! Edge cases of the cuckoo map: extreme keys and sizes, the highest load factors, and forced
//! restarts.

use warpnest::design::HashFamily;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{CuckooConfig, CuckooMap, Device};
use warpnest_tests::built::{self, build, edges};
use warpnest_tests::{distinct_keys, engines, linear, parameterized};

fn default() -> CuckooConfig {
    CuckooConfig::default().seed(11)
}

fn check<K: Key, V: Value>(config: &CuckooConfig, most: usize, keys: impl Fn(usize) -> Vec<K>) {
    built::check::<_, K, V>(|_| config.clone(), most, keys, |_, _| {});
}

warpnest_tests::tests_of! { edges:
    empty_input_and_empty_queries(default());
    one_pair_of_every_extreme_key_and_value(default());
    the_key_that_is_all_ones_is_there_or_not_with_every_value(default());
    values_that_are_all_zeros_and_all_ones(default());
    a_clone_keeps_what_the_map_has_no_more(default());
    wide_keys_that_differ_in_one_half_only[&default(), |report| assert!(!report.repeated_keys)];
}

#[test]
fn the_last_pair_wins_in_every_order_of_repeated_pairs() {
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(
        |_| default(),
        |report, _| assert!(report.repeated_keys, "{report:?}"),
    );
}

#[test]
fn rebuilds_with_more_and_fewer_and_no_pairs() {
    // A map keeps its count of slots, which must suit the largest build.
    edges::rebuilds_with_more_and_fewer_and_no_pairs(|most| default().slots(most as u64 * 5 / 4));
}

/// Checks 32-bit keys with 64-bit values. Both words have 64 bits, so the all-ones key is no word
/// of all ones.
#[parameterized]
fn a_narrow_key_and_a_wide_value_that_are_all_ones(device: &Device) {
    let map = build(device, &default(), &[u32::MAX, 5], &[u64::MAX, u64::MAX]);
    assert_eq!(map.get_many(&[u32::MAX, 5, 6]).unwrap(), [Some(u64::MAX), Some(u64::MAX), None]);
}

#[test]
fn all_keys_equal() {
    for key in [0u32, 77, u32::MAX] {
        check::<u32, u32>(&default(), 5000, |n| vec![key; n]);
        check::<u32, u64>(&default(), 5000, |n| vec![key; n]);
    }
    check::<u64, u64>(&default().functions(2).slots_per_pair(2.1), 5000, |n| vec![u64::MAX; n]);
}

/// Checks two keys that share all their slots and have more copies than slots. The copies must not
/// evict each other forever.
#[test]
fn copies_of_keys_that_share_all_their_slots() {
    let config = default().functions(3).slots_per_pair(2.0).hash(linear(4_294_967_291));
    check::<u64, u64>(&config, 3000, |n| (0..n as u64).map(|i| 40 + i % 2 * 4_294_967_291).collect());
}

#[test]
fn sequential_and_strided_keys_in_every_family() {
    use warpnest::design::Arithmetic::{Exact, Wrapping};
    let families = [
        HashFamily::Mix,
        HashFamily::ALCANTARA_2011,
        HashFamily::CUDPP,
        linear(4_294_967_291),
        HashFamily::Xor { prime: 4_294_967_291, arithmetic: Exact },
        HashFamily::Linear { prime: 4_294_967_291, arithmetic: Wrapping },
    ];
    for family in families {
        for stride in [1u64, 2, 32, 4096, 1 << 16] {
            let config = default().hash(family);
            check::<u32, u32>(&config, 2000, |n| (0..n as u64).map(|i| (i * stride) as u32).collect());
            check::<u64, u32>(&config, 2000, |n| (0..n as u64).map(|i| i * stride).collect());
        }
    }
    check::<u64, u64>(&default(), 2000, |n| (0..n as u64).map(|i| i << 32).collect());
}

#[test]
fn sizes_around_powers_of_two_and_of_the_block() {
    for size in [2usize, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 65_535, 65_537] {
        check::<u32, u32>(&default(), size, |n| distinct_keys(n, size as u64));
    }
}

#[test]
fn load_to_the_limit() {
    for (functions, slots) in [(2, 2.1), (3, 1.1), (4, 1.03), (5, 1.02)] {
        for size in [1usize, 7, 300, 40_000] {
            let config = default().functions(functions).slots_per_pair(slots);
            check::<u32, u32>(&config, size, |n| distinct_keys(n, 5));
            check::<u64, u64>(&config, size, |n| distinct_keys(n, 6));
        }
    }
}

/// Checks a chain limit of a few exchanges, with which most attempts fail until one succeeds. Where
/// threads race, the first attempt may succeed, so the restarts of all engines are added.
#[test]
fn restarts_lead_to_a_whole_table() {
    let keys: Vec<u32> = distinct_keys(300, 3);
    let config = default().chain_limit(10).restarts(10_000);
    let restarts = engines().iter().map(|engine| build(&engine.device, &config, &keys, &keys).report().restarts);
    assert!(restarts.sum::<u32>() > 5, "the limit was too easy");
}

/// Checks that the same seed draws the same constants. Where threads do not race, the tables are
/// even equal bit by bit.
#[test]
fn a_seed_repeats_a_build() {
    let engine = engines().iter().find(|engine| !engine.in_turn).unwrap();
    let keys: Vec<u32> = distinct_keys(1000, 9);
    // With 2 slots a pair no build restarts with other constants: of 100,000 builds none did. With
    // 1.25 slots a pair four did, because the length of a chain depends on the order of insertion.
    let config = default().slots_per_pair(2.0).statistics();
    let build = |seed| config.clone().seed(seed).build(&engine.device, &keys, &keys).unwrap();
    let (a, b, c) = (build(1), build(1), build(2));
    assert_eq!(a.table().probe_lengths().unwrap().histogram.len(), 5);
    assert_eq!(a.report().seed, 1);
    let slots = |map: &CuckooMap<u32, u32>| map.table().words().download(engine.device.default_stream()).unwrap();
    // The order of insertion differs in each build, so a few keys may have other slots. Another
    // seed moves nearly all keys. Empty slots are all ones and are not compared.
    let same = |x: &[u64], y: &[u64]| x.iter().zip(y).filter(|(x, y)| x == y && **x != u64::MAX).count();
    assert!(same(&slots(&a), &slots(&b)) > 4 * same(&slots(&a), &slots(&c)));
}

/// Checks the statistics: a table with four functions and 1.25 slots a pair needs about two
/// exchanges a pair (Alcantara 2011, §4.5.3).
#[test]
fn statistics_agree_with_the_estimate_of_alcantara() {
    let engine = &engines()[0];
    let keys: Vec<u32> = distinct_keys(100_000, 4);
    let map = default().statistics().build(&engine.device, &keys, &keys).unwrap();
    let chains = map.report().chains.unwrap();
    let estimate = -1.25 * (1.0 - 1.0 / 1.25f64).ln();
    assert!((chains.mean / estimate - 1.0).abs() < 0.1, "{} exchanges a pair, {estimate} expected", chains.mean);
    assert!(chains.longest > 4 && chains.longest <= map.report().chain_limit);
    let probes = map.table().probe_lengths().unwrap().histogram;
    assert_eq!(probes.iter().sum::<u64>(), 100_000);
    assert!(probes[1] > probes[4]);
}
