//! Looking up many keys.

use super::{Slot, Table};
use crate::hash::HashFunctions;
use crate::seam::{Block, Global, vectorized};
use crate::table::lookup::{Lookup, answer};
use crate::table::lookup_in_turn::{LookupInTurn, Probed};
use crate::types::{KeyWord, Payload, WordOf};

/// The arguments of a lookup.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The table's hash functions.
    pub functions: HashFunctions,
    /// The count of queries.
    pub queries: u64,
}

kernel! {
    /// Answers query `i` by thread `i` (Alcantara 2011, §4.3.2, listing 4.2). `values[i]` becomes
    /// the value, or 0 if the key is absent. Bit `i mod 32` of `found[i / 32]` tells whether it is
    /// present. `values` may be null, and is null for a set.
    Find<K: KeyWord, V: Payload>, "cuckoo_find", threads 256, cpu cores;
    {
        queries: Global<K>, words: Global<Slot<K, V>>, header: Global<u64>, values: Global<WordOf<V>>, found: Global<u32>,
        plan: FindParams,
    }
}

impl<K: KeyWord, V: Payload> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        answer(block, &args.lookup(), &table.slots, args.header, |key| table.functions.slots_of(key));
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let (lookup, slots) = (self.lookup(), Table::<K, V>::new(self.words, self.plan.functions).slots);
        let first = block.first_thread();
        let end = self.plan.queries.min(first + block.threads() as u64);
        let probed = Functions(self.plan.functions);
        vectorized(LookupInTurn { lookup, slots, header: self.header, probed, first, end });
    }

    #[inline(always)]
    fn lookup(&self) -> Lookup<K, WordOf<V>> {
        Lookup { queries: self.queries, count: self.plan.queries, values: self.values, found: self.found }
    }
}

/// The functions of a table, by which slots are computed without reading memory.
#[derive(Clone, Copy)]
struct Functions(HashFunctions);

impl<K: KeyWord> Probed<K> for Functions {
    #[inline(always)]
    fn prefetch(&self, _: K) {}
    #[inline(always)]
    fn slot(&self, number: usize, key: K) -> u32 {
        self.0.slot(number, key)
    }
}
