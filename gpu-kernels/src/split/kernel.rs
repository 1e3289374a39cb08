//! Splitting pairs into bins by some bits of their mixed keys. Each bin has a capacity.

use crate::primitives::look_back;
use crate::primitives::radix::tile::{DigitSums, MAX_ITEMS, STAGING_WORDS, tile};
use crate::seam::{Block, Global, Shared, opaque, vectorized};
use crate::types::{KeyWord, Row, WordOf};

use super::header;
use super::held::Held;
use super::in_turn::SplitInTurn;
use super::pairs::in_order;
use super::plan::{InputTile, MAX_SPLIT_BITS, SplitArrays, SplitParams};
use super::together::SplitTogether;

/// A later split looks for repeated keys in every tile if earlier splits dropped more than the
/// count of all pairs divided by this.
const MANY_DROPPED: u64 = 8;

kernel! {
    /// Splits each region of the input into bins by the bits that the plan names, with a block for
    /// each tile of each region.
    ///
    /// Bin `d` of region `r` has index `n = r · bins + d`. It begins at `n` times the plan's bin
    /// capacity, and gets `counts_out[n]` pairs. If `starts_out` is not null, the bin goes from
    /// `starts_out[n]` to `starts_out[n + 1]` instead.
    ///
    /// The keys of the output are mixed, and its format is [`Pairs`](super::Pairs). The input of
    /// later levels has the same format. If keys and values are side by side, `keys_out` contains
    /// both and has the capacity for both. Region `r` of the input has `counts_in[r]` pairs; if
    /// `counts_in` is null, all pairs are in one region. All regions of the first split have the
    /// bins of region 0.
    ///
    /// `counts_out` and `state` must be 0 at first. `state` has
    /// [`state_words`](super::state_words).
    ///
    /// A bin that gets more pairs than its capacity loses some of them. The lost pairs are counted,
    /// too, and the header's overflow word for this level is set.
    ///
    /// If keys may be repeated, pairs whose key occurs again in the same tile may be dropped. That
    /// happens if the tile has a skewed bin (every bin is skewed if the limit is 0), or if earlier
    /// splits dropped many pairs. The last pair of a key in a tile is never dropped.
    ///
    /// A tile is processed as in [`Partition`](crate::primitives::radix::Partition). But the
    /// capacities of bins are known before the keys are counted, so no histogram is needed. If the
    /// order does not matter, ranks come from a shared counter, and tiles reserve their part of a
    /// bin by one atomic addition instead of looking back.
    ///
    /// With `REPEATS` keys may be repeated, and the split keeps the order of the pairs of a bin,
    /// unless there are keys alone. Without `REPEATS` the values of the first split may be null;
    /// the indices of the pairs then become the values.
    ///
    /// If `V` is [`Columns`](crate::types::Columns), `columns` has the values, which are written
    /// where the keys are. Then keys may not be repeated.
    Split<K: KeyWord, V: Row; const REPEATS: bool>, "page_split" | "page_split_in_order", threads 512, resident 2, cpu cores,
        shared ticket: u64 = 1, shared staging: u64 = STAGING_WORDS, shared starts: u32 = 1 << MAX_SPLIT_BITS,
        shared sums: u32 = 16, shared kept: u32 = 1;
    {
        keys: Global<K>, values: Global<WordOf<V>>, keys_out: Global<K>, values_out: Global<WordOf<V>>,
        columns: Global<u64>, counts_in: Global<u32>, starts_out: Global<u32>, counts_out: Global<u32>,
        state: Global<u64>, header: Global<u64>, plan: SplitParams,
    }
}

impl<K: KeyWord, V: Row, const REPEATS: bool> Split<K, V, REPEATS> {
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
        self.split::<B, false>(block, (ticket, staging, starts, sums, kept));
    }

    #[inline(always)]
    fn cores<B: Block>(
        self,
        block: &mut B,
        ticket: B::Shared<u64>,
        staging: B::Shared<u64>,
        starts: B::Shared<u32>,
        sums: B::Shared<u32>,
        kept: B::Shared<u32>,
    ) {
        self.split::<B, true>(block, (ticket, staging, starts, sums, kept));
    }

    /// Splits the block's tile. With `ALONE` one thread splits it, unless many pairs have to be
    /// dropped.
    #[inline(always)]
    fn split<B: Block, const ALONE: bool>(
        self,
        block: &mut B,
        (ticket, staging, starts, sums, kept): (
            impl Shared<u64>,
            impl Shared<u64>,
            impl Shared<u32>,
            impl Shared<u32>,
            impl Shared<u32>,
        ),
    ) {
        let args = self;
        if const { REPEATS && V::IS_LIST } {
            return;
        }
        // This split does not change the words of earlier splits.
        for level in 0..args.plan.level as u64 {
            if args.header.load_read_only(header::OVERFLOW + level) != 0 {
                return;
            }
        }
        let skewed_before = args.has_dropped_many();
        let number = args.tile_number(block, ticket);
        let (region, index) = (number / args.plan.tiles, number % args.plan.tiles);
        let size = if args.counts_in.is_null() {
            args.plan.pairs
        } else {
            args.counts_in.load_read_only(region as u64) as u64
        };
        let first = index as u64 * tile::<K, V>();
        if first >= size {
            // No block waits for an empty tile: the region's later tiles are empty, too.
            return;
        }
        let here = opaque((size - first).min(tile::<K, V>()) as u32);
        let first = region as u64 * args.plan.region_capacity + first;
        // The regions of the first split are parts of one input and share their bins.
        let region = if args.plan.level == 0 { 0 } else { region };
        let tile = InputTile { region, index, size, first, here };
        let Split { keys, values, keys_out, values_out, starts_out, counts_out, state, header, .. } = args;
        let Split { columns, plan, .. } = args;
        let args = SplitArrays { keys, values, keys_out, values_out, columns, starts_out, counts_out, state, header };
        if ALONE && !skewed_before && vectorized(SplitInTurn::<K, V, REPEATS, _> { args: &args, plan, starts, tile }) {
            return;
        }
        let split = SplitTogether::<K, V, REPEATS, _, _> { args, plan, tile, staging, starts };
        let mut held = block.local(|_| Held::<K, V::Word> {
            keys: [K::default(); MAX_ITEMS],
            values: [<V::Word>::default(); MAX_ITEMS],
            offsets: [0; MAX_ITEMS],
            targets: [0; MAX_ITEMS],
            dropped: 0,
        });
        let mut sum = block.local(|_| DigitSums { tile: 0, start: 0 });
        if V::IS_LIST {
            split.prefetch_columns(block, &mut held);
        }
        split.load(block, &mut held);
        let bits = split.rank(block, &mut held, &mut sum, skewed_before);
        split.publish(block, &mut sum);
        split.stage(block, &mut held, &mut sum, bits, sums, kept);
        split.find_starts(block, &mut sum);
        if split.side_by_side() {
            split.write_side_by_side(block, &mut held, kept);
        } else {
            split.write_apart(block, &mut held, kept);
            if V::IS_LIST {
                split.write_columns(block, &mut held);
            }
        }
    }

    /// Returns whether earlier splits dropped so many pairs that a page could get too many pairs
    /// although no tile has a skewed bin.
    #[inline(always)]
    fn has_dropped_many(self) -> bool {
        let mut dropped = 0;
        if REPEATS {
            for level in 0..self.plan.level as u64 {
                dropped += self.header.load_read_only(header::DROPPED + level);
            }
        }
        dropped > self.plan.pairs / MANY_DROPPED
    }

    /// Returns the index of the block's tile. Where the order of pairs is kept, blocks take tiles
    /// in the order in which they start.
    #[inline(always)]
    fn tile_number<B: Block>(self, block: &mut B, ticket: impl Shared<u64>) -> u32 {
        if const { in_order::<REPEATS, V>() } {
            look_back::take_ticket(block, ticket, self.state);
            ticket.get(0) as u32
        } else {
            block.index()
        }
    }
}
