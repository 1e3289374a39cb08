//! Counting the keys below many others, and in many ranges.

use super::{Layout, Search, Table};
use crate::seam::{Global, Tile};
use crate::types::Key;

/// Which bounds are to be found.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundsParams {
    /// Where the keys and their index stand.
    pub layout: Layout,
    /// The number of queries.
    pub queries: u64,
    /// 0: the keys below a query are counted. 1: also those that equal it.
    pub upper: u32,
    /// Nothing.
    pub padding: u32,
}

/// A query, and whether all keys are counted for it.
struct Bound<K> {
    search: Search<K>,
    all: bool,
}

kernel! {
    /// `ranks[i]` becomes the number of keys below query `i`, or not above it, by thread `i`.
    Bounds<K: Key>, "sorted_bounds", threads 256;
    { queries: Global<K>, keys: Global<K>, ranks: Global<u32>, plan: BoundsParams }
    |args, block| {
        let BoundsParams { layout, queries: count, upper, .. } = args.plan;
        let table = Table::new(args.keys, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut bounds = tile.local(|lane| {
                let index = first + lane as u64;
                let key = if index < count { args.queries.load_streaming(index) } else { K::default() };
                // What is not above a key is below the next one, and nothing is above the last one.
                let (above, all) = (key.plus(K::from_u64(upper as u64)), upper != 0 && key == K::ALL_ONES);
                Bound { search: Search::new(above), all }
            });
            table.descend(tile, &mut bounds, |bound, level, next| bound.search.step(&table, level, next));
            tile.each(&mut bounds, |lane, bound| {
                let index = first + lane as u64;
                if index < count {
                    let below = if bound.all { layout.keys as u32 } else { bound.search.below };
                    args.ranks.store_streaming(index, below);
                }
            });
        });
    }
}

/// Which ranges are to be counted.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RangesParams {
    /// Where the keys and their index stand.
    pub layout: Layout,
    /// The number of ranges.
    pub ranges: u64,
}

/// A range: the searches of where it begins and ends.
struct Ends<K> {
    from: Search<K>,
    to: Search<K>,
}

kernel! {
    /// `counts[i]` becomes the number of keys from `from[i]` on that are below `to[i]`, by thread `i`.
    CountRanges<K: Key>, "sorted_count_ranges", threads 256;
    { from: Global<K>, to: Global<K>, keys: Global<K>, counts: Global<u32>, plan: RangesParams }
    |args, block| {
        let RangesParams { layout, ranges: count } = args.plan;
        let table = Table::new(args.keys, layout);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut ranges = tile.local(|lane| {
                let index = first + lane as u64;
                let of = |ends: Global<K>| {
                    Search::new(if index < count { ends.load_streaming(index) } else { K::default() })
                };
                Ends { from: of(args.from), to: of(args.to) }
            });
            table.descend(tile, &mut ranges, |range, level, next| {
                range.from.step(&table, level, next);
                range.to.step(&table, level, next);
            });
            tile.each(&mut ranges, |lane, range| {
                let index = first + lane as u64;
                if index < count {
                    args.counts.store_streaming(index, range.to.below.saturating_sub(range.from.below));
                }
            });
        });
    }
}
