//! Numbering the keys of a cuckoo or a two-level table: the chapter's prefix sum over the slots (section 4.4), and the key that is in no
//! slot. The page table has its own (`page::number`), whose keys are computed back from where they stand.

use crate::cuckoo::{self, has_earlier_copy};
use crate::hash::HashFunctions;
use crate::primitives::append::{self, WARPS, write_staged};
use crate::seam::{Block, Global, Shared};
use crate::table::slots::{EMPTY, Slot, Slots, cell};
use crate::types::Key;

/// The slots whose keys are to be numbered.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SlotsParams {
    /// The table's functions, if copies of a key may stand in several slots.
    pub functions: HashFunctions,
    /// The number of slots.
    pub slots: u64,
    /// Keys with values from here on are as if they were not there: so are copies of a key that broke the promise to be unique, which have no
    /// value yet.
    pub end: u64,
    /// 1 if they may, as in a cuckoo table whose build met a key twice: then the one that lookups find counts, and the others are as if
    /// they were not there. 0 if no key is in two slots.
    pub copies: u32,
    /// The number of keys that there is room for, if they are to be numbered.
    pub capacity: u32,
}

/// A table whose slots, and then its cell, are looked at by a thread each.
struct Rows<K: Key> {
    slots: Slots<K, u32>,
    table: cuckoo::Table<K, u32>,
    header: Global<u64>,
    plan: SlotsParams,
}

/// What a thread has found.
struct Row {
    /// The first word of the slot; [`EMPTY`] if there is none.
    item: u64,
    value: u32,
    /// Whether it is a key to be numbered.
    held: bool,
    /// Its number, once it has one.
    target: u64,
}

impl<K: Key> Rows<K> {
    #[inline(always)]
    fn new(words: Global<Slot<K, u32>>, header: Global<u64>, plan: SlotsParams) -> Self {
        Self { slots: Slots::new(words), table: cuckoo::Table::new(words, plan.functions), header, plan }
    }

    /// The block's rows.
    #[inline(always)]
    fn take<B: Block>(&self, block: &mut B) -> B::Local<Row> {
        let first = block.first_thread();
        block.local(|thread| {
            let index = first + thread as u64;
            let mut row = Row { item: EMPTY, value: 0, held: false, target: 0 };
            if index < self.plan.slots {
                let slot = index as u32;
                (row.item, row.value) = self.slots.pair_at(slot);
                row.held = row.item != EMPTY;
                if row.held && self.plan.copies != 0 {
                    row.held = !has_earlier_copy(&self.table, Slots::<K, u32>::key_of(row.item), slot);
                }
            } else if index == self.plan.slots
                && let Some(value) = cell::value(self.header)
            {
                (row.value, row.held) = (value, true);
            }
            row.held &= (row.value as u64) < self.plan.end;
            row
        })
    }

    /// Writes the row back with its value, while other threads may read keys.
    #[inline(always)]
    fn put(&self, index: u64, row: &Row) {
        if index < self.plan.slots {
            self.slots.put_back(index as u32, row.item, row.held.then_some(row.value));
        } else if row.held {
            self.header.store(cell::VALUE, row.value as u64);
        }
    }
}

kernel! {
    /// Gives every key a number, its id, in the order in which blocks come: that becomes its value, and the key becomes `keys_out[id]`,
    /// as long as there is room. `count[0]`, 0 at first, becomes their number. One thread a slot, and one for the cell.
    NumberSlots<K: Key>, "slots_number", threads 256,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared keys: u64 = append::THREADS;
    { words: Global<Slot<K, u32>>, header: Global<u64>, keys_out: Global<K>, count: Global<u64>, plan: SlotsParams }
    |args, block| {
        let table = Rows::new(args.words, args.header, args.plan);
        let staged = keys.cast::<K>();
        let first = block.first_thread();
        let mut rows = table.take(block);
        append::reserve(block, &mut rows, (sums, start), args.count, |row| row.held as u32, |row| &mut row.target);
        block.phase(&mut rows, |thread, row| {
            if row.held {
                // What is in no slot looks empty, and the key of an empty slot is the one that is all ones.
                staged.set((row.target - start.get(0)) as u32, Slots::<K, u32>::key_of(row.item));
                row.value = row.target as u32;
            }
            table.put(first + thread as u64, row);
        });
        write_staged(block, &mut rows, (sums, start), staged, (args.keys_out, args.plan.capacity as u64));
    }
}

kernel! {
    /// Sets bit `value mod 32` of `bits[value / 32]` for the value of every key; all bits are 0 at first, and no two values are equal. One
    /// thread a slot, and one for the cell.
    FlagSlotValues<K: Key>, "slots_mark_values", threads 256;
    { words: Global<Slot<K, u32>>, header: Global<u64>, bits: Global<u32>, plan: SlotsParams }
    |args, block| {
        let table = Rows::new(args.words, args.header, args.plan);
        let mut rows = table.take(block);
        block.each(&mut rows, |_, row| {
            if row.held {
                args.bits.atomic((row.value / 32) as u64).fetch_add(1 << (row.value % 32));
            }
        });
    }
}

kernel! {
    /// Every value becomes the number of smaller ones among those that are marked in `bits`; `before[i]` is how many are marked in the words
    /// before `bits[i]`. One thread a slot, and one for the cell.
    RankSlotValues<K: Key>, "slots_rank_values", threads 256;
    { words: Global<Slot<K, u32>>, header: Global<u64>, bits: Global<u32>, before: Global<u32>, plan: SlotsParams }
    |args, block| {
        let table = Rows::new(args.words, args.header, args.plan);
        let first = block.first_thread();
        let mut rows = table.take(block);
        block.each(&mut rows, |thread, row| {
            if row.held {
                row.value = rank(row.value, args.bits, args.before);
            }
            table.put(first + thread as u64, row);
        });
    }
}

/// How many values below `value` are marked in `bits`; `before[i]` are marked in the words before `bits[i]`.
#[inline(always)]
pub(crate) fn rank(value: u32, bits: Global<u32>, before: Global<u32>) -> u32 {
    let word = (value / 32) as u64;
    let smaller = bits.load_read_only(word) & !(u32::MAX << (value % 32));
    before.load_read_only(word) + smaller.count_ones()
}
