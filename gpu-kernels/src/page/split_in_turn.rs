//! A tile of a split, by one thread, which takes pairs in the order of the input.

use super::header;
use super::pairs::{Pairs, in_order};
use super::split::{NOWHERE, Split};
use crate::radix::tile::{PREFIX, Published, SUM, tile};
use crate::seam::Shared;
use crate::types::{Key, Payload};

/// Pairs whose keys are read, and mixed, at once.
const AT_ONCE: usize = 32;

/// A tile of a region.
pub(super) struct TileInTurn {
    pub region: u32,
    /// The tile's number in the region.
    pub index: u32,
    /// Pairs of the region.
    pub size: u64,
    /// The number of the tile's first pair, and how many it has.
    pub first: u64,
    pub here: u32,
}

/// Splits the tile: counts the pairs of each bin, and then writes each to where its bin goes on. If keys may be repeated,
/// and some bin has a crowd, does nothing; whether it did something.
///
/// Which part of a bin is the tile's, an atomic addition says; or, if the order of the pairs matters,
/// what the tiles before this one publish.
#[inline(always)]
pub(super) fn split_in_turn<const REPEATS: bool, K: Key, V: Payload>(
    args: &Split<K, V>,
    starts: impl Shared<u32>,
    of: TileInTurn,
) -> bool {
    let (plan, bins) = (args.plan, 1 << args.plan.bits);
    let bin_of = |key: K| key.bits_from(plan.shift) & (bins - 1);
    starts.clear(0, bins);
    let mut place = 0;
    while place < of.here {
        let (keys, _) = load_mixed::<REPEATS, K, V>(args, of.first + place as u64, of.here - place);
        let keys = &keys[..AT_ONCE.min((of.here - place) as usize)];
        if bins <= FEW_BINS {
            let mut ranks = Ranks::default();
            for &key in keys {
                ranks.next(bin_of(key));
            }
            ranks.add_to(starts, bins);
        } else {
            for &key in keys {
                starts.fetch_add(bin_of(key), 1);
            }
        }
        place += AT_ONCE as u32;
    }
    if REPEATS && (0..bins).any(|bin| starts.get(bin) > plan.crowd) {
        return false;
    }
    take_parts::<REPEATS, K, V>(args, starts, &of);
    let pairs_out = Pairs::<REPEATS, K, V>::new(args.keys_out, args.values_out);
    place = 0;
    while place < of.here {
        let (keys, values) = load_mixed::<REPEATS, K, V>(args, of.first + place as u64, of.here - place);
        let mut ranks = Ranks::default();
        for i in 0..AT_ONCE.min((of.here - place) as usize) {
            let bin = bin_of(keys[i]);
            let target = if bins <= FEW_BINS { starts.get(bin) + ranks.next(bin) } else { starts.fetch_add(bin, 1) };
            if target >= NOWHERE {
                continue;
            }
            if Pairs::<REPEATS, K, V>::SIDE_BY_SIDE {
                pairs_out.store(target as u64, keys[i], values[i]);
            } else {
                args.keys_out.store(target as u64, keys[i]);
                if V::VALUE_BITS != 0 {
                    args.values_out.store(target as u64, values[i]);
                }
            }
        }
        if bins <= FEW_BINS {
            ranks.add_to(starts, bins);
        }
        place += AT_ONCE as u32;
    }
    true
}

/// Bins that [`Ranks`] can count for.
const FEW_BINS: u32 = 8;

/// How many of [`AT_ONCE`] pairs came for each of few bins, in one register: a counter in memory can be added to only when
/// the last sum is there again, which takes as long as all the rest.
#[derive(Default)]
struct Ranks(u64);

impl Ranks {
    /// How many pairs came for this bin before.
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

/// Puts into `starts`, in place of how many pairs the tile has for each bin, where in the output they begin.
#[inline(always)]
fn take_parts<const REPEATS: bool, K: Key, V: Payload>(args: &Split<K, V>, starts: impl Shared<u32>, of: &TileInTurn) {
    let (plan, pairs) = (args.plan, (1 << args.plan.bits) / 2);
    let ordered = const { in_order::<REPEATS, V>() };
    let first_pair = of.region as u64 * pairs as u64;
    let published = Published { words: args.state.offset(1 + first_pair * plan.tiles as u64), pairs };
    // Two counts in one word, as where threads run in step.
    let own = |pair: u32| starts.get(2 * pair) as u64 | (starts.get(2 * pair + 1) as u64) << 32;
    if ordered {
        let status = if of.index == 0 { PREFIX } else { SUM };
        (0..pairs).for_each(|pair| published.word(of.index, pair).store(status | own(pair)));
    }
    let last = (of.index as u64 + 1) * tile::<K, V>() >= of.size;
    for pair in 0..pairs {
        let before = if ordered {
            published.before(of.index, pair)
        } else {
            args.counts_out.cast::<u64>().atomic(first_pair + pair as u64).fetch_add(own(pair))
        };
        if ordered && of.index != 0 {
            published.word(of.index, pair).store(PREFIX | (before + own(pair)));
        }
        for half in 0..2 {
            let (bin, number) = (2 * pair + half, 2 * (first_pair + pair as u64) + half as u64);
            let (own, begin) = (starts.get(bin), (before >> (32 * half)) as u32);
            let (bin_first, bin_room) = bin_of_output(args, number);
            let fits = begin as u64 + own as u64 <= bin_room as u64;
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

/// The mixed keys of some pairs from number `first` on, of which there are `here`, and their
/// values; something for pairs that there are not.
#[inline(always)]
fn load_mixed<const REPEATS: bool, K: Key, V: Payload>(
    args: &Split<K, V>,
    first: u64,
    here: u32,
) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
    let pairs = Pairs::<false, K, V>::new(args.keys, args.values);
    let (mut keys, mut values) = ([K::default(); AT_ONCE], [<V::Word>::default(); AT_ONCE]);
    // Whole ones apart, so that their loops have constant lengths.
    let whole = here >= AT_ONCE as u32;
    for i in 0..if whole { AT_ONCE } else { here as usize } {
        let number = first + i as u64;
        // Pairs that are kept in order never stand side by side.
        (keys[i], values[i]) =
            if REPEATS || args.plan.level == 0 { pairs.load_apart(number) } else { pairs.load(number) };
    }
    if args.plan.level == 0 {
        // Not by `map`, which is not inlined.
        for key in &mut keys {
            *key = key.mixed(args.plan.a, args.plan.b);
        }
    }
    (keys, values)
}

/// Where bin `number` of the output begins, and how many pairs it has room for.
#[inline(always)]
fn bin_of_output<K: Key, V: Payload>(args: &Split<K, V>, number: u64) -> (u32, u32) {
    let plan = args.plan;
    if args.starts_out.is_null() {
        (number as u32 * plan.bin_room, plan.bin_room)
    } else {
        let bin_first = args.starts_out.load_read_only(number);
        (bin_first, args.starts_out.load_read_only(number + 1) - bin_first)
    }
}
