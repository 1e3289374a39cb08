//! Edge cases of the sorted map: extreme keys and values, copies of keys, and sizes around every
//! level of the index. Bounds and ranges at both ends, rebuilds, clones, and a kernel that searches
//! directly are tested, too.

use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global};
use gpu_kernels::sorted::{Layout, Table};
use std::ops::Bound;
use warpnest::sorted::SortedReport;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, SortedConfig, SortedMap};
use warpnest_tests::built::{self, build, edges};
use warpnest_tests::sorted_checker::check_index;
use warpnest_tests::{TestEngine, distinct_keys, engines, parameterized, values};

fn default() -> SortedConfig {
    SortedConfig::default()
}

fn unique() -> SortedConfig {
    default().assume_unique()
}

warpnest_tests::tests_of! { edges:
    empty_input_and_empty_queries(default(), unique());
    one_pair_of_every_extreme_key_and_value(default());
    the_key_that_is_all_ones_is_there_or_not_with_every_value(default());
    values_that_are_all_zeros_and_all_ones(default(), unique());
    a_clone_keeps_what_the_map_has_no_more(default());
    a_map_that_is_shrunk_takes_no_more_than_a_fresh_one(default());
    wide_keys_that_differ_in_one_half_only[&default(), |report| assert_eq!(report.repeats, 0)];
    rebuilds_with_more_and_fewer_and_no_pairs[|_| default()];
}

#[test]
fn the_last_pair_wins_in_every_order_of_repeated_pairs() {
    edges::the_last_pair_wins_in_every_order_of_repeated_pairs(
        |_| default(),
        |report, pairs| assert!(report.repeats > 0 && report.repeats < pairs as u64, "{report:?}"),
    );
}

#[test]
fn all_keys_equal() {
    fn with<K: Key, V: Value>(key: u64) {
        for most in [1, 2, 15, 16, 17, 5000] {
            let all_but_one = |report: &SortedReport, pairs| assert_eq!(report.repeats, pairs as u64 - 1);
            built::check::<_, K, V>(|_| default(), most, |n| vec![K::from_u64(key); n], all_but_one);
        }
    }
    for key in [0, 77, u64::MAX] {
        with::<u32, u32>(key);
        with::<u64, u64>(key);
    }
    with::<u32, u64>(u64::MAX);
    with::<u64, u32>(1 << 40);
}

/// Checks sizes around whole groups of the keys and of the index: with 16 keys a second level
/// begins, with 256 a third, and so on.
#[test]
fn sizes_around_every_level_of_the_index() {
    let around = |size: usize| [size - 1, size, size + 1];
    let sizes = [16, 32, 48, 256, 272, 512, 4096, 4352, 8192, 65_536, 69_632].into_iter().flat_map(around);
    for size in sizes.chain([0, 1, 2, 7, 8, 9, 12, 100_000]) {
        for engine in engines().iter().filter(|engine| size <= engine.max_items) {
            let keys: Vec<u32> = distinct_keys(size, 5);
            build::<_, u32, u64>(&engine.device, &default(), &keys, &values(size));
            let wide: Vec<u64> = distinct_keys(size, 6);
            build::<_, u64, u32>(&engine.device, &unique(), &wide, &values(size));
        }
    }
}

/// Checks six levels, many tiles of the sort and the compaction, and repeated keys in all of them.
#[test]
fn more_than_a_million_pairs() {
    let mut keys: Vec<u32> = distinct_keys((1 << 20) + 17, 5);
    build::<_, _, u64>(&engines()[0].device, &default(), &keys, &values(keys.len()));
    keys.iter_mut().for_each(|key| *key >>= 12);
    build::<_, _, u32>(&engines()[0].device, &default(), &keys, &values(keys.len()));
}

#[parameterized]
fn sorted_input_forwards_and_backwards_and_keys_side_by_side(engine: &TestEngine) {
    let n = engine.max_items.min(5000) as u32;
    for keys in [Vec::from_iter(0..n), (0..n).rev().collect(), (u32::MAX - n + 1..=u32::MAX).rev().collect()] {
        build::<_, u32, u32>(&engine.device, &default(), &keys, &values(keys.len()));
    }
}

#[parameterized(<u32, u32>, <u64, u32>)]
fn bounds_and_ranges_of_maps_of_every_small_size<K: Key, V: Value>(device: &Device) {
    for size in 0..50usize {
        // The keys are every second number, up to the highest one.
        let keys: Vec<K> = (0..size as u64).map(|i| K::from_u64(K::ALL_ONES.to_u64() - 2 * i)).collect();
        let map: SortedMap<K, V> = default().build(device, &keys, &values(size)).unwrap();
        let first = K::ALL_ONES.to_u64() - 2 * size as u64;
        let queries: Vec<K> = [0, 1].into_iter().chain(first..=K::ALL_ONES.to_u64()).map(K::from_u64).collect();
        let count = |test: &dyn Fn(K, K) -> bool| -> Vec<u32> {
            queries.iter().map(|&query| keys.iter().filter(|&&key| test(key, query)).count() as u32).collect()
        };
        let (lower, upper) = (count(&|key, query| key < query), count(&|key, query| key <= query));
        assert_eq!(map.lower_bound_many(&queries).unwrap(), lower, "{size} keys");
        assert_eq!(map.upper_bound_many(&queries).unwrap(), upper, "{size} keys");
    }
}

#[parameterized]
fn ranges_that_begin_and_end_at_the_extremes(device: &Device) {
    let map = SortedMap::build(device, &[u32::MAX, 0, 10, 20], &[4u64, 1, 2, 3]).unwrap();
    let all = [(0, 1), (10, 2), (20, 3), (u32::MAX, 4)];
    assert_eq!(map.range(..).unwrap(), 0..4);
    assert_eq!(map.range_pairs(..).unwrap(), all);
    assert_eq!(map.range_pairs(0..=u32::MAX).unwrap(), all);
    assert_eq!(map.range_pairs(0..u32::MAX).unwrap(), all[..3]);
    assert_eq!(map.range_pairs(..0).unwrap(), []);
    assert_eq!(map.range_pairs(..=0).unwrap(), all[..1]);
    assert_eq!(map.range_pairs(u32::MAX..).unwrap(), all[3..]);
    assert_eq!(map.range((Bound::Excluded(u32::MAX), Bound::Unbounded)).unwrap(), 4..4);
    assert_eq!(map.range((Bound::Excluded(u32::MAX), Bound::Included(5))).unwrap(), 4..4);
    assert_eq!(map.range((Bound::Excluded(10), Bound::Excluded(20))).unwrap(), 2..2);
    assert_eq!(map.range((Bound::Excluded(9), Bound::Included(20))).unwrap(), 1..3);
    // The range ends before its begin.
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let backwards = 20..10;
    assert_eq!(map.range(backwards.clone()).unwrap(), 2..2);
    assert_eq!(map.count_ranges_many(&[backwards, 0..u32::MAX, 10..10, 10..11, 11..20]).unwrap(), [0, 3, 0, 1, 0]);
    let empty: SortedMap<u64, u32> = SortedMap::build(device, &[], &[]).unwrap();
    assert_eq!((empty.range(..).unwrap(), empty.range(5..=u64::MAX).unwrap()), (0..0, 0..0));
    assert_eq!(
        (empty.range_pairs(..).unwrap(), empty.count_ranges_many(&[0..9, 9..u64::MAX]).unwrap()),
        (vec![], vec![0, 0])
    );
    assert_eq!(empty.upper_bound_many(&[0, 5, u64::MAX]).unwrap(), [0, 0, 0]);
    assert_eq!((empty.lower_bound_many(&[]).unwrap(), empty.count_ranges_many(&[]).unwrap()), (vec![], vec![]));
}

#[parameterized]
fn a_broken_promise_of_unique_keys_gives_the_first_of_the_values(device: &Device) {
    let once: Vec<u64> = distinct_keys(60, 4);
    let mut keys = once.repeat(3);
    keys.extend([u64::MAX; 40]);
    let values: Vec<u32> = (0..220).collect();
    let map = unique().build(device, &keys, &values).unwrap();
    assert_eq!((map.len(), map.report().repeats), (220, 0));
    check_index(&map.table().keys().download(device.default_stream()).unwrap(), 220).unwrap();
    let first: Vec<Option<u32>> =
        keys.iter().map(|key| keys.iter().position(|other| other == key).map(|place| place as u32)).collect();
    assert_eq!(map.get_many(&keys).unwrap(), first);
    // The range has all pairs of a key, in input order.
    let pairs = map.range_pairs(once[7]..=once[7]).unwrap();
    assert_eq!(pairs, [(once[7], 7), (once[7], 67), (once[7], 127)]);
    assert_eq!(map.range(u64::MAX..).unwrap(), 180..220);
    assert_eq!(map.lower_bound_many(&[u64::MAX]).unwrap(), [180]);
    assert_eq!(map.upper_bound_many(&[u64::MAX, once[7]]).unwrap()[0], 220);
}

#[parameterized]
fn two_builds_of_the_same_pairs_are_the_same_word_for_word(engine: &TestEngine) {
    let (device, n) = (&engine.device, engine.max_items.min(5000));
    let once: Vec<u32> = distinct_keys(n / 2, 9);
    let keys: Vec<u32> = once.iter().rev().chain(&once).copied().collect();
    let maps = [0, 1].map(|_| build::<_, _, u64>(device, &default(), &keys, &values(keys.len())));
    let [a, b] = maps.each_ref().map(|map| {
        let of = |places: usize| places.min(map.len());
        let stream = device.default_stream();
        let (keys, values) =
            (map.table().keys().download(stream).unwrap(), map.table().values().download(stream).unwrap());
        let index = map.table().layout().key_slots() as usize;
        (keys[..index].to_vec(), values[..of(values.len())].to_vec())
    });
    assert_eq!(a, b);
}

#[parameterized]
fn stages_are_reported_if_they_are_asked_for_and_only_then(engine: &TestEngine) {
    for (pairs, config) in [0, 1, 250].into_iter().flat_map(|pairs| [(pairs, default()), (pairs, unique())]) {
        let keys: Vec<u32> = distinct_keys(pairs, 9);
        assert_eq!(build::<_, _, u32>(&engine.device, &config, &keys, &values(pairs)).report().stages, None);
        let timed = build::<_, _, u32>(&engine.device, &config.clone().timings(), &keys, &values(pairs));
        let stages = timed.report().stages.expect("they were asked for");
        let each = [stages.initialization, stages.sort, stages.repeats, stages.index];
        assert!(each.iter().all(|&milliseconds| (0.0..60_000.0).contains(&milliseconds)), "{stages:?}");
        assert!((stages.total() - each.iter().sum::<f64>()).abs() < 1e-9);
        assert!(stages.index > 0.0 && (pairs < 250 || stages.sort > 0.0), "{stages:?}");
    }
}

/// The arguments of the launch that are not pointers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LookPlan {
    layout: Layout,
    queries: u64,
}

kernel! {
    /// Writes the lower bound of each query, and its rank, or `u32::MAX` for an absent key.
    Look<K: Key>, "look", threads 64;
    { queries: Global<K>, keys: Global<K>, lower: Global<u32>, stands: Global<u32>, plan: LookPlan }
}

impl<K: Key> Look<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::new(args.keys, args.plan.layout);
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            if index < args.plan.queries {
                let query = args.queries.load(index);
                args.lower.store(index, table.lower_bound(query));
                args.stands.store(index, table.rank(query).unwrap_or(u32::MAX));
            }
        });
    }
}

#[test]
fn a_kernel_of_ones_own_searches_by_itself() {
    let device = Device::cpu();
    let stream = device.default_stream();
    let keys: Vec<u64> = (0..1000).map(|i| 3 * i).collect();
    let map: SortedMap<u64, u32> = SortedMap::build(&device, &keys, &values(1000)).unwrap();
    let queries = Buffer::from_slice(&device, &[0u64, 1, 3, 2997, 2998, u64::MAX]).unwrap();
    let [mut lower, mut stands] = [(); 2].map(|()| Buffer::<u32>::zeroed(&device, 6).unwrap());
    // SAFETY: there are six queries and six of each output; keys and layout belong together.
    unsafe {
        stream.launch(6, |uses| Look::<u64> {
            queries: uses.read(&queries),
            keys: uses.read(map.table().keys()),
            lower: uses.write(&mut lower),
            stands: uses.write(&mut stands),
            plan: LookPlan { layout: *map.table().layout(), queries: 6 },
        })
    }
    .unwrap();
    assert_eq!(lower.download(stream).unwrap(), [0, 1, 1, 999, 1000, 1000]);
    assert_eq!(stands.download(stream).unwrap(), [0, u32::MAX, 1, 999, u32::MAX, u32::MAX]);
}
