//! Looking up many keys.

use super::{Layout, Table};
use crate::seam::{Block, Global};
use crate::table::lookup::{Lookup, answer};
use crate::table::slots::Slot;
use crate::types::{KeyWord, ValueWord};

/// The arguments of a lookup.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The layout of the table.
    pub layout: Layout,
    /// The number of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i`: `values[i]` becomes the value or 0, and bit `i mod 32` of
    /// `found[i / 32]` says which. `values` may be null.
    Find<K: KeyWord, V: ValueWord>, "two_level_find", threads 256;
    {
        queries: Global<K>, words: Global<Slot<K, V>>, seeds: Global<u32>, header: Global<u64>, values: Global<V>,
        found: Global<u32>, plan: FindParams,
    }
}

impl<K: KeyWord, V: ValueWord> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.seeds, args.plan.layout);
        let lookup = Lookup { queries: args.queries, count: args.plan.queries, values: args.values, found: args.found };
        answer(block, &lookup, &table.slots, args.header, |key| table.slots_of(key));
    }
}
