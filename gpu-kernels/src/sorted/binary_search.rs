//! Looking up many keys in a sorted array without an index, by binary search.

use crate::seam::{Block, Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, ValueWord};

/// The arguments of [`BinarySearch`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BinarySearchParams {
    /// The count of sorted keys.
    pub keys: u64,
    /// The count of queries.
    pub queries: u64,
}

/// The state of a query: the range that may still contain its key, and its answer.
struct Query<K, V> {
    key: K,
    /// The start of the range: the keys before it are smaller.
    low: u64,
    /// The end of the range: the key at this index and all later keys are not smaller.
    high: u64,
    answer: Option<V>,
}

kernel! {
    /// Answers query `i` by thread `i`. `values_out[i]` becomes the value of the first sorted key
    /// that equals the query, or 0. Bit `i mod 32` of `found[i / 32]` tells whether there is one. A
    /// query takes about `lg n` dependent reads.
    BinarySearch<K: KeyWord, V: ValueWord>, "binary_search", threads 256;
    {
        keys: Global<K>, values: Global<V>, queries: Global<K>, values_out: Global<V>, found: Global<u32>,
        plan: BinarySearchParams,
    }
}

impl<K: KeyWord, V: ValueWord> BinarySearch<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let BinarySearchParams { keys, queries: count } = args.plan;
        let lookup = Lookup { queries: args.queries, count, values: args.values_out, found: args.found };
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let there = index < count;
                let key = if there { args.queries.load_streaming(index) } else { K::default() };
                Query { key, low: 0, high: if there { keys } else { 0 }, answer: None }
            });
            // All lanes do one step at a time. On the CPU, each lane's next key is being fetched
            // while the other lanes search. At most 64 steps: each halves the range.
            while tile.ballot(&queries, |_, query| query.low < query.high) != 0 {
                tile.each(&mut queries, |_, query| {
                    if query.low < query.high {
                        let middle = query.low.midpoint(query.high);
                        if args.keys.load_read_only(middle) < query.key {
                            query.low = middle + 1;
                        } else {
                            query.high = middle;
                        }
                        args.keys.prefetch(query.low.midpoint(query.high));
                    }
                });
            }
            tile.each(&mut queries, |lane, query| {
                let there = first + (lane as u64) < count && query.low < keys;
                if there && args.keys.load_read_only(query.low) == query.key {
                    query.answer = Some(args.values.load_read_only(query.low));
                }
            });
            lookup.write(tile, &mut queries, first, |query| query.answer);
        });
    }
}
