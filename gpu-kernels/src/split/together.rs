//! A tile of a split that all threads of a block process: loading its pairs, ranking them within
//! their bins, and staging them in the order of the bins.

use crate::primitives::radix::tile::{
    DigitSums, MAX_ITEMS, PREFIX, Published, RANK_BITS, SUM, THREADS, WARPS, begin_sets, exclusive_sum, item_of_row,
    items, load_rows, offset_in_tile, prefetch_rows, sum_of_sets, tile,
};
use crate::seam::{Block, Shared, Tile, opaque};
use crate::types::{KeyWord, Payload, Scalar};

use super::header;
use super::held::Held;
use super::pairs::{Pairs, in_order};
use super::plan::{InputTile, SplitArrays, SplitParams};
use super::repeats::drop_repeats;

/// Repeated keys are searched in all bins if the count of skewed pairs of bins is more than the
/// count of pairs of bins divided by this.
const MANY_SKEWED_BINS: u32 = 16;

/// The split of a region's tile by a block, whose threads count the pairs of each bin, put the
/// pairs in the order of the bins, and write them.
#[derive(Clone, Copy)]
pub(super) struct SplitTogether<K: KeyWord, V: Payload, const REPEATS: bool, M, S> {
    pub args: SplitArrays<K, V>,
    pub plan: SplitParams,
    pub tile: InputTile,
    /// The block's memory for a tile's keys or values.
    pub staging: M,
    /// The block's memory for one word per bin.
    pub starts: S,
}

impl<K: KeyWord, V: Payload, const REPEATS: bool, M: Shared<u64>, S: Shared<u32>> SplitTogether<K, V, REPEATS, M, S> {
    /// The count of sets of counters. To keep the order of a bin's pairs, each warp has its own
    /// set.
    const SETS: u32 = if in_order::<REPEATS, V>() { WARPS } else { 1 };

    /// Returns whether keys and values are written side by side.
    #[inline(always)]
    pub fn side_by_side(&self) -> bool {
        Pairs::<REPEATS, K, V>::SIDE_BY_SIDE
    }

    /// Returns the count of bins.
    #[inline(always)]
    pub fn bins(&self) -> u32 {
        1 << self.plan.bits
    }

    /// Returns the bin of a mixed key.
    #[inline(always)]
    pub fn bin_of(&self, key: K) -> u32 {
        key.bits_from(self.plan.shift) & (self.bins() - 1)
    }

    /// Returns the words that the tiles of the region publish.
    #[inline(always)]
    pub fn published(&self) -> Published {
        let (plan, pairs) = (self.plan, self.bins() / 2);
        let words = self.args.state.offset(1 + self.tile.region as u64 * plan.tiles as u64 * pairs as u64);
        Published { words, pairs }
    }

    #[inline(always)]
    fn are_numbers(&self) -> bool {
        !REPEATS && V::VALUE_BITS != 0 && self.args.values.is_null()
    }

    /// Loads the values of a thread's items from an array of values, or takes the items' indices if
    /// there is none.
    #[inline(always)]
    pub fn load_values(&self, thread: u32, values: &mut [V::Word; MAX_ITEMS]) {
        let InputTile { first, here, .. } = self.tile;
        if self.are_numbers() {
            for row in 0..items::<K, V>() {
                values[row] = Scalar::from_u64(first + item_of_row::<K, V>(thread, row) as u64);
            }
        } else {
            load_rows::<K, V, V::Word>(self.args.values.offset(first), here, thread, values);
        }
    }

    /// Loads the items of all threads, and mixes the keys of the first split.
    #[inline(always)]
    pub fn load<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        let (args, plan) = (self.args, self.plan);
        let InputTile { first, here, .. } = self.tile;
        block.each(held, |thread, held| {
            if plan.level != 0 && self.side_by_side() {
                let pairs_in = Pairs::<REPEATS, K, V>::new(args.keys, args.values);
                for row in 0..items::<K, V>() {
                    let item = item_of_row::<K, V>(thread, row);
                    if item < here {
                        (held.keys[row], held.values[row]) = pairs_in.load(first + item as u64);
                    }
                }
                return;
            }
            load_rows::<K, V, K>(args.keys.offset(first), here, thread, &mut held.keys);
            if self.side_by_side() {
                self.load_values(thread, &mut held.values);
            } else if V::VALUE_BITS != 0 && !self.are_numbers() {
                prefetch_rows::<K, V, V::Word>(args.values.offset(first), here, thread);
            }
            if plan.level == 0 {
                for row in 0..items::<K, V>() {
                    held.keys[row] = held.keys[row].mixed(plan.a, plan.b);
                }
            }
        });
    }

    /// Computes the ranks of items within their bins, again each time after repeated keys were
    /// dropped. Returns the count of bits of a bin's index, where absent items have a bin after the
    /// others.
    #[inline(always)]
    pub fn rank<B: Block>(
        &self,
        block: &mut B,
        held: &mut B::Local<Held<K, V::Word>>,
        sum: &mut B::Local<DigitSums>,
        skewed_before: bool,
    ) -> u32 {
        let (plan, pairs) = (self.plan, self.bins() / 2);
        let InputTile { here, index, .. } = self.tile;
        let mut bits = plan.bits + (here as u64 != tile::<K, V>()) as u32;
        let (mut again, mut thinned, mut many) = (REPEATS, false, skewed_before);
        // At most three rounds, since repeated keys are dropped at most twice.
        loop {
            let set_words = 1 << (bits - 1);
            self.count(block, held, bits);
            if !again {
                block.each(sum, |thread, sum| self.add_up(thread, sum, set_words));
                break;
            }
            let skewed_bins = block.count(sum, |thread, sum| self.find_skew(thread, sum, set_words));
            many |= skewed_bins > pairs / MANY_SKEWED_BINS;
            if skewed_bins == 0 && !many {
                break;
            }
            // Keys of skewed bins are searched first, without other keys that could take their
            // cells. The keys of other bins follow only if many keys are repeated.
            let only_skewed = skewed_bins != 0 && !thinned && plan.skew_limit != 0;
            let suspect = |key: K| !only_skewed || self.starts.get(self.bin_of(key)) != 0;
            drop_repeats::<K, V, B>(block, held, self.staging.cast::<K>(), here, index, suspect);
            again = only_skewed && many;
            thinned = true;
            bits = plan.bits + 1;
        }
        bits
    }

    /// Counts the items of each bin, and stores each item's bin and rank in `offsets`.
    #[inline(always)]
    fn count<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>, bits: u32) {
        let (plan, here, bins) = (self.plan, self.tile.here, self.bins());
        let (counters, set_words) = (self.staging.cast::<u32>(), 1 << (bits - 1));
        block.phase(held, |thread, held| {
            // These values are opaque, here and below, so that words that depend on them are
            // computed when they are needed, and not kept in registers from the first round.
            let (here, shift) = (opaque(here), opaque(plan.shift));
            for row in 0..items::<K, V>() {
                let absent = item_of_row::<K, V>(thread, row) >= here || held.dropped >> row & 1 != 0;
                held.offsets[row] = if absent { bins } else { held.keys[row].bits_from(shift) & (bins - 1) };
            }
            let mut word = thread;
            while word < Self::SETS * set_words {
                counters.set(word, 0);
                word += THREADS as u32;
            }
        });
        if const { in_order::<REPEATS, V>() } {
            block.tiles_of(held, |warp, held| {
                let set = warp.first_thread() / 32 * 2 * set_words;
                // Four rows are counted at a time, so that the rows need not wait for each other.
                for group in 0..items::<K, V>() / 4 {
                    warp.count_in_order::<_, 4>(
                        held,
                        counters,
                        set,
                        bits,
                        |held, row| held.offsets[4 * group + row],
                        |held, row, rank| {
                            held.offsets[4 * group + row] = opaque(held.offsets[4 * group + row] << RANK_BITS | rank);
                        },
                    );
                }
            });
        } else {
            block.each(held, |_, held| {
                for row in 0..items::<K, V>() {
                    let bin = held.offsets[row];
                    let rank = counters.fetch_add(bin / 2, 1 << (bin % 2 * 16)) >> (bin % 2 * 16) & 0xffff;
                    held.offsets[row] = opaque(bin << RANK_BITS | rank);
                }
            });
        }
        block.sync();
    }

    /// Adds up the counters of two bins.
    #[inline(always)]
    fn add_up(&self, thread: u32, sum: &mut DigitSums, set_words: u32) {
        let counters = self.staging.cast::<u32>();
        sum.tile = if thread < set_words { sum_of_sets(counters, Self::SETS, set_words, thread) } else { 0 };
    }

    /// Adds up the counters of two bins, and returns whether one of them is skewed. `starts` gets a
    /// flag for each bin.
    #[inline(always)]
    fn find_skew(&self, thread: u32, sum: &mut DigitSums, set_words: u32) -> bool {
        self.add_up(thread, sum, set_words);
        if thread >= self.bins() / 2 {
            return false;
        }
        let limit = self.plan.skew_limit;
        let skewed_bins = [sum.tile as u32 > limit, (sum.tile >> 32) as u32 > limit];
        self.starts.set(2 * thread, skewed_bins[0] as u32);
        self.starts.set(2 * thread + 1, skewed_bins[1] as u32);
        skewed_bins[0] || skewed_bins[1]
    }

    /// Publishes the sums of the tile, if the order of a bin's pairs is kept.
    #[inline(always)]
    pub fn publish<B: Block>(&self, block: &mut B, sum: &mut B::Local<DigitSums>) {
        let published = self.published();
        if const { in_order::<REPEATS, V>() } {
            block.each(sum, |thread, sum| {
                if thread < published.pairs {
                    let status = if self.tile.index == 0 { PREFIX } else { SUM };
                    published.word(self.tile.index, thread).store(status | sum.tile);
                }
            });
        }
    }

    /// Computes the offset of each item in the tile, and writes the keys to their offsets in the
    /// staging. `kept` becomes the count of items that were not dropped.
    #[inline(always)]
    pub fn stage<B: Block>(
        &self,
        block: &mut B,
        held: &mut B::Local<Held<K, V::Word>>,
        sum: &mut B::Local<DigitSums>,
        bits: u32,
        sums: impl Shared<u32>,
        kept: impl Shared<u32>,
    ) {
        let (args, plan, here) = (self.args, self.plan, self.tile.here);
        let (counters, set_words) = (self.staging.cast::<u32>(), 1 << (bits - 1));
        exclusive_sum(block, sum, sums, set_words);
        block.phase(sum, |thread, sum| {
            if thread < set_words {
                begin_sets(counters, Self::SETS, set_words, thread, sum);
            }
            if thread == self.bins() / 2 {
                let here_kept = if bits > plan.bits { sum.start } else { here };
                kept.set(0, here_kept);
                if REPEATS && here_kept < here {
                    args.header.atomic(header::DROPPED + plan.level as u64).fetch_add((here - here_kept) as u64);
                }
            }
        });
        // The ranks become offsets in the tile.
        block.phase(held, |thread, held| {
            let set = if const { in_order::<REPEATS, V>() } { thread / 32 * set_words } else { 0 };
            for row in 0..items::<K, V>() {
                held.offsets[row] = offset_in_tile(counters, set, held.offsets[row]);
            }
        });
        let staged_keys = self.staging.cast::<K>();
        block.each(held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_keys.set(held.offsets[row], held.keys[row]);
            }
        });
    }
}
