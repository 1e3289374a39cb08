//! Pages whose values are ids of a compacting table, or indices of a multimap's runs.

use super::small_pages::{build, narrow, wide};
use super::sources::scattered;
use gpu_kernels::layered::multi::{Runs, RunsParams};
use gpu_kernels::page::{FlagValues, Layout, Number, NumberParams, RankValues, ValuesParams, header};
use std::collections::HashMap;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::page_checker::{pairs_of_pages, same_pairs};
use warpnest_tests::pages::Pages;
use warpnest_tests::{TestEngine, parameterized};

/// The pairs of a page.
type Pairs<K> = Vec<(K, u32)>;

/// Checks the kernels of a compacting table and a multimap on pages. The compacting table replaces
/// values by their ranks among all values of the table, and gives ids to the keys. Then the
/// multimap's queries use a key's id as the index of its run.
fn rank_and_number<K: Key>(device: &Device, layout: Layout) {
    let (mut built, pages) = full_pages::<K>(device, layout);
    let bits = flagged(device, &built, 5 * pages.concat().len());
    rank(device, &mut built, &bits);
    let ranked: HashMap<K, u32> = pages.iter().flatten().map(|&(key, value)| (key, value / 5)).collect();
    assert_eq!(same_pairs(&held(device, &built), &ranked), Ok(()));
    let numbered = number(device, &mut built, ranked.len());
    assert_eq!(same_pairs(&held(device, &built), &numbered), Ok(()));
    find_runs(device, &built, &numbered);
}

/// Builds two pages that are so full that many pairs are far from home. The values are multiples of
/// 5, in order. Whether all pairs can be inserted depends on the order of the threads.
fn full_pages<K: Key>(device: &Device, layout: Layout) -> (Pages<K, u32>, [Pairs<K>; 2]) {
    let of_page = (layout.slots * layout.page_buckets * 9 / 10) as usize;
    let page = |page: u32, seed: u64| {
        let pairs = scattered::<K, u32>(&layout, page, of_page, seed).into_iter().enumerate();
        pairs.map(|(i, (key, _))| (key, 5 * (page * of_page as u32 + i as u32))).collect::<Pairs<K>>()
    };
    let mut attempts = (0..40).map(|seed| {
        let pages = [page(0, seed), page(1, seed)];
        (build::<K, u32>(device, layout, &pages, true).unwrap(), pages)
    });
    let is_whole = |(built, _): &(Pages<K, u32>, _)| built.header[header::FAILED as usize] == 0;
    attempts.find(is_whole).expect("one of 40 attempts succeeds")
}

/// Returns the count of threads for the buckets of both pages.
fn buckets<K: Key>(built: &Pages<K, u32>) -> usize {
    2 * built.layout.page_buckets as usize
}

/// Returns the pairs of both pages.
fn held<K: Key>(device: &Device, built: &Pages<K, u32>) -> HashMap<K, u32> {
    let words = built.words.download(device.default_stream()).unwrap();
    pairs_of_pages::<K, u32>(&built.layout, &words, 2).unwrap()
}

/// Flags the values below `end`, and returns the flags.
fn flagged<K: Key>(device: &Device, built: &Pages<K, u32>, end: usize) -> Buffer<u32> {
    let stream = device.default_stream();
    let mut bits = Buffer::<u32>::zeroed(device, end / 32 + 1).unwrap();
    let plan = ValuesParams { layout: built.layout };
    // SAFETY: the words are two pages of this layout, and there is a bit for each value.
    unsafe {
        stream.launch(buckets(built), |uses| {
            let (words, bits) = (uses.read(&built.words).cast(), uses.write(&mut bits));
            FlagValues::<K> { words, bits, plan }
        })
    }
    .unwrap();
    let flags = bits.download(stream).unwrap();
    let is_flagged = |value: usize| flags[value / 32] >> (value % 32) & 1 == 1;
    assert!((0..end).all(|value| is_flagged(value) == (value % 5 == 0)));
    bits
}

/// Replaces each value by its rank among the flagged values.
fn rank<K: Key>(device: &Device, built: &mut Pages<K, u32>, bits: &Buffer<u32>) {
    let stream = device.default_stream();
    let flags = bits.download(stream).unwrap();
    let before = flags.iter().scan(0, |sum, word| Some(std::mem::replace(sum, *sum + word.count_ones())));
    let before = Buffer::from_slice(device, &before.collect::<Vec<u32>>()).unwrap();
    let (threads, plan) = (buckets(built), ValuesParams { layout: built.layout });
    // SAFETY: the words are two pages of this layout. Each value has a flag, and each word of flags
    // a count in `before`.
    unsafe {
        stream.launch(threads, |uses| {
            let words = uses.write(&mut built.words).cast();
            RankValues::<K> { words, bits: uses.read(bits), before: uses.read(&before), plan }
        })
    }
    .unwrap();
}

/// Gives ids to the `n` keys, and returns them.
fn number<K: Key>(device: &Device, built: &mut Pages<K, u32>, n: usize) -> HashMap<K, u32> {
    let stream = device.default_stream();
    let mut keys = Buffer::<K>::zeroed(device, n).unwrap();
    let mut count = Buffer::<u64>::zeroed(device, 1).unwrap();
    let (threads, plan) = (buckets(built), NumberParams { layout: built.layout, capacity: n as u64 });
    // SAFETY: the words are two pages of this layout, and the outputs have capacity for all keys.
    unsafe {
        stream.launch(threads, |uses| {
            let words = uses.write(&mut built.words).cast();
            Number::<K> { words, keys_out: uses.write(&mut keys), count: uses.write(&mut count), plan }
        })
    }
    .unwrap();
    assert_eq!(count.download(stream).unwrap(), [n as u64]);
    keys.download(stream).unwrap().into_iter().zip(0..).collect()
}

/// Looks up the runs of all keys and of absent keys. The runs have 1, 2 and 3 values, in turn.
fn find_runs<K: Key>(device: &Device, built: &Pages<K, u32>, numbered: &HashMap<K, u32>) {
    let (stream, layout) = (device.default_stream(), built.layout);
    let length = |run: u32| run % 3 + 1;
    let start = |run: u32| (0..run).map(length).sum::<u32>();
    let absent = (0..2).flat_map(|page| scattered::<K, u32>(&layout, page, 40, 99)).map(|pair| pair.0);
    let queries: Vec<K> = numbered.keys().copied().chain(absent).collect();
    let expected = queries.iter().map(|key| numbered.get(key).map_or((0, 0), |&run| (start(run), length(run))));
    let (expected_starts, expected_counts): (Vec<u32>, Vec<u32>) = expected.unzip();
    let lasts: Vec<u32> = (1..=numbered.len() as u32).map(|next| start(next) - 1).collect();
    let (queries, lasts) = (Buffer::from_slice(device, &queries).unwrap(), Buffer::from_slice(device, &lasts).unwrap());
    let capacity = || Buffer::<u32>::zeroed(device, queries.len()).unwrap();
    let (mut starts, mut counts) = (capacity(), capacity());
    let mut wide_counts = Buffer::<u64>::zeroed(device, queries.len()).unwrap();
    // SAFETY: each value of the pages has the end of a run, and the outputs are as long as the
    // queries.
    unsafe {
        stream.launch(queries.len(), |uses| Runs::<K> {
            queries: uses.read(&queries),
            words: uses.read(&built.words).cast(),
            lasts: uses.read(&lasts),
            starts: uses.write(&mut starts),
            counts: uses.write(&mut counts),
            wide_counts: uses.write(&mut wide_counts),
            plan: RunsParams { layout, queries: queries.len() as u64 },
        })
    }
    .unwrap();
    assert_eq!(starts.download(stream).unwrap(), expected_starts);
    assert_eq!(counts.download(stream).unwrap(), expected_counts);
    let widened: Vec<u64> = expected_counts.iter().map(|count| *count as u64).collect();
    assert_eq!(wide_counts.download(stream).unwrap(), widened);
}

#[parameterized]
fn values_in_pages_of_every_form_are_ranked_keys_numbered_and_runs_found(engine: &TestEngine) {
    for (layout, _) in narrow::<u32>() {
        rank_and_number::<u32>(&engine.device, layout);
    }
    rank_and_number::<u64>(&engine.device, wide::<u64, u32>());
}
