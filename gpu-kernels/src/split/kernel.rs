//! Splitting pairs into bins by some bits of their mixed keys; each bin has a capacity of its own.

use crate::primitives::look_back;
use crate::primitives::radix::tile::{
    DigitSums, MAX_ITEMS, PREFIX, Published, RANK_BITS, STAGING_WORDS, SUM, THREADS, WARPS, begin_sets, exclusive_sum,
    item_of_row, items, load_rows, offset_in_tile, prefetch_rows, sum_of_sets, tile,
};
use crate::seam::{Block, Global, Shared, Tile, opaque, vectorized};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

use super::header;
use super::held::Held;
use super::in_turn::SplitInTurn;
use super::pairs::{Pairs, in_order};
use super::plan::{MAX_SPLIT_BITS, NOWHERE, SplitArrays, SplitParams};
use super::repeats::drop_repeats;

/// The share of all pairs, one in so many, that earlier splits must have dropped for a later one to
/// look for repeated keys in every tile.
const MANY_DROPPED: u64 = 8;

/// The share of a tile's pairs of bins, one in so many, that must be skewed for repeated keys to be
/// sought in the other bins, too.
const MANY_SKEWED_BINS: u32 = 16;

kernel! {
    /// Splits each region of the input into bins by the plan's bits, with a block for each tile of
    /// each region.
    ///
    /// Bin `d` of region `r` is number `r · bins + d`. It begins at its number times the plan's bin
    /// capacity, and gets `counts_out[number]` pairs. If `starts_out` is not null, the bin goes
    /// from `starts_out[number]` to `starts_out[number + 1]`.
    ///
    /// The keys of the output are mixed, and its format is that of [`Pairs`], as is that of the
    /// input of later levels. If keys and values are side by side, they are stored from `keys_out`
    /// on, which then has the capacity for both. The input's regions have `counts_in` pairs; if
    /// that is null, there is one region of all pairs. All regions of the first split have the bins
    /// of region 0.
    ///
    /// `counts_out` must be 0 at first, and so must `state`, which has
    /// [`state_words`](super::state_words).
    ///
    /// A bin that gets more pairs than its capacity loses some, but they are counted, and the
    /// header's word for this level is set.
    ///
    /// Keys may be repeated; then pairs of a tile may be dropped whose key comes again in it. That
    /// happens if the tile has a skewed bin, as each has with a limit of 0, or if earlier splits
    /// dropped many pairs. The last pair of a key in a tile is never dropped.
    ///
    /// A tile is processed as in [`Partition`](crate::primitives::radix::Partition), but bins have
    /// capacities that are known before the keys are counted, so no histogram is needed. If the
    /// order need not be kept, ranks come from a shared counter, and tiles reserve their part of a
    /// bin by one atomic addition instead of looking back.
    ///
    /// With `REPEATS` keys may be repeated: the split keeps the order of the pairs of a bin, unless
    /// they are keys alone. Without, the values of the first split may be null: they are the
    /// numbers of the pairs then.
    Split<K: KeyWord, V: Payload; const REPEATS: bool>, "page_split" | "page_split_in_order", threads 512, resident 2,
        shared ticket: u64 = 1, shared staging: u64 = STAGING_WORDS, shared starts: u32 = 1 << MAX_SPLIT_BITS,
        shared sums: u32 = 16, shared kept: u32 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, keys_out: Global<K>, values_out: Global<WordOf<V>>,
        counts_in: Global<u32>, starts_out: Global<u32>, counts_out: Global<u32>, state: Global<u64>, header: Global<u64>,
        plan: SplitParams,
    }
}

impl<K: KeyWord, V: Payload, const REPEATS: bool> Split<K, V, REPEATS> {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        ticket: B::Shared<u64>,
        staging: B::Shared<u64>,
        starts: B::Shared<u32>,
        sums: B::Shared<u32>,
        kept: B::Shared<u32>,
    ) {
        let args = self;
        split(block, args, ticket, staging, starts, sums, kept);
    }
}

#[inline(always)]
fn split<K: KeyWord, V: Payload, const REPEATS: bool, B: Block>(
    block: &mut B,
    args: Split<K, V, REPEATS>,
    ticket: impl Shared<u64>,
    staging: impl Shared<u64>,
    starts: impl Shared<u32>,
    sums: impl Shared<u32>,
    kept: impl Shared<u32>,
) {
    let plan = args.plan;
    let ordered = const { in_order::<REPEATS, V>() };
    // This split does not change the words of earlier splits.
    for level in 0..plan.level as u64 {
        if args.header.load_read_only(header::OVERFLOW + level) != 0 {
            return;
        }
    }
    // If many pairs were dropped, a page could get too many pairs without a skewed bin in any tile.
    let mut dropped = 0;
    if REPEATS {
        for level in 0..plan.level as u64 {
            dropped += args.header.load_read_only(header::DROPPED + level);
        }
    }
    let skewed_before = dropped > plan.pairs / MANY_DROPPED;
    let index = if ordered {
        look_back::take_ticket(block, ticket, args.state);
        ticket.get(0) as u32
    } else {
        block.index()
    };
    let (region, tile_index) = (index / plan.tiles, index % plan.tiles);
    let size = if args.counts_in.is_null() { plan.pairs } else { args.counts_in.load_read_only(region as u64) as u64 };
    let first = tile_index as u64 * tile::<K, V>();
    if first >= size {
        // No block waits for an empty tile: those behind it are empty, too.
        return;
    }
    let here = opaque((size - first).min(tile::<K, V>()) as u32);
    let first = region as u64 * plan.region_capacity + first;
    // The first split's regions are parts of one input.
    let region = if plan.level == 0 { 0 } else { region };
    let bins = 1 << plan.bits;
    let pairs = bins / 2;
    let bin_of = |key: K| key.bits_from(plan.shift) & (bins - 1);
    if B::IN_TURN && !skewed_before {
        let index = tile_index;
        let Split { keys, values, keys_out, values_out, starts_out, counts_out, state, header, .. } = args;
        let arrays = SplitArrays { keys, values, keys_out, values_out, starts_out, counts_out, state, header };
        let args = &arrays;
        if vectorized(SplitInTurn::<K, V, REPEATS, _> { args, plan, starts, region, index, size, first, here }) {
            return;
        }
    }
    let counters = staging.cast::<u32>();

    let mut held = block.local(|_| Held::<K, V::Word> {
        keys: [K::default(); MAX_ITEMS],
        values: [<V::Word>::default(); MAX_ITEMS],
        offsets: [0; MAX_ITEMS],
        targets: [0; MAX_ITEMS],
        dropped: 0,
    });
    let mut sum = block.local(|_| DigitSums { tile: 0, start: 0 });
    let side_by_side = Pairs::<REPEATS, K, V>::SIDE_BY_SIDE;
    let are_numbers = !REPEATS && V::VALUE_BITS != 0 && args.values.is_null();
    let load_values = |thread: u32, values: &mut [V::Word; MAX_ITEMS]| {
        if are_numbers {
            for row in 0..items::<K, V>() {
                values[row] = Scalar::from_u64(first + item_of_row::<K, V>(thread, row) as u64);
            }
        } else {
            load_rows::<K, V, V::Word>(args.values.offset(first), here, thread, values);
        }
    };
    block.each(&mut held, |thread, held| {
        if plan.level != 0 && side_by_side {
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
        if side_by_side {
            load_values(thread, &mut held.values);
        } else if V::VALUE_BITS != 0 && !are_numbers {
            prefetch_rows::<K, V, V::Word>(args.values.offset(first), here, thread);
        }
        if plan.level == 0 {
            for row in 0..items::<K, V>() {
                held.keys[row] = held.keys[row].mixed(plan.a, plan.b);
            }
        }
    });

    // The ranks are computed, and once more if repeated keys were dropped. Absent items go to a bin
    // behind the others.
    let sets = if ordered { WARPS } else { 1 };
    let mut bits = plan.bits + (here as u64 != tile::<K, V>()) as u32;
    let (mut again, mut thinned, mut many) = (REPEATS, false, skewed_before);
    // At most three times: repeated keys are dropped twice.
    loop {
        let set_words = 1 << (bits - 1);
        block.phase(&mut held, |thread, held| {
            // These values are opaque, here and below, so that what depends on them is computed
            // when it is needed, not kept from the first round on.
            let (here, shift) = (opaque(here), opaque(plan.shift));
            for row in 0..items::<K, V>() {
                let absent = item_of_row::<K, V>(thread, row) >= here || held.dropped >> row & 1 != 0;
                held.offsets[row] = if absent { bins } else { held.keys[row].bits_from(shift) & (bins - 1) };
            }
            let mut word = thread;
            while word < sets * set_words {
                counters.set(word, 0);
                word += THREADS as u32;
            }
        });
        if ordered {
            block.tiles_of::<32, _>(&mut held, |warp, held| {
                let set = warp.first_thread() / 32 * 2 * set_words;
                // Four rows are counted at a time, so that they need not wait for each other.
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
            block.each(&mut held, |_, held| {
                for row in 0..items::<K, V>() {
                    let bin = held.offsets[row];
                    let rank = counters.fetch_add(bin / 2, 1 << (bin % 2 * 16)) >> (bin % 2 * 16) & 0xffff;
                    held.offsets[row] = opaque(bin << RANK_BITS | rank);
                }
            });
        }
        block.sync();
        // Adds up the counters of two bins. `find_skew` also tells whether one of them is skewed.
        let add_up = |thread: u32, sum: &mut DigitSums| {
            sum.tile = if thread < set_words { sum_of_sets(counters, sets, set_words, thread) } else { 0 };
        };
        let find_skew = |thread: u32, sum: &mut DigitSums| {
            add_up(thread, sum);
            if thread >= pairs {
                return false;
            }
            let skewed_bins = [sum.tile as u32 > plan.skew_limit, (sum.tile >> 32) as u32 > plan.skew_limit];
            starts.set(2 * thread, skewed_bins[0] as u32);
            starts.set(2 * thread + 1, skewed_bins[1] as u32);
            skewed_bins[0] || skewed_bins[1]
        };
        if !again {
            block.each(&mut sum, add_up);
            break;
        }
        let skewed_bins = block.count(&mut sum, find_skew);
        many |= skewed_bins > pairs / MANY_SKEWED_BINS;
        if skewed_bins == 0 && !many {
            break;
        }
        // Keys of skewed bins come first and by themselves, so that no others take their cells. The
        // others follow only if many keys are repeated.
        let only_skewed = skewed_bins != 0 && !thinned && plan.skew_limit != 0;
        let suspect = |key: K| !only_skewed || starts.get(bin_of(key)) != 0;
        drop_repeats::<K, V, B>(block, &mut held, staging.cast::<K>(), here, tile_index, suspect);
        again = only_skewed && many;
        thinned = true;
        bits = plan.bits + 1;
    }

    let set_words = 1 << (bits - 1);
    let published = Published { words: args.state.offset(1 + region as u64 * plan.tiles as u64 * pairs as u64), pairs };
    if ordered {
        block.each(&mut sum, |thread, sum| {
            if thread < pairs {
                let status = if tile_index == 0 { PREFIX } else { SUM };
                published.word(tile_index, thread).store(status | sum.tile);
            }
        });
    }
    exclusive_sum(block, &mut sum, sums, set_words);
    block.phase(&mut sum, |thread, sum| {
        if thread < set_words {
            begin_sets(counters, sets, set_words, thread, sum);
        }
        if thread == pairs {
            let here_kept = if bits > plan.bits { sum.start } else { here };
            kept.set(0, here_kept);
            if REPEATS && here_kept < here {
                args.header.atomic(header::DROPPED + plan.level as u64).fetch_add((here - here_kept) as u64);
            }
        }
    });

    // The ranks become offsets in the tile.
    block.phase(&mut held, |thread, held| {
        let set = if ordered { thread / 32 * set_words } else { 0 };
        for row in 0..items::<K, V>() {
            held.offsets[row] = offset_in_tile(counters, set, held.offsets[row]);
        }
    });
    let staged_keys = staging.cast::<K>();
    block.each(&mut held, |_, held| {
        for row in 0..items::<K, V>() {
            staged_keys.set(held.offsets[row], held.keys[row]);
        }
    });

    // The starts of the bins in the output, less their starts in the tile.
    block.phase(&mut sum, |thread, sum| {
        if thread < pairs {
            let before = if ordered {
                published.before(tile_index, thread)
            } else {
                // Two counts are in one word, as in the sum. The addition comes now and not
                // earlier: neighbours in a bin should be written at about the same time.
                let counts = args.counts_out.cast::<u64>();
                counts.atomic(region as u64 * pairs as u64 + thread as u64).fetch_add(sum.tile)
            };
            if ordered && tile_index != 0 {
                published.word(tile_index, thread).store(PREFIX | (before + sum.tile));
            }
            let last = (tile_index as u64 + 1) * tile::<K, V>() >= size;
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
                starts.set(bin, target.wrapping_sub(start));
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

    // The items are written, thread after thread, in the order of the staging.
    let staged_values = staging.cast::<V::Word>();
    let target_of = |key: K, item: u32| {
        let target = starts.get(bin_of(key)).wrapping_add(item);
        if item < kept.get(0) { target } else { NOWHERE }
    };
    if side_by_side {
        // Keys wait in registers for their values.
        block.phase(&mut held, |thread, held| {
            for row in 0..items::<K, V>() {
                held.keys[row] = staged_keys.get(thread + (row * THREADS) as u32);
            }
        });
        block.phase(&mut held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_values.set(held.offsets[row], held.values[row]);
            }
        });
        let pairs_out = Pairs::<REPEATS, K, V>::new(args.keys_out, args.values_out);
        block.each(&mut held, |thread, held| {
            for row in 0..items::<K, V>() {
                let item = thread + (row * THREADS) as u32;
                let target = target_of(held.keys[row], item);
                if target < NOWHERE {
                    pairs_out.store(target as u64, held.keys[row], staged_values.get(item));
                }
            }
        });
        return;
    }
    block.phase(&mut held, |thread, held| {
        for row in 0..items::<K, V>() {
            let item = thread + (row * THREADS) as u32;
            let key = staged_keys.get(item);
            held.targets[row] = target_of(key, item);
            if held.targets[row] < NOWHERE {
                args.keys_out.store(held.targets[row] as u64, key);
            }
        }
    });
    if V::VALUE_BITS == 0 {
        return;
    }
    block.phase(&mut held, |thread, held| {
        let mut values = [<V::Word>::default(); MAX_ITEMS];
        load_values(thread, &mut values);
        for row in 0..items::<K, V>() {
            staged_values.set(held.offsets[row], values[row]);
        }
    });
    block.each(&mut held, |thread, held| {
        for row in 0..items::<K, V>() {
            let value = staged_values.get(thread + (row * THREADS) as u32);
            if held.targets[row] < NOWHERE {
                args.values_out.store(held.targets[row] as u64, value);
            }
        }
    });
}
