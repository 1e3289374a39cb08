//! What a split is to do, and the limits of that.

/// The most bits of a split. A tile may need as many bins again, for pairs that it has not or leaves out.
pub const MAX_SPLIT_BITS: u32 = crate::primitives::radix::MAX_BITS - 1;

/// The number of words that a split publishes in if it keeps the order; all must be 0.
pub const fn state_words(regions: u64, tiles: u64, bits: u32) -> u64 {
    1 + regions * tiles * ((1 << bits) / 2)
}

/// What a split is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SplitParams {
    /// The constants of the mix.
    pub a: u64,
    /// The second one.
    pub b: u64,
    /// Pairs from the beginning of one region of the input to that of the next.
    pub region_capacity: u64,
    /// The number of pairs, if the input is one region.
    pub pairs: u64,
    /// Pairs from the beginning of one bin of the output to that of the next, unless the bins' starts are given.
    pub bin_capacity: u32,
    /// Tiles for each region.
    pub tiles: u32,
    /// The lowest bit of a mixed key that says its bin.
    pub shift: u32,
    /// How many bits say it.
    pub bits: u32,
    /// More pairs of a tile in one bin than are likely unless keys are repeated.
    pub skew_limit: u32,
    /// The number of this split: 0 for the first one, whose keys are not mixed yet.
    pub level: u32,
}
