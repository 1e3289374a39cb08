//! Looking up many keys.

use super::{Slot, Table, header};
use crate::hash::{HashFunctions, MAX_FUNCTIONS, NO_SLOT};
use crate::seam::{Global, Tile};
use crate::types::{Key, Value};

/// What a lookup is to do.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindPlan {
    /// The table's hash functions.
    pub functions: HashFunctions,
    /// The number of queries.
    pub queries: u64,
}

/// A query: where it has still to look, and its answer.
struct Query<K, V> {
    key: K,
    /// The slots still to be read, in order; [`NO_SLOT`] behind the last, and first once the answer is known.
    slots: [u32; MAX_FUNCTIONS],
    answer: Option<V>,
}

kernel! {
    /// Answers query `i` by thread `i` (section 4.3.2, listing 4.2): `values[i]` is the value or 0, and bit `i mod 32` of
    /// `found[i / 32]` says which. `values` may be null.
    Find<K: Key, V: Value>, "cuckoo_find", threads 256;
    {
        queries: Global<K>, words: Global<Slot<K, V>>, header: Global<u64>, values: Global<V>, found: Global<u32>,
        plan: FindPlan,
    }
    |args, block| {
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let block_first = block.first_thread();
        block.tiles::<32>(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| start(&table, &args, first + lane as u64));
            // Probe by probe: on the CPU, each lane's next slot is on its way to the cache while the others go on.
            while tile.ballot(&queries, |_, query| query.slots[0] != NO_SLOT) != 0 {
                tile.each(&mut queries, |_, query| {
                    if query.slots[0] != NO_SLOT {
                        step(&table, query);
                    }
                });
            }
            let found = tile.ballot(&queries, |_, query| query.answer.is_some());
            tile.each(&mut queries, |lane, query| {
                let index = first + lane as u64;
                if index < args.plan.queries {
                    if !args.values.is_null() {
                        args.values.store_streaming(index, query.answer.unwrap_or_default());
                    }
                    if lane == 0 {
                        args.found.store(index / 32, found);
                    }
                }
            });
        });
    }
}

/// Reads query `index` and finds its slots.
#[inline(always)]
fn start<K: Key, V: Value>(table: &Table<K, V>, args: &Find<K, V>, index: u64) -> Query<K, V> {
    let mut query = Query { key: K::ALL_ONES, slots: [NO_SLOT; MAX_FUNCTIONS], answer: None };
    if index >= args.plan.queries {
        return query;
    }
    query.key = args.queries.load_streaming(index);
    if query.key == K::ALL_ONES {
        if args.header.load_read_only(header::CELL) != 0 {
            query.answer = Some(V::from_u64(args.header.load_read_only(header::CELL_VALUE)));
        }
        return query;
    }
    query.slots = table.functions.slots_of(query.key);
    table.prefetch(query.slots[0]);
    query
}

/// Reads the query's next slot.
#[inline(always)]
fn step<K: Key, V: Value>(table: &Table<K, V>, query: &mut Query<K, V>) {
    let [slot, rest @ ..] = query.slots;
    match table.probe(slot, query.key) {
        Some(answer) => {
            query.answer = answer;
            query.slots[0] = NO_SLOT;
        }
        None => {
            // Shifted, not indexed: on the GPU an index that varies would put the array into local memory.
            query.slots = [rest[0], rest[1], rest[2], rest[3], NO_SLOT];
            if query.slots[0] != NO_SLOT {
                table.prefetch(query.slots[0]);
            }
        }
    }
}
