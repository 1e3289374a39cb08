//! The hot pass: rows of hot keys are aggregated on chip, and the others appended to an output.

use super::column::ColumnParams;
use super::hot_table::{HotTable, NO_SLOT};
use super::sample::header;
use crate::seam::{Block, Global, Shared, opaque};
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
    HotPass<K: KeyWord, V: Payload>, "group_hot", threads 512, resident 3, dynamic words: u32,
        shared found: u32 = 4, shared start: u64 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
        missed_values: Global<WordOf<V>>, header: Global<u64>, plan: HotParams
    }
}

kernel! {
    /// Does the same as [`HotPass`] with larger blocks, for tables that take all memory of a
    /// multiprocessor.
    HotPassLarge<K: KeyWord, V: Payload>, "group_hot_large", threads 1024, resident 1, dynamic words: u32,
        shared found: u32 = 4, shared start: u64 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
        missed_values: Global<WordOf<V>>, header: Global<u64>, plan: HotParams
    }
}

impl<K: KeyWord, V: Payload> From<HotPass<K, V>> for HotPassLarge<K, V> {
    fn from(pass: HotPass<K, V>) -> Self {
        let HotPass { keys, values, table, sums, counts, minima, maxima, missed_keys, missed_values, header, plan } =
            pass;
        Self { keys, values, table, sums, counts, minima, maxima, missed_keys, missed_values, header, plan }
    }
}

impl<K: KeyWord, V: Payload> HotPassLarge<K, V> {
    /// Returns the same arguments for the smaller blocks.
    #[inline(always)]
    fn as_small(&self) -> HotPass<K, V> {
        let Self { keys, values, table, sums, counts, minima, maxima, missed_keys, missed_values, header, plan } =
            *self;
        HotPass { keys, values, table, sums, counts, minima, maxima, missed_keys, missed_values, header, plan }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        self.as_small().dynamic_words()
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>, start: B::Shared<u64>) {
        self.as_small().run(block, words, found, start);
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
struct OnChip {
    minima: u32,
    maxima: u32,
    low: u32,
    high: u32,
    counts: u32,
    end: u32,
}

impl<K: KeyWord, V: Payload> HotPass<K, V> {
    /// Returns the number of words of a block's table and aggregates.
    #[cfg(not(target_arch = "nvptx64"))]
    fn dynamic_words(&self) -> u32 {
        self.on_chip().end
    }

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let rows = args.plan.rows;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip();
        let block_threads = block.threads();
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
        let tiles = rows.div_ceil(tile::<K, V>(block_threads)) as u32;
        let (mut number, step) = (block.index(), block.grid());
        while number < tiles {
            // An opaque number is all that is kept of a tile's addresses.
            let first = opaque(number) as u64 * tile::<K, V>(block_threads);
            let missing = block.count(&mut threads, |thread, t| {
                let absent = args.load(first, [thread, block_threads], t);
                let mut copies = [0; 4];
                t.missed = 0;
                for i in 0..rows_at_once::<K, V>() as usize {
                    let slot = table.find(t.keys[i], |slot| held.get(slot));
                    let is_hot = slot != NO_SLOT;
                    t.missed |= (!is_hot as u32) << i;
                    copies[i] = table.copy(thread, if is_hot { Some(slot) } else { None });
                }
                if absent != 0 {
                    t.missed &= !absent;
                    for i in 0..rows_at_once::<K, V>() as usize {
                        if absent >> i & 1 != 0 {
                            copies[i] = table.copy(thread, None);
                        }
                    }
                }
                args.add(words, chip, copies, t.values);
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
            number += step;
        }
        block.sync();
        block.each(&mut threads, |thread, _| {
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

    /// Loads a thread's rows of the tile whose first row is `first`; returns the bits of those that
    /// do not exist.
    #[inline(always)]
    fn load(&self, first: u64, [thread, block_threads]: [u32; 2], held: &mut Held<K, WordOf<V>>) -> u32 {
        let (rows, at_once) = (self.plan.rows, rows_at_once::<K, V>());
        let has_values = V::VALUE_BITS != 0 && !self.values.is_null();
        let at = first + (thread * at_once) as u64;
        if rows - first >= tile::<K, V>(block_threads) {
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

    /// Adds each value to a copy of its slot's aggregates.
    #[inline(always)]
    fn add(&self, words: impl Shared<u32>, chip: OnChip, copies: [u32; 4], values: [WordOf<V>; 4]) {
        let column = self.plan.column;
        let at_once = rows_at_once::<K, V>() as usize;
        if !self.sums.is_null() {
            for i in 0..at_once {
                // Atomics of 64 bits in shared memory are loops on a GPU. The lower half tells the
                // carry.
                let low = values[i].bits_from(0);
                let upper = (column.widened(values[i]) >> 32) as u32;
                let held = words.fetch_add(chip.low + copies[i], low);
                let high = upper.wrapping_add(held.checked_add(low).is_none() as u32);
                if high != 0 {
                    words.fetch_add(chip.high + copies[i], high);
                }
            }
        }
        if !self.counts.is_null() {
            for i in 0..at_once {
                words.fetch_add(chip.counts + copies[i], 1);
            }
        }
        let raise = |at: u32, word: WordOf<V>| {
            let words = words.cast::<WordOf<V>>();
            // Few rows are a new extreme.
            if words.load_relaxed(at) < word {
                words.fetch_max(at, word);
            }
        };
        if !self.minima.is_null() {
            for i in 0..at_once {
                raise(chip.minima + copies[i], !column.ordered(values[i]));
            }
        }
        if !self.maxima.is_null() {
            for i in 0..at_once {
                raise(chip.maxima + copies[i], column.ordered(values[i]));
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
