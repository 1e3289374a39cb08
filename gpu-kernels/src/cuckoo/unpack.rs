//! Writing out all pairs of a table, or the keys of a set. The kernel also writes out two-level
//! tables, whose keys are in slots and a cell, too.

use super::build::has_earlier_copy;
use super::{Slot, Table, fillers};
use crate::hash::HashFunctions;
use crate::primitives::append::{WARPS, append_pairs};
use crate::seam::{Block, Global};
use crate::table::slots::{Slots, cell};
use crate::types::{KeyWord, Payload, WordOf};

/// The scalar arguments of [`Unpack`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UnpackParams {
    /// The hash functions of a cuckoo table; not used for a two-level table.
    pub functions: HashFunctions,
    /// The count of slots.
    pub slots: u64,
    /// The capacity of the output, in pairs.
    pub capacity: u64,
    /// 1 if copies of a key may be in several slots of a map. In that case only the copy that
    /// lookups find is written.
    pub copies: u32,
    /// An unused field, so that the struct has no padding.
    pub padding: u32,
}

kernel! {
    /// Writes the pairs of all slots and of the cell to `keys_out` and `values_out`, up to the
    /// capacity. In a set it writes the keys alone. There is one thread per slot, and one for the
    /// cell.
    ///
    /// `count[0]`, 0 at first, becomes the count of pairs. The pairs are in the order in which
    /// blocks reserve their output. `values_out` may be null in a set.
    Unpack<K: KeyWord, V: Payload>, "cuckoo_unpack", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        words: Global<Slot<K, V>>, header: Global<u64>, keys_out: Global<K>, values_out: Global<WordOf<V>>,
        count: Global<u64>, plan: UnpackParams,
    }
}

impl<K: KeyWord, V: Payload> Unpack<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let UnpackParams { slots, capacity, copies, .. } = args.plan;
        let table = Table::<K, V>::new(args.words, args.plan.functions);
        let output = (args.keys_out, args.values_out, capacity);
        append_pairs::<K, V, _>(block, (sums, start), args.count, output, |index| {
            if index == slots {
                return cell::value(args.header).map(|value| (K::ALL_ONES, value));
            }
            if index > slots {
                return None;
            }
            let slot = index as u32;
            let (item, value) = table.slots.pair_at(slot);
            if item == Slots::<K, V>::EMPTY {
                return None;
            }
            let key = Slots::<K, V>::key_of(item);
            let left_out = if V::VALUE_BITS == 0 {
                fillers::is_filler(&table, key, slot)
            } else {
                copies != 0 && has_earlier_copy(&table, key, slot)
            };
            (!left_out).then_some((key, value))
        });
    }
}
