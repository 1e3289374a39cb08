//! The join of a bin by one thread.

use super::buckets::{Buckets, Page};
use super::emit::{Emit, Outputs};
use super::rows::Rows;
use crate::seam::{Shared, Work};
use crate::types::KeyWord;

/// The probe rows that are joined with one page before the next is filled, if what is written of
/// them depends on all build rows; and those whose output rows are reserved at once.
const ROWS_A_PAGE: usize = 2048;
const AT_ONCE: usize = 256;

/// A bin, whose rows one thread joins.
pub(super) struct JoinInTurn<K: KeyWord, S> {
    pub page: Page<K, S>,
    pub page_rows: u32,
    pub build: Rows<K>,
    pub probe: Rows<K>,
    pub outputs: Outputs,
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
        let rows = if emit.needs_all() && has_pages { ROWS_A_PAGE as u32 } else { probe.count };
        let mut first = 0;
        while first < probe.count {
            let here = (probe.count - first).min(rows);
            let mut matched = [0u32; ROWS_A_PAGE / 32];
            let mut page_first = 0;
            loop {
                let count = (build.count - page_first).min(page_rows);
                if has_pages {
                    self.fill(page_first, count);
                }
                page_first += count;
                let is_last = page_first == build.count;
                let mut row = 0;
                while row < here {
                    let at_once = (here - row).min(AT_ONCE as u32);
                    // Rows that meet all build rows at once use the same bits again.
                    let word = if has_pages && emit.needs_all() { row as usize / 32 } else { 0 };
                    let flags = &mut matched[word..word + AT_ONCE / 32];
                    if page_first == count {
                        flags.fill(0);
                    }
                    self.probe(first + row, at_once, flags, is_last);
                    row += at_once;
                }
                if is_last {
                    break;
                }
            }
            first += here;
        }
    }
}

impl<K: KeyWord, S: Shared<u32>> JoinInTurn<K, S> {
    /// Fills the page with the build rows from number `first` on.
    #[inline(always)]
    fn fill(&self, first: u32, count: u32) {
        let (page, build) = (self.page, self.build);
        page.clear(0, 1);
        for row in first..first + count {
            page.count(page.bucket_of(build.load(row).0));
        }
        let mut start = 0;
        for word in 0..page.starts_words() {
            start = page.begin(word, start);
        }
        page.end(count);
        for row in first..first + count {
            let (key, number) = build.load(row);
            page.store(page.count(page.bucket_of(key)), key, number);
        }
        // Each start has become the end of its bucket, which is the start of the next one.
        page.shift_starts();
    }

    /// Joins `count` probe rows from number `first` on with the page. `matched` has a bit for each.
    #[inline(always)]
    fn probe(&self, first: u32, count: u32, matched: &mut [u32], is_last: bool) {
        let Self { page, probe, outputs, emit, .. } = *self;
        let (mut at, mut counts) = ([0u32; AT_ONCE], [0u32; AT_ONCE]);
        let mut pairs = 0;
        for i in 0..count as usize {
            let key = probe.load(first + i as u32).0;
            let (mut from, end) = page.bucket(key);
            let mut found = 0;
            at[i] = from;
            while from < end {
                let is_equal = page.key(from) == key;
                at[i] = if is_equal && found == 0 { from } else { at[i] };
                found += is_equal as u32;
                from += 1;
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
                while left != 0 {
                    if page.key(from) == key {
                        outputs.store(target, row, page.row(from));
                        target += 1;
                        left -= 1;
                    }
                    from += 1;
                }
            }
        }
        if !is_last || !emit.needs_all() {
            return;
        }
        let flip = if emit.has(Emit::UNMATCHED) { u32::MAX } else { 0 };
        let is_wanted = |matched: &[u32], i: u32| (matched[i as usize / 32] ^ flip) >> (i % 32) & 1;
        let mut rows = 0;
        for i in 0..count {
            rows += is_wanted(matched, i) as u64;
        }
        if rows == 0 {
            return;
        }
        let Some(mut target) = outputs.reserve(rows) else { return };
        for i in 0..count {
            if is_wanted(matched, i) != 0 {
                outputs.store_alone(target, probe.load(first + i).1);
                target += 1;
            }
        }
    }
}
