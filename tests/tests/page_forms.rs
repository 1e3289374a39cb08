//! Single pages of tables of every form, filled until a pair finds no slot: what is built, found and unpacked.

use gpu_kernels::page::{Layout, header};
use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::{Device, Key, Value};
use warpnest_tests::page_checker::{pairs_of_pages, same_pairs};
use warpnest_tests::pages::{Pages, key_of_page};
use warpnest_tests::{TestEngine, distinct_keys, engines, on_every_engine};

/// Layouts of small pages, with the slots of a bucket that each is to have: with seven candidates, and with five.
fn narrow() -> [(Layout, u32); 5] {
    let layout = |bits, buckets, slots, candidates| {
        let layout = Layout::new::<u32, u32>(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, bits, buckets);
        assert_eq!((layout.slots, layout.candidates), (slots, candidates));
        (layout, slots)
    };
    [layout(2, 20, 4, 7), layout(15, 20, 5, 7), layout(21, 20, 6, 7), layout(13, 44, 5, 5), layout(19, 44, 6, 5)]
}

fn wide<K: Key, V: Value>() -> Layout {
    Layout::new::<K, V>(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 3, 20)
}

/// `n` pairs of page `page`, all different.
fn pairs<K: Key, V: Value>(layout: &Layout, page: u32, n: usize, seed: u64) -> Vec<(K, V)> {
    let bits: Vec<K> = distinct_keys(n << layout.page_bits.min(6), seed);
    let mut pairs: Vec<(K, V)> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for bits in bits {
        let key = key_of_page(layout, page, bits.to_u64());
        if pairs.len() < n && seen.insert(key) {
            pairs.push((key, V::from_u64(pairs.len() as u64 * 0x1_0000_0001 + 1)));
        }
    }
    assert_eq!(pairs.len(), n, "page {page} has not so many keys");
    pairs
}

/// Builds the pages, and compares them with the reference if they could be built.
fn build<K: Key, V: Value>(
    device: &Device,
    layout: Layout,
    pages: &[Vec<(K, V)>],
    ordered: bool,
) -> Result<Pages<K, V>, String> {
    let built = Pages::build(device, layout, pages, ordered).map_err(|error| error.to_string())?;
    if built.header[header::FAILED as usize] != 0 {
        return Ok(built);
    }
    let reference: HashMap<K, V> = pages.iter().flatten().copied().collect();
    let words = built.words.download(device.default_stream()).map_err(|error| error.to_string())?;
    same_pairs(&pairs_of_pages(&layout, &words, built.pages())?, &reference)?;
    if built.header[header::LENGTH as usize] != reference.len() as u64 {
        return Err(format!("{} keys, header {:?}", reference.len(), built.header));
    }
    let absent = (0..built.pages()).flat_map(|page| pairs::<K, V>(&layout, page, 40, 99));
    let queries: Vec<K> = pages.iter().flatten().copied().chain(absent).map(|(key, _)| key).collect();
    let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
    let answers = built.find(device, &queries).map_err(|error| error.to_string())?;
    if let Some(wrong) = (0..queries.len()).find(|&i| answers[i] != expected[i]) {
        return Err(format!("{}: {:?} instead of {:?}", queries[wrong], answers[wrong], expected[wrong]));
    }
    let unpacked = built.unpack(device).map_err(|error| error.to_string())?;
    if unpacked.len() != reference.len() {
        return Err(format!("{} pairs were written, and there are {}", unpacked.len(), reference.len()));
    }
    same_pairs(&unpacked.into_iter().collect(), &reference)?;
    Ok(built)
}

/// Fills pages with more and more pairs: gives the most that could be built, and how many pairs had others make room at most.
fn fill<K: Key, V: Value>(engine: &TestEngine, layout: Layout, step: usize) -> (usize, u64) {
    let slots = (layout.page_buckets * layout.slots) as usize;
    let (mut most, mut moved) = (0, 0);
    for n in (slots / 2..=slots).step_by(step).chain([slots, slots + 1]) {
        for seed in 0..3 {
            for ordered in [true, false] {
                let pages = [pairs(&layout, 0, n, 2 * seed + 1), Vec::new(), pairs(&layout, 2, n / 3, seed)];
                let built = build::<K, V>(&engine.device, layout, &pages, ordered)
                    .unwrap_or_else(|wrong| panic!("{n} of {slots} on {}: {wrong}", engine.device.name()));
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
    for engine in engines() {
        let step = if engine.most_items < 1000 { 13 } else { 3 };
        for (layout, slots) in narrow() {
            let (most, moved) = fill::<u32, u32>(engine, layout, step);
            // Five candidates and a move fill at least 9 of 10 slots.
            assert!(most as u32 * 10 >= slots * layout.page_buckets * 9, "{most} pairs in {slots} slots a bucket");
            assert!(moved > 0, "no pair needed room in a page with {most} pairs");
        }
        for (most, moved) in [
            fill::<u32, u64>(engine, wide::<u32, u64>(), step),
            fill::<u64, u32>(engine, wide::<u64, u32>(), step),
            fill::<u64, u64>(engine, wide::<u64, u64>(), step),
        ] {
            assert!(most >= 72 && moved > 0, "{most} pairs in 80 slots, {moved} moved");
        }
    }
}

#[test]
fn pages_of_every_form_keep_the_last_of_repeated_pairs_also_of_those_that_need_room() {
    for engine in engines() {
        for (layout, slots) in narrow() {
            let mut moved = 0;
            for seed in 0..12 {
                let once: Vec<(u32, u32)> = pairs(&layout, 1, (slots * layout.page_buckets * 97 / 100) as usize, seed);
                let twice = once.iter().chain(once.iter().rev()).enumerate();
                let twice: Vec<(u32, u32)> = twice.map(|(i, (key, _))| (*key, i as u32)).collect();
                let built = build(&engine.device, layout, &[Vec::new(), twice], true)
                    .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
                let of = |word: u64| built.header[word as usize];
                moved += if of(header::FAILED) == 0 { of(header::LEFT) } else { 0 };
            }
            assert!(moved > 0, "no pair needed room with {slots} slots");
        }
    }
}

#[test]
fn a_page_with_far_too_many_pairs_fails_and_says_so() {
    for engine in engines() {
        for (layout, slots) in narrow() {
            let many: Vec<(u32, u32)> = pairs(&layout, 1, (slots * layout.page_buckets + 129) as usize, 5);
            for ordered in [true, false] {
                let few = pairs(&layout, 0, 10, 6);
                let built = Pages::build(&engine.device, layout, &[few, many.clone()], ordered).unwrap();
                assert_eq!(built.header[header::FAILED as usize], 1, "{slots} slots on {}", engine.device.name());
            }
        }
    }
}

#[test]
fn a_page_with_more_pairs_than_16_bits_can_count_has_each_key_once() {
    let device = &engines()[0].device;
    for (layout, slots) in narrow() {
        let once: Vec<(u32, u32)> = pairs(&layout, 0, slots as usize * 10, 3);
        for n in [65_534, 65_535, 65_536, 65_537, 140_000] {
            // One key nearly always, and the others at the end or at the beginning.
            let hot = |i: usize| if (i + 1000) % n < 1000 { once[i % once.len()].0 } else { once[0].0 };
            let many: Vec<(u32, u32)> = (0..n).map(|i| (hot(i), i as u32)).collect();
            let built = build(device, layout, &[many], true)
                .unwrap_or_else(|wrong| panic!("{n} pairs with {slots} slots: {wrong}"));
            assert_eq!(built.header[header::FAILED as usize], 0);
        }
    }
}

#[test]
fn a_page_with_repeated_pairs_against_the_promise_finds_each_key() {
    for engine in engines() {
        for (layout, slots) in narrow() {
            let once: Vec<(u32, u32)> = pairs(&layout, 0, slots as usize * 10, 3);
            for copies in [2, 7] {
                let broken = Pages::build(&engine.device, layout, &[once.repeat(copies)], false).unwrap();
                let keys: Vec<u32> = once.iter().map(|pair| pair.0).collect();
                let values: Vec<Option<u32>> = once.iter().map(|pair| Some(pair.1)).collect();
                assert_eq!(broken.find(&engine.device, &keys).unwrap(), values, "{copies} copies");
                // It may have a key several times.
                let held = broken.unpack(&engine.device).unwrap();
                assert_eq!(broken.header[header::LENGTH as usize], held.len() as u64);
                let all: HashMap<u32, u32> = once.iter().copied().collect();
                assert_eq!(same_pairs(&held.into_iter().collect(), &all), Ok(()), "{copies} copies");
            }
        }
    }
}

#[test]
fn pairs_of_one_bucket_spread_over_their_page() {
    for engine in engines() {
        for (layout, slots) in narrow() {
            // Page 0's bucket 7: more than its line holds.
            let in_bucket = |pair: &(u32, u32)| layout.home_in_page(pair.0.mixed(layout.a, layout.b)) == 7;
            let all: Vec<(u32, u32)> = pairs(&layout, 0, 1500, 1);
            let pairs: Vec<(u32, u32)> = all.into_iter().filter(in_bucket).take(slots as usize * 5).collect();
            assert!(pairs.len() as u32 == slots * 5, "{} pairs", pairs.len());
            let built = build(&engine.device, layout, &[pairs], true)
                .unwrap_or_else(|wrong| panic!("{slots} slots on {}: {wrong}", engine.device.name()));
            assert_eq!(built.header[header::FAILED as usize], 0);
        }
    }
}

fn any_pages<K: Key, V: Value>(layouts: &[Layout]) {
    let layouts = layouts.to_vec();
    on_every_engine(
        |_| {
            let page = prop::collection::vec((any::<u64>(), any::<bool>(), any::<u64>()), 0..90);
            (prop::sample::select(layouts.clone()), prop::collection::vec(page, 1..4), any::<bool>(), any::<u64>())
        },
        |engine, (mut layout, pages, ordered, a)| {
            layout.a = a;
            let page = |(page, pairs): (usize, &Vec<(u64, bool, u64)>)| -> Vec<(K, V)> {
                // Few keys, and any.
                let bits = |bits: u64, few: bool| if few { (bits % 8) << 40 } else { bits };
                let key = |(word, few, _): &(u64, bool, u64)| key_of_page(&layout, page as u32, bits(*word, *few));
                let mut pairs: Vec<(K, V)> = pairs.iter().map(|pair| (key(pair), V::from_u64(pair.2))).collect();
                if !ordered {
                    pairs.sort_unstable();
                    pairs.dedup_by_key(|pair| pair.0);
                }
                pairs
            };
            let pages: Vec<Vec<(K, V)>> = pages.iter().enumerate().map(page).collect();
            build(&engine.device, layout, &pages, ordered).map(|_| ()).map_err(TestCaseError::fail)
        },
    );
}

#[test]
fn pages_of_any_pairs() {
    any_pages::<u32, u32>(&narrow().map(|(layout, _)| layout));
    any_pages::<u32, u64>(&[wide::<u32, u64>()]);
    any_pages::<u64, u32>(&[wide::<u64, u32>()]);
    any_pages::<u64, u64>(&[wide::<u64, u64>()]);
}
