//! Lookups by one CPU thread, which processes groups of queries line by line.

use super::line::{Home, MAX_NEAR_LINES, Seen, first_of_line, look};
use super::table::{in_cell, resized};
use super::{Layout, header};
use crate::double_word::{Double, Half, PackedPair};
use crate::seam::{Global, LaneWork, Lanes};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, Scalar, ValueWord};

/// The count of queries of a group, which share a word of found bits.
const AT_ONCE: usize = 32;

/// The queries `first..end` of a lookup. `first` is a multiple of 32. No thread may change the
/// table concurrently.
///
/// The lines of a group are computed and prefetched while the group before is answered. An answer
/// takes no branch, since it is unpredictable whether a key is present or its line full. The
/// queries of a group that need another line read it together.
pub(super) struct FindInTurn<K: KeyWord, V: ValueWord> {
    pub lookup: Lookup<K, V>,
    pub words: Global<PackedPair<K, V>>,
    pub header: Global<u64>,
    pub layout: Layout,
    pub first: u64,
    pub end: u64,
}

/// A group of queries.
struct Sought<H> {
    keys: [H; AT_ONCE],
    homes: [Home; AT_ONCE],
    /// Whether the group may contain the key that is all ones.
    beside: bool,
}

impl<H: Scalar> Default for Sought<H> {
    fn default() -> Self {
        Self { keys: [H::default(); AT_ONCE], homes: [Home::default(); AT_ONCE], beside: false }
    }
}

impl<K: KeyWord, V: ValueWord> LaneWork for FindInTurn<K, V> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (mut even, mut odd) = (Sought::default(), Sought::default());
        let (mut first, step) = (self.first, AT_ONCE as u64);
        self.seek(first, &mut even);
        if !self.lookup.values.is_null() {
            while first + 2 * step <= self.end {
                self.seek(first + step, &mut odd);
                self.answer::<true>(lanes, first, &even);
                self.seek(first + 2 * step, &mut even);
                self.answer::<true>(lanes, first + step, &odd);
                first += 2 * step;
            }
        }
        while first < self.end {
            self.answer::<false>(lanes, first, &even);
            first += step;
            self.seek(first, &mut even);
        }
    }
}

impl<K: KeyWord, V: ValueWord> FindInTurn<K, V> {
    /// Computes the homes of the queries starting at index `first`, and prefetches their lines.
    /// Queries at or after `end` belong to the next block.
    #[inline(always)]
    fn seek(&self, first: u64, sought: &mut Sought<Half<K, V>>) {
        let here = self.lookup.count.saturating_sub(first).min(AT_ONCE as u64) as usize;
        let mut beside = false;
        // A whole group has a loop of its own, so that its length is constant.
        if here == AT_ONCE {
            for i in 0..AT_ONCE {
                beside |= self.seek_one(first, i, sought);
            }
        } else {
            for i in 0..here {
                beside |= self.seek_one(first, i, sought);
            }
        }
        sought.beside = beside;
        if self.layout.lines > MAX_NEAR_LINES {
            for home in sought.homes {
                self.words.prefetch(first_of_line::<PackedPair<K, V>>(home.line::<PackedPair<K, V>>()));
            }
        }
    }

    /// Computes the home of one query. Returns whether its key is stored in the cell.
    #[inline(always)]
    fn seek_one(&self, first: u64, i: usize, sought: &mut Sought<Half<K, V>>) -> bool {
        let key = self.lookup.queries.load_streaming(first + i as u64);
        sought.keys[i] = resized(key);
        sought.homes[i] = Home::of::<PackedPair<K, V>>(&self.layout, sought.keys[i]);
        key == K::ALL_ONES
    }

    /// Answers the queries starting at index `first`. With `WHOLE` there is a whole group, and
    /// values are written.
    #[inline(always)]
    fn answer<const WHOLE: bool>(&self, lanes: impl Lanes, first: u64, sought: &Sought<Half<K, V>>) {
        let values = self.lookup.values.offset(first);
        let here = if WHOLE { AT_ONCE } else { AT_ONCE.min((self.end - first) as usize) };
        let has_values = WHOLE || !self.lookup.values.is_null();
        // The slots of each key, and the empty slots of its line.
        let (mut own, mut empty) = ([0; AT_ONCE], [0; AT_ONCE]);
        for i in 0..here {
            let (seen, value) = self.probe(lanes, sought.homes[i].line::<PackedPair<K, V>>(), sought.keys[i]);
            (own[i], empty[i]) = (seen.own as u8, seen.empty as u8);
            if has_values {
                values.store_streaming(i as u64, resized(value));
            }
        }
        let mut found = lanes.nonzero(own);
        let mut open = !(found | lanes.nonzero(empty)) & u32::MAX >> (AT_ONCE - here);
        if has_values && found != u32::MAX {
            for i in 0..here {
                let there = ((found >> i & 1) as u64).wrapping_neg();
                values.store_streaming(i as u64, V::from_u64(values.load_streaming(i as u64).to_u64() & there));
            }
        }
        if sought.beside {
            for i in 0..here {
                if self.lookup.queries.load_streaming(first + i as u64) == K::ALL_ONES {
                    let cell = self.header.cast::<PackedPair<K, V>>().load_read_only(header::CELL);
                    let answer = in_cell(cell);
                    (found, open) = (found & !(1 << i) | (answer.is_some() as u32) << i, open & !(1 << i));
                    if has_values {
                        values.store_streaming(i as u64, resized(answer.unwrap_or_default()));
                    }
                }
            }
        }
        if open != 0 {
            found |= self.answer_open(lanes, values, sought, open);
        }
        self.lookup.found.store(first / AT_ONCE as u64, found);
    }

    /// Answers the open queries, whose home lines are full. Every round reads one more line for
    /// each. Returns which keys are present.
    #[inline(always)]
    fn answer_open(&self, lanes: impl Lanes, values: Global<V>, sought: &Sought<Half<K, V>>, mut open: u32) -> u32 {
        let (mut lines, mut found) = ([0; AT_ONCE], 0);
        each(open, |i| lines[i] = sought.homes[i].line::<PackedPair<K, V>>());
        // The limit matters only in a table without an empty slot, which only a kernel can fill.
        // Other searches end earlier.
        let mut left = self.layout.lines;
        // At most as many steps as lines.
        while open != 0 && left > 1 {
            each(open, |i| {
                lines[i] = self.layout.next_line::<PackedPair<K, V>>(lines[i], sought.keys[i]);
                self.words.prefetch(first_of_line::<PackedPair<K, V>>(lines[i]));
            });
            let mut still = open;
            each(open, |i| {
                let (seen, value) = self.probe(lanes, lines[i], sought.keys[i]);
                found |= ((seen.own != 0) as u32) << i;
                still &= !(((seen.own | seen.empty != 0) as u32) << i);
                if !self.lookup.values.is_null() && seen.own != 0 {
                    values.store_streaming(i as u64, resized(value));
                }
            });
            (open, left) = (still, left - 1);
        }
        found
    }

    /// Searches a key in a line without a branch. Also returns its value, or an unspecified one.
    #[inline(always)]
    fn probe(&self, lanes: impl Lanes, line: u32, key: Half<K, V>) -> (Seen, Half<K, V>) {
        let first = first_of_line::<PackedPair<K, V>>(line);
        let seen = look::<PackedPair<K, V>>(lanes, <PackedPair<K, V>>::load_line(self.words, first), key);
        // The slot is 0 if the key is absent.
        let slot = first + (seen.own.trailing_zeros() % 8) as u64;
        (seen, self.words.load_read_only(slot).lower())
    }
}

/// Calls `work` with the index of each bit that is set.
#[inline(always)]
fn each(mut bits: u32, mut work: impl FnMut(usize)) {
    // At most 32 steps: each clears a bit.
    while bits != 0 {
        work(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
