//! Single pages of tables of every form, filled until a pair finds no slot: builds, lookups and
//! unpacking.

use super::small_pages::{build, build_unordered, narrow, pairs, value, wide};
use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::KeyWord as _;
use gpu_kernels::types::{Nothing, Payload};
use proptest::prelude::*;
use std::collections::HashMap;
use std::slice;
use warpnest::Device;
use warpnest::types::WordKey as Key;
use warpnest_tests::page_checker::same_pairs;
use warpnest_tests::pages::{Known, Pages, Source, key_of_page};
use warpnest_tests::{TestEngine, engines, on_every_engine, parameterized};

/// Fills pages with more and more pairs. Returns the most pairs of a build that succeeded, and the
/// most pairs that needed evictions.
fn fill<K: Key, V: Payload>(engine: &TestEngine, layout: Layout, step: usize) -> (usize, u64) {
    let slots = (layout.page_buckets * layout.slots) as usize;
    let (mut most, mut moved) = (0, 0);
    for n in (slots / 2..=slots).step_by(step).chain([slots, slots + 1]) {
        for seed in 0..3 {
            let pairs = pairs::<K, V>;
            let pages = [pairs(&layout, 0, n, 2 * seed + 1), Vec::new(), pairs(&layout, 2, n / 3, seed)];
            for known in [Some(true), Some(false), None] {
                let built = match known {
                    Some(ordered) => build::<K, V>(&engine.device, layout, &pages, ordered),
                    None => build_unordered::<K, V>(&engine.device, layout, &pages),
                };
                let built = built.unwrap_or_else(|wrong| panic!("{n} of {slots} on {}: {wrong}", engine.device.name()));
                assert!(built.header[header::FAILED as usize] <= 1, "the others have room");
                if built.header[header::FAILED as usize] == 0 {
                    most = most.max(n);
                    moved = moved.max(built.header[header::LEFT as usize]);
                }
            }
        }
    }
    assert!(most <= slots, "{most} pairs in {slots} slots");
    (most, moved)
}

#[test]
fn pages_of_every_form_are_filled_nearly_to_the_last_slot_and_never_beyond() {
    fn narrow_ones<V: Payload>(engine: &TestEngine, step: usize) {
        for (layout, slots) in narrow::<V>() {
            // Buckets with many slots get larger steps.
            let step = step * slots.div_ceil(6) as usize;
            let (most, moved) = fill::<u32, V>(engine, layout, step);
            // With five candidates and evictions, at least 9 of 10 slots can be filled.
            assert!(most as u32 * 10 >= slots * layout.page_buckets * 9, "{most} pairs in {slots} slots a bucket");
            assert!(moved > 0, "no pair needed room in a page with {most} pairs");
        }
    }
    for engine in engines() {
        let step = if engine.max_items < 1000 { 13 } else { 3 };
        narrow_ones::<u32>(engine, step);
        narrow_ones::<Nothing>(engine, step);
        let (most, moved) = fill::<u64, Nothing>(engine, wide::<u64, Nothing>(), step);
        assert!(most >= 144 && moved > 0, "{most} keys in 160 slots, {moved} moved");
        for (most, moved) in [
            fill::<u32, u64>(engine, wide::<u32, u64>(), step),
            fill::<u64, u32>(engine, wide::<u64, u32>(), step),
            fill::<u64, u64>(engine, wide::<u64, u64>(), step),
        ] {
            assert!(most >= 72 && moved > 0, "{most} pairs in 80 slots, {moved} moved");
        }
    }
}

#[parameterized(<u32>, <Nothing>)]
fn pages_of_every_form_that_are_nearly_full_keep_the_last_of_repeated_pairs<V: Payload>(engine: &TestEngine) {
    for (layout, slots) in narrow::<V>() {
        let mut whole = 0;
        for seed in 0..12 {
            let percent = if V::VALUE_BITS == 0 { 99 } else { 97 };
            let n = (slots * layout.page_buckets * percent / 100) as usize;
            let once = pairs::<u32, V>(&layout, 1, n, seed);
            let twice = once.iter().chain(once.iter().rev()).enumerate();
            let twice = twice.map(|(i, (key, _))| (*key, value::<V>(i as u64))).collect();
            let pages = [Vec::new(), twice];
            let built = build::<u32, V>(&engine.device, layout, &pages, true)
                .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
            whole += (built.header[header::FAILED as usize] == 0) as u32;
            build_unordered::<u32, V>(&engine.device, layout, &pages)
                .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
        }
        // On the CPU all builds succeed. Elsewhere, whether a build succeeds depends on the order
        // of the threads.
        assert!(whole >= 6, "{whole} of 12 with {slots} slots on {}", engine.device.name());
    }
}

/// Returns keys of page 0 that fill all buckets except bucket 0: as many keys for each home as
/// slots, and one more for bucket `over`. So one key of that bucket, or of its neighbour, finds its
/// candidates full, since bucket 0 is none of them. An eviction can free a slot, since other keys
/// can be moved to bucket 0.
fn one_too_many<V: Payload>(layout: &Layout, over: u32, seed: u64) -> Vec<u32> {
    let most = (1usize << (32 - layout.page_bits)) * 97 / 100;
    let all = pairs::<u32, V>(layout, 0, most.min(5000), seed);
    let mixed = |key: u32| key.mixed(layout.a, layout.b);
    let home = |key: u32| layout.home_in_page(mixed(key));
    let may_be_in_0 = |key: u32| {
        let remainder = layout.remainder::<u32, u32>(mixed(key));
        (0..layout.candidates).any(|number| layout.candidate(home(key), remainder, number) == 0)
    };
    let of_home = |bucket: u32| {
        let here = |may: bool| {
            all.iter().map(|pair| pair.0).filter(move |&key| home(key) == bucket && may_be_in_0(key) == may)
        };
        let keys: Vec<u32> = if bucket == over || bucket == over ^ 1 {
            here(false).take(layout.slots as usize + (bucket == over) as usize).collect()
        } else {
            here(true).chain(here(false)).take(layout.slots as usize).collect()
        };
        assert_eq!(keys.len() as u32, layout.slots + (bucket == over) as u32, "too few keys for bucket {bucket}");
        keys
    };
    (1..layout.page_buckets).flat_map(of_home).collect()
}

#[parameterized(<u32>, <Nothing>)]
fn a_pair_that_needs_room_gets_it_in_every_form_and_the_last_of_its_key_wins<V: Payload>(engine: &TestEngine) {
    for (layout, slots) in narrow::<V>() {
        for (seed, over) in [2, 9, layout.page_buckets - 1].into_iter().enumerate() {
            let once = one_too_many::<V>(&layout, over, seed as u64);
            // Each key of bucket `over` occurs several times, and any of them may be the key
            // without a slot.
            let home = |key: &u32| layout.home_in_page(key.mixed(layout.a, layout.b));
            let again: Vec<u32> = once.iter().copied().filter(|key| home(key) == over).rev().collect();
            for copies in [1, 2, 5] {
                let keys = once.iter().chain(again.iter().cycle().take((copies - 1) * again.len()));
                let page: Vec<_> = keys.enumerate().map(|(i, &key)| (key, value::<V>(i as u64))).collect();
                let unordered = build_unordered::<u32, V>(&engine.device, layout, slice::from_ref(&page))
                    .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
                assert_eq!(unordered.header[header::FAILED as usize], 0, "{slots} slots");
                let built = build::<u32, V>(&engine.device, layout, &[page], copies > 1)
                    .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
                let of = |word: u64| built.header[word as usize];
                // If threads run in turn, a key may be stored in the neighbouring bucket before
                // that is full. Then one of the neighbour's keys finds no slot.
                let left = if engine.in_turn && over.is_multiple_of(2) { 1 } else { copies as u64 };
                assert_eq!((of(header::FAILED), of(header::LEFT)), (0, left), "{slots} slots");
            }
        }
    }
}

#[parameterized(<u32>, <Nothing>)]
fn a_page_with_far_too_many_pairs_fails_and_says_so<V: Payload>(engine: &TestEngine) {
    for (layout, slots) in narrow::<V>() {
        let many = pairs::<u32, V>(&layout, 1, (slots * layout.page_buckets + 129) as usize, 5);
        for repeats in [true, false] {
            let few = pairs::<u32, V>(&layout, 0, 10, 6);
            let pages = [few, many.clone()];
            let built = Pages::<u32, V>::build(&engine.device, layout, &pages, repeats).unwrap();
            assert_eq!(built.header[header::FAILED as usize], 1, "{slots} slots on {}", engine.device.name());
        }
        let few = pairs::<u32, V>(&layout, 0, 10, 6);
        let built =
            Pages::<u32, V>::build_from(Source::Bins, &engine.device, layout, &[few, many], Known::Nothing).unwrap();
        assert_eq!(built.header[header::FAILED as usize], 1, "{slots} slots on {}", engine.device.name());
    }
}

#[test]
fn a_page_with_more_pairs_than_16_bits_can_count_has_each_key_once() {
    fn with<V: Payload>(device: &Device) {
        for (layout, slots) in narrow::<V>() {
            let once = pairs::<u32, V>(&layout, 0, slots as usize * 10, 3);
            for n in [65_534, 65_535, 65_536, 65_537, 140_000] {
                // Nearly all pairs have the same key. The other keys are at both ends.
                let hot = |i: usize| if (i + 1000) % n < 1000 { once[i % once.len()].0 } else { once[0].0 };
                let many = [(0..n).map(|i| (hot(i), value::<V>(i as u64))).collect()];
                for built in
                    [build::<u32, V>(device, layout, &many, true), build_unordered::<u32, V>(device, layout, &many)]
                {
                    let built = built.unwrap_or_else(|wrong| panic!("{n} pairs with {slots} slots: {wrong}"));
                    assert_eq!(built.header[header::FAILED as usize], 0);
                }
            }
        }
    }
    with::<u32>(&engines()[0].device);
    with::<Nothing>(&engines()[0].device);
}

#[parameterized(<u32>, <Nothing>)]
fn a_page_with_repeated_pairs_against_the_promise_finds_each_key<V: Payload>(engine: &TestEngine) {
    for (layout, slots) in narrow::<V>() {
        // There are so many copies that not all find a slot at home, but few enough that each finds
        // some slot.
        for (n, copies) in [(5, 2), (5, 3), (2, 7)] {
            let once = pairs::<u32, V>(&layout, 0, slots as usize * n, 3);
            let pages = [once.repeat(copies)];
            let broken = Pages::<u32, V>::build(&engine.device, layout, &pages, false).unwrap();
            assert_eq!(broken.header[header::FAILED as usize], 0, "{copies} copies");
            let keys: Vec<u32> = once.iter().map(|pair| pair.0).collect();
            let values: Vec<Option<V::Word>> = once.iter().map(|pair| Some(pair.1)).collect();
            assert_eq!(broken.find(&engine.device, &keys).unwrap(), values, "{copies} copies");
            // The page may have a key several times.
            let held = broken.unpack(&engine.device).unwrap();
            assert_eq!(broken.header[header::LENGTH as usize], held.len() as u64);
            let all: HashMap<u32, V::Word> = once.iter().copied().collect();
            assert_eq!(same_pairs(&held.into_iter().collect(), &all), Ok(()), "{copies} copies");
        }
    }
}

#[test]
fn pairs_of_one_bucket_spread_over_their_page() {
    fn with<V: Payload>(engine: &TestEngine, times: u32) {
        for (layout, slots) in narrow::<V>() {
            // Bucket 7 of page 0 gets more keys than its line holds.
            let in_bucket = |pair: &(u32, V::Word)| layout.home_in_page(pair.0.mixed(layout.a, layout.b)) == 7;
            // A page may have few possible keys.
            let most = (1usize << (32 - layout.page_bits)) * 97 / 100;
            let all = pairs::<u32, V>(&layout, 0, most.min(5000), 1);
            let pairs: Vec<_> = all.into_iter().filter(in_bucket).take((slots * times) as usize).collect();
            assert!(pairs.len() as u32 == slots * times, "{} pairs", pairs.len());
            let pages = [pairs];
            for built in [
                build::<u32, V>(&engine.device, layout, &pages, true),
                build_unordered::<u32, V>(&engine.device, layout, &pages),
            ] {
                let built = built.unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
                assert_eq!(built.header[header::FAILED as usize], 0);
            }
        }
    }
    for engine in engines() {
        with::<u32>(engine, 5);
        with::<Nothing>(engine, 4);
    }
}

fn any_pages<K: Key, V: Payload>(layouts: &[Layout]) {
    let layouts = layouts.to_vec();
    on_every_engine(
        |_| {
            let page = prop::collection::vec((any::<u64>(), any::<bool>(), any::<u64>()), 0..90);
            let known = prop::sample::select(vec![Some(true), Some(false), None]);
            (prop::sample::select(layouts.clone()), prop::collection::vec(page, 1..4), known, any::<u64>())
        },
        |engine, (mut layout, pages, known, a)| {
            layout.a = a;
            let page = |(page, pairs): (usize, &Vec<(u64, bool, u64)>)| -> Vec<(K, V::Word)> {
                // The keys are drawn from a few keys, or from all.
                let bits = |bits: u64, few: bool| if few { (bits % 8) << 40 } else { bits };
                let key = |(word, few, _): &(u64, bool, u64)| key_of_page(&layout, page as u32, bits(*word, *few));
                let mut pairs: Vec<_> = pairs.iter().map(|pair| (key(pair), value::<V>(pair.2))).collect();
                if known == Some(false) {
                    pairs.sort_unstable();
                    pairs.dedup_by_key(|pair| pair.0);
                }
                pairs
            };
            let pages: Vec<Vec<(K, V::Word)>> = pages.iter().enumerate().map(page).collect();
            let built = match known {
                Some(repeats) => build::<K, V>(&engine.device, layout, &pages, repeats),
                None => build_unordered::<K, V>(&engine.device, layout, &pages),
            };
            built.map(|_| ()).map_err(TestCaseError::fail)
        },
    );
}

#[test]
fn pages_of_any_pairs() {
    any_pages::<u32, u32>(&narrow::<u32>().map(|(layout, _)| layout));
    any_pages::<u32, u64>(&[wide::<u32, u64>()]);
    any_pages::<u64, u32>(&[wide::<u64, u32>()]);
    any_pages::<u64, u64>(&[wide::<u64, u64>()]);
}

#[test]
fn pages_of_any_keys_alone() {
    any_pages::<u32, Nothing>(&narrow::<Nothing>().map(|(layout, _)| layout));
    any_pages::<u64, Nothing>(&[wide::<u64, Nothing>()]);
}
