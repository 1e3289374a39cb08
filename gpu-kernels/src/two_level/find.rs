//! Looking up many keys.

use super::{Layout, MAX_SUB_TABLES, Table};
use crate::hash::NO_SLOT;
use crate::seam::{Block, Global, vectorized};
use crate::table::lookup::{Lookup, answer};
use crate::table::lookup_in_turn::{LookupInTurn, Probed};
use crate::table::slots::Slot;
use crate::types::{KeyWord, ValueWord};

/// The arguments of a lookup.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The layout of the table.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i`. `values[i]` becomes the value, or 0 if the key is absent.
    /// Bit `i mod 32` of `found[i / 32]` tells whether it is present. `values` may be null.
    Find<K: KeyWord, V: ValueWord>, "two_level_find", threads 256, cpu cores;
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
        answer(block, &args.lookup(), &table.slots, args.header, |key| table.slots_of(key));
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let (lookup, slots) = (self.lookup(), Table::<K, V>::new(self.words, self.seeds, self.plan.layout).slots);
        let first = block.first_thread();
        let end = self.plan.queries.min(first + block.threads() as u64);
        let probed = Buckets { seeds: self.seeds, layout: self.plan.layout };
        vectorized(LookupInTurn { lookup, slots, header: self.header, probed, first, end });
    }

    #[inline(always)]
    fn lookup(&self) -> Lookup<K, V> {
        Lookup { queries: self.queries, count: self.plan.queries, values: self.values, found: self.found }
    }
}

/// The seeds of a table's buckets, by which slots are computed.
#[derive(Clone, Copy)]
struct Buckets {
    seeds: Global<u32>,
    layout: Layout,
}

impl<K: KeyWord> Probed<K> for Buckets {
    #[inline(always)]
    fn prefetch(&self, key: K) {
        self.seeds.prefetch(self.layout.bucket(key) as u64);
    }
    #[inline(always)]
    fn slot(&self, number: usize, key: K) -> u32 {
        if number >= MAX_SUB_TABLES {
            return NO_SLOT;
        }
        let bucket = self.layout.bucket(key);
        let slot = self.layout.slot_in_bucket(self.seeds.load_read_only(bucket as u64), number, key);
        if slot == NO_SLOT { NO_SLOT } else { bucket * self.layout.bucket_slots() + slot }
    }
}
