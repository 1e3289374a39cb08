//! Filling a page with the rows of a build side, by a counting sort. Each row gets a rank within
//! its bucket, the sizes of the buckets are added up, and the rows are written.

use super::buckets::{PADDING, Page};
use super::probe::{HELD, THREADS, Thread, row};
use super::rows::Rows;
use crate::seam::{Block, Shared, Tile};
use crate::types::KeyWord;

/// The count of warps of a block.
const WARPS: u32 = THREADS / 32;

/// The indices of a block's counters: the sums of its warps, the count of output rows of a round,
/// and their start.
pub(super) const TOTAL: u32 = WARPS;
pub(super) const START: u32 = TOTAL + 1;
pub(super) const COUNTERS: usize = 20;

/// Fills the page with `count` rows, which `load` returns by index. Ends with a barrier.
#[inline(always)]
pub(super) fn fill<K: KeyWord, S: Shared<u32>, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    page: Page<K, S>,
    sums: impl Shared<u32>,
    count: u32,
    load: impl Fn(u32) -> (K, u32) + Sync,
) {
    // Threads may still be reading the previous page.
    block.sync();
    block.phase(threads, |thread, state| {
        for i in 0..HELD {
            if row(thread, i) < count {
                (state.keys[i], state.rows[i]) = load(row(thread, i));
            }
        }
        page.clear(thread, THREADS);
    });
    block.phase(threads, |thread, state| {
        for i in 0..HELD {
            if row(thread, i) < count {
                state.at[i] = page.count(page.bucket_of(state.keys[i]));
            }
        }
    });
    begin_buckets::<THREADS, _, _, _>(block, threads, page, sums, |bucket, start| page.begin(bucket, start));
    block.phase(threads, |thread, state| {
        for i in 0..HELD {
            if row(thread, i) < count {
                let key = state.keys[i];
                page.store(page.start(page.bucket_of(key)) + state.at[i], key, state.rows[i]);
            }
        }
        if thread < PADDING {
            page.pad(count, thread);
        }
    });
}

/// Fills the page with rows that need not fit in the registers of the `BLOCK` threads. Ends with a
/// barrier. The counter [`TOTAL`] becomes 0.
#[inline(always)]
pub(super) fn fill_at_once<const BLOCK: u32, K: KeyWord, S: Shared<u32>, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    page: Page<K, S>,
    (sums, counters): (impl Shared<u32>, impl Shared<u32>),
    build: Rows<K>,
) {
    let rows = |thread: u32| (thread..build.count).step_by(BLOCK as usize);
    block.phase(threads, |thread, _| {
        page.clear(thread, BLOCK);
        if thread == 0 {
            counters.set(TOTAL, 0);
        }
    });
    block.phase(threads, |thread, _| {
        for row in rows(thread) {
            page.count(page.bucket_of(build.load(row).0));
        }
    });
    begin_buckets::<BLOCK, _, _, _>(block, threads, page, sums, |bucket, start| page.begin_empty(bucket, start));
    block.phase(threads, |thread, _| {
        for row in rows(thread) {
            let (key, number) = build.load(row);
            page.store(page.add(page.bucket_of(key)), key, number);
        }
        if thread < PADDING {
            page.pad(build.count, thread);
        }
    });
}

/// Sets the starts of all buckets, whose rows were counted. `begin` takes a bucket and its start,
/// and returns its end. The order of buckets does not matter, so adjacent threads process adjacent
/// buckets, which are in different banks. Ends with a barrier.
#[inline(always)]
fn begin_buckets<const BLOCK: u32, K: KeyWord, S: Shared<u32>, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    page: Page<K, S>,
    sums: impl Shared<u32>,
    begin: impl Fn(u32, u32) -> u32 + Sync,
) {
    let buckets = |thread: u32| (thread..page.buckets()).step_by(BLOCK as usize);
    block.each(threads, |thread, state| {
        state.next = 0;
        for bucket in buckets(thread) {
            state.next += page.counted(bucket);
        }
    });
    block.tiles_of(threads, |warp, threads| {
        let number = warp.first_thread() / 32;
        warp.exclusive_sum(
            threads,
            |_, state| state.next,
            |lane, state, before, total| {
                state.next = before;
                if lane == 0 {
                    sums.set(number, total);
                }
            },
        );
    });
    block.sync();
    block.phase(threads, |thread, state| {
        let mut start = state.next;
        for warp in 0..BLOCK / 32 {
            let earlier = sums.get(warp);
            start += if warp < thread / 32 { earlier } else { 0 };
        }
        for bucket in buckets(thread) {
            start = begin(bucket, start);
        }
    });
}
