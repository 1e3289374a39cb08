//! The checking engine on the build of a bucket: it finds a barrier that is missing on purpose, and
//! no missing barrier in the library's build.

use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Kernel, Shared, checked::Checker};
use gpu_kernels::types::KeyWord as _;
use warpnest::low_level::engine::HostEngine;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, TwoLevelConfig};
use warpnest_tests::{CheckedRunner, distinct_keys};

kernel! {
    /// A small version of a bucket's build, with one item a thread, two sub-tables of 64 slots, and
    /// the same steps as in the library. The barrier after step `missing` is left out. `out`
    /// receives each thread's slot, and then the count of threads without a slot at the end.
    SmallBucket<>, "test_small_bucket", threads 64, shared slots: u32 = 128;
    { keys: Global<u32>, out: Global<u32>, seed: u32, missing: u32 }
}

impl SmallBucket {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, slots: B::Shared<u32>) {
        let args = self;
        let slot_in_bucket = |table: u32, key: u32| table * 64 + (key.mix(args.seed as u64, (7 + table) as u64) >> 26);
        let mut items = block.local(|thread| (args.keys.load(thread as u64), u32::MAX));
        let clear = |thread: u32, _: &mut (u32, u32)| {
            slots.set(thread, u32::MAX);
            slots.set(64 + thread, u32::MAX);
        };
        if args.missing == 1 {
            block.each(&mut items, clear);
        } else {
            block.phase(&mut items, clear);
        }
        let lost = |(key, table): (u32, u32), thread: u32| slots.get(slot_in_bucket(table, key)) != thread;
        let (mut round, mut built) = (0, false);
        while !built && round < 60 {
            round += 1;
            let first = |thread: u32, item: &mut (u32, u32)| {
                if item.1 == u32::MAX {
                    slots.exchange(slot_in_bucket(0, item.0), thread);
                    item.1 = 0;
                }
            };
            if args.missing == 2 {
                block.each(&mut items, first);
            } else {
                block.phase(&mut items, first);
            }
            let second = |thread: u32, item: &mut (u32, u32)| {
                if item.1 == 0 && lost(*item, thread) {
                    slots.exchange(slot_in_bucket(1, item.0), thread);
                    item.1 = 1;
                }
            };
            if args.missing == 3 {
                block.each(&mut items, second);
            } else {
                block.phase(&mut items, second);
            }
            let out = block.count(&mut items, |thread, item| {
                let out = item.1 == 1 && lost(*item, thread);
                if out {
                    item.1 = u32::MAX;
                }
                out
            });
            built = out == 0;
        }
        let out = block.count(&mut items, |_, _| !built);
        block.each(&mut items, |thread, item| {
            let mut slot = u32::MAX;
            if item.1 != u32::MAX {
                slot = slot_in_bucket(item.1, item.0);
            }
            args.out.store(thread as u64, slot);
            if thread == 0 {
                args.out.store(64, out);
            }
        });
    }
}

/// Returns the count of conflicts of a run, and its output.
fn small_bucket(seed: u32, shuffle: u64, missing: u32) -> (u64, Vec<u32>) {
    let mut keys: Vec<u32> = distinct_keys(64, 5);
    let (mut out, checker) = (vec![0; 65], Checker::new(shuffle));
    // SAFETY: 64 keys and 65 words outlive the run.
    unsafe {
        let (keys, out) = (Global::new(keys.as_mut_ptr()), Global::new(out.as_mut_ptr()));
        SmallBucket { keys, out, seed, missing }.run_checked(0, 1, &checker);
    }
    (checker.conflicts(), out)
}

/// Returns a seed with which the bucket can be built.
fn good_seed() -> u32 {
    (0..100).find(|&seed| small_bucket(seed, 1, 0).1[64] == 0).expect("a bucket at half load is built with some seed")
}

#[test]
fn with_all_its_barriers_a_bucket_is_built_without_a_conflict() {
    let seed = good_seed();
    for shuffle in 0..50 {
        let (conflicts, mut slots) = small_bucket(seed, shuffle, 0);
        assert_eq!((conflicts, slots.pop()), (0, Some(0)), "shuffle {shuffle}");
        slots.sort_unstable();
        assert!(slots.windows(2).all(|pair| pair[0] < pair[1]) && slots[63] < 128, "every item has a slot of its own");
    }
}

#[test]
fn each_barrier_of_a_bucket_that_is_left_out_is_noticed() {
    let seed = good_seed();
    for missing in 1..=3 {
        let noticed = (0..50).filter(|&shuffle| small_bucket(seed, shuffle, missing).0 > 0).count();
        // In a few orders, no two items that lost in the first sub-table compete in the second, so
        // there is no conflict.
        let least = if missing == 3 { 40 } else { 50 };
        assert!(noticed >= least, "barrier {missing}: noticed in {noticed} orders of 50");
    }
}

/// Builds on a checking engine, where a conflict in any kernel is an error, and looks up all keys.
fn no_conflicts<K: Key, V: Value>(config: &TwoLevelConfig, keys: &[K]) {
    for shuffle in [1, 2, 3] {
        let device = Device::from_engine(HostEngine::new(CheckedRunner::new(shuffle))).unwrap();
        let values: Vec<V> = (0..keys.len() as u64).map(V::from_u64).collect();
        let map = config.build(&device, keys, &values).unwrap();
        let last: std::collections::HashMap<K, V> = keys.iter().copied().zip(values).collect();
        let expected: Vec<Option<V>> = keys.iter().map(|key| last.get(key).copied()).collect();
        assert_eq!(map.get_many(keys).unwrap(), expected);
        let in_slots = last.keys().filter(|key| **key != K::ALL_ONES).count() as u64;
        assert_eq!(map.table().probe_lengths().unwrap().histogram.iter().sum::<u64>(), in_slots);
    }
}

fn inputs<K: Key, V: Value>() {
    let default = TwoLevelConfig::default().seed(3).statistics();
    // One configuration has full buckets, with many rounds and several seeds; the other has four
    // sub-tables.
    let full = default.clone().items_per_bucket(512.0).restarts(100);
    let small = default.clone().bucket_capacity(64).sub_tables(4, 16).items_per_bucket(40.0).seeds(100, 3);
    let any: Vec<K> = distinct_keys(512, 1);
    let repeated: Vec<K> = (0..900).map(|i| any[(i * i) % 300]).collect();
    let copies: Vec<K> = (0..500).map(|i| if i % 5 == 0 { K::ALL_ONES } else { any[i % 2] }).collect();
    for config in [&default, &full, &small] {
        no_conflicts::<K, V>(config, &any);
        no_conflicts::<K, V>(config, &repeated);
        no_conflicts::<K, V>(config, &copies);
        no_conflicts::<K, V>(config, &any[..1]);
        no_conflicts::<K, V>(config, &[]);
    }
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
