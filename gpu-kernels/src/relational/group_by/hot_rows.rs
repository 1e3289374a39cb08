//! The rows of the hot pass: a block looks up the keys of its tiles, adds the rows of hot keys to
//! aggregates on chip, and writes the other rows.

use super::columns::each_on_chip;
use super::copies::{Copies, SPARE};
use super::hot_table::{HotTable, NO_SLOT};
use super::on_chip::{MAX_ROWS, OnChip};
use super::sample::header;
use crate::columns::each_column;
use crate::relational::keys::RowKeys;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::types::{KeyWord, Payload, Row, Scalar, WordOf};

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

/// The state of a thread: the rows that it processes at a time.
pub(super) struct Held<K, W> {
    keys: [K; 4],
    values: [W; 4],
    /// The bits of the rows whose key is not hot.
    missed: u32,
    /// The count of missed rows of earlier lanes of the warp.
    rank: u32,
}

impl<K: KeyWord, W: Scalar> Held<K, W> {
    pub(super) fn new() -> Self {
        Self { keys: [K::default(); 4], values: [W::default(); 4], missed: 0, rank: 0 }
    }
}

/// The rows of a hot pass, and where a block adds or writes them. `FEW` is as for
/// [`HotPass`](super::HotPass).
#[derive(Clone, Copy)]
pub(super) struct HotRows<K: KeyWord, V: Row, S, const FEW: bool> {
    pub keys: RowKeys<K>,
    pub values: Global<WordOf<V>>,
    pub columns: Global<u64>,
    pub count: u64,
    pub table: HotTable,
    /// The block's part of the table.
    pub part: u32,
    /// The keys of the slots, and the aggregates.
    pub words: S,
    pub chip: OnChip<S>,
    pub missed_keys: Global<K>,
    pub missed_values: Global<WordOf<V>>,
    /// The offset of the block's region of missed rows.
    pub region_first: u64,
    pub header: Global<u64>,
    /// The count of missed rows, unless `FEW`.
    pub found: S,
}

impl<K: KeyWord, V: Row, S: Shared<u32>, const FEW: bool> HotRows<K, V, S, FEW> {
    /// Adds the rows of the block's tiles, and writes the missed rows. `PARTS` is true if the table
    /// has several parts.
    #[inline(always)]
    pub(super) fn aggregate<const PARTS: bool, B: Block>(
        self,
        block: &mut B,
        threads: &mut B::Local<Held<K, WordOf<V>>>,
    ) {
        let args = self;
        let Self { count: rows, table, part, words, chip, found, region_first, .. } = args;
        let block_threads = block.threads();
        let held = words.cast::<K>();
        // Opaque words are kept in registers, not the words they are computed from.
        let copies_a_slot = opaque(1 << table.copy_bits);
        let no_slot = chip.low + table.aggregates - SPARE;
        let tiles = rows.div_ceil(tile::<K, V>(block_threads)) as u32;
        let full_tiles = (rows / tile::<K, V>(block_threads)) as u32;
        // The blocks of all parts read the same tiles, one after the other.
        let part_bits = if PARTS { table.part_bits } else { 0 };
        let (mut number, step) = (block.index() >> part_bits, block.grid() >> part_bits);
        while number < tiles {
            // The opaque index is kept, instead of the addresses of the tile.
            let first = opaque(number) as u64 * tile::<K, V>(block_threads);
            let is_full = number < full_tiles;
            let aggregate = |thread: u32, t: &mut Held<K, WordOf<V>>| {
                let mut absent = args.load(first + (thread * rows_at_once::<K, V>()) as u64, is_full, t);
                let at_once = rows_at_once::<K, V>() as usize;
                let (slots, others) = Self::slots_of::<PARTS>((table, part), held, t.keys);
                absent |= others;
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

    /// Returns the slots of a thread's keys, and the bits of the keys that belong to other parts,
    /// if there are `PARTS`.
    #[inline(always)]
    fn slots_of<const PARTS: bool>(
        (table, part): (HotTable, u32),
        held: impl Shared<K>,
        keys: [K; 4],
    ) -> ([u32; 4], u32) {
        let at_once = rows_at_once::<K, V>() as usize;
        // The first slots of all keys are read before these are used. For wide keys there are too
        // few registers to do so.
        let (mut folded, mut slots, mut there) = ([0; 4], [0; 4], [K::default(); 4]);
        let mut others = 0;
        for i in 0..at_once {
            folded[i] = table.folded(keys[i]);
            slots[i] = table.slot::<0>(folded[i]);
            others |= ((PARTS && table.part(folded[i]) != part) as u32) << i;
            if K::BITS == 32 && others >> i & 1 == 0 {
                there[i] = held.get(slots[i]);
            }
        }
        for i in 0..at_once {
            if others >> i & 1 == 0 {
                let there = if K::BITS == 32 { there[i] } else { held.get(slots[i]) };
                if there != keys[i] {
                    slots[i] = table.find_further(keys[i], folded[i], |slot| held.get(slot));
                }
            }
        }
        (slots, others)
    }

    /// Adds a thread's rows, the first of which is `row`, to the aggregates of the listed columns.
    /// `copies` are the indices of the aggregates, as for `chip`.
    #[inline(always)]
    fn add_columns(&self, chip: OnChip<S>, copies: [u32; MAX_ROWS], row: u64) {
        let rows = (row, self.count);
        each_on_chip!((column, own) in self.columns, after chip => {
            let at = copies.map(|copy| copy.wrapping_sub(chip.low).wrapping_add(own.low));
            if rows_at_once::<K, V>() as usize == MAX_ROWS {
                column.add::<MAX_ROWS, S>(&own, at, rows);
            } else {
                column.add::<{ MAX_ROWS / 2 }, S>(&own, at, rows);
            }
        });
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
        let (keys, rows, at_once) = (self.keys, self.count, rows_at_once::<K, V>());
        let has_values = V::VALUE_BITS != 0 && !self.values.is_null();
        if is_full {
            if at_once == 4 {
                held.keys = keys.load_four_streaming(at);
                if has_values {
                    held.values = self.values.load_four_streaming(at);
                }
            } else {
                [held.keys[0], held.keys[1]] = keys.load_pair_streaming(at);
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
                held.keys[i] = keys.load_streaming(row);
                if has_values {
                    held.values[i] = self.values.load_streaming(row);
                }
            } else {
                absent |= 1 << i;
            }
        }
        absent
    }
}
