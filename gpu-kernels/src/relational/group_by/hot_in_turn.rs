//! The hot pass by one CPU thread.

use super::columns::each_on_chip;
use super::hot_table::{HotTable, NO_SLOT};
use super::on_chip::OnChip;
use super::sample::header;
use crate::seam::{Global, Shared, Work};
use crate::split::Pairs;
use crate::split::pairs::AT_ONCE;
use crate::types::{KeyWord, Payload, Row, WordOf};

/// The work of one thread that aggregates the rows of a block's tiles.
pub(super) struct HotInTurn<K: KeyWord, V: Payload, S, const FEW: bool> {
    pub pairs: Pairs<false, K, V>,
    pub rows: u64,
    /// The count of rows of a tile.
    pub tile: u64,
    /// The index of the block, and the count of blocks.
    pub block: u32,
    pub blocks: u32,
    /// The keys of the slots, followed by the aggregates.
    pub words: S,
    pub table: HotTable,
    pub chip: OnChip<S>,
    /// The outputs of missed rows, and the offset of the block's region in them.
    pub missed_keys: Global<K>,
    pub missed_values: Global<WordOf<V>>,
    pub columns: Global<u64>,
    pub region_first: u64,
    pub header: Global<u64>,
}

impl<K: KeyWord, V: Row, S: Shared<u32>, const FEW: bool> Work for HotInTurn<K, V, S, FEW> {
    /// The count of missed rows.
    type Output = u32;

    #[inline(always)]
    fn run(self) -> u32 {
        // Words that are known to be constant need not be read again after every store.
        if self.chip.adds_sums_alone() { self.aggregate(self.chip.of_sums()) } else { self.aggregate(self.chip) }
    }
}

impl<K: KeyWord, V: Row, S: Shared<u32>, const FEW: bool> HotInTurn<K, V, S, FEW> {
    #[inline(always)]
    fn aggregate(&self, chip: OnChip<S>) -> u32 {
        let Self { pairs, rows, tile, table, region_first, .. } = *self;
        let held = self.words.cast::<K>();
        let mut missed = 0u32;
        let mut number = self.block as u64;
        while number * tile < rows {
            let (mut row, end) = (number * tile, ((number + 1) * tile).min(rows));
            while row < end {
                let here = (end - row).min(AT_ONCE as u64) as u32;
                let (keys, values) = pairs.load_many(row, here, true);
                let mut folded = [0; AT_ONCE];
                let mut slots = [0; AT_ONCE];
                // The indices of the rows' aggregates, or of their elements in the output.
                let (mut numbers, mut is_missed) = ([0; AT_ONCE], [false; AT_ONCE]);
                for i in 0..AT_ONCE {
                    folded[i] = table.folded(keys[i]);
                    slots[i] = table.slot::<0>(folded[i]);
                }
                for i in 0..here as usize {
                    let mut slot = slots[i];
                    if held.get(slot) != keys[i] {
                        slot = table.find_further(keys[i], folded[i], |slot| held.get(slot));
                        if slot == NO_SLOT {
                            let at = match FEW {
                                true => self.header.atomic(header::MISSED).fetch_add(1),
                                false => region_first + missed as u64,
                            };
                            missed += 1;
                            (numbers[i], is_missed[i]) = (at, true);
                            self.missed_keys.store(at, keys[i]);
                            if V::VALUE_BITS != 0 {
                                self.missed_values.store(at, values[i]);
                            }
                            continue;
                        }
                    }
                    // Successive rows of one key are added to different copies, so that they do not
                    // wait for each other.
                    numbers[i] = table.copies_of::<K>(self.words, slot).of(i as u32) as u64;
                    chip.add_in_turn::<V>(numbers[i] as u32, values[i]);
                }
                if V::IS_LIST {
                    each_on_chip!((column, own) in self.columns, after chip => {
                        for i in 0..here as usize {
                            if is_missed[i] {
                                column.copy_row(row + i as u64, numbers[i]);
                            } else {
                                column.add_in_turn(&own, numbers[i] as u32, row + i as u64);
                            }
                        }
                    });
                }
                row += here as u64;
            }
            number += self.blocks as u64;
        }
        missed
    }
}
