//! Counting the keys below each of many queries, or in each of many ranges.

use super::{Layout, Search, Table};
use crate::seam::{Block, Global, Tile};
use crate::types::KeyWord;

/// The arguments of [`Bounds`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundsParams {
    /// The layout of the keys and their index.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
    /// The kind of bound: 0 counts the keys below a query, 1 also the keys that equal it.
    pub upper: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

/// A query, and whether its result is the count of all keys.
struct Bound<K> {
    search: Search<K>,
    all: bool,
}

kernel! {
    /// Sets `ranks[i]` to the count of keys below query `i`, by thread `i`. If `upper` is 1, equal
    /// keys are counted, too.
    Bounds<K: KeyWord>, "sorted_bounds", threads 256;
    { queries: Global<K>, keys: Global<K>, ranks: Global<u32>, plan: BoundsParams }
}

impl<K: KeyWord> Bounds<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let BoundsParams { layout, queries: count, upper, .. } = args.plan;
        let table = Table::new(args.keys, layout);
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut bounds = tile.local(|lane| {
                let index = first + lane as u64;
                let key = if index < count { args.queries.load_streaming(index) } else { K::default() };
                // The keys that are not above a key are the keys below the next one. No key is
                // above the last one.
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

/// The arguments of [`CountRanges`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RangesParams {
    /// The layout of the keys and their index.
    pub layout: Layout,
    /// The count of ranges.
    pub ranges: u64,
}

/// A range: the searches of its start and its end.
struct Ends<K> {
    from: Search<K>,
    to: Search<K>,
}

kernel! {
    /// Sets `counts[i]` to the count of keys that are at least `from[i]` and below `to[i]`, by
    /// thread `i`.
    CountRanges<K: KeyWord>, "sorted_count_ranges", threads 256;
    { from: Global<K>, to: Global<K>, keys: Global<K>, counts: Global<u32>, plan: RangesParams }
}

impl<K: KeyWord> CountRanges<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RangesParams { layout, ranges: count } = args.plan;
        let table = Table::new(args.keys, layout);
        let block_first = block.first_thread();
        block.tiles(|tile| {
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
