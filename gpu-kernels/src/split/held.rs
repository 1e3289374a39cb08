//! The pairs of a split's tile in the registers of a block's threads.

use crate::primitives::radix::tile::MAX_ITEMS;

/// The state of a thread. Item `i` is the thread's item in row `i` of its warp.
pub(super) struct Held<K, W> {
    pub keys: [K; MAX_ITEMS],
    /// The values, which are only used if pairs are written side by side.
    pub values: [W; MAX_ITEMS],
    /// The item's bin in the upper bits and its rank below it; later the item's offset in the tile.
    pub offsets: [u32; MAX_ITEMS],
    /// The output offsets of the items that this thread writes from the staging, only used if keys
    /// and values are written apart.
    pub targets: [u32; MAX_ITEMS],
    /// A bit for each row whose item is dropped as its key occurs again in the tile.
    pub dropped: u32,
}
