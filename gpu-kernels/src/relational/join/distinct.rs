//! The distinct keys of heavy bins. These have so many build rows that probe rows should not
//! compare with all of them, if they only need to know whether their key is present.

use super::buckets::{Buckets, Page};
use super::fill::{COUNTERS, START, TOTAL, fill};
use super::pages::{PAGE_BUCKET_BITS, PAGE_ROWS};
use super::probe::{HELD, Thread, row};
use super::rows::Bins;
use crate::seam::{Block, Global, Shared};
use crate::types::KeyWord;

/// The count of positions in a side's arrangement that a block processes.
pub const DISTINCT_ROWS: u64 = 4 * PAGE_ROWS as u64;

/// The scalar arguments of [`JoinDistinct`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinDistinctParams {
    /// The end of the positions of rows in the arrangement of the side.
    pub rows: u64,
    /// The distance between the first rows of two adjacent bins, or 0 if `counts` contains the
    /// starts of bins.
    pub bin_capacity: u64,
    /// The count of bits of a bin's index.
    pub page_bits: u32,
    /// The most rows of a bin that is not heavy.
    pub light_rows: u32,
    /// 1 if keys and row indices are in two arrays, as after a sort, or 0 if they are as after a
    /// split.
    pub apart: u32,
    /// An unused field: 0.
    pub padding: u32,
}

kernel! {
    /// Writes the keys of each heavy bin of a side, and adds their count to the bin's word in
    /// `distinct`, which is 0 before. A block processes [`DISTINCT_ROWS`] positions. The first key
    /// of a bin is written to the position of the bin's first row. A key may be written several
    /// times, but only once for each [`PAGE_ROWS`](super::PAGE_ROWS) of its rows.
    ///
    /// The side is arranged as for [`JoinPages`](super::JoinPages), and no split may have lost
    /// rows.
    JoinDistinct<K: KeyWord>, "join_distinct", threads 512, resident 2,
        dynamic memory: u32 = |_| Page::<K, ()>::new((), 0, PAGE_BUCKET_BITS, PAGE_ROWS).words(),
        shared counters: u32 = COUNTERS;
    {
        keys: Global<K>, rows: Global<u32>, counts: Global<u32>, distinct: Global<u32>, keys_out: Global<K>,
        plan: JoinDistinctParams,
    }
}

impl<K: KeyWord> JoinDistinct<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, memory: B::Shared<u32>, counters: B::Shared<u32>) {
        let Self { keys, rows: numbers, counts, plan, .. } = self;
        let bins = Bins { keys, numbers, counts, capacity: plan.bin_capacity, apart: plan.apart };
        let first = block.index() as u64 * DISTINCT_ROWS;
        let end = (first + DISTINCT_ROWS).min(plan.rows);
        let page = Page::<K, _>::new(memory, plan.page_bits, PAGE_BUCKET_BITS, PAGE_ROWS);
        let mut threads = block.local(|_| Thread::<K>::new());
        block.each(&mut threads, |thread, _| {
            if thread == 0 {
                counters.set(TOTAL, 0);
            }
        });
        let mut bin = self.bin_of(first);
        while bin < 1 << plan.page_bits {
            let (begin, count) = bins.place(bin);
            if begin >= end {
                return;
            }
            let (mut row, mut last) = (first.max(begin) - begin, 0);
            if count > plan.light_rows {
                last = (end - begin).min(count as u64);
            }
            while row < last {
                let here = (last - row).min(PAGE_ROWS as u64) as u32;
                let rows = bins.rows(bin).from(row as u32);
                fill(block, &mut threads, page, counters, here, |row| rows.load(row));
                self.write(block, &mut threads, (bin, begin), (page, here), counters);
                row += PAGE_ROWS as u64;
            }
            bin += 1;
        }
    }

    /// Returns the last bin that begins at or before a position.
    #[inline(always)]
    fn bin_of(&self, position: u64) -> u64 {
        let JoinDistinctParams { bin_capacity, page_bits, .. } = self.plan;
        if let Some(bin) = position.checked_div(bin_capacity) {
            return bin;
        }
        let (mut low, mut high) = (0, 1u64 << page_bits);
        // At most 32 steps: each halves the range.
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.counts.load_read_only(middle) as u64 <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Writes each key of a page once.
    #[inline(always)]
    fn write<B: Block>(
        &self,
        block: &mut B,
        threads: &mut B::Local<Thread<K>>,
        (bin, begin): (u64, u64),
        (page, count): (Page<K, impl Shared<u32>>, u32),
        counters: impl Shared<u32>,
    ) {
        block.phase(threads, |thread, state| {
            state.there = 0;
            for i in 0..HELD {
                let is_first = row(thread, i) < count && is_first(page, row(thread, i));
                state.there |= (is_first as u32) << i;
            }
            if state.there != 0 {
                state.next = counters.fetch_add(TOTAL, state.there.count_ones());
            }
        });
        block.phase(threads, |thread, _| {
            if thread == 0 {
                counters.set(START, self.distinct.atomic(bin).fetch_add(counters.get(TOTAL)));
                counters.set(TOTAL, 0);
            }
        });
        block.each(threads, |thread, state| {
            let mut target = begin + (counters.get(START) + state.next) as u64;
            for i in 0..HELD {
                if state.there >> i & 1 != 0 {
                    self.keys_out.store(target, page.key(row(thread, i)));
                    target += 1;
                }
            }
        });
    }
}

/// Returns whether a row of a page is the first of its bucket with its key.
#[inline(always)]
fn is_first<K: KeyWord>(page: Page<K, impl Shared<u32>>, at: u32) -> bool {
    let key = page.key(at);
    // The loop ends at this row or earlier, since frequent keys are found soon.
    let mut other = page.bucket(key).0;
    while other < at && page.key(other) != key {
        other += 1;
    }
    other == at
}
