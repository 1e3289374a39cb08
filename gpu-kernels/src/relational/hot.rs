//! The hot pass: rows of hot keys are aggregated on chip, and the others appended to an output.

use super::column::ColumnParams;
use super::hot_table::{HotTable, NO_SLOT};
use super::sample::header;
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The number of threads of a block.
const THREADS: u32 = 512;

/// Returns the number of rows that a thread loads at once: 16 bytes of the wider column.
const fn rows_at_once<K: KeyWord, V: Payload>() -> u32 {
    if K::BITS == 64 || V::VALUE_BITS == 64 { 2 } else { 4 }
}

/// Returns the number of rows of a tile.
pub const fn tile<K: KeyWord, V: Payload>() -> u64 {
    THREADS as u64 * rows_at_once::<K, V>() as u64
}

/// The scalar arguments of [`HotPass`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HotParams {
    /// The table of hot keys.
    pub table: HotTable,
    /// How values are added and compared.
    pub column: ColumnParams,
    /// The number of rows.
    pub rows: u64,
}

kernel! {
    /// Adds each row whose key is hot to its slot's aggregates, and appends the others to
    /// `missed_keys` and `missed_values`. Their number is added to the header's
    /// [`header::MISSED`], which is 0 at first. Blocks take tiles in turn, so there may be any
    /// number of blocks.
    ///
    /// `table` has as many slots as the plan says, and so have `sums`, `counts`, `minima` and
    /// `maxima`, which are 0 at first. `sums` gets sums of [widened](ColumnParams::widened) values,
    /// `maxima` the greatest [ordered](ColumnParams::ordered) words, and `minima` the complements
    /// of the least ones. What is not wanted is null, and so are `values` and `missed_values`
    /// without a column of values. The missed ones are as long as the input.
    HotPass<K: KeyWord, V: Payload>, "group_hot", threads 512, resident 3,
        shared words: u32 = 12224, shared found: u32 = 4, shared start: u64 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
        missed_values: Global<WordOf<V>>, header: Global<u64>, plan: HotParams
    }
}

/// The rows that a thread holds.
struct Held<K, W> {
    keys: [K; 4],
    values: [W; 4],
    /// The bits of those whose key is not hot.
    missed: u32,
    /// The number of missed rows of the tile before these.
    rank: u32,
}

/// Where a block's table and aggregates are in its shared memory, by index in words of their own
/// type: keys, minima, maxima, low and high halves of sums, counts. All begin at even indices.
#[derive(Clone, Copy)]
struct OnChip<S> {
    words: S,
    minima: u32,
    maxima: u32,
    low: u32,
    high: u32,
    counts: u32,
    end: u32,
}

impl<K: KeyWord, V: Payload> HotPass<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let HotParams { table, rows, .. } = args.plan;
        let chip = args.on_chip(words);
        let held = words.cast::<K>();
        let mut threads =
            block.local(|_| Held { keys: [K::default(); 4], values: [Default::default(); 4], missed: 0, rank: 0 });
        block.phase(&mut threads, |thread, _| {
            let mut slot = thread;
            while slot < table.slots {
                held.set(slot, args.table.load_read_only(slot as u64));
                slot += THREADS;
            }
            let mut word = table.slots * (K::BITS / 32) + thread;
            while word < chip.end {
                words.set(word, 0);
                word += THREADS;
            }
            if thread == 0 {
                found.set(0, 0);
            }
        });
        let tile_rows = tile::<K, V>();
        let (mut first, step) = (block.index() as u64 * tile_rows, block.grid() as u64 * tile_rows);
        while first < rows {
            let missing = block.count(&mut threads, |thread, t| {
                let at = first + (thread * rows_at_once::<K, V>()) as u64;
                let present = args.load(at, t);
                t.missed = 0;
                for i in 0..rows_at_once::<K, V>() as usize {
                    if (i as u64) < present {
                        let slot = table.find(t.keys[i], |slot| held.get(slot));
                        if slot == NO_SLOT {
                            t.missed |= 1 << i;
                        } else {
                            let copy = (slot << table.copy_bits) + (thread & ((1 << table.copy_bits) - 1));
                            args.add(chip, copy, t.values[i]);
                        }
                    }
                }
                if t.missed != 0 {
                    t.rank = found.fetch_add(0, t.missed.count_ones());
                }
                t.missed != 0
            });
            if missing != 0 {
                block.phase(&mut threads, |thread, _| {
                    if thread == 0 {
                        start.set(0, args.header.atomic(header::MISSED).fetch_add(found.get(0) as u64));
                        found.set(0, 0);
                    }
                });
                block.each(&mut threads, |_, t| {
                    let mut target = start.get(0) + t.rank as u64;
                    for i in 0..rows_at_once::<K, V>() as usize {
                        if t.missed >> i & 1 != 0 {
                            args.missed_keys.store(target, t.keys[i]);
                            if !args.missed_values.is_null() {
                                args.missed_values.store(target, t.values[i]);
                            }
                            target += 1;
                        }
                    }
                });
            }
            first += step;
        }
        block.sync();
        block.each(&mut threads, |thread, _| {
            let mut slot = thread;
            while slot < table.slots {
                if table.find(held.get(slot), |slot| held.get(slot)) == slot {
                    args.merge(chip, slot);
                }
                slot += THREADS;
            }
        });
    }

    #[inline(always)]
    fn on_chip<S: Shared<u32>>(&self, words: S) -> OnChip<S> {
        let HotTable { slots, .. } = self.plan.table;
        let copies = self.plan.table.copies();
        let word = <WordOf<V> as Scalar>::BITS / 32;
        let minima = slots * (K::BITS / 32) / word;
        let maxima = minima + if self.minima.is_null() { 0 } else { copies };
        let low = (maxima + if self.maxima.is_null() { 0 } else { copies }) * word;
        let sums = if self.sums.is_null() { 0 } else { copies };
        let (high, counts) = (low + sums, low + 2 * sums);
        let end = counts + if self.counts.is_null() { 0 } else { copies };
        OnChip { words, minima, maxima, low, high, counts, end }
    }

    /// Loads the rows from `at` on; returns how many there are.
    #[inline(always)]
    fn load(&self, at: u64, held: &mut Held<K, WordOf<V>>) -> u64 {
        let (rows, at_once) = (self.plan.rows, rows_at_once::<K, V>());
        let has_values = V::VALUE_BITS != 0 && !self.values.is_null();
        if at + at_once as u64 <= rows {
            if at_once == 4 {
                held.keys = self.keys.load_four_streaming(at);
                if has_values {
                    held.values = self.values.load_four_streaming(at);
                }
            } else {
                [held.keys[0], held.keys[1]] = self.keys.load_pair_streaming(at);
                if has_values {
                    [held.values[0], held.values[1]] = self.values.load_pair_streaming(at);
                }
            }
            return at_once as u64;
        }
        let present = rows.saturating_sub(at);
        for i in 0..at_once as usize {
            if (i as u64) < present {
                held.keys[i] = self.keys.load(at + i as u64);
                if has_values {
                    held.values[i] = self.values.load(at + i as u64);
                }
            }
        }
        present
    }

    /// Adds a value to a copy of a slot's aggregates.
    #[inline(always)]
    fn add<S: Shared<u32>>(&self, chip: OnChip<S>, copy: u32, value: WordOf<V>) {
        let words = chip.words;
        if !self.sums.is_null() {
            // Atomics of 64 bits in shared memory are loops on a GPU. The lower half tells the
            // carry.
            let wide = self.plan.column.widened(value);
            let low = wide as u32;
            let carry = words.fetch_add(chip.low + copy, low).checked_add(low).is_none() as u32;
            let high = ((wide >> 32) as u32).wrapping_add(carry);
            if high != 0 {
                words.fetch_add(chip.high + copy, high);
            }
        }
        if !self.counts.is_null() {
            words.fetch_add(chip.counts + copy, 1);
        }
        let raise = |first: u32, word: WordOf<V>| {
            let words = words.cast::<WordOf<V>>();
            // Few rows are a new extreme.
            if words.load_relaxed(first + copy) < word {
                words.fetch_max(first + copy, word);
            }
        };
        if !self.minima.is_null() {
            raise(chip.minima, !self.plan.column.ordered(value));
        }
        if !self.maxima.is_null() {
            raise(chip.maxima, self.plan.column.ordered(value));
        }
    }

    /// Adds the block's aggregates of a slot to those of all blocks.
    #[inline(always)]
    fn merge<S: Shared<u32>>(&self, chip: OnChip<S>, slot: u32) {
        let HotTable { copy_bits, .. } = self.plan.table;
        let (mut sum, mut count) = (0u64, 0u32);
        let (mut minimum, mut maximum) = (<WordOf<V>>::default(), <WordOf<V>>::default());
        let words = chip.words;
        for number in 0..1 << copy_bits {
            // Neighbours read different banks.
            let copy = (slot << copy_bits) + ((number + slot) & ((1 << copy_bits) - 1));
            if !self.sums.is_null() {
                let halves = [chip.low, chip.high].map(|half| words.get(half + copy) as u64);
                sum = sum.wrapping_add(halves[0] | halves[1] << 32);
            }
            if !self.counts.is_null() {
                count += words.get(chip.counts + copy);
            }
            let words = words.cast::<WordOf<V>>();
            if !self.minima.is_null() {
                minimum = minimum.max(words.get(chip.minima + copy));
            }
            if !self.maxima.is_null() {
                maximum = maximum.max(words.get(chip.maxima + copy));
            }
        }
        let slot = slot as u64;
        if !self.sums.is_null() {
            self.sums.atomic(slot).fetch_add(sum);
        }
        if !self.counts.is_null() {
            self.counts.atomic(slot).fetch_add(count);
        }
        if !self.minima.is_null() {
            self.minima.atomic(slot).fetch_max(minimum);
        }
        if !self.maxima.is_null() {
            self.maxima.atomic(slot).fetch_max(maximum);
        }
    }
}
