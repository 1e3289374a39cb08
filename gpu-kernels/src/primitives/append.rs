//! Appending to an output: the threads of all blocks reserve offsets for the items that they have.
//! Blocks append in the order in which they reserve.

use crate::seam::{Block, Global, Shared, Tile};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The count of threads of a block that appends.
pub const THREADS: usize = 256;
/// The count of warps of a block that appends.
pub const WARPS: usize = THREADS / 32;

/// Reserves output offsets for each thread. `found` returns how many offsets a thread needs, and
/// the first of them is written to the place that `target` returns. `next`, 0 before the launch,
/// counts all reserved offsets.
#[inline(always)]
pub fn reserve<T, B: Block>(
    block: &mut B,
    threads: &mut B::Local<T>,
    (sums, start): (impl Shared<u32>, impl Shared<u64>),
    next: Global<u64>,
    found: impl Fn(&T) -> u32 + Sync,
    target: impl Fn(&mut T) -> &mut u64 + Sync,
) {
    block.tiles_of(threads, |warp, threads| {
        let number = warp.first_thread() / 32;
        warp.exclusive_sum(
            threads,
            |_, thread| found(thread),
            |lane, thread, before, total| {
                *target(thread) = before as u64;
                if lane == 0 {
                    sums.set(number, total);
                }
            },
        );
    });
    block.sync();
    block.phase(threads, |thread, _| {
        if thread == 0 {
            let mut total = 0;
            for warp in 0..WARPS as u32 {
                total += sums.get(warp);
            }
            start.set(0, next.atomic(0).fetch_add(total as u64));
        }
    });
    block.each(threads, |thread, state| {
        let mut first = start.get(0);
        for warp in 0..thread / 32 {
            first += sums.get(warp) as u64;
        }
        *target(state) += first;
    });
}

/// Writes the items that the threads of the block have staged to the reserved part of the output,
/// adjacent threads to adjacent offsets. Items beyond `capacity` are left out. `sums` and `start`
/// are as [`reserve`] left them.
#[inline(always)]
pub fn write_staged<T: Scalar, L, B: Block>(
    block: &mut B,
    threads: &mut B::Local<L>,
    (sums, start): (impl Shared<u32>, impl Shared<u64>),
    staged: impl Shared<T>,
    (output, capacity): (Global<T>, u64),
) {
    block.each(threads, |thread, _| {
        let mut total = 0;
        for warp in 0..WARPS as u32 {
            total += sums.get(warp);
        }
        let total = capacity.saturating_sub(start.get(0)).min(total as u64) as u32;
        let mut target = thread;
        while target < total {
            output.store_streaming(start.get(0) + target as u64, staged.get(target));
            target += THREADS as u32;
        }
    });
}

/// The pair that a thread appends, if it has one, and the pair's output offset.
struct Appended<K, W> {
    pair: Option<(K, W)>,
    target: u64,
}

/// Appends the pairs of the threads: `pair_of` returns the pair of the thread with a given index in
/// the grid. Pairs beyond `capacity` are left out, but counted by `next`. A set has no values.
#[inline(always)]
pub fn append_pairs<K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    shared: (impl Shared<u32>, impl Shared<u64>),
    next: Global<u64>,
    (keys_out, values_out, capacity): (Global<K>, Global<WordOf<V>>, u64),
    pair_of: impl Fn(u64) -> Option<(K, WordOf<V>)> + Sync,
) {
    let first = block.first_thread();
    let mut found = block.local(|thread| Appended { pair: pair_of(first + thread as u64), target: 0 });
    let count = |found: &Appended<K, WordOf<V>>| found.pair.is_some() as u32;
    reserve(block, &mut found, shared, next, count, |found| &mut found.target);
    block.each(&mut found, |_, found| {
        if let Some((key, value)) = found.pair
            && found.target < capacity
        {
            keys_out.store(found.target, key);
            if V::VALUE_BITS != 0 {
                values_out.store(found.target, value);
            }
        }
    });
}
