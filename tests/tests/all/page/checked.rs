//! The checking engine on the build of a page: it finds a barrier that is missing on purpose, and
//! no missing barrier in the library's build.

use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Kernel, Shared, checked::Checker};
use std::collections::HashSet;
use warpnest::low_level::engine::HostEngine;
use warpnest::low_level::kernels::page::{Layout, header};
use warpnest::low_level::kernels::split::MAX_SPLIT_BITS;
use warpnest::page::PageReport;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, PageConfig};
use warpnest_tests::maps::holds;
use warpnest_tests::page_checker::{pairs_of_pages, same_pairs};
use warpnest_tests::pages::{Pages, key_of_page};
use warpnest_tests::random::derived;
use warpnest_tests::{CheckedRunner, distinct_keys, is_thorough};

kernel! {
    /// A small version of a page's build, with one pair a thread: empty tags, slots taken by
    /// compare-and-exchange, the last pair of each key, and the output. The barrier after step
    /// `missing` is left out. `out` receives the index of each slot's pair, counted from 1, and
    /// then the count of pairs whose key was present.
    SmallPage<>, "test_small_page", threads 64, shared words: u32 = 64 + 64 + 1;
    { keys: Global<u32>, out: Global<u32>, missing: u32 }
}

impl SmallPage {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let mut nothing = block.local(|_| ());
        let clear = |thread: u32, _: &mut ()| {
            words.set(thread, 0);
            words.set(64 + thread, 0);
            if thread == 0 {
                words.set(128, 0);
            }
        };
        if args.missing == 1 {
            block.each(&mut nothing, clear);
        } else {
            block.phase(&mut nothing, clear);
        }
        let place = |thread: u32, _: &mut ()| {
            let tag = args.keys.load(thread as u64) + 1;
            let mut at = tag % 64;
            loop {
                let held = words.load_relaxed(at);
                if held == tag {
                    words.fetch_add(128, 1);
                    break;
                }
                if held == 0 && words.compare_exchange(at, 0, tag) == 0 {
                    break;
                }
                if held != 0 {
                    at = (at + 1) % 64;
                }
            }
            words.fetch_max(64 + at, thread + 1);
        };
        if args.missing == 2 {
            block.each(&mut nothing, place);
        } else {
            block.phase(&mut nothing, place);
        }
        block.each(&mut nothing, |thread, _| {
            args.out.store(thread as u64, words.get(64 + thread));
            if thread == 7 {
                args.out.store(64, words.get(128));
            }
        });
    }
}

/// Returns the count of conflicts of a run, and its output. Each key occurs twice.
fn small_page(shuffle: u64, missing: u32) -> (u64, Vec<u32>) {
    let mut keys: Vec<u32> = (0..64).map(|i| i % 32 * 12_345).collect();
    let (mut out, checker) = (vec![0; 65], Checker::new(shuffle));
    // SAFETY: 64 keys and 65 words outlive the run.
    unsafe {
        let (keys, out) = (Global::new(keys.as_mut_ptr()), Global::new(out.as_mut_ptr()));
        SmallPage { keys, out, missing }.run_checked(0, 1, &checker);
    }
    (checker.conflicts(), out)
}

#[test]
fn with_all_its_barriers_a_page_is_built_without_a_conflict() {
    for shuffle in 0..50 {
        let (conflicts, mut out) = small_page(shuffle, 0);
        assert_eq!((conflicts, out.pop()), (0, Some(32)), "shuffle {shuffle}");
        out.sort_unstable();
        // Half of the slots are empty, and the others have the second pair of each key.
        let expected: Vec<u32> = [0; 32].into_iter().chain(33..=64).collect();
        assert_eq!(out, expected, "shuffle {shuffle}");
    }
}

#[test]
fn each_barrier_of_a_page_that_is_left_out_is_noticed() {
    for missing in 1..=2 {
        let noticed = (0..50).filter(|&shuffle| small_page(shuffle, missing).0 > 0).count();
        assert_eq!(noticed, 50, "barrier {missing}");
    }
}

/// Builds on a checking engine, where a conflict in any kernel is an error, and compares
/// everything.
///
/// A conflict shows in every order of the threads, except where the order decides what the threads
/// do. So each run tries a single order, which differs from run to run.
fn no_conflicts<K: Key, V: Value>(config: &PageConfig, keys: &[K]) -> PageReport {
    let mut report = None;
    for shuffle in 0..if is_thorough() { 3 } else { 1 } {
        let runner = CheckedRunner::new(derived(("no conflicts", shuffle)));
        let device = Device::from_engine(HostEngine::new(runner)).unwrap();
        let values: Vec<V> = (0..keys.len() as u64).map(V::from_u64).collect();
        let map = config.build(&device, keys, &values).unwrap();
        holds(&map, keys, &values);
        report = Some(map.report().clone());
    }
    report.expect("there were builds")
}

fn inputs<K: Key, V: Value>() {
    let default = PageConfig::default().seed(3);
    let any: Vec<K> = distinct_keys(900, 1);
    let repeated: Vec<K> = (0..900).map(|i| any[(i * i) % 300]).collect();
    let copies: Vec<K> = (0..500).map(|i| if i % 5 == 0 { K::ALL_ONES } else { any[i % 2] }).collect();
    // There is one page, there are four, or pairs must be moved.
    for config in [default.clone(), default.clone().load(0.1), default.clone().load(1.0)] {
        for config in [config.clone(), config.timings()] {
            no_conflicts::<K, V>(&config, &any);
            no_conflicts::<K, V>(&config.clone().assume_unique(), &any);
            no_conflicts::<K, V>(&config, &repeated);
            no_conflicts::<K, V>(&config, &copies);
            no_conflicts::<K, V>(&config, &any[..1]);
            no_conflicts::<K, V>(&config, &[]);
        }
    }
    // With many pages, the copies of one key make a skewed bin; with few pages, they overflow a
    // bin.
    let pair_bytes = (K::BITS + V::BITS) as f64 / 8.0;
    let bucket_bytes = if K::BITS + V::BITS == 64 { 32.0 } else { 64.0 };
    let split =
        |pages: f64, pairs: usize| default.clone().load(pairs as f64 * pair_bytes / (pages * 300.0 * bucket_bytes));
    let most: Vec<K> = (0..600).map(|i| if i % 10 == 7 { any[i] } else { K::default() }).collect();
    let skewed = no_conflicts::<K, V>(&split(100.0, 600), &most);
    assert!(skewed.skewed && !skewed.counted && !skewed.split_again, "{skewed:?}");
    let again = no_conflicts::<K, V>(&split(6.0, 600), &most);
    assert!(again.split_again && !again.counted, "{again:?}");
    // The first of two splits overflows.
    let often: Vec<K> = (0..300).map(|i| if i % 2 == 0 { any[i] } else { K::default() }).collect();
    let counted = no_conflicts::<K, V>(&split(2700.0, 300), &often);
    assert!(counted.counted && !counted.split_again, "{counted:?}");
}

#[test]
fn the_librarys_build_has_no_conflicts_with_32_bit_pairs() {
    inputs::<u32, u32>();
}

#[test]
fn the_librarys_build_has_no_conflicts_with_wide_keys_or_values() {
    inputs::<u64, u32>();
    inputs::<u32, u64>();
    inputs::<u64, u64>();
}

#[test]
fn splits_of_several_tiles_whose_blocks_look_back_have_no_conflicts() {
    let keys: Vec<u64> = distinct_keys(9000, 2);
    let repeated: Vec<u64> = keys.iter().map(|key| key % 3000).collect();
    let config = PageConfig::default().seed(3);
    for (config, keys) in [(config.clone(), &keys), (config.clone().assume_unique(), &keys), (config, &repeated)] {
        let device = Device::from_engine(HostEngine::new(CheckedRunner::new(4))).unwrap();
        let map = config.build(&device, keys, keys).unwrap();
        holds(&map, keys, keys);
    }
}

/// Checks more pages than one split can distinguish.
#[test]
fn two_splits_have_no_conflicts() {
    fn with<K: Key + Value>(keys: &[K], unique: bool) {
        let device = Device::from_engine(HostEngine::new(CheckedRunner::new(4))).unwrap();
        // Only with this many buckets are there too many pages of the usual size for one split.
        let (pair, bucket) = (2.0 * K::BITS as f64, 8.0 * K::BITS as f64);
        let config = PageConfig::default().seed(3).load(2000.0 * pair / (800_000.0 * bucket));
        let config = if unique { config.assume_unique() } else { config };
        let map = config.build(&device, keys, keys).unwrap();
        assert!(map.table().layout().page_bits > MAX_SPLIT_BITS && map.report().skewed != unique, "{:?}", map.report());
        holds(&map, keys, keys);
    }
    let copies = |i: u64| if i.is_multiple_of(3) { 7 } else { i * i };
    with(&(0..2000).map(|i| copies(i) as u32).collect::<Vec<u32>>(), false);
    with(&(0..2000).map(copies).collect::<Vec<u64>>(), false);
    // Without order, a key and its value are stored next to each other between the splits.
    with(&distinct_keys::<u32>(2000, 5), true);
    with(&distinct_keys::<u64>(2000, 5), true);
}

/// Checks pages that are so full that some pairs find all their candidates full, until evictions
/// free slots for them.
#[test]
fn pairs_that_need_room_are_moved_without_a_conflict() {
    fn with<K: Key, V: Value>(page_bits: u32, pairs: usize) {
        let layout = Layout::new::<K, V>(5, 6, page_bits, 20);
        let mut moved = 0;
        for seed in 0..15 {
            let device = Device::from_engine(HostEngine::new(CheckedRunner::new(seed))).unwrap();
            let keys: HashSet<K> =
                distinct_keys::<u64>(300, seed).into_iter().map(|bits| key_of_page(&layout, 0, bits)).collect();
            let once: Vec<(K, V)> = keys.into_iter().take(pairs).map(|key| (key, V::from_u64(!key.to_u64()))).collect();
            assert_eq!(once.len(), pairs);
            for ordered in [true, false] {
                let built = Pages::<K, V>::build(&device, layout, std::slice::from_ref(&once), ordered).unwrap();
                if built.header[header::FAILED as usize] == 0 {
                    moved += built.header[header::LEFT as usize];
                    let words = built.words.download(device.default_stream()).unwrap();
                    let found = pairs_of_pages::<K, V>(&layout, &words, 1).unwrap();
                    assert_eq!(same_pairs(&found, &once.iter().copied().collect()), Ok(()));
                    assert_eq!(built.unpack(&device).unwrap().len(), pairs);
                }
            }
        }
        assert!(moved > 0, "no pair needed room");
    }
    with::<u32, u32>(3, 77);
    with::<u32, u32>(15, 97);
    with::<u32, u32>(21, 117);
    with::<u64, u64>(3, 77);
}
