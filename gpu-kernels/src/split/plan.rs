//! The arguments of a split, and their limits.

use crate::seam::Global;
use crate::types::Payload;

/// The most bits of a split. A tile may need twice as many bins, since absent or dropped pairs get
/// a bin, too.
pub const MAX_SPLIT_BITS: u32 = crate::primitives::radix::MAX_BITS - 1;

/// Returns the count of words in which a split that keeps the order publishes sums. All must be 0
/// before the launch.
pub const fn state_words(regions: u64, tiles: u64, bits: u32) -> u64 {
    1 + regions * tiles * ((1 << bits) / 2)
}

/// The scalar arguments of a split.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SplitParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The distance between the beginnings of two adjacent regions of the input, in pairs.
    pub region_capacity: u64,
    /// The count of pairs, if the input is one region.
    pub pairs: u64,
    /// The distance between the beginnings of two adjacent bins of the output, in pairs, unless the
    /// bins' starts are given.
    pub bin_capacity: u32,
    /// The count of tiles for each region.
    pub tiles: u32,
    /// The index of the lowest of the bits of a mixed key that determine its bin.
    pub shift: u32,
    /// The count of bits that determine the bin.
    pub bits: u32,
    /// The most pairs of a tile in one bin that is likely without repeated keys; a bin with more
    /// pairs is skewed. If it is 0, repeated keys are searched in all bins.
    pub skew_limit: u32,
    /// The index of this split: 0 for the first one, whose keys are not mixed yet.
    pub level: u32,
}

/// The target of items that are not written. It is beyond every output, even if the items of a tile
/// are added to it.
pub(super) const NOWHERE: u32 = 0xffff_0000;

/// The arrays of a split: the arguments of [`Split`](super::Split) with the same names.
#[derive(Clone, Copy)]
pub(super) struct SplitArrays<K, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<V::Word>,
    pub keys_out: Global<K>,
    pub values_out: Global<V::Word>,
    pub columns: Global<u64>,
    pub starts_out: Global<u32>,
    pub counts_out: Global<u32>,
    pub state: Global<u64>,
    pub header: Global<u64>,
}

/// A tile of the input of a split.
#[derive(Clone, Copy)]
pub(super) struct InputTile {
    pub region: u32,
    /// The tile's index in the region.
    pub index: u32,
    /// The count of pairs in the region.
    pub size: u64,
    /// The index of the tile's first pair. `here` is the count of the tile's pairs.
    pub first: u64,
    pub here: u32,
}
