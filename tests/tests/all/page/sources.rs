//! Larger pages of every form, in which each thread reads several pairs, from every arrangement of
//! the pairs. Maps that an interpreter can build have only small pages, and a map's size determines
//! its form.

use super::small_pages::{compared, compared_unordered, value, wide};
use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::{Payload, WordOf};
use std::collections::{HashMap, HashSet};
use warpnest::Device;
use warpnest::types::WordKey as Key;
use warpnest_tests::page_checker::same_pairs;
use warpnest_tests::pages::{Known, Pages, Source, key_of_page};
use warpnest_tests::{at, on_all};

const SOURCES: [Source; 5] = [Source::Bins, Source::Starts, Source::KeysAlone, Source::Sorted, Source::Input];

/// Returns layouts of tables whose pages have so many slots that a thread processes more than four
/// pairs.
fn large<K: Key, V: Payload>() -> Vec<Layout> {
    let layout = |bits, buckets| Layout::new::<K, V>(0x0123_4567_89ab_cdef, 0x0edc_ba98_7654_3210, bits, buckets);
    let layouts = match (K::BITS, V::VALUE_BITS) {
        (32, 32) => vec![layout(1, 540), layout(10, 444), layout(16, 348)],
        (32, 0) => vec![layout(1, 276), layout(12, 140), layout(18, 92)],
        (_, 0) => vec![layout(1, 276)],
        _ => vec![layout(1, 540)],
    };
    let slots: Vec<u32> = layouts.iter().map(|layout| layout.slots).collect();
    let [most, middle, few] = if V::VALUE_BITS == 0 { [24, 15, 8] } else { [6, 5, 4] };
    assert!(slots == [few] || slots == [few, middle, most], "{slots:?}");
    layouts
}

/// Returns `n` different pairs of page `page`. Their homes are as random as the homes of a map's
/// keys, so few of them find their candidates full.
pub(super) fn scattered<K: Key, V: Payload>(layout: &Layout, page: u32, n: usize, seed: u64) -> Vec<(K, WordOf<V>)> {
    let random = (0..).map(|i| key_of_page::<K>(layout, page, K::from_u64(i).mixed(seed, 77).to_u64()));
    let mut seen = HashSet::new();
    random
        .filter(|&key| seen.insert(key))
        .zip(0..n as u64)
        .map(|(key, i)| (key, value::<V>(i * 0x1_0000_0001 + 1)))
        .collect()
}

/// Builds pages of such pairs from each source, and checks all of them.
fn from_every_source<K: Key, V: Payload>(device: &Device, layout: Layout, known: Known) {
    let n = (layout.page_buckets * layout.slots * 3 / 4) as usize;
    let with = |first: Vec<(K, WordOf<V>)>| {
        vec![first, Vec::new(), scattered::<K, V>(&layout, 2.min(layout.pages() - 1), 100, 4)]
    };
    let spread = || scattered::<K, V>(&layout, 0, n, 5);
    let inputs = if known != Known::Unique {
        // Some keys occur twice, and one key so often that its home is full and most of its pairs
        // are not listed.
        let mut often = spread();
        often.truncate(n / 3);
        let (twice, hot) = (often[..n / 5].to_vec(), often[0].0);
        often.extend(
            twice.into_iter().map(|pair| pair.0).chain(std::iter::repeat_n(hot, 1200)).map(|key| (key, value::<V>(0))),
        );
        let number = |(i, pair): (usize, (K, WordOf<V>))| (pair.0, value::<V>(i as u64 + 7));
        vec![spread(), often.into_iter().enumerate().map(number).collect()]
    } else {
        vec![spread()]
    };
    for source in SOURCES {
        if source == Source::KeysAlone && known != Known::InOrder {
            continue;
        }
        for input in &inputs {
            let _at = at(format!("{source:?}, known {known:?}, {layout:?}, {} pairs", input.len()));
            let mut pages = with(input.clone());
            if layout.page_bits < 2 || source == Source::Input {
                pages.truncate(1);
            }
            let built = Pages::<K, V>::build_from(source, device, layout, &pages, known);
            if source == Source::KeysAlone {
                pages.iter_mut().flatten().for_each(|pair| pair.1 = WordOf::<V>::default());
            }
            let check = if known == Known::Nothing { compared_unordered } else { compared };
            let built = check(device, built, &pages).unwrap();
            assert_eq!(built.header[header::FAILED as usize], 0, "header {:?}", built.header);
        }
    }
}

fn both_kernels<K: Key, V: Payload>() {
    on_all(|device| {
        for layout in large::<K, V>() {
            for known in [Known::Unique, Known::InOrder, Known::Nothing] {
                from_every_source::<K, V>(device, layout, known);
            }
        }
    });
}

warpnest_tests::of_pairs_and_keys_alone!(both_kernels);

/// Checks copies that break the promise of unique keys. They fill all candidates of their key, and
/// more copies are left without a slot than a list can hold, or than both lists can.
fn copies_against_the_promise<K: Key, V: Payload>(device: &Device, layout: Layout) {
    let once = scattered::<K, V>(&layout, 0, 20, 3);
    for copies in [300, 1300] {
        let mut page = once.clone();
        page.extend(std::iter::repeat_n(once[3], copies));
        for source in [Source::Bins, Source::Input] {
            let _at = at(format!("{copies} copies, {source:?}, {layout:?}"));
            let pages = std::slice::from_ref(&page);
            let built = Pages::<K, V>::build_from(source, device, layout, pages, Known::Unique).unwrap();
            assert_eq!(built.header[header::FAILED as usize], 0);
            let (keys, values): (Vec<K>, Vec<_>) = once.iter().map(|pair| (pair.0, Some(pair.1))).unzip();
            assert_eq!(built.find(device, &keys).unwrap(), values);
            let held = built.unpack(device).unwrap();
            assert_eq!(built.header[header::LENGTH as usize], held.len() as u64);
            let all: HashMap<K, V::Word> = once.iter().copied().collect();
            assert_eq!(same_pairs(&held.into_iter().collect(), &all), Ok(()));
        }
    }
}

#[test]
fn copies_of_a_key_against_the_promise_search_by_the_tags() {
    fn with<K: Key, V: Payload>() {
        on_all(|device| {
            large::<K, V>().into_iter().for_each(|layout| copies_against_the_promise::<K, V>(device, layout));
            copies_against_the_promise::<K, V>(device, wide::<K, V>());
        });
    }
    warpnest_tests::in_all_widths!(with());
    warpnest_tests::keys_alone_in_all_widths!(with());
}
