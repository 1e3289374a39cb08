//! Single-pass sums over tiles: decoupled look-back (Merrill and Garland, *Single-pass Parallel Prefix Scan with Decoupled
//! Look-back*, NVIDIA technical report NVR-2016-002).
//!
//! Blocks take tiles in the order in which they start ([`take_ticket`]). A tile first publishes its own sum, then finds the sum
//! of all earlier tiles by walking back over what they published, adding sums until it meets a tile that knows its whole
//! prefix, and then publishes its own prefix. Whoever waits, waits for tiles that have started: on any machine that lets
//! started blocks go on, nobody waits for ever.
//!
//! **State.** What a tile publishes has its status in the same word as its value, so relaxed accesses are enough: nothing is
//! read through the status. A 32-bit sum takes one word, a 64-bit one two halves with a status each; both carry the same
//! status once they belong together, since a tile publishes each status at most once. All words must start as 0.

use crate::seam::{Block, Global, Shared, Tile, pause};
use crate::types::Scalar;

/// The status of a tile whose own sum is published.
const SUM: u64 = 1;
/// The status of a tile whose sum with all earlier ones is published.
const PREFIX: u64 = 2;

/// The number of words that `tiles` tiles publish in, with the ticket counter before them.
pub const fn words<T: Scalar>(tiles: u64) -> u64 {
    1 + tiles * parts::<T>()
}

const fn parts<T: Scalar>() -> u64 {
    T::BITS as u64 / 32
}

/// Gives this block the next tile: its number stands in word 0 of `ticket` after the barrier that this ends with. The counter
/// is word 0 of `state`.
#[inline(always)]
pub fn take_ticket<B: Block>(block: &mut B, ticket: impl Shared<u64>, state: Global<u64>) {
    let mut nothing = block.local(|_| ());
    block.phase(&mut nothing, |thread, _| {
        if thread == 0 {
            ticket.set(0, state.atomic(0).fetch_add(1));
        }
    });
}

#[inline(always)]
fn publish<T: Scalar>(state: Global<u64>, tile: u64, status: u64, value: T) {
    for part in 0..parts::<T>() {
        let half = value.to_u64() >> (32 * part) & 0xffff_ffff;
        state.atomic(1 + tile * parts::<T>() + part).store(status << 32 | half);
    }
}

/// Waits until `tile` has published something; says whether it is its prefix.
#[inline(always)]
fn published<T: Scalar>(state: Global<u64>, tile: u64) -> (bool, T) {
    loop {
        let low = state.atomic(1 + tile * parts::<T>()).load();
        let status = low >> 32;
        if parts::<T>() == 1 {
            if status != 0 {
                return (status == PREFIX, T::from_u64(low));
            }
        } else {
            let high = state.atomic(2 + tile * parts::<T>()).load();
            if status != 0 && high >> 32 == status {
                return (status == PREFIX, T::from_u64(low & 0xffff_ffff | high << 32));
            }
        }
        pause();
    }
}

/// A lane of the warp that looks back.
struct Walk<T> {
    /// What this lane adds up: first the sum of its warp, then what a tile published.
    value: T,
    /// The sum of the warps before its own.
    before: T,
    /// The sum of the tile.
    own: T,
    /// Tiles before this one are still to be added.
    end: u64,
    /// Whether `value` is a prefix.
    prefix: bool,
    /// The sum of the tiles added so far.
    sum: T,
}

/// Turns the sums of a block's warps, in the first `warps` words of `sums`, into the sums of all that comes before each of
/// them on the whole device; the word behind them becomes the sum up to the end of this tile. The tile's number stands in word
/// 0 of `ticket`. A barrier must come before, and one comes after.
#[inline(always)]
pub fn sum_before<T: Scalar, B: Block>(
    block: &mut B,
    sums: impl Shared<T>,
    warps: u32,
    ticket: impl Shared<u64>,
    state: Global<u64>,
) {
    block.tiles::<32>(|warp| {
        if warp.first_thread() != 0 {
            return;
        }
        let index = ticket.get(0);
        let mut lanes = warp.local(|lane| {
            let value = if lane < warps { sums.get(lane) } else { T::default() };
            Walk { value, before: T::default(), own: T::default(), end: index, prefix: index == 0, sum: T::default() }
        });
        warp.exclusive_sum(
            &mut lanes,
            |_, lane| lane.value,
            |_, lane, before, total| {
                (lane.before, lane.own) = (before, total);
            },
        );
        warp.each(&mut lanes, |lane, walk| {
            if lane == 0 {
                publish(state, index, if index == 0 { PREFIX } else { SUM }, walk.own);
            }
        });
        // A window of one tile for each lane at a time; before the first tile everything is known.
        while warp.ballot(&lanes, |_, walk| walk.prefix) == 0 {
            warp.each(&mut lanes, |lane, walk| {
                let back = lane as u64 + 1;
                (walk.prefix, walk.value) =
                    if back > walk.end { (true, T::default()) } else { published(state, walk.end - back) };
                walk.end = walk.end.saturating_sub(32);
            });
            let nearest = warp.ballot(&lanes, |_, walk| walk.prefix).trailing_zeros();
            warp.exclusive_sum(
                &mut lanes,
                |lane, walk| if lane <= nearest { walk.value } else { T::default() },
                |_, walk, _, total| walk.sum = walk.sum.plus(total),
            );
        }
        warp.each(&mut lanes, |lane, walk| {
            if lane < warps {
                sums.set(lane, walk.sum.plus(walk.before));
            }
            if lane == 0 {
                let prefix = walk.sum.plus(walk.own);
                sums.set(warps, prefix);
                if index != 0 {
                    publish(state, index, PREFIX, prefix);
                }
            }
        });
    });
    block.sync();
}
