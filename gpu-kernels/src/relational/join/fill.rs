//! Filling a page with the rows of a build side, by a counting sort: each row takes a rank within
//! its bucket, the buckets' sizes are added up, and the rows are written.

use super::buckets::Page;
use super::probe::{HELD, THREADS, Thread, row};
use crate::seam::{Block, Shared, Tile};
use crate::types::KeyWord;

/// The warps of a block.
const WARPS: u32 = THREADS / 32;

/// The counters of a block: the sums of its warps, and the output rows of a round.
pub(super) const TOTAL: u32 = WARPS;
pub(super) const COUNTERS: usize = 20;

/// Fills the page with `count` rows, which `load` gives by their number. Ends with a barrier.
#[inline(always)]
pub(super) fn fill<K: KeyWord, S: Shared<u32>, B: Block>(
    block: &mut B,
    threads: &mut B::Local<Thread<K>>,
    page: Page<K, S>,
    sums: impl Shared<u32>,
    count: u32,
    load: impl Fn(u32) -> (K, u32) + Sync,
) {
    // Threads may still read the page before this one.
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
    let words = page.starts_words().div_ceil(THREADS);
    block.each(threads, |thread, state| {
        state.next = 0;
        for word in thread * words..(thread + 1) * words {
            if word < page.starts_words() {
                let [first, second] = page.counts(word);
                state.next += first + second;
            }
        }
    });
    block.tiles_of::<32, _>(threads, |warp, threads| {
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
        for warp in 0..WARPS {
            let earlier = sums.get(warp);
            start += if warp < thread / 32 { earlier } else { 0 };
        }
        for word in thread * words..(thread + 1) * words {
            if word < page.starts_words() {
                start = page.begin(word, start);
            }
        }
        if thread == 0 {
            page.end(count);
        }
    });
    block.phase(threads, |thread, state| {
        for i in 0..HELD {
            if row(thread, i) < count {
                let key = state.keys[i];
                page.store(page.start(page.bucket_of(key)) + state.at[i], key, state.rows[i]);
            }
        }
    });
}
