//! The hot pass: rows of hot keys are aggregated on chip, and the other rows are appended to an
//! output.

use super::columns::each_on_chip;
use super::copies::{Copies, SPARE};
use super::hot_in_turn::HotInTurn;
use super::hot_table::{HotTable, NO_SLOT};
use super::in_memory::InMemory;
use super::on_chip::{MAX_ROWS, OnChip};
use super::sample::header;
use crate::column_values::ColumnParams;
use crate::columns::each_column;
use crate::seam::{Block, Global, Shared, Tile, opaque, vectorized};
use crate::split::Pairs;
use crate::types::{KeyWord, Payload, Row, WordOf};

/// Returns the count of rows that a thread loads at a time: 16 bytes of the wider column.
const fn rows_at_once<K: KeyWord, V: Payload>() -> u32 {
    if K::BITS == 64 || V::VALUE_BITS == 64 { 2 } else { 4 }
}

/// Returns the count of rows of a tile of a block with `threads` threads.
#[inline(always)]
pub const fn tile<K: KeyWord, V: Payload>(threads: u32) -> u64 {
    threads as u64 * rows_at_once::<K, V>() as u64
}

/// Returns the most rows that one of `blocks` blocks reads, which is the size of its region of
/// missed rows.
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
    /// The rules for adding and comparing values.
    pub column: ColumnParams,
    /// The count of rows.
    pub rows: u64,
    /// The count of 32-bit words of the aggregates of listed columns of a group.
    pub listed_words: u32,
    /// An unused field: 0.
    pub padding: u32,
}

/// Declares the hot pass for two sizes of blocks.
macro_rules! hot_passes {
    ($($argument:ident: $type:ty),* $(,)?) => {
        kernel! {
            /// Adds each row with a hot key to the aggregates of the key's slot, and writes the
            /// other rows, the missed rows, to `missed_keys` and `missed_values`. Their count is
            /// added to the header's [`header::MISSED`], 0 at first. The tiles are divided among
            /// any count of blocks.
            ///
            /// `table`, `places`, `sums`, `counts`, `minima` and `maxima` have as many slots as the
            /// plan says; the latter four are 0 at first, and `places` is null unless slots are
            /// placed. `sums` gets sums of
            /// [addends](ColumnParams::addend), `maxima` the greatest
            /// [`ColumnParams::max_rank`], and `minima` the greatest [`ColumnParams::min_rank`].
            /// Outputs that are not wanted are null. So are `values` and `missed_values` if there
            /// is no column of values. If `V` is [`Columns`](crate::types::Columns), `columns` has
            /// the columns of values, and the only other aggregate is the count.
            ///
            /// If `FEW` is true, missed rows are few. They are written without gaps to arrays as
            /// long as the input, and every warp with missed rows reserves their offsets. Otherwise
            /// each block has its own region, of [`region`] rows. `missed_counts`, which is null if
            /// `FEW`, gets the count of rows of each region, and the header's
            /// [`header::MOST_MISSED`], 0 at first, the greatest count.
            HotPass<K: KeyWord, V: Row; const FEW: bool>, "group_hot" | "group_hot_few",
                threads 512, resident 3, cpu cores,
                // No words are read here, so `()` is passed for them.
                dynamic words: u32 = |kernel| kernel.on_chip(()).end_after(kernel.plan.listed_words), shared found: u32 = 1;
            { $($argument: $type),* }
        }

        kernel! {
            /// Works as [`HotPass`] with larger blocks, for tables that need all shared memory of a
            /// multiprocessor.
            HotPassLarge<K: KeyWord, V: Row; const FEW: bool>, "group_hot_large" | "group_hot_large_few",
                threads 1024, resident 1, cpu cores,
                dynamic words: u32 = |kernel| kernel.as_small().on_chip(()).end_after(kernel.plan.listed_words), shared found: u32 = 1;
            { $($argument: $type),* }
        }

        impl<K: KeyWord, V: Row, const FEW: bool> From<HotPass<K, V, FEW>> for HotPassLarge<K, V, FEW> {
            fn from(pass: HotPass<K, V, FEW>) -> Self {
                let HotPass { $($argument),* } = pass;
                Self { $($argument),* }
            }
        }

        impl<K: KeyWord, V: Row, const FEW: bool> HotPassLarge<K, V, FEW> {
            /// Returns the same arguments as a launch of the smaller blocks.
            #[inline(always)]
            fn as_small(&self) -> HotPass<K, V, FEW> {
                let Self { $($argument),* } = *self;
                HotPass { $($argument),* }
            }
        }
    };
}

hot_passes! {
    keys: Global<K>, values: Global<WordOf<V>>, table: Global<K>, places: Global<u32>, sums: Global<u64>,
    counts: Global<u32>, minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
    missed_values: Global<WordOf<V>>, missed_counts: Global<u32>, columns: Global<u64>, header: Global<u64>,
    plan: HotParams,
}

impl<K: KeyWord, V: Row, const FEW: bool> HotPassLarge<K, V, FEW> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.as_small().run(block, words, found);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.as_small().cores(block, words, found);
    }
}

/// The state of a thread: the rows that it processes at a time.
struct Held<K, W> {
    keys: [K; 4],
    values: [W; 4],
    /// The bits of the rows whose key is not hot.
    missed: u32,
    /// The count of missed rows of earlier lanes of the warp.
    rank: u32,
}

impl<K: KeyWord, V: Row, const FEW: bool> HotPass<K, V, FEW> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = self;
        args.begin(block, words, found);
        let mut threads =
            block.local(|_| Held { keys: [K::default(); 4], values: [Default::default(); 4], missed: 0, rank: 0 });
        args.aggregate(block, &mut threads, words, found);
        block.sync();
        args.end(block, words, found);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = self;
        args.begin(block, words, found);
        let (rows, tile) = (args.plan.rows, tile::<K, V>(block.threads()));
        let region_first = args.region_first(block);
        let missed = vectorized(HotInTurn::<K, V, _, FEW> {
            pairs: Pairs::new(args.keys, args.values),
            rows,
            tile,
            block: block.index(),
            blocks: block.grid(),
            words,
            table: args.plan.table,
            chip: args.on_chip(words).in_registers(),
            missed_keys: args.missed_keys,
            missed_values: args.missed_values,
            columns: args.columns,
            region_first,
            header: args.header,
        });
        found.set(0, missed);
        args.end(block, words, found);
    }

    /// Loads the table, and sets the aggregates to 0.
    #[inline(always)]
    fn begin<B: Block>(&self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = *self;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip(words).in_registers();
        let (block_threads, held, end) = (block.threads(), words.cast::<K>(), chip.end_after(args.plan.listed_words));
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let mut slot = thread;
            let places = table.slots * (K::BITS / 32);
            while slot < table.slots {
                held.set(slot, args.table.load_read_only(slot as u64));
                if table.is_placed != 0 {
                    words.set(places + slot, args.places.load_read_only(slot as u64));
                }
                slot += block_threads;
            }
            let mut word = table.words_before::<K>() + thread;
            while word < end {
                words.set(word, 0);
                word += block_threads;
            }
            if thread == 0 {
                found.set(0, 0);
            }
        });
    }

    /// Adds the block's aggregates, and its count of missed rows in `found`, to the results of all
    /// blocks.
    #[inline(always)]
    fn end<B: Block>(&self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = *self;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip(words).in_registers();
        let (block_threads, block_index, held) = (block.threads(), block.index(), words.cast::<K>());
        block.each_thread(|thread| {
            if !FEW && thread == 0 {
                let missed = found.get(0);
                args.missed_counts.store(block_index as u64, missed);
                args.header.atomic(header::MISSED).fetch_add(missed as u64);
                args.header.atomic(header::MOST_MISSED).fetch_max(missed as u64);
            }
            let mut slot = thread;
            while slot < table.slots {
                if table.find(held.get(slot), |slot| held.get(slot)) == slot {
                    args.merge(chip, table.copies_of::<K>(words, slot), slot);
                }
                slot += block_threads;
            }
        });
    }

    /// Returns the offset of the block's region of missed rows.
    #[inline(always)]
    fn region_first<B: Block>(&self, block: &B) -> u64 {
        let region = || region::<K, V>(self.plan.rows, block.grid(), block.threads());
        if FEW { 0 } else { block.index() as u64 * region() }
    }

    /// Adds the rows of the block's tiles, and writes the missed rows. Unless `FEW`, `found`
    /// becomes their count.
    #[inline(always)]
    fn aggregate<B: Block>(
        self,
        block: &mut B,
        threads: &mut B::Local<Held<K, WordOf<V>>>,
        words: B::Shared<u32>,
        found: B::Shared<u32>,
    ) {
        let args = self;
        let rows = args.plan.rows;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip(words).in_registers();
        let block_threads = block.threads();
        let held = words.cast::<K>();
        // Opaque words are kept in registers, not the words they are computed from.
        let copies_a_slot = opaque(1 << table.copy_bits);
        let no_slot = chip.low + table.aggregates - SPARE;
        let tiles = rows.div_ceil(tile::<K, V>(block_threads)) as u32;
        let full_tiles = (rows / tile::<K, V>(block_threads)) as u32;
        let (mut number, step) = (block.index(), block.grid());
        let region_first = args.region_first(block);
        while number < tiles {
            // The opaque index is kept, instead of the addresses of the tile.
            let first = opaque(number) as u64 * tile::<K, V>(block_threads);
            let is_full = number < full_tiles;
            let aggregate = |thread: u32, t: &mut Held<K, WordOf<V>>| {
                let absent = args.load(first + (thread * rows_at_once::<K, V>()) as u64, is_full, t);
                let at_once = rows_at_once::<K, V>() as usize;
                let slots = Self::slots_of(table, held, t.keys);
                let mut copies = [0; 4];
                let own_copy = chip.low + (thread & (copies_a_slot - 1));
                let mut all_slots = 0;
                for i in 0..at_once {
                    all_slots |= slots[i];
                    copies[i] = slots[i].wrapping_mul(copies_a_slot).wrapping_add(own_copy);
                }
                if table.is_placed != 0 {
                    for i in 0..at_once {
                        // Rows without a slot get other copies below.
                        let place = table.slots * (K::BITS / 32) + slots[i].min(table.slots - 1);
                        copies[i] = chip.low + Copies(words.get(place)).of(thread);
                    }
                }
                t.missed = 0;
                // Only `NO_SLOT` has its highest bit set.
                if all_slots >> 31 != 0 || absent != 0 {
                    for i in 0..at_once {
                        let is_absent = absent >> i & 1 != 0;
                        if slots[i] == NO_SLOT || is_absent {
                            copies[i] = no_slot + thread % SPARE;
                            t.missed |= (!is_absent as u32) << i;
                        }
                    }
                }
                if at_once == MAX_ROWS {
                    chip.add::<MAX_ROWS, WordOf<V>>(copies, t.values);
                } else {
                    chip.add::<{ MAX_ROWS / 2 }, WordOf<V>>(copies, t.values);
                }
                if V::IS_LIST {
                    args.add_columns(chip, copies, first + (thread * rows_at_once::<K, V>()) as u64);
                }
            };
            block.tiles_of(threads, |warp, threads| {
                let first_thread = warp.first_thread();
                warp.each(threads, |lane, t| aggregate(first_thread + lane, t));
                if warp.ballot(threads, |_, t| t.missed != 0) == 0 {
                    return;
                }
                warp.exclusive_sum(
                    threads,
                    |_, t| t.missed.count_ones(),
                    |lane, t, before, total| {
                        // The ranks fit, since there are fewer than 2^32 rows. The rank of lane 0
                        // would be 0, so it keeps the warp's offset instead.
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
                    let row = first + ((first_thread + lane) * rows_at_once::<K, V>()) as u64;
                    args.append(region_first + start as u64, row, t);
                });
            });
            number += step;
        }
    }

    /// Returns the slots of a thread's keys.
    #[inline(always)]
    fn slots_of(table: HotTable, held: impl Shared<K>, keys: [K; 4]) -> [u32; 4] {
        let at_once = rows_at_once::<K, V>() as usize;
        // The first slots of all keys are read before these are used. For wide keys there are too
        // few registers to do so.
        let (mut folded, mut slots, mut there) = ([0; 4], [0; 4], [K::default(); 4]);
        for i in 0..at_once {
            folded[i] = table.folded(keys[i]);
            slots[i] = table.slot::<0>(folded[i]);
            if K::BITS == 32 {
                there[i] = held.get(slots[i]);
            }
        }
        for i in 0..at_once {
            let there = if K::BITS == 32 { there[i] } else { held.get(slots[i]) };
            if there != keys[i] {
                slots[i] = table.find_further(keys[i], folded[i], |slot| held.get(slot));
            }
        }
        slots
    }

    /// Adds a thread's rows, the first of which is `row`, to the aggregates of the listed columns.
    /// `copies` are the indices of the aggregates, as for `chip`.
    #[inline(always)]
    fn add_columns<S: Shared<u32>>(&self, chip: OnChip<S>, copies: [u32; MAX_ROWS], row: u64) {
        let rows = (row, self.plan.rows);
        each_on_chip!((column, own) in self.columns, after chip => {
            let at = copies.map(|copy| copy.wrapping_sub(chip.low).wrapping_add(own.low));
            if rows_at_once::<K, V>() as usize == MAX_ROWS {
                column.add::<MAX_ROWS, S>(&own, at, rows);
            } else {
                column.add::<{ MAX_ROWS / 2 }, S>(&own, at, rows);
            }
        });
    }

    /// Returns the block's aggregates, which are after its table.
    #[inline(always)]
    fn on_chip<S>(&self, words: S) -> OnChip<S> {
        let HotParams { table, column, .. } = self.plan;
        let wanted = self.aggregates().wanted();
        OnChip::new::<WordOf<V>>(words, column, wanted, table.words_before::<K>(), table.aggregates)
    }

    /// Returns the aggregates of all blocks.
    #[inline(always)]
    fn aggregates(&self) -> InMemory<WordOf<V>> {
        let Self { sums, counts, minima, maxima, .. } = *self;
        InMemory { sums, counts, minima, maxima }
    }

    /// Writes a thread's missed rows to the output, starting at offset `start` plus the thread's
    /// rank. The thread's first row is `row`.
    #[inline(always)]
    fn append(&self, start: u64, row: u64, held: &Held<K, WordOf<V>>) {
        let first = start + held.rank as u64;
        let (keys, values) = (self.missed_keys.offset(first), self.missed_values.offset(first));
        let has_values = V::VALUE_BITS != 0 && !self.missed_values.is_null();
        let mut rank = 0;
        for i in 0..rows_at_once::<K, V>() as usize {
            if held.missed >> i & 1 != 0 {
                keys.store(rank as u64, held.keys[i]);
                if has_values {
                    values.store(rank as u64, held.values[i]);
                }
                if V::IS_LIST {
                    each_column!(column in self.columns => { column.copy_row(row + i as u64, first + rank as u64); });
                }
            }
            rank += held.missed >> i & 1;
        }
    }

    /// Loads a thread's rows, which begin at `at`, of a tile. Returns the bits of rows that do not
    /// exist; if `is_full`, all exist.
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

    /// Adds the block's aggregates of a slot to the aggregates of all blocks.
    #[inline(always)]
    fn merge<S: Shared<u32>>(&self, chip: OnChip<S>, copies: Copies, slot: u32) {
        self.aggregates().add(slot as u64, chip.merged(copies, slot), self.plan.column);
        if V::IS_LIST {
            each_on_chip!((column, own) in self.columns, after chip => { column.merge(&own, copies, slot); });
        }
    }
}
