//! Looking up many keys.

use super::{Layout, Search, Table};
use crate::seam::{Block, Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{KeyWord, ValueWord};

/// The arguments of a lookup.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The layout of the keys and their index.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
}

/// A query and its answer.
struct Query<K, V> {
    search: Search<K>,
    answer: Option<V>,
}

kernel! {
    /// Answers query `i` by thread `i`. `values_out[i]` becomes the value of the first key that
    /// equals the query, or 0. Bit `i mod 32` of `found[i / 32]` tells whether there is one. If
    /// `values_out` is null, no value is read.
    Find<K: KeyWord, V: ValueWord>, "sorted_find", threads 256;
    {
        queries: Global<K>, keys: Global<K>, values: Global<V>, values_out: Global<V>, found: Global<u32>,
        plan: FindParams,
    }
}

impl<K: KeyWord, V: ValueWord> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FindParams { layout, queries: count } = args.plan;
        let table = Table::new(args.keys, layout);
        let lookup = Lookup { queries: args.queries, count, values: args.values_out, found: args.found };
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                // Lanes without a query take part in the search, and their answers are not written.
                let key = if index < count { args.queries.load_streaming(index) } else { K::default() };
                Query { search: Search::new(key), answer: None }
            });
            table.descend(tile, &mut queries, |query, level, next| query.search.step(&table, level, next));
            tile.each(&mut queries, |lane, query| {
                if first + (lane as u64) < count
                    && let Some(rank) = query.search.found(&layout)
                {
                    let wanted = !args.values_out.is_null();
                    query.answer = Some(if wanted { args.values.load_read_only(rank as u64) } else { V::default() });
                }
            });
            lookup.write(tile, &mut queries, first, |query| query.answer);
        });
    }
}
