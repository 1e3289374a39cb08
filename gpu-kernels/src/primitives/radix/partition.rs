//! One pass of the radix sort: a stable partition of pairs by one digit.

#![allow(clippy::needless_range_loop, reason = "loops by index unroll on the GPU, iterators over arrays may not")]

use super::MAX_BITS;
use super::partition_in_turn::PartitionInTurn;
use super::partition_plan::{PartitionArrays, PartitionParams};
use super::tile::{
    DigitSums, MAX_ITEMS, PREFIX, Published, RANK_BITS, STAGING_WORDS, SUM, THREADS, WARPS, begin_sets, exclusive_sum,
    item_of_row, items, load_rows, offset_in_tile, sum_of_sets, tile,
};
use crate::primitives::look_back;
use crate::seam::{Block, Global, Shared, Tile, opaque};
use crate::types::{KeyWord, Payload, WordOf};

/// The state of a thread. Item `i` is the thread's item in row `i` of its warp.
struct Held<K, V> {
    keys: [K; MAX_ITEMS],
    values: [V; MAX_ITEMS],
    /// For each item, its digit above its rank among the warp's items with that digit; later its
    /// offset in the tile.
    offsets: [u32; MAX_ITEMS],
    /// The output offsets of the items that this thread writes from the staging words.
    targets: [u32; MAX_ITEMS],
}

kernel! {
    /// Moves the pairs `first..end` to the offsets of their digits, in the order of the input. The
    /// pairs with digit `d` begin at `digit_starts[d] - base`. Keys are mixed first if digits are
    /// of mixed keys. `next_starts[d]` becomes the start of the next portion's pairs with digit
    /// `d`. The launch has one block for each [`tile`]; `state` has
    /// [`state_words`](super::state_words).
    ///
    /// A warp ranks its items row by row ([`Tile::count_in_order`]). The block adds up its warps'
    /// counters and publishes the sum of each digit. While the earlier tiles do the same, the block
    /// orders its keys in shared memory. Keys that are adjacent there have adjacent targets, so
    /// that they are written together. The values are then staged in the same words.
    ///
    /// On CPU cores a block has `in_turn` pairs. Its digits have up to
    /// [`MAX_BITS_IN_TURN`](super::MAX_BITS_IN_TURN) bits, or no bits if the pass only copies. If
    /// the first value is directly after the first key, each key is next to its value.
    ///
    /// The last tile is filled up with items of the last digit, which come after all real items.
    /// They are left out only from the published sums and from the output. For keys without values
    /// the value arrays are not used.
    Partition<K: KeyWord, V: Payload>, "radix_partition", threads 512, resident 2, cpu cores,
        shared ticket: u64 = 1, shared staging: u64 = STAGING_WORDS, shared starts: u32 = 1 << MAX_BITS, shared sums: u32 = 16;
    {
        keys: Global<K>, values: Global<WordOf<V>>, keys_out: Global<K>, values_out: Global<WordOf<V>>,
        digit_starts: Global<u32>, next_starts: Global<u32>, state: Global<u64>, plan: PartitionParams,
    }
}

impl<K: KeyWord, V: Payload> Partition<K, V> {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        ticket: B::Shared<u64>,
        staging: B::Shared<u64>,
        starts: B::Shared<u32>,
        sums: B::Shared<u32>,
    ) {
        let args = self;
        let tile = TilePartition { args, ticket, staging, starts };
        let mut held = block.local(|_| Held::<K, V::Word> {
            keys: [K::default(); MAX_ITEMS],
            values: [<V::Word>::default(); MAX_ITEMS],
            offsets: [0; MAX_ITEMS],
            targets: [0; MAX_ITEMS],
        });
        tile.rank(block, &mut held);
        let mut sum = block.local(|_| DigitSums { tile: 0, start: 0 });
        tile.add_up(block, &mut sum, sums);
        tile.stage_keys(block, &mut held);
        tile.find_starts(block, &mut sum);
        tile.write(block, &mut held);
    }

    #[inline(always)]
    fn cores<B: Block>(
        self,
        block: &mut B,
        ticket: B::Shared<u64>,
        staging: B::Shared<u64>,
        _: B::Shared<u32>,
        _: B::Shared<u32>,
    ) {
        let Self { keys, values, keys_out, values_out, digit_starts, next_starts, state, plan } = self;
        look_back::take_ticket(block, ticket, state);
        let first = plan.first + ticket.get(0) * plan.in_turn as u64;
        let here = plan.end.saturating_sub(first).min(plan.in_turn as u64) as u32;
        let args = PartitionArrays::<K, V> { keys, values, keys_out, values_out, digit_starts, next_starts, state };
        PartitionInTurn { args, plan, starts: staging.cast(), index: ticket.get(0) as u32, first, here }.run();
    }
}

/// The partition of one tile by a block: the arguments, the tile's index, and the block's shared
/// memory for items and for one word per digit.
#[derive(Clone, Copy)]
struct TilePartition<K: KeyWord, V: Payload, T, M, S> {
    args: Partition<K, V>,
    ticket: T,
    staging: M,
    starts: S,
}

impl<K: KeyWord, V: Payload, T: Shared<u64>, M: Shared<u64>, S: Shared<u32>> TilePartition<K, V, T, M, S> {
    /// Returns the words that tiles publish: one word for each pair of digits.
    #[inline(always)]
    fn published(&self) -> Published {
        Published { words: self.args.state.offset(1), pairs: self.args.plan.digit.bins() / 2 }
    }

    /// Returns the count of items of the tile and the index of its first item.
    #[inline(always)]
    fn here(&self) -> (u32, u64) {
        let plan = &self.args.plan;
        let first = plan.first + self.ticket.get(0) * tile::<K, V>();
        (opaque(plan.end.saturating_sub(first).min(tile::<K, V>()) as u32), first)
    }

    /// Loads the keys, and stores each item's digit and rank in `offsets`.
    #[inline(always)]
    fn rank<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        let (digit, counters, pairs) =
            (self.args.plan.digit, self.staging.cast::<u32>(), self.args.plan.digit.bins() / 2);
        // A word has two 16-bit counters, so the counters of a warp take one word for each pair of
        // digits.
        block.each(held, |thread, _| {
            let mut word = thread;
            while word < WARPS * pairs {
                counters.set(word, 0);
                word += THREADS as u32;
            }
        });
        look_back::take_ticket(block, self.ticket, self.args.state);

        block.tiles_of(held, |warp, held| {
            let first_thread = warp.first_thread();
            warp.each(held, |lane, held| {
                let thread = first_thread + lane;
                let (here, first) = self.here();
                load_rows::<K, V, K>(self.args.keys.offset(first), here, thread, &mut held.keys);
                digit.mix(&mut held.keys);
                held.offsets = digit.of_each(&held.keys);
                if here as u64 != tile::<K, V>() {
                    for row in 0..items::<K, V>() {
                        if item_of_row::<K, V>(thread, row) >= here {
                            held.offsets[row] = digit.bins() - 1;
                        }
                    }
                }
            });
            // Four rows are read at a time, so that the rows need not wait for each other.
            for group in 0..items::<K, V>() / 4 {
                warp.count_in_order::<_, 4>(
                    held,
                    counters,
                    first_thread / 32 * digit.bins(),
                    digit.bits,
                    |held, row| held.offsets[4 * group + row],
                    |held, row, rank| {
                        held.offsets[4 * group + row] = opaque(held.offsets[4 * group + row] << RANK_BITS | rank);
                    },
                );
            }
        });
        block.sync();
    }

    /// Publishes the tile's sums of each pair of digits. Replaces the counters by the offsets where
    /// each warp's items of each digit begin.
    #[inline(always)]
    fn add_up<B: Block>(&self, block: &mut B, sum: &mut B::Local<DigitSums>, sums: impl Shared<u32>) {
        let (counters, published) = (self.staging.cast::<u32>(), self.published());
        let pairs = published.pairs;
        block.each(sum, |thread, sum| {
            if thread < pairs {
                sum.tile = sum_of_sets(counters, WARPS, pairs, thread);
                if thread == pairs - 1 {
                    sum.tile -= (tile::<K, V>() - self.here().0 as u64) << 32;
                }
                let status = if self.ticket.get(0) == 0 { PREFIX } else { SUM };
                published.word(self.ticket.get(0) as u32, thread).store(status | sum.tile);
            }
        });
        exclusive_sum(block, sum, sums, pairs);
        block.phase(sum, |thread, sum| {
            if thread < pairs {
                begin_sets(counters, WARPS, pairs, thread, sum);
            }
        });
    }

    /// Computes the offset of each item in the tile, loads the values, and writes the keys to their
    /// offsets in shared memory.
    #[inline(always)]
    fn stage_keys<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        let (counters, pairs) = (self.staging.cast::<u32>(), self.args.plan.digit.bins() / 2);
        block.phase(held, |thread, held| {
            let counters_of_warp = thread / 32 * pairs;
            for row in 0..items::<K, V>() {
                held.offsets[row] = offset_in_tile(counters, counters_of_warp, held.offsets[row]);
            }
            let (here, first) = self.here();
            if V::VALUE_BITS != 0 {
                load_rows::<K, V, V::Word>(self.args.values.offset(first), here, thread, &mut held.values);
            }
        });
        let staged_keys = self.staging.cast::<K>();
        block.each(held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_keys.set(held.offsets[row], held.keys[row]);
            }
        });
    }

    /// Computes, for each digit, the start of its items in the output minus their start in the
    /// tile.
    #[inline(always)]
    fn find_starts<B: Block>(&self, block: &mut B, sum: &mut B::Local<DigitSums>) {
        let (args, published) = (self.args, self.published());
        block.phase(sum, |thread, sum| {
            if thread < published.pairs {
                let index = self.ticket.get(0);
                let before = published.before(index as u32, thread);
                if index != 0 {
                    published.word(index as u32, thread).store(PREFIX | (before + sum.tile));
                }
                let last = args.plan.first + (index + 1) * tile::<K, V>() >= args.plan.end;
                let mut start = sum.start;
                for half in 0..2 {
                    let d = 2 * thread + half;
                    let own = (sum.tile >> (32 * half)) as u32;
                    let begin = args.digit_starts.load_read_only(d as u64).wrapping_sub(args.plan.base);
                    let begin = begin.wrapping_add((before >> (32 * half)) as u32);
                    self.starts.set(d, begin.wrapping_sub(start));
                    if last {
                        args.next_starts.store(d as u64, begin.wrapping_add(own));
                    }
                    start += own;
                }
            }
        });
    }

    /// Writes the staged items to the output, in their staged order.
    #[inline(always)]
    fn write<B: Block>(&self, block: &mut B, held: &mut B::Local<Held<K, V::Word>>) {
        let (args, staged_keys) = (self.args, self.staging.cast::<K>());
        block.phase(held, |thread, held| {
            let (here, _) = self.here();
            for group in 0..items::<K, V>() / 4 {
                let staged_item = |i: usize| thread + ((4 * group + i) * THREADS) as u32;
                let mut keys = [K::default(); 4];
                for i in 0..4 {
                    keys[i] = staged_keys.get(staged_item(i));
                }
                let digits = args.plan.digit.of_each(&keys);
                for i in 0..4 {
                    let target = self.starts.get(digits[i]).wrapping_add(staged_item(i));
                    if staged_item(i) < here {
                        args.keys_out.store(target as u64, keys[i]);
                    }
                    held.targets[4 * group + i] = target;
                }
            }
        });
        if V::VALUE_BITS == 0 {
            return;
        }
        let staged_values = self.staging.cast::<V::Word>();
        block.phase(held, |_, held| {
            for row in 0..items::<K, V>() {
                staged_values.set(held.offsets[row], held.values[row]);
            }
        });
        block.each(held, |thread, held| {
            let (here, _) = self.here();
            for i in 0..items::<K, V>() {
                let item = thread + (i * THREADS) as u32;
                if item < here {
                    args.values_out.store(held.targets[i] as u64, staged_values.get(item));
                }
            }
        });
    }
}
