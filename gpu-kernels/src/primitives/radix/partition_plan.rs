//! The arguments of a pass, and the sizes of its published state.

use super::Digit;
use super::tile::tile;
use crate::seam::Global;
use crate::types::{KeyWord, Payload, WordOf};

/// The most items of one launch, since a tile publishes sums of 30 bits.
pub const PORTION: u64 = 1 << 29;

/// Returns the count of words in which a pass over `items` items (at most [`PORTION`]) publishes
/// its sums. All words must be 0 before the launch.
pub const fn state_words<K: KeyWord, V: Payload>(items: u64, bits: u32) -> u64 {
    state_words_of_tiles(items.div_ceil(tile::<K, V>()), bits)
}

/// Returns the count of words in which a pass over `tiles` tiles publishes its sums.
pub const fn state_words_of_tiles(tiles: u64, bits: u32) -> u64 {
    1 + tiles * ((1 << bits) / 2)
}

/// The arguments of a pass.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PartitionParams {
    /// The digit that items are ordered by.
    pub digit: Digit,
    /// The first item of this launch.
    pub first: u64,
    /// The index after the last item of this launch, at most [`PORTION`] after `first`.
    pub end: u64,
    /// The value that is subtracted from `digit_starts`, modulo 2^32. It is needed because a scan
    /// over the counts of several digits does not restart at 0 for each digit.
    pub base: u32,
    /// The count of pairs of a block on CPU cores (`cpu cores` in [`kernel!`](crate::kernel)).
    /// Other blocks have a [`tile`].
    pub in_turn: u32,
}

/// The arrays of a pass, described at [`Partition`](super::Partition).
pub(super) struct PartitionArrays<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<WordOf<V>>,
    pub keys_out: Global<K>,
    pub values_out: Global<WordOf<V>>,
    pub digit_starts: Global<u32>,
    pub next_starts: Global<u32>,
    pub state: Global<u64>,
}
