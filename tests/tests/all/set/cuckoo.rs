//! The cuckoo set, compared with `std::collections::HashSet`: any keys and operations, edge cases,
//! and repeated keys, on every engine.

use gpu_kernels::cuckoo::header;
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::design::Cuckoo;
use warpnest::design::HashFamily;
use warpnest::types::WordKey as Key;
use warpnest::{CuckooConfig, Device, Error};
use warpnest_tests::cuckoo_checker::keys_of_set;
use warpnest_tests::cuckoos::{Spec, spec};
use warpnest_tests::sets::properties::{Step, any_steps, fail, keys, sets_of_any_keys_are_combined, step};
use warpnest_tests::sets::{build, edges};
use warpnest_tests::{TestEngine, at, distinct_keys, engines, key, linear, on_every_engine, parameterized};

fn default() -> CuckooConfig {
    CuckooConfig::default().seed(7)
}

warpnest_tests::tests_of! { edges:
    operations_on_sets_without_keys_with_the_same_and_with_no_common_ones[&default()];
    keys_one_after_the_other_and_at_every_distance[&default()];
}

#[parameterized(each_width)]
fn any_keys_and_operations<K: Key>() {
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(1200);
            let queries = prop::collection::vec(key::<K>(), 0..70);
            ((spec(), any::<bool>()), keys::<K>(most), prop::collection::vec(step(most), 0..4), queries)
        },
        |engine, ((spec, unique), keys, steps, queries)| {
            let spec = Spec { unique, ..spec };
            // Weak hash families fail with equally spaced keys, so these are mixed.
            let weak = !matches!(spec.family, HashFamily::Mix);
            let spread = |key: K| if weak && key != K::ALL_ONES { key.mixed(1, 3) } else { key };
            // If unique keys are promised, only first copies are kept.
            let kept = |keys: Vec<K>| -> Vec<K> {
                let mut seen = HashSet::new();
                keys.into_iter().map(spread).filter(|&key| !unique || seen.insert(key)).collect()
            };
            let input = kept(keys);
            // A set keeps the count of slots that it was built with, which must suit the largest
            // input.
            let inputs = steps.iter().map(|step| if let Step::Rebuild(keys) = step { keys.len() } else { 0 });
            let most = inputs.chain([input.len()]).max().unwrap_or(0);
            let slots = spec.config(most).set_memory_bytes::<u64>(most).map_err(fail)? / 8 - header::WORDS;
            let steps = steps.into_iter().map(|step| step.with(kept));
            // The first keys are a rebuild, too, because a build of keys that share their slots may
            // fail.
            let steps = std::iter::once(Step::Rebuild(input)).chain(steps).collect();
            let excused = |error: &Error, keys: &HashSet<K>| spec.excuses(error, keys);
            any_steps(
                &engine.device,
                &spec.config(most).slots(slots as u64),
                (vec![], steps, queries),
                excused,
                |report| {
                    prop_assert_eq!((report.seed, report.chains.is_some()), (spec.seed, spec.statistics));
                    prop_assert!(report.chains.is_none_or(|chains| chains.longest <= report.chain_limit));
                    Ok(())
                },
            )
        },
    );
}

#[parameterized(each_width)]
fn sets_of_any_keys_are_combined<K: Key>() {
    let configs = (any::<u64>(), 2u32..=5).prop_map(|(seed, functions)| {
        (CuckooConfig::default().seed(seed).functions(functions).slots_per_pair(2.4), default())
    });
    sets_of_any_keys_are_combined::<Cuckoo, K>(1200, &configs);
}

#[test]
fn no_key_one_key_and_the_extremes() {
    edges::no_key_one_key_and_the_extremes(&default());
}

/// Checks counts of keys around the items of a warp and of a block.
#[test]
fn numbers_of_keys_around_what_kernels_take_at_once() {
    edges::numbers_of_keys_around(&default(), &[2, 8, 32, 64, 128, 256, 512, 1024, 2048, 65_536]);
}

#[test]
fn copies_of_one_key_and_half_of_the_keys_twice() {
    edges::copies_of_one_key_and_half_of_the_keys_twice(|_| {
        vec![default(), default().functions(2).slots_per_pair(2.1), default().functions(5).slots_per_pair(1.02)]
    });
}

#[test]
fn rebuilds_with_more_and_fewer_and_no_keys() {
    // A set keeps the count of slots that it was built with.
    edges::rebuilds_with_more_and_fewer_and_no_keys(|most| default().slots(most as u64 * 5 / 4), |_| (), |_| ());
}

#[parameterized]
fn load_to_the_limit<K: Key>(engine: &TestEngine) {
    for (functions, slots) in [(2, 2.1), (3, 1.1), (4, 1.03), (5, 1.02)] {
        for size in [1, 7, 300, 40_000].into_iter().filter(|&size| size <= engine.max_items) {
            let config = default().functions(functions).slots_per_pair(slots).restarts(200);
            let keys: Vec<K> = distinct_keys(size, 5);
            edges::with_and_without_the_promise(&engine.device, &config, &keys);
        }
    }
}

/// Checks keys that occur twice, far apart. When the second copies are inserted, most first copies
/// have left their first slot, so many copies remain. Each of these must be erased, and keys whose
/// probes pass its slot must still be found.
#[parameterized]
fn copies_that_come_to_rest_in_two_slots_are_erased<K: Key>(engine: &TestEngine) {
    for (functions, slots) in [(2, 2.1), (3, 1.1), (4, 1.25), (5, 1.02)] {
        let _at = at(format!("{functions} functions, {slots} slots a key"));
        let once: Vec<K> = distinct_keys(engine.max_items.min(20_000) / 2, 3);
        let config = default().functions(functions).slots_per_pair(slots).restarts(200);
        // The second copies are in another order, so no two threads insert the same keys at the
        // same time.
        let again = (0..once.len()).map(|i| once[i * 7919 % once.len()]);
        let keys: Vec<K> = once.iter().copied().chain(again).collect();
        let set = build(&engine.device, &config, &keys);
        assert!(set.report().repeated_keys);
        let erased = keys_of_set(&set).unwrap().fillers.len();
        assert!(erased > once.len() / 1000, "{erased} copies of {} keys were erased", once.len());
    }
}

/// Checks two keys that share all their slots and have more copies than slots. The copies must not
/// evict each other forever. Threads drop copies, and the set must still have both keys.
#[parameterized]
fn copies_of_keys_that_share_all_their_slots(engine: &TestEngine) {
    let config = default().functions(3).slots_per_pair(2.0).hash(linear(4_294_967_291));
    let n = engine.max_items.min(3000) as u64;
    let keys: Vec<u64> = (0..n).map(|i| 40 + i % 2 * 4_294_967_291).collect();
    let set = build(&engine.device, &config, &keys);
    assert_eq!(set.len(), 2);
    let head = set.table().header().download(engine.device.default_stream()).unwrap();
    // With fewer threads at once, copies may be found before a thread drops one.
    let dropped = head[header::DROPPED as usize] == 1;
    assert!(dropped || engine.device.name() != "CPU", "no thread dropped a copy on seeing another one");
}

/// Checks tables of a few slots, in which most keys may be in every slot. A search must find a
/// filler: a key that does not belong in the slot of a copy. If there is none, the build starts
/// again.
#[test]
fn copies_in_the_smallest_tables() {
    let device = Device::cpu();
    let mut erased = 0;
    let mut restarts = 0;
    for functions in 2..=5 {
        let percent = [210, 110, 103, 102][functions as usize - 2];
        for n in 2..=9u64 {
            for seed in 0..400 {
                let keys: Vec<u32> = (0..n).map(|i| (i % n.div_ceil(2)) as u32).collect();
                let slots = (n * percent).div_ceil(100);
                let config = CuckooConfig::default().functions(functions).seed(seed).restarts(1000).slots(slots);
                let set = build(&device, &config, &keys);
                erased += keys_of_set(&set).unwrap().fillers.len();
            }
        }
    }
    assert!(erased > 1000, "{erased} copies were erased");
    // The keys have five residues, and each function maps each residue to a different slot. With
    // some seeds, all keys can be in the same slot.
    for seed in 0..4000 {
        for keys in [[0u32, 5, 0, 5], [1, 6, 11, 1], [3, 8, 8, 3]] {
            let config = CuckooConfig::default().functions(5).seed(seed).restarts(1000).slots(5).hash(linear(5));
            restarts += build(&device, &config, &keys).report().restarts;
        }
    }
    assert!(restarts > 0);
}

/// Checks a chain limit of a few exchanges, with which most attempts fail until one succeeds.
#[test]
fn restarts_lead_to_a_whole_table() {
    let keys: Vec<u32> = distinct_keys(300, 3);
    let config = default().chain_limit(10).restarts(10_000);
    let restarts = engines().iter().map(|engine| {
        build(&engine.device, &config, &keys[..150].repeat(2));
        build(&engine.device, &config, &keys).report().restarts
    });
    assert!(restarts.sum::<u32>() > 5, "the limit was too easy");
}

/// Checks that two sets of the same keys give the same answers, for any seed, count of functions
/// and order of the keys.
#[parameterized]
fn two_builds_of_the_same_keys_say_the_same(engine: &TestEngine) {
    let once: Vec<u32> = distinct_keys(engine.max_items.min(4000) / 2, 3);
    let backwards: Vec<u32> = once.iter().rev().chain(&once).copied().collect();
    let config = CuckooConfig::default();
    build(&engine.device, &config.clone().seed(1), &backwards);
    build(&engine.device, &config.clone().seed(1).statistics(), &once.repeat(2));
    let few = build(&engine.device, &config.seed(2).functions(2).slots_per_pair(3.0), &once);
    assert_eq!(few.table().probe_lengths().unwrap().histogram.len(), 3);
}

#[test]
fn a_broken_promise_of_unique_keys_loses_none_and_finds_no_others() {
    edges::a_broken_promise_of_unique_keys_loses_none_and_finds_no_others(&default(), |report, counted, keys| {
        // If copies met, the build has noticed that and erased all but one.
        assert!(counted == keys || !report.repeated_keys, "{counted} of {keys} keys");
    });
}

/// Checks a million copies of a key, in the order in which the CPU's cores insert them.
#[test]
fn a_key_a_million_times_and_other_shares() {
    let device = &engines()[0].device;
    build(device, &default(), &vec![9u32; 1_000_000]);
    for every in [2, 3, 40, 1000] {
        let once: Vec<u64> = distinct_keys(100_000, 4);
        let keys: Vec<u64> = (0..once.len()).map(|i| if i % every == 0 { 9 } else { once[i] }).collect();
        build(device, &default(), &keys);
    }
}
