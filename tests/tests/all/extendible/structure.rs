//! The changes of buckets, bucket tables and the segment table of an extendible map. Each kind of
//! change is forced by suitable keys, and nothing else may change.

use gpu_kernels::seam::Kernel;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use warpnest::error::FullError;
use warpnest::low_level::engine::{Cores, HostEngine, Runner};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, ExtendibleConfig, ExtendibleMap};
use warpnest_tests::changing::{own, pairs, values};
use warpnest_tests::extendible_checker::{Found, check_extendible_map};
use warpnest_tests::extendible_parts::{close, small, spread};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, faulty, only, parameterized};

/// A map, and the pairs that it should have.
struct Both<K: Key, V: Value> {
    map: ExtendibleMap<K, V>,
    there: HashMap<K, V>,
}

impl<K: Key, V: Value> Both<K, V> {
    fn new(device: &Device, config: &ExtendibleConfig) -> Self {
        Self { map: config.create(device).unwrap(), there: HashMap::new() }
    }

    /// Returns `n` keys spread over a part of the range.
    fn spread(&self, root: u64, path: &str, n: usize) -> Vec<K> {
        spread(&self.map.table().layout(), root, path, n)
    }

    /// Inserts keys that the map does not have.
    fn insert(&mut self, keys: &[K]) -> Found<K, V> {
        assert_eq!(self.map.insert_many(keys, &values(keys)), Ok(keys.len()));
        self.there.extend(pairs::<K, V>(keys));
        self.found()
    }

    /// Removes keys that the map has.
    fn remove(&mut self, keys: &[K]) -> Found<K, V> {
        let answers = self.map.remove_many(keys).unwrap();
        assert_eq!(answers, keys.iter().map(|key| self.there.remove(key)).collect::<Vec<_>>());
        assert!(answers.iter().all(Option::is_some));
        self.found()
    }

    fn found(&self) -> Found<K, V> {
        equals(&self.map, &self.there);
        check_extendible_map(&self.map).unwrap()
    }

    /// Returns the global depth and the counts of segments, bucket tables and buckets.
    fn shape(&self) -> [u64; 4] {
        let report = self.map.table().report();
        [report.global_depth as u64, report.segments, report.bucket_tables, report.buckets]
    }
}

/// Returns the cases to try; on the interpreter, which is slow, this is only the first case.
fn few<T, const N: usize>(engine: &TestEngine, all: [T; N]) -> impl Iterator<Item = T> {
    all.into_iter().take(if engine.max_items < 1000 { 1 } else { N })
}

/// Checks the four cases of (Hu 2015, §2.1), one after the other.
#[parameterized]
fn buckets_split_and_merge_and_only_what_must_grow_or_shrink_does<K: Key, V: Value>(device: &Device) {
    let mut both = Both::<K, V>::new(device, &small());
    assert_eq!((both.found().shared, both.shape()), (vec![false; 2], [0, 2, 2, 8]));
    let [first, second, third] = [0, 1, 4].map(|root| both.spread(root, "", 9));

    // Case 3: a bucket becomes deeper than the segment table, which doubles. Only the bucket table
    // of that bucket is split; the two segments of the other group share their old table.
    let shared = both.insert(&first).shared;
    assert_eq!((shared, both.shape()), (vec![false, true, false, true], [1, 4, 3, 9]));
    // Case 1: another bucket of the same bucket tables is split, and only buckets change.
    let shared = both.insert(&second).shared;
    assert_eq!((shared, both.shape()), (vec![false, true, false, true], [1, 4, 3, 10]));
    // Case 1: the segments of this bucket share a table, which must be split first.
    let shared = both.insert(&third).shared;
    assert_eq!((shared, both.shape()), (vec![false; 4], [1, 4, 4, 11]));
    // Case 3 again: four of the nine keys are in the lower half, and five more are inserted. A
    // segment's index has the group in its lowest bit, then the first halving, then the second.
    let lower = [both.spread(0, "00", 3), both.spread(0, "01", 2)].concat();
    let found = both.insert(&lower);
    assert_eq!(both.shape(), [2, 8, 5, 12]);
    assert_eq!(found.shared, [false, true, true, true, false, true, true, true]);
    let of_depth = |depth| found.depths.values().filter(|&&of| of == depth).count();
    assert_eq!([0, 1, 2].map(of_depth), [5, 5, 2]);

    // Case 2: two buckets merge, but their bucket tables still differ in other buckets.
    both.remove(&second[..3]);
    assert_eq!(both.shape(), [2, 8, 5, 11]);
    // Case 2: two buckets merge, and so do their bucket tables. Another table still needs the depth
    // of the segment table.
    let shared = both.remove(&third[..3]).shared;
    assert_eq!((both.shape(), &shared[1..4]), ([2, 8, 4, 10], &[true; 3][..]));
    // Case 4: the deepest buckets merge.
    let shared = both.remove(&lower[..3]).shared;
    assert_eq!((both.shape(), shared), ([1, 4, 3, 9], vec![false, true, false, true]));
    // Case 4: the map returns to its initial shape.
    let shared = both.remove(&first[..5]).shared;
    assert_eq!((both.shape(), shared), ([0, 2, 2, 8], vec![false; 2]));
    let rest: Vec<K> = both.there.keys().copied().collect();
    both.remove(&rest);
    assert_eq!(both.shape(), [0, 2, 2, 8]);
}

#[parameterized]
fn a_bucket_splits_over_many_levels_at_once_and_comes_back_over_many<K: Key, V: Value>(device: &Device) {
    let mut both = Both::<K, V>::new(device, &small());
    let keys = [both.spread(5, "010011", 9), both.spread(5, "1", 2)].concat();
    both.insert(&keys);
    // Each split leaves a bucket for the other half, and the last split leaves two.
    assert_eq!(both.shape(), [7, 2 << 7, 2 + 7, 8 + 7]);
    both.remove(&keys[..2]);
    assert_eq!(both.shape(), [7, 2 << 7, 2 + 7, 8 + 7], "seven records in two buckets");
    // The last bucket has six keys. All other halves on the path are empty, except the first half,
    // which has two.
    both.remove(&keys[2..3]);
    assert_eq!(both.shape(), [1, 4, 3, 9]);
    both.remove(&keys[9..]);
    assert_eq!(both.shape(), [0, 2, 2, 8]);
}

#[parameterized]
fn one_removal_after_a_split_merges_nothing_and_one_insertion_after_a_merge_splits_nothing<K: Key, V: Value>(
    engine: &TestEngine,
) {
    for records in few(engine, [8, 16, 64]) {
        let mut both = Both::<K, V>::new(&engine.device, &small().records(records));
        let (most, merged) = (records as usize, records as usize * 3 / 4);
        let keys = both.spread(3, "", most + 1);
        both.insert(&keys[..most]);
        assert_eq!(both.shape(), [0, 2, 2, 8], "a bucket holds {records} records");
        both.insert(&keys[most..]);
        assert_eq!(both.shape(), [1, 4, 3, 9]);
        both.remove(&keys[..1]);
        both.remove(&keys[1..most - merged]);
        assert_eq!((both.shape(), both.there.len()), ([1, 4, 3, 9], merged + 1));
        both.remove(&keys[most - merged..most - merged + 1]);
        assert_eq!(both.shape(), [0, 2, 2, 8], "three quarters of {records} records");
        both.insert(&keys[..1]);
        both.insert(&keys[1..most - merged]);
        assert_eq!((both.shape(), both.there.len()), ([0, 2, 2, 8], most));
        both.insert(&keys[most - merged..most - merged + 1]);
        assert_eq!(both.shape(), [1, 4, 3, 9]);
    }
}

#[parameterized]
fn slots_of_removed_keys_keep_the_way_to_others_and_are_used_again<K: Key, V: Value>(engine: &TestEngine) {
    for records in few(engine, [8, 24]) {
        let mut both = Both::<K, V>::new(&engine.device, &small().records(records));
        // The lowest part of the range has other words for free slots than all other parts.
        for root in few(engine, [0, 6]) {
            let n = records as usize;
            let keys = both.spread(root, "", 2 * n);
            let (old, new) = keys.split_at(n);
            assert_eq!(both.insert(old).tombstones, 0);
            // All lines are full, so removals leave tombstones.
            assert_eq!(both.remove(&old[..3]).tombstones, 3, "{records} records, root {root}");
            assert_eq!(both.insert(&new[..1]).tombstones, 2);
            assert_eq!(both.insert(&new[1..3]).tombstones, 0);
            assert_eq!(both.remove(&[&old[3..], &new[..3]].concat()).tombstones, n as u64);
            assert_eq!(both.insert(&keys[1..n + 1]).tombstones, 0);
            assert_eq!(both.shape(), [0, 2, 2, 8], "no bucket had more records than there is room for");
            assert_eq!(both.remove(&keys[1..n + 1]).tombstones, n as u64);
            both.map.clear().unwrap();
            assert_eq!(both.found().tombstones, 0);
        }
        // A line with an empty slot needs no tombstone.
        let keys = both.spread(2, "", 1);
        both.insert(&keys);
        assert_eq!(both.remove(&keys).tombstones, 0);
    }
}

/// Fails unless the keys are refused and the map is as it was.
fn too_deep<K: Key, V: Value>(both: &mut Both<K, V>, keys: &[K], (records, depth): (u32, u32)) {
    let before = both.map.table().report();
    let error = both.map.insert_many(keys, &values(keys)).unwrap_err();
    assert_eq!(error, Error::Full(FullError::TooDeep { pairs: keys.len() as u64, records, depth }));
    both.found();
    assert_eq!(both.map.table().report(), before);
}

#[parameterized]
fn keys_that_agree_in_more_bits_than_the_directory_may_tell_apart_are_refused_and_no_others<K: Key, V: Value>(
    engine: &TestEngine,
) {
    for depth in few(engine, [1, 0, 5]) {
        let path = &"10110"[..depth as usize];
        // A limit that is not a power of two times the initial count of segments is rounded down.
        for most in few(engine, [(4 << depth) - 1, 2 << depth]) {
            let refused = (8, depth);
            let mut both = Both::<K, V>::new(&engine.device, &small().max_segments(most));
            let (keys, more) = (close(&both.map.table().layout(), 2, path, 9), both.spread(2, path, 9));
            too_deep(&mut both, &keys, refused);
            // One more level of the directory would separate these keys.
            too_deep(&mut both, &more, refused);
            // The batch also has keys that fit.
            let others = both.spread(7, "", 3);
            too_deep(&mut both, &[&others[..], &keys].concat(), refused);
            // This fills a bucket, and adds a key to the other half of the part above.
            both.insert(&[&keys[..8], &others].concat());
            if depth > 0 {
                both.insert(&both.spread(2, if depth == 1 { "0" } else { "10111" }, 1));
                assert_eq!(both.shape(), [depth as u64, 2 << depth, 2 + depth as u64, 8 + depth as u64]);
            }
            let before = both.shape();
            assert!(before[1] <= most && before[0] <= depth as u64, "{before:?} with {most} segments at most");
            too_deep(&mut both, &keys[8..], refused);
            too_deep(&mut both, &more[..1], refused);
            assert_eq!(both.shape(), before);
        }
    }
}

#[test]
fn a_batch_of_keys_with_one_hash_is_refused_after_few_launches() {
    let (device, launches) = faulty();
    for (config, depth) in
        [(small(), 21), (ExtendibleConfig::default().seed(5), 19), (small().max_segments(u64::MAX), 32)]
    {
        let records = if depth == 19 { 64 } else { 8 };
        let mut both = Both::<u64, u32>::new(&device, &config);
        let (some, keys) = (both.spread(3, "", 5), close(&both.map.table().layout(), 3, "01", 3000));
        both.insert(&some);
        // A few launches sort and search, and each level needs one more.
        only(&launches, 20 + depth, || too_deep(&mut both, &keys, (records, depth)));
        both.insert(&keys[..3]);
    }
}

/// Checks that many small removals merge the same buckets as one large removal. Small batches check
/// the buckets of their keys, and a large batch checks all buckets.
#[parameterized]
fn removing_little_by_little_merges_as_much_as_all_at_once<K: Key, V: Value>(engine: &TestEngine) {
    let keys: Vec<K> = distinct_keys(engine.max_items.min(2000), 4);
    let (gone, batch) = if engine.max_items < 1000 { (60, 5) } else { (1900, 20) };
    let [mut at_once, mut by_and_by] = [(); 2].map(|()| Both::<K, V>::new(&engine.device, &small()));
    at_once.insert(&keys);
    by_and_by.insert(&keys);
    let before = by_and_by.shape();
    at_once.remove(&keys[..gone]);
    for keys in keys[..gone].chunks(batch) {
        by_and_by.map.remove_many(keys).unwrap();
    }
    by_and_by.there = at_once.there.clone();
    by_and_by.found();
    assert_eq!(by_and_by.shape(), at_once.shape());
    // On the interpreter there may be nothing to merge.
    assert!(by_and_by.shape()[3] < before[3] || engine.max_items < 1000, "nothing was merged");
}

/// The CPU engine's block runner, which counts the blocks that it runs.
#[derive(Debug)]
struct Blocks(Arc<AtomicU64>);

// SAFETY: the CPU engine runs the launch.
unsafe impl Runner for Blocks {
    fn name(&self) -> &str {
        "counting CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> warpnest::Result<()> {
        self.0.fetch_add(blocks as u64, Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

#[test]
fn a_removal_of_few_keys_does_not_go_over_all_buckets() {
    let blocks = Arc::new(AtomicU64::new(0));
    let device = Device::from_engine(HostEngine::new(Blocks(blocks.clone()))).unwrap();
    let mut map = small().create::<u32, u32>(&device).unwrap();
    let keys: Vec<u32> = distinct_keys(100_000, 1);
    map.insert_many(&keys, &keys).unwrap();
    assert!(map.table().report().buckets > 10_000);
    let mut least = u64::MAX;
    for key in &keys[..20] {
        blocks.store(0, Relaxed);
        assert_eq!(map.remove_many(&[*key]), Ok(vec![Some(*key)]));
        least = least.min(blocks.load(Relaxed));
    }
    // One block removes the key and one checks its bucket; only sometimes two buckets are merged.
    assert_eq!(least, 2);
    check_extendible_map(&map).unwrap();
}

#[parameterized]
fn what_is_removed_gives_its_memory_back<K: Key, V: Value>(engine: &TestEngine) {
    let config = ExtendibleConfig::default().segments(1).buckets(4).records(8).seed(3);
    let (n, left) = if engine.max_items > 20_000 { (1 << 15, 1 << 8) } else { (engine.max_items, 32) };
    let keys: Vec<K> = distinct_keys(n, 9);
    let mut fresh = Both::<K, V>::new(&engine.device, &config);
    fresh.insert(&keys[..left]);
    let mut both = Both::<K, V>::new(&engine.device, &config);
    both.insert(&keys);
    let full = both.map.table().report();
    assert!((0.5..0.9).contains(&full.fill()) || n < 1000, "{full:?}");
    both.remove(&keys[left..]);
    let (report, of_fresh) = (both.map.table().report(), fresh.map.table().report());
    assert!(report.buckets <= 2 * of_fresh.buckets, "{report:?}, {of_fresh:?}");
    if n > 20_000 {
        assert!(report.directory_entries() <= 2 * of_fresh.directory_entries(), "{report:?}, {of_fresh:?}");
        assert!(report.memory_bytes < full.memory_bytes / 2, "{report:?}, {full:?}");
    }
    both.map.shrink_to_fit().unwrap();
    both.found();
    assert_eq!((both.map.table().report().buckets, both.map.len()), (report.buckets, left));
    assert!(both.map.memory_bytes() <= of_fresh.memory_bytes.max(report.memory_bytes) as usize);
    // The map grows again to its former size.
    both.insert(&keys[left..]);
    assert_eq!(both.map.table().report().records, full.records);
    both.map.clear().unwrap();
    both.there.clear();
    both.found();
    assert_eq!(both.map.table().report(), Both::<K, V>::new(&engine.device, &config).map.table().report());
}

#[parameterized]
fn a_map_and_its_copy_go_their_own_ways<K: Key, V: Value>(engine: &TestEngine) {
    let keys: Vec<K> = distinct_keys(engine.max_items.min(900), 2);
    let (old, new) = keys.split_at(keys.len() / 2);
    let mut both = Both::<K, V>::new(&engine.device, &small());
    both.insert(old);
    let mut copy = Both { map: both.map.try_clone().unwrap(), there: both.there.clone() };
    copy.found();
    assert!(copy.map.memory_bytes() <= both.map.memory_bytes());
    both.insert(&new[..new.len() / 2]);
    copy.found();
    copy.remove(&old[..old.len() - 5]);
    copy.insert(&new[3..]);
    both.found();
    // Keys that both maps have get other values in the copy.
    let other: V = own(&K::from_u64(5));
    assert_eq!(copy.map.insert_many(&new[3..4], &[other]), Ok(0));
    copy.there.insert(new[3], other);
    both.found();
    both.map.clear().unwrap();
    both.there.clear();
    copy.found();
    both.insert(old);
    drop(both);
    copy.found();
    copy.map.shrink_to_fit().unwrap();
    copy.insert(&old[..old.len() - 5]);
}
