//! Single-pass sums over tiles: decoupled look-back (Merrill and Garland, *Single-pass Parallel
//! Prefix Scan with Decoupled Look-back*, NVIDIA technical report NVR-2016-002).
//!
//! Blocks take tiles in the order in which they start ([`take_ticket`]). A block first publishes
//! the sum of a later tile ([`ahead`]); the first blocks also publish the sum of their own tile.
//! Then a block walks back over the published sums and adds them, until it meets a tile whose
//! prefix is published. The result is the sum of all tiles up to its own, which it publishes as its
//! own prefix. A block waits only for blocks that have started, so no block waits forever on a
//! machine that lets started blocks make progress.
//!
//! A block has its result only after the sum of its own tile was published. It may then overwrite
//! the tile, since the block that published the sum has finished reading it.
//!
//! **State.** A tile publishes its status in the same word as its value. Relaxed accesses are
//! therefore enough, since no other data is read as a consequence of the status. A 32-bit sum takes
//! one word. A 64-bit sum takes two words, each with one half and a status. Halves with the same
//! status belong together: a tile publishes each status once, and the block that publishes the
//! second status has seen the first. All words must be 0 before the launch.

use crate::seam::{Block, Global, Shared, Tile, pause};
use crate::types::Scalar;

/// The status of a tile whose own sum is published.
const SUM: u64 = 1;
/// The status of a tile whose prefix is published: the sum of this and all earlier tiles.
const PREFIX: u64 = 2;

/// Returns the count of words for the ticket counter, and after it for the sums that `tiles` tiles
/// publish.
pub const fn words<T: Scalar>(tiles: u64) -> u64 {
    1 + tiles * parts::<T>()
}

const fn parts<T: Scalar>() -> u64 {
    T::BITS as u64 / 32
}

/// Gives this block the next tile, whose index is then in word 0 of `ticket`. Ends with a barrier.
/// The ticket counter is word 0 of `state`.
#[inline(always)]
pub fn take_ticket<B: Block>(block: &mut B, ticket: impl Shared<u64>, state: Global<u64>) {
    let mut nothing = block.local(|_| ());
    block.phase(&mut nothing, |thread, _| {
        if thread == 0 {
            ticket.set(0, state.atomic(0).fetch_add(1));
        }
    });
}

/// The approximate count of tiles that a large device processes at once.
const UNDER_WAY: u64 = 512;

/// Returns the distance, in tiles, at which a block publishes the sum of a later tile. It is the
/// count of tiles that are processed concurrently, so that a block finds the sums of all earlier
/// tiles when it needs them. Reading a tile twice costs less than waiting for tiles that started
/// slightly earlier, since the second read comes from the cache.
#[inline(always)]
pub fn ahead(tiles: u64) -> u64 {
    (tiles / 2).clamp(1, UNDER_WAY)
}

#[inline(always)]
fn publish<T: Scalar>(state: Global<u64>, tile: u64, status: u64, value: T) {
    for part in 0..parts::<T>() {
        let half = value.to_u64() >> (32 * part) & 0xffff_ffff;
        state.atomic(1 + tile * parts::<T>() + part).store(status << 32 | half);
    }
}

/// Returns the status and value that `tile` has published; the status is 0 if there is no published
/// value yet.
#[inline(always)]
fn published<T: Scalar>(state: Global<u64>, tile: u64) -> (u64, T) {
    let low = state.atomic(1 + tile * parts::<T>()).load();
    let status = low >> 32;
    if parts::<T>() == 1 {
        return (status, T::from_u64(low));
    }
    let high = state.atomic(2 + tile * parts::<T>()).load();
    // Halves of different statuses do not belong together.
    (if high >> 32 == status { status } else { 0 }, T::from_u64(low & 0xffff_ffff | high << 32))
}

/// The count of tiles whose words a lane reads in one step of the look-back.
const WINDOW: usize = 4;

/// Waits until the [`WINDOW`] tiles before `end` have published something, then adds up their
/// values, back to the nearest published prefix. Returns whether there is a prefix among them, and
/// the sum. A prefix of 0 is assumed before the first tile.
#[inline(always)]
fn sum_of_window<T: Scalar>(state: Global<u64>, end: u64) -> (bool, T) {
    // At most until these tiles have published: their blocks started before this one, and wait only
    // for earlier tiles.
    loop {
        let (mut statuses, mut values) = ([PREFIX; WINDOW], [T::default(); WINDOW]);
        for back in 0..WINDOW {
            if (back as u64) < end {
                (statuses[back], values[back]) = published(state, end - 1 - back as u64);
            }
        }
        let mut sum = T::default();
        let (mut missing, mut prefix) = (false, false);
        for back in 0..WINDOW {
            missing |= !prefix && statuses[back] == 0;
            if !prefix {
                sum = sum.plus(values[back]);
            }
            prefix |= statuses[back] == PREFIX;
        }
        if !missing {
            return (prefix, sum);
        }
        pause();
    }
}

/// The state of a lane in the warp that looks back.
struct Walk<T> {
    /// The value that this lane contributes: first the sum of its warp, later a sum of published
    /// values.
    value: T,
    /// The sum of the block's warps before the warp whose index is this lane.
    before: T,
    /// The sum of the tile.
    own: T,
    /// The end of the tiles whose values are still to be added.
    end: u64,
    /// Whether `value` is a prefix.
    prefix: bool,
    /// The sum of the tiles added so far.
    sum: T,
}

/// Replaces the sums of a block's warps, the first `warps` words of `sums`, by device-wide
/// prefixes: the sum of all items before each warp. The word after them becomes the sum up to the
/// end of this tile. The next `warps` words are the sums of the warps of the tile [`ahead`], if it
/// is one of the `tiles`. The tile's index is in word 0 of `ticket`. A barrier must precede the
/// call, and one ends it.
#[inline(always)]
pub fn sum_before<T: Scalar, B: Block>(
    block: &mut B,
    sums: impl Shared<T>,
    warps: u32,
    ticket: impl Shared<u64>,
    state: Global<u64>,
    tiles: u64,
) {
    block.tiles(|warp| {
        if warp.first_thread() != 0 {
            return;
        }
        let index = ticket.get(0);
        let ahead = ahead(tiles);
        let sum_of_warp = |lane: u32, first: u32| if lane < warps { sums.get(first + lane) } else { T::default() };
        let mut lanes = warp.local(|lane| Walk {
            value: sum_of_warp(lane, 0),
            before: T::default(),
            own: T::default(),
            end: index + 1,
            prefix: false,
            sum: T::default(),
        });
        if index + ahead < tiles {
            warp.exclusive_sum(
                &mut lanes,
                |lane, _| sum_of_warp(lane, warps + 1),
                |lane, _, _, total| {
                    if lane == 0 {
                        publish(state, index + ahead, SUM, total);
                    }
                },
            );
        }
        warp.exclusive_sum(
            &mut lanes,
            |_, lane| lane.value,
            |lane, walk, before, total| {
                (walk.before, walk.own) = (before, total);
                if lane == 0 && index < ahead {
                    publish(state, index, SUM, total);
                }
            },
        );
        // Each lane reads one window at a time. At most as many steps as earlier tiles, since the
        // first tile publishes its prefix.
        while warp.ballot(&lanes, |_, walk| walk.prefix) == 0 {
            warp.each(&mut lanes, |lane, walk| {
                let nearer = lane as u64 * WINDOW as u64;
                (walk.prefix, walk.value) = sum_of_window(state, walk.end.saturating_sub(nearer));
                walk.end = walk.end.saturating_sub(32 * WINDOW as u64);
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
                sums.set(lane, walk.sum.minus(walk.own).plus(walk.before));
            }
            if lane == 0 {
                sums.set(warps, walk.sum);
                publish(state, index, PREFIX, walk.sum);
            }
        });
    });
    block.sync();
}

/// Publishes the sum `own` of `tile`, and returns the sum of all tiles before it. It is for blocks
/// of one thread. Since each block publishes only the sum of its own tile, all blocks of a launch
/// must call this function. The tile must not be overwritten before `own` is computed.
#[inline(always)]
pub fn sum_before_in_turn<T: Scalar>(state: Global<u64>, tile: u64, own: T) -> T {
    if tile != 0 {
        publish(state, tile, SUM, own);
    }
    let (mut before, mut end) = (T::default(), tile);
    // At most as many steps as earlier tiles, since the first tile publishes its prefix.
    loop {
        let (prefix, sum) = sum_of_window(state, end);
        before = before.plus(sum);
        if prefix {
            break;
        }
        end = end.saturating_sub(WINDOW as u64);
    }
    publish(state, tile, PREFIX, before.plus(own));
    before
}
