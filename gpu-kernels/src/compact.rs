//! Stream compaction, in one pass over the data ([`look_back`](crate::look_back)).

use crate::look_back;
use crate::seam::{Global, Shared, Tile};
use crate::types::{Key, Scalar};

/// Threads of a block.
const THREADS: usize = 256;
/// The most items of a thread.
const MOST_ITEMS: usize = 16;

/// Items of a thread: fewer of the wide ones, so that they fit the registers.
const fn items<T: Scalar>() -> usize {
    MOST_ITEMS * 32 / T::BITS as usize
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
pub struct CompactPlan {
    /// The number of items, below 2^32.
    pub items: u64,
}

kernel! {
    /// Writes the items `input[i]` whose bit `i mod 32` of `keep[i / 32]` is set, in their order, to the front of `output`, and
    /// their number to `count`. `output` is not `input`. One block a [`tile`]; `state` has [`state_words`].
    Compact<T: Scalar>, "compact", threads 256, resident 5, shared ticket: u64 = 1, shared sums: u32 = 9;
    { input: Global<T>, keep: Global<u32>, output: Global<T>, count: Global<u32>, state: Global<u64>, plan: CompactPlan }
    |args, block| {
        look_back::take_ticket(block, ticket, args.state);
        // A thread holds one item of each row of its warp, which has a word of `keep`.
        let mut held = block.local(|_| [T::default(); MOST_ITEMS]);
        block.phase(&mut held, |thread, held| {
            let (first, left) = rows::<T>(&args.plan, ticket.get(0), thread & !31);
            let lane = thread % 32;
            let input = args.input.offset(first + lane as u64);
            let mut count = 0;
            for row in 0..items::<T>() {
                let keep = keep_of(args.keep, first, left, row);
                count += keep.count_ones();
                if keep >> lane & 1 != 0 {
                    held[row] = input.load_streaming(row as u64 * 32);
                }
            }
            if lane == 0 {
                sums.set(thread / 32, count);
            }
        });
        look_back::sum_before(block, sums, WARPS, ticket, args.state);
        block.each(&mut held, |thread, held| {
            let (first, left) = rows::<T>(&args.plan, ticket.get(0), thread & !31);
            let lane = thread % 32;
            let mut before = sums.get(thread / 32);
            for row in 0..items::<T>() {
                // Read again: it is in the cache, and registers are few.
                let keep = keep_of(args.keep, first, left, row);
                if keep >> lane & 1 != 0 {
                    let rank = (keep & ((1 << lane) - 1)).count_ones();
                    args.output.store_streaming((before + rank) as u64, held[row]);
                }
                before += keep.count_ones();
            }
            if thread == 0 && (ticket.get(0) + 1) * tile::<T>() >= args.plan.items {
                args.count.store(0, sums.get(WARPS));
            }
        });
    }
}

/// The bits of the items that are kept in row `row` of a warp whose first item is `first`, with `left` items from there on.
#[inline(always)]
fn keep_of(keep: Global<u32>, first: u64, left: u32, row: usize) -> u32 {
    let beyond = (row as u32 * 32 + 32).saturating_sub(left);
    if beyond >= 32 { 0 } else { keep.load_read_only(first / 32 + row as u64) & u32::MAX >> beyond }
}

/// The first item of a thread, which has one in each row of its warp, and how many more items there are from there on (or more
/// than any thread's rows reach).
#[inline(always)]
fn rows<T: Scalar>(plan: &CompactPlan, index: u64, thread: u32) -> (u64, u32) {
    let first = index * tile::<T>() + (thread & !31) as u64 * items::<T>() as u64 + (thread % 32) as u64;
    (first, plan.items.saturating_sub(first).min(1 << 30) as u32)
}

kernel! {
    /// Sets bit `i mod 32` of `keep[i / 32]` if `keys[i]`, of `items` sorted keys, is the last of its kind. Bits past the last
    /// key are 0.
    LastOfEach<K: Key>, "last_of_each", threads 256;
    { keys: Global<K>, keep: Global<u32>, plan: CompactPlan }
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
