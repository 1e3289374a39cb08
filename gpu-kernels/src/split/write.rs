//! Writing a split's tile: computing where the tile's part of each bin begins, and writing the
//! items, which are staged in the order of the bins.

use crate::columns::{ColumnAt, each_column, kind};
use crate::primitives::radix::tile::{DigitSums, MAX_ITEMS, PREFIX, THREADS, item_of_row, items, prefetch_rows, tile};
use crate::seam::{Block, Shared};
use crate::types::{KeyWord, Payload, Row, Scalar};

use super::header;
use super::held::Held;
use super::pairs::{Pairs, in_order};
use super::plan::{InputTile, NOWHERE};
use super::together::SplitTogether;

impl<K: KeyWord, V: Payload, const REPEATS: bool, M: Shared<u64>, S: Shared<u32>> SplitTogether<K, V, REPEATS, M, S> {
    /// Computes the starts of the tile's parts of bins in the output minus their starts in the
    /// tile.
    #[inline(always)]
    pub fn find_starts<B: Block>(&self, block: &mut B, sum: &mut B::Local<DigitSums>) {
        let (args, plan) = (self.args, self.plan);
        let InputTile { region, index, size, .. } = self.tile;
        let ordered = const { in_order::<REPEATS, V>() };
        let (published, bins, pairs) = (self.published(), self.bins(), self.bins() / 2);
        block.phase(sum, |thread, sum| {
            if thread < pairs {
                let before = if ordered {
                    published.before(index, thread)
                } else {
                    // A word has two counts, as the sum has. The addition is as late as possible,
                    // so that adjacent parts of a bin are written at about the same time.
                    let counts = args.counts_out.cast::<u64>();
                    counts.atomic(region as u64 * pairs as u64 + thread as u64).fetch_add(sum.tile)
                };
                if ordered && index != 0 {
                    published.word(index, thread).store(PREFIX | (before + sum.tile));
                }
                let last = (index as u64 + 1) * tile::<K, V>() >= size;
                let mut start = sum.start;
                for half in 0..2 {
                    let bin = 2 * thread + half;
                    let number = region as u64 * bins as u64 + bin as u64;
                    let own = (sum.tile >> (32 * half)) as u32;
                    let begin = (before >> (32 * half)) as u32;
                    let (bin_first, bin_capacity) = if args.starts_out.is_null() {
                        (number as u32 * plan.bin_capacity, plan.bin_capacity)
                    } else {
                        let bin_first = args.starts_out.load_read_only(number);
                        (bin_first, args.starts_out.load_read_only(number + 1) - bin_first)
                    };
                    let fits = begin as u64 + own as u64 <= bin_capacity as u64;
                    let target = if fits { bin_first + begin } else { NOWHERE };
                    self.starts.set(bin, target.wrapping_sub(start));
                    if !fits {
                        args.header.atomic(header::OVERFLOW + plan.level as u64).store(1);
                    }
                    if ordered && last {
                        args.counts_out.store(number, begin + own);
                    }
                    start += own;
                }
            }
        });
    }

    /// Returns the output offset of staged item `item`, which has this key, or [`NOWHERE`] beyond
    /// the `kept` items.
    #[inline(always)]
    fn target_of(&self, key: K, item: u32, kept: impl Shared<u32>) -> u32 {
        let target = self.starts.get(self.bin_of(key)).wrapping_add(item);
        if item < kept.get(0) { target } else { NOWHERE }
    }

    /// Writes keys and values side by side in the order of the staging.
    #[inline(always)]
    pub fn write_side_by_side<B: Block>(
        &self,
        block: &mut B,
        held: &mut B::Local<Held<K, V::Word>>,
        kept: impl Shared<u32>,
    ) {
        let (staged_keys, staged_values) = (self.staging.cast::<K>(), self.staging.cast::<V::Word>());
        // Keys wait in registers for their values.
        block.phase(held, |thread, held| {
            for row in 0..items::<K, V>() {
                held.keys[row] = staged_keys.get(thread + (row * THREADS) as u32);
            }
        });
        block.phase(held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_values.set(held.offsets[row], held.values[row]);
            }
        });
        let pairs_out = Pairs::<REPEATS, K, V>::new(self.args.keys_out, self.args.values_out);
        block.each(held, |thread, held| {
            for row in 0..items::<K, V>() {
                let item = thread + (row * THREADS) as u32;
                let target = self.target_of(held.keys[row], item, kept);
                if target < NOWHERE {
                    pairs_out.store(target as u64, held.keys[row], staged_values.get(item));
                }
            }
        });
    }

    /// Writes the keys in the order of the staging, and then the values, if there are any.
    #[inline(always)]
    pub fn write_apart<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>, kept: impl Shared<u32>) {
        let (args, staged_keys, staged_values) = (self.args, self.staging.cast::<K>(), self.staging.cast::<V::Word>());
        block.phase(held, |thread, held| {
            for row in 0..items::<K, V>() {
                let item = thread + (row * THREADS) as u32;
                let key = staged_keys.get(item);
                held.targets[row] = self.target_of(key, item, kept);
                if held.targets[row] < NOWHERE {
                    args.keys_out.store(held.targets[row] as u64, key);
                }
            }
        });
        if V::VALUE_BITS == 0 {
            return;
        }
        block.phase(held, |thread, held| {
            let mut values = [<V::Word>::default(); MAX_ITEMS];
            self.load_values(thread, &mut values);
            for row in 0..items::<K, V>() {
                staged_values.set(held.offsets[row], values[row]);
            }
        });
        block.each(held, |thread, held| {
            for row in 0..items::<K, V>() {
                let value = staged_values.get(thread + (row * THREADS) as u32);
                if held.targets[row] < NOWHERE {
                    args.values_out.store(held.targets[row] as u64, value);
                }
            }
        });
    }
}

impl<K: KeyWord, V: Row, const REPEATS: bool, M: Shared<u64>, S: Shared<u32>> SplitTogether<K, V, REPEATS, M, S> {
    /// Prefetches the values of the listed columns, since each column waits for the one before it.
    #[inline(always)]
    pub fn prefetch_columns<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        let InputTile { first, here, .. } = self.tile;
        block.each(held, |thread, _| {
            each_column!(values in self.args.columns => {
                if !values.has_words() {
                    continue;
                }
                if values.kind() & kind::IS_WIDE == 0 {
                    prefetch_rows::<K, V, u32>(values.words().offset(first), here, thread);
                } else {
                    prefetch_rows::<K, V, u64>(values.words().offset(first), here, thread);
                }
            });
        });
    }

    /// Writes the values of the listed columns, one column after the other, where the keys were
    /// written.
    #[inline(always)]
    pub fn write_columns<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        each_column!(values in self.args.columns => {
            if values.kind() & kind::IS_WIDE == 0 {
                self.write_column::<B, u32>(block, held, values);
            } else {
                self.write_column::<B, u64>(block, held, values);
            }
        });
    }

    #[inline(always)]
    fn write_column<B: Block, W: Scalar>(
        &self,
        block: &mut B,
        held: &mut B::Local<Held<K, V::Word>>,
        values: ColumnAt,
    ) {
        let (staged, InputTile { first, here, .. }) = (self.staging.cast::<W>(), self.tile);
        block.phase(held, |thread, held| {
            let loaded: [W; MAX_ITEMS] = values.load_apart(items::<K, V>(), |row| {
                let item = item_of_row::<K, V>(thread, row);
                (item < here).then_some(first + item as u64)
            });
            for row in 0..items::<K, V>() {
                staged.set(held.offsets[row], loaded[row]);
            }
        });
        block.phase(held, |thread, held| {
            for row in 0..items::<K, V>() {
                let value = staged.get(thread + (row * THREADS) as u32);
                if held.targets[row] < NOWHERE {
                    values.store(held.targets[row] as u64, value);
                }
            }
        });
    }
}
