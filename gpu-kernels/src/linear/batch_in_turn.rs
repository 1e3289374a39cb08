//! A batch of changes of one kind, done by one CPU thread.

use super::line::{AloneSlots, Home, How, LineCells, Lines, MAX_NEAR_LINES};
use super::slot::{IfHeld, Inserted};
use super::table::{given, resized};
use super::{Emptying, InUse, Layout, Slots};
use crate::double_word::{Half, PackedPair};
use crate::seam::{Block, Global, LaneWork, Lanes, vectorized_by_lanes};
use crate::types::{KeyWord, ValueWord};

/// The count of changes whose lines are prefetched as a group, which share a word of bits.
const AT_ONCE: usize = 32;

/// The arguments of a batch whose changes are all of one kind.
#[derive(Clone, Copy)]
pub(super) struct Batch<K: KeyWord, V: ValueWord> {
    pub keys: Global<K>,
    /// The values. If this is null and the changes insert, `value` is the value of all keys.
    pub values: Global<V>,
    pub value: u64,
    pub words: Global<PackedPair<K, V>>,
    pub header: Global<u64>,
    /// The output: the values that the keys had, or have now if they are kept. May be null.
    pub answers: Global<V>,
    /// The output of bits for the keys that were present. May be null.
    pub before: Global<u32>,
    /// The bits of the changes that must be done, which become the bits of the refused changes. If
    /// this is null, all changes must be done.
    pub pending: Global<u32>,
    pub layout: Layout,
    /// The index of the first change, a multiple of 32 if there are bits.
    pub first: u64,
    pub end: u64,
}

/// The counts of a batch's effects.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub taken: u32,
    pub gained: u32,
    pub lost: u32,
    pub refused: u32,
    pub emptied: u32,
}

impl<K: KeyWord, V: ValueWord> Batch<K, V> {
    /// Does the insertions of a block on CPU cores. The grid may have any size: its blocks share
    /// the batch.
    #[inline(always)]
    pub fn insert<const ANSWERS: bool>(self, block: &impl Block, how: impl How) -> Totals {
        let (batch, words) = (self.part(block), self.words);
        if block.grid() == 1 {
            return vectorized_by_lanes(Inserting::<_, _, K, V, ANSWERS> { cells: AloneSlots(words), batch, how });
        }
        vectorized_by_lanes(Inserting::<_, _, K, V, ANSWERS> { cells: Slots(words), batch, how })
    }

    /// Does the removals of a block, as [`Batch::insert`] does insertions.
    #[inline(always)]
    pub fn remove(self, block: &impl Block) -> Totals {
        let (batch, words) = (self.part(block), self.words);
        if block.grid() == 1 {
            return vectorized_by_lanes(Removing { cells: AloneSlots(words), batch });
        }
        vectorized_by_lanes(Removing { cells: Slots(words), batch })
    }

    /// Returns the block's part of the batch, in whole words of bits.
    #[inline(always)]
    fn part(mut self, block: &impl Block) -> Self {
        let step = AT_ONCE as u64;
        let of_block = (self.end - self.first).div_ceil(step).div_ceil(block.grid() as u64) * step;
        self.first = self.end.min(self.first + block.index() as u64 * of_block);
        self.end = self.end.min(self.first + of_block);
        self
    }

    /// Computes the homes of the keys starting at index `first`, and prefetches their lines.
    #[inline(always)]
    fn prepare(&self, cells: &impl LineCells, first: u64, homes: &mut [Home; AT_ONCE]) {
        let here = self.end.saturating_sub(first).min(AT_ONCE as u64) as usize;
        // A whole group has a loop of its own, so that its length is constant.
        if here == AT_ONCE {
            for i in 0..AT_ONCE {
                homes[i] = self.home(first + i as u64);
            }
        } else {
            for i in 0..here {
                homes[i] = self.home(first + i as u64);
            }
        }
        if self.layout.lines > MAX_NEAR_LINES {
            for home in *homes {
                cells.prefetch(home.line::<PackedPair<K, V>>());
            }
        }
    }

    #[inline(always)]
    fn home(&self, index: u64) -> Home {
        Home::of::<PackedPair<K, V>>(&self.layout, resized(self.keys.load_streaming(index)))
    }

    /// Calls `change` with the index, key and home of every change that must be done, in order.
    /// Returns the counts of keys that were present before, of keys that were not, and of refused
    /// keys.
    #[inline(always)]
    fn each<const ANSWERS: bool>(
        &self,
        cells: &impl LineCells,
        mut change: impl FnMut(u64, K, Home) -> Changed<V>,
    ) -> [u32; 3] {
        let (mut even, mut odd) = ([Home::default(); AT_ONCE], [Home::default(); AT_ONCE]);
        let (mut first, step) = (self.first, AT_ONCE as u64);
        let mut counts = [0; 3];
        self.prepare(cells, first, &mut even);
        while first < self.end {
            self.prepare(cells, first + step, &mut odd);
            let here = step.min(self.end - first) as u32;
            let (mut wanted, mut before, mut refused) = (u32::MAX >> (32 - here), 0, 0);
            let counted = ANSWERS && !self.pending.is_null();
            if counted {
                wanted &= self.pending.load_streaming(first / step);
            }
            for i in 0..here {
                if ANSWERS && wanted >> i & 1 == 0 {
                    continue;
                }
                let index = first + i as u64;
                let changed = change(index, self.keys.load_streaming(index), even[i as usize]);
                before |= (changed.before as u32) << i;
                refused |= (changed.refused as u32) << i;
                if ANSWERS && !self.answers.is_null() {
                    self.answers.store_streaming(index, changed.answer);
                }
            }
            if ANSWERS && !self.before.is_null() {
                // Bits of the word from earlier launches are kept, except bits after the last
                // change.
                let there = u32::MAX >> (32 - here);
                let others = if counted { self.before.load(first / step) & !wanted & there } else { 0 };
                self.before.store(first / step, others | before);
            }
            if counted {
                self.pending.store(first / step, refused);
            }
            counts[0] += before.count_ones();
            counts[1] += (wanted & !before & !refused).count_ones();
            counts[2] += refused.count_ones();
            core::mem::swap(&mut even, &mut odd);
            first += step;
        }
        counts
    }
}

/// The result of a change.
struct Changed<V> {
    answer: V,
    /// Whether the key was present before.
    before: bool,
    refused: bool,
}

/// The insertions of a batch.
struct Inserting<C, H, K: KeyWord, V: ValueWord, const ANSWERS: bool> {
    cells: C,
    batch: Batch<K, V>,
    how: H,
}

impl<C: LineCells<Word = PackedPair<K, V>>, H: How, K: KeyWord, V: ValueWord, const ANSWERS: bool> LaneWork
    for Inserting<C, H, K, V, ANSWERS>
{
    type Output = Totals;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Totals {
        let Self { cells, batch, how } = self;
        let layout = batch.layout;
        let lines = Lines { lanes, cells, layout };
        // The count of new keys that take no empty slot. All other new keys take one.
        let mut slotless = 0;
        let counts = batch.each::<ANSWERS>(&cells, |index, key, home| {
            let value = given(batch.values, index, batch.value);
            let inserted: Inserted<Half<K, V>> = if key == K::ALL_ONES {
                InUse::new(batch.words, batch.header, layout).insert(key, value, how.if_held(), true).map(resized)
            } else {
                lines.insert((resized(key), resized(value)), home, how)
            };
            slotless += (inserted.is_new() && !inserted.taken) as u32;
            let new = if how.if_held() == IfHeld::Keep && inserted.is_new() { value } else { V::default() };
            let answer = inserted.before.map_or(new, resized);
            Changed { answer, before: inserted.before.is_some(), refused: inserted.refused }
        });
        let [_, gained, refused] = counts;
        Totals { gained, taken: gained - slotless, refused, ..Totals::default() }
    }
}

/// The removals of a batch.
struct Removing<C, K: KeyWord, V: ValueWord> {
    cells: C,
    batch: Batch<K, V>,
}

impl<C: LineCells<Word = PackedPair<K, V>>, K: KeyWord, V: ValueWord> LaneWork for Removing<C, K, V> {
    type Output = Totals;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Totals {
        let Self { cells, batch } = self;
        let layout = batch.layout;
        let (lines, mut emptied) = (Lines { lanes, cells, layout }, 0);
        let [lost, ..] = batch.each::<true>(&cells, |_, key, home| {
            let removed = if key == K::ALL_ONES {
                Emptying::new(batch.words, batch.header, layout).remove(key)
            } else {
                let removed = lines.remove_and_empty(resized(key), home);
                removed.map(|(value, emptied)| (resized(value), emptied))
            };
            emptied += removed.is_some_and(|(_, emptied)| emptied) as u32;
            let answer = removed.map_or(V::default(), |(value, _)| value);
            Changed { answer, before: removed.is_some(), refused: false }
        });
        Totals { lost, emptied, ..Totals::default() }
    }
}
