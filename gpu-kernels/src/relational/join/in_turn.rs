//! The join of a bin by one CPU thread.

use super::buckets::{Buckets, Page};
use super::emit::Outputs;
use super::rows::Rows;
use super::written::Emit;
use crate::seam::{Shared, Work};
use crate::types::KeyWord;

/// The count of probe rows that are joined with one page before the next page is filled, if their
/// output depends on all build rows. Also the count of probe rows whose output is reserved
/// together.
const ROWS_A_PAGE: usize = 2048;
const AT_ONCE: usize = 256;

/// A bin whose rows one thread joins.
pub(super) struct JoinInTurn<K: KeyWord, S> {
    pub page: Page<K, S>,
    pub page_rows: u32,
    pub build: Rows<K>,
    pub probe: Rows<K>,
    pub outputs: Outputs<K>,
    pub emit: Emit,
}

impl<K: KeyWord, S: Shared<u32>> Work for JoinInTurn<K, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { build, probe, page_rows, emit, .. } = self;
        if probe.count == 0 || (build.count == 0 && !emit.needs_all()) {
            return;
        }
        let has_pages = build.count > page_rows;
        if !has_pages {
            self.fill(0, build.count);
        }
        let rows = if emit.needs_all() { ROWS_A_PAGE as u32 } else { probe.count };
        let mut first = 0;
        while first < probe.count {
            let here = (probe.count - first).min(rows);
            let mut matched = [0u32; ROWS_A_PAGE / 32];
            let mut page_first = 0;
            // At most as many steps as pages of the build side.
            loop {
                let count = (build.count - page_first).min(page_rows);
                if has_pages {
                    self.fill(page_first, count);
                }
                page_first += count;
                let mut row = 0;
                while row < here {
                    let at_once = (here - row).min(AT_ONCE as u32);
                    // Without such outputs only the first bits are used.
                    let word = if emit.needs_all() { row as usize / 32 } else { 0 };
                    self.probe(first + row, at_once, &mut matched[word..word + AT_ONCE / 32]);
                    row += at_once;
                }
                // Other pages add nothing if all rows have a match and one is enough.
                if page_first == build.count || (emit.is_one_enough() && ones(&matched, here) == here) {
                    break;
                }
            }
            self.emit_once(first, here, &matched);
            first += here;
        }
    }
}

/// Returns the count of set bits among the first `bits` bits. No later bit may be set.
#[inline(always)]
fn ones(words: &[u32], bits: u32) -> u32 {
    let mut ones = 0;
    for word in &words[..bits.div_ceil(32) as usize] {
        ones += word.count_ones();
    }
    ones
}

impl<K: KeyWord, S: Shared<u32>> JoinInTurn<K, S> {
    /// Fills the page with build rows starting at index `first`.
    #[inline(always)]
    fn fill(&self, first: u32, count: u32) {
        let (page, build) = (self.page, self.build);
        page.clear(0, 1);
        for row in first..first + count {
            page.count(page.bucket_of(build.load(row).0));
        }
        let mut start = 0;
        for bucket in 0..page.buckets() {
            start = page.begin_empty(bucket, start);
        }
        for row in first..first + count {
            let (key, number) = build.load(row);
            page.store(page.add(page.bucket_of(key)), key, number);
        }
    }

    /// Joins `count` probe rows, starting at index `first`, with the page. `matched` has a bit for
    /// each of them.
    #[inline(always)]
    fn probe(&self, first: u32, count: u32, matched: &mut [u32]) {
        let Self { page, probe, outputs, emit, .. } = *self;
        let (mut at, mut counts) = ([0u32; AT_ONCE], [0u32; AT_ONCE]);
        let is_one_enough = emit.is_one_enough();
        let mut pairs = 0;
        for i in 0..count as usize {
            let key = probe.load(first + i as u32).0;
            let (mut from, rows) = page.bucket(key);
            let end = from + rows;
            let mut found = 0;
            at[i] = from;
            while from < end {
                let is_equal = page.key(from) == key;
                at[i] = if is_equal && found == 0 { from } else { at[i] };
                found += is_equal as u32;
                from = if is_equal && is_one_enough { end } else { from + 1 };
            }
            counts[i] = found;
            pairs += found as u64;
            matched[i / 32] |= ((found != 0) as u32) << (i % 32);
        }
        if emit.has(Emit::PAIRS)
            && pairs != 0
            && let Some(mut target) = outputs.reserve(pairs)
        {
            for i in 0..count as usize {
                if counts[i] == 0 {
                    continue;
                }
                let (key, row) = probe.load(first + i as u32);
                let (mut from, mut left) = (at[i], counts[i]);
                // At most as many steps as rows of the bucket, since `left` of them have the key.
                while left != 0 {
                    if page.key(from) == key {
                        outputs.store(target, row, page.row(from), key);
                        target += 1;
                        left -= 1;
                    }
                    from += 1;
                }
            }
        }
    }

    /// Writes the outputs that depend on all build rows, for `count` probe rows starting at index
    /// `first`. `matched` has a bit for each of them.
    #[inline(always)]
    fn emit_once(&self, first: u32, count: u32, matched: &[u32]) {
        let Self { probe, outputs, emit, .. } = *self;
        if !emit.needs_all() {
            return;
        }
        let met = ones(matched, count);
        let rows = if emit.has(Emit::UNMATCHED) { count - met } else { met };
        if rows == 0 {
            return;
        }
        let flip = if emit.has(Emit::UNMATCHED) { u32::MAX } else { 0 };
        let Some(mut target) = outputs.reserve(rows as u64) else { return };
        for i in 0..count {
            if (matched[i as usize / 32] ^ flip) >> (i % 32) & 1 != 0 {
                outputs.store_alone(target, probe.load(first + i).1);
                target += 1;
            }
        }
    }
}
