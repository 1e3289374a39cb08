//! What a pass is told: its arguments, and the sizes of what it works in.

use super::Digit;
use super::tile::tile;
use crate::seam::Global;
use crate::types::{KeyWord, Payload, WordOf};

/// The most items of one launch: a tile publishes sums of 30 bits.
pub const PORTION: u64 = 1 << 29;

/// Returns the count of words in which a pass over `items` items (at most [`PORTION`]) publishes
/// its sums. All must be 0 at first.
pub const fn state_words<K: KeyWord, V: Payload>(items: u64, bits: u32) -> u64 {
    state_words_of_tiles(items.div_ceil(tile::<K, V>()), bits)
}

/// Returns the count of words in which a pass over so many tiles publishes its sums.
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
    /// The item behind the last one of this launch, at most [`PORTION`] after `first`.
    pub end: u64,
    /// The number that is subtracted from `digit_starts`, modulo 2^32: a scan over the counts of
    /// several digits goes on from digit to digit.
    pub base: u32,
    /// The count of pairs of a block whose threads take turns (`cpu cores` in
    /// [`kernel!`](crate::kernel)). Other blocks have a [`tile`].
    pub in_turn: u32,
}

/// The arrays of a pass; the kernel's text describes them.
pub(super) struct PartitionArrays<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<WordOf<V>>,
    pub keys_out: Global<K>,
    pub values_out: Global<WordOf<V>>,
    pub digit_starts: Global<u32>,
    pub next_starts: Global<u32>,
    pub state: Global<u64>,
}
