//! Writing out the keys of a set.

use super::{Slot, Table, fillers, header};
use crate::hash::HashFunctions;
use crate::primitives::append::{self, WARPS};
use crate::seam::Global;
use crate::table::slots::Slots;
use crate::types::{Key, Nothing};

/// The arguments of [`Keys`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KeysParams {
    /// The table's hash functions.
    pub functions: HashFunctions,
    /// The number of keys that the output holds.
    pub capacity: u64,
}

/// The key that a thread has found in its slot.
struct Found<K> {
    key: Option<K>,
    /// The output offset that the key is written to.
    target: u64,
}

kernel! {
    /// Writes the keys of all slots and of the cell to `keys_out`, up to its capacity. One thread a
    /// slot, and one for the cell. `count[0]`, 0 at first, becomes their number. They are in the
    /// order in which blocks append.
    Keys<K: Key>, "cuckoo_keys", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    { words: Global<Slot<K, Nothing>>, header: Global<u64>, keys_out: Global<K>, count: Global<u64>, plan: KeysParams }
    |args, block| {
        let table = Table::<K, Nothing>::new(args.words, args.plan.functions);
        let slots = args.plan.functions.slots() as u64;
        let first = block.first_thread();
        let mut found = block.local(|thread| {
            let (slot, mut key) = (first + thread as u64, None);
            if slot < slots {
                let item = table.slots.item_at(slot as u32);
                if item != Slots::<K, Nothing>::EMPTY && !fillers::is_filler(&table, item, slot as u32) {
                    key = Some(item);
                }
            } else if slot == slots && args.header.load(header::CELL) != 0 {
                key = Some(K::ALL_ONES);
            }
            Found { key, target: 0 }
        });
        append::reserve(
            block,
            &mut found,
            (sums, start),
            args.count,
            |found| found.key.is_some() as u32,
            |found| &mut found.target,
        );
        block.each(&mut found, |_, found| {
            if let Some(key) = found.key
                && found.target < args.plan.capacity
            {
                args.keys_out.store(found.target, key);
            }
        });
    }
}
