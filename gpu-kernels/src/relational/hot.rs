//! The hot pass: rows of hot keys are aggregated on chip, and the others appended to an output.

use super::column::ColumnParams;
use super::hot_table::{HotTable, NO_SLOT, SPARE};
use super::sample::header;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// Returns the number of rows that a thread loads at once: 16 bytes of the wider column.
const fn rows_at_once<K: KeyWord, V: Payload>() -> u32 {
    if K::BITS == 64 || V::VALUE_BITS == 64 { 2 } else { 4 }
}

/// Returns the number of rows of a tile of a block with so many threads.
#[inline(always)]
pub const fn tile<K: KeyWord, V: Payload>(threads: u32) -> u64 {
    threads as u64 * rows_at_once::<K, V>() as u64
}

/// Returns the number of rows that one of so many blocks reads at most, which its region of missed
/// rows has memory for.
#[inline(always)]
pub const fn region<K: KeyWord, V: Payload>(rows: u64, blocks: u32, threads: u32) -> u64 {
    rows.div_ceil(tile::<K, V>(threads)).div_ceil(blocks as u64) * tile::<K, V>(threads)
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
    /// Adds each row whose key is hot to its slot's aggregates, and writes the others to
    /// `missed_keys` and `missed_values`. Their number is added to the header's
    /// [`header::MISSED`], which is 0 at first. Blocks take tiles in turn, so there may be any
    /// number of blocks.
    ///
    /// `table` has as many slots as the plan says, and so have `sums`, `counts`, `minima` and
    /// `maxima`, which are 0 at first. `sums` gets sums of [widened](ColumnParams::widened) values,
    /// `maxima` the greatest [ordered](ColumnParams::ordered) words, and `minima` the complements
    /// of the least ones. What is not wanted is null, and so are `values` and `missed_values`
    /// without a column of values.
    ///
    /// If `FEW`, missed rows are few, and written side by side to arrays as long as the input; every
    /// warp that has any reserves their offsets. Otherwise each block has a region of its own, of
    /// [`region`] rows. `missed_counts` gets the number of rows of each, and the header's
    /// [`header::MOST_MISSED`], 0 at first, the greatest one. They are null if `FEW`.
    HotPass<K: KeyWord, V: Payload; const FEW: bool>, "group_hot" | "group_hot_few", threads 512, resident 3, dynamic words: u32,
        shared found: u32 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
        missed_values: Global<WordOf<V>>, missed_counts: Global<u32>, header: Global<u64>, plan: HotParams
    }
}

kernel! {
    /// Does the same as [`HotPass`] with larger blocks, for tables that take all memory of a
    /// multiprocessor.
    HotPassLarge<K: KeyWord, V: Payload; const FEW: bool>, "group_hot_large" | "group_hot_large_few", threads 1024, resident 1, dynamic words: u32,
        shared found: u32 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
        missed_values: Global<WordOf<V>>, missed_counts: Global<u32>, header: Global<u64>, plan: HotParams
    }
}

impl<K: KeyWord, V: Payload, const FEW: bool> From<HotPass<K, V, FEW>> for HotPassLarge<K, V, FEW> {
    fn from(pass: HotPass<K, V, FEW>) -> Self {
        let HotPass {
            keys,
            values,
            table,
            sums,
            counts,
            minima,
            maxima,
            missed_keys,
            missed_values,
            missed_counts,
            header,
            plan,
        } = pass;
        Self {
            keys,
            values,
            table,
            sums,
            counts,
            minima,
            maxima,
            missed_keys,
            missed_values,
            missed_counts,
            header,
            plan,
        }
    }
}

impl<K: KeyWord, V: Payload, const FEW: bool> HotPassLarge<K, V, FEW> {
    /// Returns the same arguments for the smaller blocks.
    #[inline(always)]
    fn as_small(&self) -> HotPass<K, V, FEW> {
        let Self {
            keys,
            values,
            table,
            sums,
            counts,
            minima,
            maxima,
            missed_keys,
            missed_values,
            missed_counts,
            header,
            plan,
        } = *self;
        HotPass {
            keys,
            values,
            table,
            sums,
            counts,
            minima,
            maxima,
            missed_keys,
            missed_values,
            missed_counts,
            header,
            plan,
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        self.as_small().dynamic_words()
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.as_small().run(block, words, found);
    }
}

/// The rows that a thread holds.
struct Held<K, W> {
    keys: [K; 4],
    values: [W; 4],
    /// The bits of those whose key is not hot.
    missed: u32,
    /// The number of missed rows of the warp before these.
    rank: u32,
}

/// Where a block's table and aggregates are in its shared memory, by index in words of their own
/// type: keys, minima, maxima, low and high halves of sums, counts. All begin at even indices.
#[derive(Clone, Copy)]
struct OnChip {
    minima: u32,
    maxima: u32,
    low: u32,
    high: u32,
    counts: u32,
    end: u32,
}

impl<K: KeyWord, V: Payload, const FEW: bool> HotPass<K, V, FEW> {
    /// Returns the number of words of a block's table and aggregates.
    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        self.on_chip().end
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = self;
        let rows = args.plan.rows;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip();
        let (block_threads, block_index) = (block.threads(), block.index());
        let held = words.cast::<K>();
        let mut threads =
            block.local(|_| Held { keys: [K::default(); 4], values: [Default::default(); 4], missed: 0, rank: 0 });
        block.phase(&mut threads, |thread, _| {
            let mut slot = thread;
            while slot < table.slots {
                held.set(slot, args.table.load_read_only(slot as u64));
                slot += block_threads;
            }
            let mut word = table.slots * (K::BITS / 32) + thread;
            while word < chip.end {
                words.set(word, 0);
                word += block_threads;
            }
            if thread == 0 {
                found.set(0, 0);
            }
        });
        // Opaque words are kept in registers as they are.
        let copies_a_slot = opaque(1 << table.copy_bits);
        let others_wanted = opaque((!args.counts.is_null() || !args.minima.is_null() || !args.maxima.is_null()) as u32);
        let tiles = rows.div_ceil(tile::<K, V>(block_threads)) as u32;
        let full_tiles = (rows / tile::<K, V>(block_threads)) as u32;
        let (mut number, step) = (block.index(), block.grid());
        let region_first = if FEW { 0 } else { number as u64 * region::<K, V>(rows, step, block_threads) };
        while number < tiles {
            // An opaque number is all that is kept of a tile's addresses.
            let first = opaque(number) as u64 * tile::<K, V>(block_threads);
            let is_full = number < full_tiles;
            let aggregate = |thread: u32, t: &mut Held<K, WordOf<V>>| {
                let absent = args.load(first + (thread * rows_at_once::<K, V>()) as u64, is_full, t);
                let at_once = rows_at_once::<K, V>() as usize;
                // The first slots of all keys are read before what depends on them, but for wide
                // keys, for which there are too few registers.
                let (mut folded, mut slots, mut there) = ([0; 4], [0; 4], [K::default(); 4]);
                for i in 0..at_once {
                    folded[i] = table.folded(t.keys[i]);
                    slots[i] = table.slot::<0>(folded[i]);
                    if K::BITS == 32 {
                        there[i] = held.get(slots[i]);
                    }
                }
                for i in 0..at_once {
                    let there = if K::BITS == 32 { there[i] } else { held.get(slots[i]) };
                    if there != t.keys[i] {
                        slots[i] = table.find_further(t.keys[i], folded[i], |slot| held.get(slot));
                    }
                }
                let mut copies = [0; 4];
                let own_copy = chip.low + (thread & (copies_a_slot - 1));
                let mut all_slots = 0;
                for i in 0..at_once {
                    all_slots |= slots[i];
                    copies[i] = slots[i].wrapping_mul(copies_a_slot).wrapping_add(own_copy);
                }
                t.missed = 0;
                // Only `NO_SLOT` has the highest bit.
                if all_slots >> 31 != 0 || absent != 0 {
                    for i in 0..at_once {
                        let is_absent = absent >> i & 1 != 0;
                        if slots[i] == NO_SLOT || is_absent {
                            copies[i] = chip.low + table.slots * copies_a_slot + thread % SPARE;
                            t.missed |= (!is_absent as u32) << i;
                        }
                    }
                }
                args.add(words, chip, others_wanted != 0, copies, t.values);
            };
            block.tiles_of::<32, _>(&mut threads, |warp, threads| {
                let first_thread = warp.first_thread();
                warp.each(threads, |lane, t| aggregate(first_thread + lane, t));
                if warp.ballot(threads, |_, t| t.missed != 0) == 0 {
                    return;
                }
                warp.exclusive_sum(
                    threads,
                    |_, t| t.missed.count_ones(),
                    |lane, t, before, total| {
                        // There are fewer than 2^32 rows. None is before those of lane 0, which
                        // keeps the warp's offset instead.
                        t.rank = match lane {
                            0 if FEW => args.header.atomic(header::MISSED).fetch_add(total as u64) as u32,
                            0 => found.fetch_add(0, total),
                            _ => before,
                        };
                    },
                );
                let start = warp.pick(threads, 0, |t| t.rank);
                warp.each(threads, |lane, t| {
                    t.rank = if lane == 0 { 0 } else { t.rank };
                    args.append(region_first + start as u64, t);
                });
            });
            number += step;
        }
        block.sync();
        block.each(&mut threads, |thread, _| {
            if !FEW && thread == 0 {
                let missed = found.get(0);
                args.missed_counts.store(block_index as u64, missed);
                args.header.atomic(header::MISSED).fetch_add(missed as u64);
                args.header.atomic(header::MOST_MISSED).fetch_max(missed as u64);
            }
            let mut slot = thread;
            while slot < table.slots {
                if table.find(held.get(slot), |slot| held.get(slot)) == slot {
                    args.merge(words, chip, slot);
                }
                slot += block_threads;
            }
        });
    }

    #[inline(always)]
    fn on_chip(&self) -> OnChip {
        let HotTable { slots, .. } = self.plan.table;
        let copies = self.plan.table.copies();
        let word = <WordOf<V> as Scalar>::BITS / 32;
        let minima = slots * (K::BITS / 32) / word;
        let maxima = minima + if self.minima.is_null() { 0 } else { copies };
        let low = (maxima + if self.maxima.is_null() { 0 } else { copies }) * word;
        let sums = if self.sums.is_null() { 0 } else { copies };
        let (high, counts) = (low + sums, low + 2 * sums);
        let end = counts + if self.counts.is_null() { 0 } else { copies };
        OnChip { minima, maxima, low, high, counts, end }
    }

    /// Writes a thread's missed rows to the output, from `start` and the thread's rank on.
    #[inline(always)]
    fn append(&self, start: u64, held: &Held<K, WordOf<V>>) {
        let mut target = start + held.rank as u64;
        for i in 0..rows_at_once::<K, V>() as usize {
            if held.missed >> i & 1 != 0 {
                self.missed_keys.store(target, held.keys[i]);
                if !self.missed_values.is_null() {
                    self.missed_values.store(target, held.values[i]);
                }
                target += 1;
            }
        }
    }

    /// Loads a thread's rows, from `at` on, of a tile that is full or not; returns the bits of
    /// those that do not exist.
    #[inline(always)]
    fn load(&self, at: u64, is_full: bool, held: &mut Held<K, WordOf<V>>) -> u32 {
        let (rows, at_once) = (self.plan.rows, rows_at_once::<K, V>());
        let has_values = V::VALUE_BITS != 0 && !self.values.is_null();
        if is_full {
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
            return 0;
        }
        let mut absent = 0;
        for i in 0..at_once as usize {
            let row = at + i as u64;
            if row < rows {
                held.keys[i] = self.keys.load_streaming(row);
                if has_values {
                    held.values[i] = self.values.load_streaming(row);
                }
            } else {
                absent |= 1 << i;
            }
        }
        absent
    }

    /// Adds each value to a copy of its slot's aggregates, of which `copies` has the lower halves
    /// of sums, or where those would begin.
    #[inline(always)]
    fn add(
        &self,
        words: impl Shared<u32>,
        chip: OnChip,
        others_wanted: bool,
        copies: [u32; 4],
        values: [WordOf<V>; 4],
    ) {
        let column = self.plan.column;
        let at_once = rows_at_once::<K, V>() as usize;
        if !self.sums.is_null() {
            // Atomics of 64 bits in shared memory are loops on a GPU. The lower half tells the
            // carry.
            let high = chip.high - chip.low;
            let add_low = |i: usize| words.fetch_add(copies[i], values[i].bits_from(0));
            let carries = |i: usize, held: u32| held.checked_add(values[i].bits_from(0)).is_none();
            let add_high = |i: usize, held: u32| {
                let upper = (column.widened(values[i]) >> 32) as u32;
                let upper = upper.wrapping_add(carries(i, held) as u32);
                if upper != 0 {
                    words.fetch_add(high + copies[i], upper);
                }
            };
            if <WordOf<V> as Scalar>::BITS == 64 {
                for i in 0..at_once {
                    add_high(i, add_low(i));
                }
            } else {
                // No addition waits for what an earlier one returns.
                let mut held = [0; 4];
                for i in 0..at_once {
                    held[i] = add_low(i);
                }
                if column.sign != 0 {
                    for i in 0..at_once {
                        add_high(i, held[i]);
                    }
                } else {
                    for i in 0..at_once {
                        if carries(i, held[i]) {
                            words.fetch_add(high + copies[i], 1);
                        }
                    }
                }
            }
        }
        if !others_wanted {
            return;
        }
        if !self.counts.is_null() {
            for i in 0..at_once {
                words.fetch_add(chip.counts - chip.low + copies[i], 1);
            }
        }
        let raise = |first: u32, copy: u32, word: WordOf<V>| {
            let (words, at) = (words.cast::<WordOf<V>>(), first + copy - chip.low);
            // Few rows are a new extreme.
            if words.load_relaxed(at) < word {
                words.fetch_max(at, word);
            }
        };
        if !self.minima.is_null() {
            for i in 0..at_once {
                raise(chip.minima, copies[i], !column.ordered(values[i]));
            }
        }
        if !self.maxima.is_null() {
            for i in 0..at_once {
                raise(chip.maxima, copies[i], column.ordered(values[i]));
            }
        }
    }

    /// Adds the block's aggregates of a slot to those of all blocks.
    #[inline(always)]
    fn merge(&self, words: impl Shared<u32>, chip: OnChip, slot: u32) {
        let HotTable { copy_bits, .. } = self.plan.table;
        let (mut sum, mut count) = (0u64, 0u32);
        let (mut minimum, mut maximum) = (<WordOf<V>>::default(), <WordOf<V>>::default());
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
