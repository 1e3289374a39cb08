//! Dropping repeated keys of a tile (docs/page-map.md, "A split").

use super::held::Held;
use crate::primitives::radix::tile::{THREADS, item_of_row, items, tile};
use crate::seam::{Block, Shared, opaque};
use crate::types::{KeyWord, Payload};

/// Flags `suspect` items whose key occurs again in the tile: most of these items if there are many,
/// perhaps none if there are few.
///
/// There is a cell for each item of a tile. The upper bits of a mixed key determine its cell, and
/// the lower bits then identify the key. The cell contains the lower bits, and above them the index
/// of the last item with this cell.
#[inline(always)]
pub(super) fn drop_repeats<K: KeyWord, V: Payload, B: Block>(
    block: &mut B,
    held: &mut B::Local<Held<K, V::Word>>,
    cells: impl Shared<K>,
    here: u32,
    tile_index: u32,
    suspect: impl Fn(K) -> bool + Sync,
) {
    let item_bits = tile::<K, V>().ilog2();
    let rest_bits = K::BITS - item_bits;
    let rest_mask = (K::from_u64(1) << rest_bits).minus(K::from_u64(1));
    // The keys of a bin have the same upper bits, so the cell comes from a mix of all bits. It also
    // differs from tile to tile, so that two keys that share a cell in one tile do not in the next.
    let cell_and_rest = |key: K, tile_index: u32| {
        let spread = key.mixed(tile_index as u64, 0x9e37_79b9_7f4a_7c15);
        (spread.bits_from(rest_bits), spread & rest_mask)
    };
    block.phase(held, |thread, _| {
        for row in 0..items::<K, V>() {
            cells.set(thread + (row * THREADS) as u32, K::default());
        }
    });
    block.phase(held, |thread, held| {
        let (here, tile_index, thread) = (opaque(here), opaque(tile_index), opaque(thread));
        for row in 0..items::<K, V>() {
            let item = item_of_row::<K, V>(thread, row);
            if item < here && suspect(held.keys[row]) {
                let (cell, rest) = cell_and_rest(held.keys[row], tile_index);
                cells.fetch_max(cell, K::from_u64(item as u64) << rest_bits | rest);
            }
        }
    });
    block.phase(held, |thread, held| {
        let (here, tile_index, thread) = (opaque(here), opaque(tile_index), opaque(thread));
        for row in 0..items::<K, V>() {
            let item = item_of_row::<K, V>(thread, row);
            if item < here && suspect(held.keys[row]) {
                let (cell, rest) = cell_and_rest(held.keys[row], tile_index);
                let last = cells.get(cell);
                let dropped = last & rest_mask == rest && last.bits_from(rest_bits) > item;
                held.dropped |= (dropped as u32) << row;
            }
        }
    });
}
