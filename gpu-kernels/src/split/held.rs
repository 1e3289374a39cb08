//! The pairs of a split's tile, as its threads hold them.

use crate::primitives::radix::tile::MAX_ITEMS;

/// The state of a thread: item `i` is in row `i` of its warp.
pub(super) struct Held<K, W> {
    pub keys: [K; MAX_ITEMS],
    /// The values, only if pairs are written side by side.
    pub values: [W; MAX_ITEMS],
    /// The item's bin above its rank; later the item's offset in the tile.
    pub offsets: [u32; MAX_ITEMS],
    /// The output offsets of the items that this thread takes from the staging, only if keys and
    /// values are written apart.
    pub targets: [u32; MAX_ITEMS],
    /// A bit for each row whose key comes again in the tile.
    pub dropped: u32,
}
