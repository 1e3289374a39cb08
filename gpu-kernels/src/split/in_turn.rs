//! A tile of a split that one thread processes, pair by pair in the order of the input.

use super::header;
use super::pairs::{AT_ONCE, Pairs, in_order};
use super::plan::{InputTile, NOWHERE, SplitArrays, SplitParams};
use crate::columns::each_column;
use crate::primitives::radix::tile::{PREFIX, Published, SUM, tile};
use crate::seam::{Shared, Work};
use crate::types::{KeyWord, Nothing, Row, Scalar};

/// The split of a region's tile by one thread, which first counts the pairs of each bin and then
/// writes each pair to the next offset of its bin.
///
/// If keys may be repeated and some bin is skewed, nothing is written. The output tells whether the
/// tile was split.
///
/// An atomic addition reserves the tile's part of each bin. If the order of the pairs matters, the
/// part is computed from the sums that earlier tiles publish.
pub(super) struct SplitInTurn<'a, K: KeyWord, V: Row, const REPEATS: bool, S> {
    pub args: &'a SplitArrays<K, V>,
    pub plan: SplitParams,
    /// The shared memory for one word per bin.
    pub starts: S,
    pub tile: InputTile,
}

impl<K: KeyWord, V: Row, const REPEATS: bool, S: Shared<u32>> Work for SplitInTurn<'_, K, V, REPEATS, S> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let plan = self.plan;
        self.starts.clear(0, 1 << plan.bits);
        if 1 << plan.bits <= FEW_BINS {
            self.count::<true>()
        } else {
            self.count::<false>()
        }
        if REPEATS && (0..1 << plan.bits).any(|bin| self.starts.get(bin) > plan.skew_limit) {
            return false;
        }
        self.take_parts();
        if 1 << plan.bits <= FEW_BINS {
            self.write::<true>()
        } else {
            self.write::<false>()
        }
        true
    }
}

impl<K: KeyWord, V: Row, const REPEATS: bool, S: Shared<u32>> SplitInTurn<'_, K, V, REPEATS, S> {
    /// Returns the bin of a mixed key.
    #[inline(always)]
    fn bin_of(&self, key: K) -> u32 {
        key.bits_from(self.plan.shift) & ((1 << self.plan.bits) - 1)
    }

    /// Counts the pairs of each bin.
    #[inline(always)]
    fn count<const FEW: bool>(&self) {
        let mut item = 0;
        while item < self.tile.here {
            let (keys, _) = self.load_mixed(item);
            let mut ranks = Ranks::default();
            for &key in &keys[..AT_ONCE.min((self.tile.here - item) as usize)] {
                if FEW {
                    ranks.next(self.bin_of(key));
                } else {
                    self.starts.fetch_add(self.bin_of(key), 1);
                }
            }
            if FEW {
                ranks.add_to(self.starts, 1 << self.plan.bits);
            }
            item += AT_ONCE as u32;
        }
    }

    /// Writes each pair to the next offset of its bin.
    #[inline(always)]
    fn write<const FEW: bool>(&self) {
        let (args, starts) = (self.args, self.starts);
        let pairs_out = Pairs::<REPEATS, K, V>::new(args.keys_out, args.values_out);
        let mut item = 0;
        while item < self.tile.here {
            let (keys, values) = self.load_mixed(item);
            let mut ranks = Ranks::default();
            let here = AT_ONCE.min((self.tile.here - item) as usize);
            let mut targets = [NOWHERE; AT_ONCE];
            for i in 0..here {
                let bin = self.bin_of(keys[i]);
                let target = if FEW { starts.get(bin) + ranks.next(bin) } else { starts.fetch_add(bin, 1) };
                if target >= NOWHERE {
                    continue;
                }
                targets[i] = target;
                if Pairs::<REPEATS, K, V>::SIDE_BY_SIDE {
                    pairs_out.store(target as u64, keys[i], values[i]);
                } else {
                    args.keys_out.store(target as u64, keys[i]);
                    if V::VALUE_BITS != 0 {
                        args.values_out.store(target as u64, values[i]);
                    }
                }
            }
            if V::IS_LIST {
                each_column!(values in args.columns => {
                    for i in 0..here {
                        if targets[i] < NOWHERE {
                            values.copy_row(self.tile.first + (item as u64 + i as u64), targets[i] as u64);
                        }
                    }
                });
            }
            if FEW {
                ranks.add_to(starts, 1 << self.plan.bits);
            }
            item += AT_ONCE as u32;
        }
    }

    /// Returns the mixed keys and the values of the tile's pairs starting at index `item`. Elements
    /// after the last pair are unspecified.
    #[inline(always)]
    fn load_mixed(&self, item: u32) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
        let (args, plan) = (self.args, self.plan);
        let here = (self.tile.here - item).min(AT_ONCE as u32);
        // Pairs that are kept in order are never stored side by side.
        let pairs = Pairs::<false, K, V>::new(args.keys, args.values);
        let first = self.tile.first + item as u64;
        let (mut keys, values) = if !REPEATS && V::VALUE_BITS != 0 && args.values.is_null() {
            let keys = Pairs::<false, K, Nothing>::new(args.keys, args.keys.cast());
            let mut numbers = [<V::Word>::default(); AT_ONCE];
            for i in 0..AT_ONCE {
                numbers[i] = Scalar::from_u64(first + i as u64);
            }
            (keys.load_many(first, here, true).0, numbers)
        } else {
            pairs.load_many(first, here, REPEATS || plan.level == 0)
        };
        if plan.level == 0 {
            for key in &mut keys {
                *key = key.mixed(plan.a, plan.b);
            }
        }
        (keys, values)
    }

    /// Replaces the tile's count of each bin in `starts` by the output offset where the tile's part
    /// of the bin begins.
    #[inline(always)]
    fn take_parts(&self) {
        let (args, starts, plan, pairs) = (self.args, self.starts, self.plan, (1 << self.plan.bits) / 2);
        let ordered = const { in_order::<REPEATS, V>() };
        let first_pair = self.tile.region as u64 * pairs as u64;
        let published = Published { words: args.state.offset(1 + first_pair * plan.tiles as u64), pairs };
        // A word has two counts, as in the GPU's code.
        let own = |pair: u32| starts.get(2 * pair) as u64 | (starts.get(2 * pair + 1) as u64) << 32;
        if ordered {
            let status = if self.tile.index == 0 { PREFIX } else { SUM };
            (0..pairs).for_each(|pair| published.word(self.tile.index, pair).store(status | own(pair)));
        }
        let last = (self.tile.index as u64 + 1) * tile::<K, V>() >= self.tile.size;
        for pair in 0..pairs {
            let before = if ordered {
                published.before(self.tile.index, pair)
            } else {
                args.counts_out.cast::<u64>().atomic(first_pair + pair as u64).fetch_add(own(pair))
            };
            if ordered && self.tile.index != 0 {
                published.word(self.tile.index, pair).store(PREFIX | (before + own(pair)));
            }
            for half in 0..2 {
                let (bin, number) = (2 * pair + half, 2 * (first_pair + pair as u64) + half as u64);
                let (own, begin) = (starts.get(bin), (before >> (32 * half)) as u32);
                let (bin_first, bin_capacity) = self.bin_of_output(number);
                let fits = begin as u64 + own as u64 <= bin_capacity as u64;
                starts.set(bin, if fits { bin_first + begin } else { NOWHERE });
                if !fits {
                    args.header.atomic(header::OVERFLOW + plan.level as u64).store(1);
                }
                if ordered && last {
                    args.counts_out.store(number, begin + own);
                }
            }
        }
    }

    /// Returns the start of the output's bin with index `number`, and its capacity in pairs.
    #[inline(always)]
    fn bin_of_output(&self, number: u64) -> (u32, u32) {
        let (starts, plan) = (self.args.starts_out, self.plan);
        if starts.is_null() {
            (number as u32 * plan.bin_capacity, plan.bin_capacity)
        } else {
            let bin_first = starts.load_read_only(number);
            (bin_first, starts.load_read_only(number + 1) - bin_first)
        }
    }
}

/// The most bins for which [`Ranks`] can count.
const FEW_BINS: u32 = 8;

/// The count of pairs of each bin within a group of [`AT_ONCE`] pairs, for few bins, in one
/// register. An addition to a counter in memory has to wait for the previous addition, which takes
/// as long as everything else.
#[derive(Default)]
struct Ranks(u64);

impl Ranks {
    /// Counts a pair of this bin. Returns the count of earlier pairs of the bin.
    #[inline(always)]
    fn next(&mut self, bin: u32) -> u32 {
        let rank = self.of(bin);
        self.0 += 1 << (8 * bin);
        rank
    }

    #[inline(always)]
    fn of(&self, bin: u32) -> u32 {
        (self.0 >> (8 * bin)) as u32 & 0xff
    }

    #[inline(always)]
    fn add_to(&self, counts: impl Shared<u32>, bins: u32) {
        (0..bins).for_each(|bin| counts.set(bin, counts.get(bin) + self.of(bin)));
    }
}
