//! Stream compaction, in one pass over the data ([`crate::primitives::look_back`]).

use crate::primitives::look_back;
use crate::seam::{Block, Global, Shared, Tile};
use crate::types::{Key, Scalar};

/// Threads of a block.
const THREADS: usize = 256;
/// The most items of a thread.
const MAX_ITEMS: usize = 28;

/// Items of a thread: fewer of the wide ones, so that they fit the registers.
const fn items<T: Scalar>() -> usize {
    if T::BITS == 32 { MAX_ITEMS } else { MAX_ITEMS / 2 }
}

/// Items of a tile, which is what one block compacts.
pub const fn tile<T: Scalar>() -> u64 {
    (THREADS * items::<T>()) as u64
}

const WARPS: u32 = THREADS as u32 / 32;

/// The number of words that a compaction of `items` items publishes in; all must be 0.
pub const fn state_words<T: Scalar>(items: u64) -> u64 {
    look_back::words::<u32>(items.div_ceil(tile::<T>()))
}

/// What a compaction is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompactParams {
    /// The number of items, below 2^32.
    pub items: u64,
}

kernel! {
    /// Writes the items `input[i]` whose bit `i mod 32` of `keep[i / 32]` is set, in their order, to the front of `output`, and
    /// their number to `count`. `output` is not `input`. One block a [`tile`]; `state` has [`state_words`].
    Compact<T: Scalar>, "compact", threads 256, resident 4, shared ticket: u64 = 1, shared sums: u32 = 17;
    { input: Global<T>, keep: Global<u32>, output: Global<T>, count: Global<u32>, state: Global<u64>, plan: CompactParams }
    |args, block| {
        let from = Source { input: args.input, keep: args.keep, count: args.count, state: args.state, plan: args.plan };
        compact(block, (ticket, sums), &from, |target, _, item| args.output.store(target, item));
    }
}

/// What runs of equal keys are compacted to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RunsParams {
    /// The number of keys, below 2^32.
    pub items: u64,
    /// The constants that they are mixed with.
    pub a: u64,
    /// The second one.
    pub b: u64,
}

kernel! {
    /// [`Compact`] of mixed keys that writes them as they were, and to `ends` where in the input they stood.
    CompactRuns<K: Key>, "compact_runs", threads 256, resident 4, shared ticket: u64 = 1, shared sums: u32 = 17;
    {
        input: Global<K>, keep: Global<u32>, output: Global<K>, ends: Global<u32>, count: Global<u32>, state: Global<u64>,
        plan: RunsParams,
    }
    |args, block| {
        let RunsParams { items, a, b } = args.plan;
        let plan = CompactParams { items };
        let from = Source { input: args.input, keep: args.keep, count: args.count, state: args.state, plan };
        compact(block, (ticket, sums), &from, |target, index, item: K| {
            args.output.store(target, item.unmixed(a, b));
            args.ends.store(target, index as u32);
        });
    }
}

/// What is compacted, and where sums are published.
struct Source<T> {
    input: Global<T>,
    keep: Global<u32>,
    count: Global<u32>,
    state: Global<u64>,
    plan: CompactParams,
}

/// Hands each kept item to `write`, with its place in the output and in the input.
#[inline(always)]
fn compact<T: Scalar, B: Block>(
    block: &mut B,
    (ticket, sums): (impl Shared<u64>, impl Shared<u32>),
    from: &Source<T>,
    write: impl Fn(u64, u64, T) + Sync,
) {
    let tiles = from.plan.items.div_ceil(tile::<T>());
    look_back::take_ticket(block, ticket, from.state);
    let mut held = block.local(|_| Held { items: [T::default(); MAX_ITEMS], keep: 0, before: 0, ahead: 0 });
    block.tiles_of::<32, _>(&mut held, |warp, held| {
        let first_thread = warp.first_thread();
        warp.each(held, |lane, held| {
            let (first, left) = rows::<T>(&from.plan, ticket.get(0), first_thread);
            held.keep = keep_of(from.keep, first, left, lane, items::<T>() as u32);
            let (first, left) = rows::<T>(&from.plan, ticket.get(0) + look_back::ahead(tiles), first_thread);
            held.ahead = keep_of(from.keep, first, left, lane, items::<T>() as u32);
            // All items, kept or not: so the loads need not wait for the words of `keep`.
            let (first, left) = rows::<T>(&from.plan, ticket.get(0), first_thread);
            let input = from.input.offset(first + lane as u64);
            for row in 0..items::<T>() {
                if row as u32 * 32 + lane < left {
                    held.items[row] = input.load_streaming(row as u64 * 32);
                }
            }
        });
        warp.exclusive_sum(
            held,
            |_, held| held.keep.count_ones(),
            |lane, held, before, total| {
                held.before = before;
                if lane == 0 {
                    sums.set(first_thread / 32, total);
                }
            },
        );
        warp.exclusive_sum(
            held,
            |_, held| held.ahead.count_ones(),
            |lane, _, _, total| {
                if lane == 0 {
                    sums.set(WARPS + 1 + first_thread / 32, total);
                }
            },
        );
    });
    block.sync();
    look_back::sum_before(block, sums, WARPS, ticket, from.state, tiles);
    block.tiles_of::<32, _>(&mut held, |warp, held| {
        let before_warp = sums.get(warp.first_thread() / 32);
        let (first, _) = rows::<T>(&from.plan, ticket.get(0), warp.first_thread());
        for row in 0..items::<T>() {
            let keep = warp.pick(held, row as u32, |held| held.keep);
            let before = before_warp + warp.pick(held, row as u32, |held| held.before);
            warp.each(held, |lane, held| {
                if keep >> lane & 1 != 0 {
                    let rank = (keep & ((1 << lane) - 1)).count_ones();
                    write((before + rank) as u64, first + row as u64 * 32 + lane as u64, held.items[row]);
                }
            });
        }
    });
    block.each(&mut held, |thread, _| {
        if thread == 0 && (ticket.get(0) + 1) * tile::<T>() >= from.plan.items {
            from.count.store(0, sums.get(WARPS));
        }
    });
}

/// What a thread holds: item `i` is of its warp's row `i`, and the words are of the row with the lane's number.
struct Held<T> {
    items: [T; MAX_ITEMS],
    /// Which items of the row are kept.
    keep: u32,
    /// How many items of the rows before are.
    before: u32,
    /// Which items of the row are kept in the tile [`look_back::ahead`].
    ahead: u32,
}

/// The bits of the items that are kept in row `row` of the `rows` of a warp whose first item is `first`, with `left` items from
/// there on.
#[inline(always)]
fn keep_of(keep: Global<u32>, first: u64, left: u32, row: u32, rows: u32) -> u32 {
    let beyond = (row * 32 + 32).saturating_sub(left);
    if row >= rows || beyond >= 32 { 0 } else { keep.load_read_only(first / 32 + row as u64) & u32::MAX >> beyond }
}

/// The first item of the warp that begins with `thread`, and how many more items there are from there on (or more than the warp's
/// rows reach).
#[inline(always)]
fn rows<T: Scalar>(plan: &CompactParams, index: u64, thread: u32) -> (u64, u32) {
    let first = index * tile::<T>() + thread as u64 * items::<T>() as u64;
    (first, plan.items.saturating_sub(first).min(1 << 30) as u32)
}

kernel! {
    /// Turns around the bits in `keep` of all items, and those behind them in the last word: what was to be kept is left out, and what
    /// was left out is kept. One thread a word.
    Invert<>, "flip", threads 256;
    { keep: Global<u32>, plan: CompactParams }
    |args, block| {
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let word = first + thread as u64;
            if word < args.plan.items.div_ceil(32) {
                args.keep.store(word, !args.keep.load(word));
            }
        });
    }
}

kernel! {
    /// Sets bit `i mod 32` of `keep[i / 32]` if `keys[i]`, of `items` sorted keys, is the last of its kind. Bits past the last
    /// key are 0.
    LastOfEach<K: Key>, "last_of_each", threads 256;
    { keys: Global<K>, keep: Global<u32>, plan: CompactParams }
    |args, block| {
        let block_first = block.first_thread();
        block.tiles::<32>(|warp| {
            let first = block_first + warp.first_thread() as u64;
            let mut last = warp.local(|lane| {
                let index = first + lane as u64;
                index < args.plan.items
                    && (index + 1 == args.plan.items
                        || args.keys.load_read_only(index) != args.keys.load_read_only(index + 1))
            });
            let keep = warp.ballot(&last, |_, &last| last);
            warp.each(&mut last, |lane, _| {
                if lane == 0 && first < args.plan.items {
                    args.keep.store(first / 32, keep);
                }
            });
        });
    }
}
