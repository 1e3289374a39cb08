//! Small pages of every form, and the comparison of a build with a reference.

use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::{Payload, Scalar, WordOf};
use std::collections::HashMap;
use warpnest::Device;
use warpnest::types::WordKey as Key;
use warpnest_tests::each_distinct_key;
use warpnest_tests::page_checker::{pairs_of_pages, same_pairs};
use warpnest_tests::pages::{Known, Pages, Source, key_of_page};

/// Returns layouts of small pages, each with the expected slots of a bucket; some have seven
/// candidates, others five.
pub(super) fn narrow<V: Payload>() -> [(Layout, u32); 5] {
    let [many, middle, few] = if V::VALUE_BITS == 0 { [24, 15, 8] } else { [6, 5, 4] };
    let layout = |bits, buckets, slots, candidates| {
        let layout = Layout::new::<u32, V>(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, bits, buckets);
        assert_eq!((layout.slots, layout.candidates), (slots, candidates));
        (layout, slots)
    };
    let with_7 = [layout(2, 20, few, 7), layout(15, 20, middle, 7), layout(21, 20, many, 7)];
    [with_7[0], with_7[1], with_7[2], layout(13, 44, middle, 5), layout(19, 44, many, 5)]
}

pub(super) fn wide<K: Key, V: Payload>() -> Layout {
    Layout::new::<K, V>(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 3, 20)
}

/// Returns a value with these bits, or 0 for keys without values.
pub(super) fn value<V: Payload>(bits: u64) -> V::Word {
    Scalar::from_u64(if V::VALUE_BITS == 0 { 0 } else { bits })
}

/// Returns `n` different pairs of page `page`.
pub(super) fn pairs<K: Key, V: Payload>(layout: &Layout, page: u32, n: usize, seed: u64) -> Vec<(K, WordOf<V>)> {
    let mut pairs = Vec::new();
    let mut seen = std::collections::HashSet::new();
    // The page's index replaces some bits of the keys, so some keys become equal.
    for bits in each_distinct_key::<K>(seed).take(n << layout.page_bits.min(6)) {
        if pairs.len() == n {
            break;
        }
        let key = key_of_page(layout, page, bits.to_u64());
        if seen.insert(key) {
            pairs.push((key, value::<V>(pairs.len() as u64 * 0x1_0000_0001 + 1)));
        }
    }
    assert_eq!(pairs.len(), n, "page {page} has not so many keys");
    pairs
}

/// Builds the pages, and compares them with the reference if the build succeeded.
pub(super) fn build<K: Key, V: Payload>(
    device: &Device,
    layout: Layout,
    pages: &[Vec<(K, WordOf<V>)>],
    repeats: bool,
) -> Result<Pages<K, V>, String> {
    compared(device, Pages::build(device, layout, pages, repeats), pages)
}

/// Builds the pages without knowing whether keys are unique.
///
/// Checks that each key has one of its values, and that repeated keys are listed.
pub(super) fn build_unordered<K: Key, V: Payload>(
    device: &Device,
    layout: Layout,
    pages: &[Vec<(K, WordOf<V>)>],
) -> Result<Pages<K, V>, String> {
    compared_unordered(device, Pages::build_from(Source::Bins, device, layout, pages, Known::Nothing), pages)
}

/// Checks pages that were built without knowing whether keys are unique, as [`build_unordered`]
/// does.
pub(super) fn compared_unordered<K: Key, V: Payload>(
    device: &Device,
    built: warpnest::Result<Pages<K, V>>,
    pages: &[Vec<(K, WordOf<V>)>],
) -> Result<Pages<K, V>, String> {
    let built = built.map_err(|error| error.to_string())?;
    let layout = built.layout;
    if built.header[header::FAILED as usize] != 0 {
        return Ok(built);
    }
    let mut given: HashMap<K, Vec<V::Word>> = HashMap::new();
    pages.iter().flatten().for_each(|&(key, value)| given.entry(key).or_default().push(value));
    let mut listed: HashMap<(u64, u64), usize> = HashMap::new();
    built.listed.iter().for_each(|&entry| *listed.entry(entry).or_default() += 1);
    let held = built.unpack(device).map_err(|error| error.to_string())?;
    for (key, value) in &held {
        let Some(values) = given.get(key) else { return Err(format!("{key} was not given")) };
        if !values.contains(value) {
            return Err(format!("{key} has {value:?} of {values:?}"));
        }
        let mixed = key.mixed(layout.a, layout.b);
        let page = mixed.scaled(layout.pages());
        let bucket = (page * layout.page_buckets + layout.home_in_page(mixed)) as u64;
        let remainder: K::PackedWord<V> = layout.remainder(mixed);
        let times = listed.get(&(bucket, remainder.to_u64())).copied().unwrap_or(0);
        let least = if V::VALUE_BITS == 0 { 0 } else { values.len() - 1 };
        if times < least {
            return Err(format!("{key} comes {} times, and is listed {times} times", values.len()));
        }
    }
    compared(device, Ok(built), &[held])
}

/// Compares pages with the pairs from which they were built, if the build succeeded.
pub(super) fn compared<K: Key, V: Payload>(
    device: &Device,
    built: warpnest::Result<Pages<K, V>>,
    pages: &[Vec<(K, WordOf<V>)>],
) -> Result<Pages<K, V>, String> {
    let built = built.map_err(|error| error.to_string())?;
    let layout = built.layout;
    if built.header[header::FAILED as usize] != 0 {
        return Ok(built);
    }
    let reference: HashMap<K, V::Word> = pages.iter().flatten().copied().collect();
    let words = built.words.download(device.default_stream()).map_err(|error| error.to_string())?;
    same_pairs(&pairs_of_pages::<K, V>(&layout, &words, built.pages())?, &reference)?;
    if built.header[header::LENGTH as usize] != reference.len() as u64 {
        return Err(format!("{} keys, header {:?}", reference.len(), built.header));
    }
    let absent = (0..built.pages()).flat_map(|page| pairs::<K, V>(&layout, page, 40, 99));
    let queries: Vec<K> = pages.iter().flatten().copied().chain(absent).map(|(key, _)| key).collect();
    let expected: Vec<Option<V::Word>> = queries.iter().map(|key| reference.get(key).copied()).collect();
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
