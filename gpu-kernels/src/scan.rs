//! Device-wide exclusive scan, in one pass over the data ([`look_back`](crate::look_back)).

use crate::look_back;
use crate::seam::{Global, Shared, Tile};
use crate::types::Scalar;

/// Threads of a block.
const THREADS: usize = 256;
/// The most items of a thread.
const MOST_ITEMS: usize = 16;

/// Items of a thread: fewer of the wide ones, so that they fit the registers.
const fn items<T: Scalar>() -> usize {
    MOST_ITEMS * 32 / T::BITS as usize
}

/// Items of a tile, which is what one block scans.
pub const fn tile<T: Scalar>() -> u64 {
    (THREADS * items::<T>()) as u64
}

const WARPS: u32 = THREADS as u32 / 32;

/// The number of words that a scan of `items` items publishes in; all must be 0.
pub const fn state_words<T: Scalar>(items: u64) -> u64 {
    look_back::words::<T>(items.div_ceil(tile::<T>()))
}

/// What a scan is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScanPlan {
    /// The number of items.
    pub items: u64,
}

/// What a thread holds: item `i` is lane-contiguous, 32 items of its warp's row `i`.
struct Held<T> {
    items: [T; MOST_ITEMS],
    /// The sum of the warp's rows so far.
    sum: T,
}

kernel! {
    /// `output[i]` becomes the sum of `input[..i]`, wrapping, and `total`, if it is not null, the sum of all. `output` may be
    /// `input`. One block a [`tile`]; `state` has [`state_words`].
    Scan<T: Scalar>, "scan", threads 256, resident 4, shared ticket: u64 = 1, shared sums: T = 9;
    { input: Global<T>, output: Global<T>, total: Global<T>, state: Global<u64>, plan: ScanPlan }
    |args, block| {
        look_back::take_ticket(block, ticket, args.state);
        let mut held = block.local(|_| Held { items: [T::default(); MOST_ITEMS], sum: T::default() });
        block.tiles_of::<32, _>(&mut held, |warp, held| {
            let first_thread = warp.first_thread();
            warp.each(held, |lane, held| {
                let (first, left) = rows::<T>(&args.plan, ticket.get(0), first_thread + lane);
                let input = args.input.offset(first);
                for row in 0..items::<T>() {
                    if row as u32 * 32 < left {
                        held.items[row] = input.load_streaming(row as u64 * 32);
                    }
                }
            });
            for row in 0..items::<T>() {
                warp.exclusive_sum(held, |_, held| held.items[row], |_, held, before, total| {
                    held.items[row] = held.sum.plus(before);
                    held.sum = held.sum.plus(total);
                });
            }
            warp.each(held, |lane, held| {
                if lane == 0 {
                    sums.set(first_thread / 32, held.sum);
                }
            });
        });
        block.sync();
        look_back::sum_before(block, sums, WARPS, ticket, args.state);
        block.each(&mut held, |thread, held| {
            let before = sums.get(thread / 32);
            let (first, left) = rows::<T>(&args.plan, ticket.get(0), thread);
            let output = args.output.offset(first);
            for row in 0..items::<T>() {
                if row as u32 * 32 < left {
                    output.store_streaming(row as u64 * 32, before.plus(held.items[row]));
                }
            }
            if thread == 0 && (ticket.get(0) + 1) * tile::<T>() >= args.plan.items && !args.total.is_null() {
                args.total.store(0, sums.get(WARPS));
            }
        });
    }
}

/// The first item of a thread, which has one in each row of its warp, and how many more items there are from there on (or more
/// than any thread's rows reach).
#[inline(always)]
fn rows<T: Scalar>(plan: &ScanPlan, index: u64, thread: u32) -> (u64, u32) {
    let first = index * tile::<T>() + (thread & !31) as u64 * items::<T>() as u64 + (thread % 32) as u64;
    (first, plan.items.saturating_sub(first).min(1 << 30) as u32)
}
