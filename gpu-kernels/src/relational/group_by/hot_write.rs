//! Writing the groups of hot keys.

use super::hot_table::HotTable;
use super::in_memory::InMemory;
use super::sample::header;
use crate::column_values::ColumnParams;
use crate::columns::each_column;
use crate::primitives::append::{WARPS, reserve};
use crate::seam::{Block, Global};
use crate::types::{KeyWord, Row, WordOf};

/// The scalar arguments of [`HotGroups`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HotGroupsParams {
    /// The table of hot keys.
    pub table: HotTable,
    /// The rules for adding and comparing values.
    pub column: ColumnParams,
    /// The most groups that are written.
    pub capacity: u64,
}

kernel! {
    /// Writes the groups of hot keys from a table and aggregates that [`HotPass`](super::HotPass)
    /// has written. One thread processes a slot.
    ///
    /// Outputs have `capacity` elements. Groups beyond the capacity are left out, but counted by
    /// the header's [`header::GROUPS`], 0 at first. If an aggregate is not wanted, both its input
    /// and its output are null.
    HotGroups<K: KeyWord, V: Row>, "group_hot_groups", threads 256, shared found: u32 = 8, shared start: u64 = 1;
    {
        table: Global<K>, sums: Global<u64>, counts: Global<u32>, minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>,
        keys_out: Global<K>, sums_out: Global<u64>, counts_out: Global<u32>, minima_out: Global<WordOf<V>>,
        maxima_out: Global<WordOf<V>>, columns: Global<u64>, header: Global<u64>, plan: HotGroupsParams
    }
}

/// The group of a slot, if the slot has one, and its index in the output.
struct Group<K> {
    key: Option<K>,
    target: u64,
}

impl<K: KeyWord, V: Row> HotGroups<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, found: B::Shared<u32>, start: B::Shared<u64>) {
        const { assert!(WARPS == 8) }
        let args = self;
        let HotGroupsParams { table, column, capacity } = args.plan;
        let first = block.first_thread() as u32;
        let mut groups = block.local(|thread| {
            let slot = first + thread;
            let (part, in_part) = (slot / table.slots, slot % table.slots);
            let held = |in_part: u32| args.table.load_read_only((part * table.slots + in_part) as u64);
            let key = if slot < table.all_slots() { Some(held(in_part)) } else { None };
            Group { key: key.filter(|&key| table.find(part, key, held) == in_part), target: 0 }
        });
        let next = args.header.offset(header::GROUPS);
        reserve(
            block,
            &mut groups,
            (found, start),
            next,
            |group| group.key.is_some() as u32,
            |group| &mut group.target,
        );
        let Self { sums, counts, minima, maxima, .. } = args;
        let from = InMemory { sums, counts, minima, maxima };
        let Self { sums_out, counts_out, minima_out, maxima_out, .. } = args;
        let to = InMemory { sums: sums_out, counts: counts_out, minima: minima_out, maxima: maxima_out };
        block.each(&mut groups, |thread, group| {
            let (slot, target) = ((first + thread) as u64, group.target);
            if let Some(key) = group.key.filter(|_| target < capacity) {
                args.keys_out.store(target, key);
                from.copy_slot(slot, to, target, column);
                if V::IS_LIST {
                    each_column!(column in args.columns => { column.copy_slot(slot, target); });
                }
            }
        });
    }
}
