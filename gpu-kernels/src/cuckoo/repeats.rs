//! Storing values that exchanges do not move, and the values of repeated keys: the last pair in
//! input order wins.

use super::build::raise;
use super::{Slot, Table, header};
use crate::hash::{HashFunctions, NO_SLOT};
use crate::seam::{Block, Global};
use crate::types::{KeyWord, Payload, ValueWord};

/// The arguments of kernels over a table and the pairs that it was built from.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PairsParams {
    /// The table's hash functions.
    pub functions: HashFunctions,
    /// The count of pairs.
    pub pairs: u64,
}

/// Reads the key of pair `index` and prefetches its first slot. Returns both, or [`NO_SLOT`] if
/// there is no slot to search.
#[inline(always)]
fn locate<K: KeyWord, V: Payload>(table: &Table<K, V>, keys: Global<K>, pairs: u64, index: u64) -> (K, u32) {
    if index >= pairs {
        return (K::ALL_ONES, NO_SLOT);
    }
    let key = keys.load_streaming(index);
    if key == K::ALL_ONES {
        return (key, NO_SLOT);
    }
    let slot = table.functions.slot(0, key);
    table.slots.prefetch(slot);
    (key, slot)
}

kernel! {
    /// Raises `last[slot of key i]` to `i` by thread `i`. `last` must be 0 everywhere, or null.
    /// Declares the build failed if a key is not in the table.
    ///
    /// No key should be missing. But the insertion lets a thread drop a copy after seeing another
    /// copy by relaxed reads, and a machine that reorders the reads could lose the key. Every such
    /// drop sets [`header::REPEATED`], and then this kernel is launched.
    Last<K: KeyWord, V: Payload>, "cuckoo_last", threads 256;
    { keys: Global<K>, words: Global<Slot<K, V>>, header: Global<u64>, last: Global<u32>, plan: PairsParams }
}

impl<K: KeyWord, V: Payload> Last<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let first = block.first_thread();
        let mut located = block.local(|thread| locate(&table, args.keys, args.plan.pairs, first + thread as u64));
        block.each(&mut located, |thread, &mut (key, slot)| {
            if slot == NO_SLOT {
                return;
            }
            match table.position(key) {
                Some(slot) if !args.last.is_null() => {
                    args.last.atomic(slot as u64).fetch_max((first + thread as u64) as u32);
                }
                Some(_) => {}
                None => raise(args.header, header::FAILED),
            }
        });
    }
}

kernel! {
    /// Writes value `i` to the slot of key `i` by thread `i`, if `last` is null or contains `i` for
    /// the slot. So the last pair of a repeated key wins, as in `HashMap::from_iter`.
    StoreValues<K: KeyWord, V: ValueWord>, "cuckoo_store_values", threads 256;
    { keys: Global<K>, values: Global<V>, words: Global<Slot<K, V>>, header: Global<u64>, last: Global<u32>, plan: PairsParams }
}

impl<K: KeyWord, V: ValueWord> StoreValues<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let first = block.first_thread();
        let mut located = block.local(|thread| {
            let index = first + thread as u64;
            let (key, slot) = locate(&table, args.keys, args.plan.pairs, index);
            if slot == NO_SLOT && index < args.plan.pairs && args.header.atomic(header::CELL).load() == index + 1 {
                args.header.atomic(header::CELL_VALUE).store(args.values.load(index).to_u64());
            }
            (key, slot)
        });
        block.each(&mut located, |thread, &mut (key, slot)| {
            let index = first + thread as u64;
            if slot != NO_SLOT
                && let Some(slot) = table.position(key)
                && (args.last.is_null() || args.last.load_read_only(slot as u64) == index as u32)
            {
                table.slots.store_value(slot, key, args.values.load_streaming(index));
            }
        });
    }
}
