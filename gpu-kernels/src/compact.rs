//! Stream compaction, in one pass over the data ([`look_back`](crate::look_back)).

use crate::look_back;
use crate::seam::{Global, Shared, Tile};
use crate::types::{Key, Scalar};

/// Threads of a block.
const THREADS: usize = 256;
/// Items of a thread.
const ITEMS: usize = 16;
/// Items of a tile, which is what one block compacts.
pub const TILE: u64 = (THREADS * ITEMS) as u64;
const WARPS: u32 = THREADS as u32 / 32;

/// The number of words that a compaction of `items` items publishes in; all must be 0.
pub const fn state_words(items: u64) -> u64 {
    look_back::words::<u32>(items.div_ceil(TILE))
}

/// What a compaction is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompactPlan {
    /// The number of items, below 2^32.
    pub items: u64,
}

/// What a thread holds: item `i` is of its warp's row `i`, whose word of `keep` all lanes hold.
struct Held<T> {
    items: [T; ITEMS],
    keep: [u32; ITEMS],
}

kernel! {
    /// Writes the items `input[i]` whose bit `i mod 32` of `keep[i / 32]` is set, in their order, to the front of `output`, and
    /// their number to `count`. `output` is not `input`. One block a [`TILE`]; `state` has [`state_words`].
    Compact<T: Scalar>, "compact", threads 256, shared ticket: u64 = 1, shared sums: u32 = 9;
    { input: Global<T>, keep: Global<u32>, output: Global<T>, count: Global<u32>, state: Global<u64>, plan: CompactPlan }
    |args, block| {
        look_back::take_ticket(block, ticket, args.state);
        let mut held = block.local(|thread| {
            let (first, left) = rows(&args.plan, ticket.get(0), thread & !31);
            let lane = thread % 32;
            let keep_words = args.keep.offset(first / 32);
            let input = args.input.offset(first + lane as u64);
            let mut held = Held { items: [T::default(); ITEMS], keep: [0; ITEMS] };
            for row in 0..ITEMS {
                let beyond = (row as u32 * 32 + 32).saturating_sub(left);
                if beyond < 32 {
                    held.keep[row] = keep_words.load_read_only(row as u64) & u32::MAX >> beyond;
                }
            }
            for row in 0..ITEMS {
                if held.keep[row] >> lane & 1 != 0 {
                    held.items[row] = input.load_streaming(row as u64 * 32);
                }
            }
            held
        });
        block.phase(&mut held, |thread, held| {
            if thread % 32 == 0 {
                sums.set(thread / 32, held.keep.iter().map(|keep| keep.count_ones()).sum());
            }
        });
        look_back::sum_before(block, sums, WARPS, ticket, args.state);
        block.each(&mut held, |thread, held| {
            let lane = thread % 32;
            let mut before = sums.get(thread / 32);
            for row in 0..ITEMS {
                let keep = held.keep[row];
                if keep >> lane & 1 != 0 {
                    let rank = (keep & ((1 << lane) - 1)).count_ones();
                    args.output.store_streaming((before + rank) as u64, held.items[row]);
                }
                before += keep.count_ones();
            }
            if thread == 0 && (ticket.get(0) + 1) * TILE >= args.plan.items {
                args.count.store(0, sums.get(WARPS));
            }
        });
    }
}

/// The first item of a thread, which has one in each row of its warp, and how many more items there are from there on (or more
/// than any thread's rows reach).
#[inline(always)]
fn rows(plan: &CompactPlan, tile: u64, thread: u32) -> (u64, u32) {
    let first = tile * TILE + (thread & !31) as u64 * ITEMS as u64 + (thread % 32) as u64;
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
