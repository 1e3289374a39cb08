//! Giving ids to the keys of a cuckoo or a two-level table, including the key in the cell, by a
//! prefix sum over the slots (Alcantara 2011, §4.4). The page table has its own kernel
//! (`page::walk::number`), which computes keys from their slots.

use crate::cuckoo::{self, has_earlier_copy};
use crate::hash::HashFunctions;
use crate::primitives::append::{self, WARPS, write_staged};
use crate::seam::{Block, Global, Shared};
use crate::table::rank::rank;
use crate::table::slots::{EMPTY, Slot, Slots, cell};
use crate::types::KeyWord;

/// The arguments of kernels over the keys in slots.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SlotsParams {
    /// The hash functions of the table, if copies of a key may be in several slots.
    pub functions: HashFunctions,
    /// The count of slots.
    pub slots: u64,
    /// The end of the valid values: keys with this value or a greater one are ignored. They are
    /// copies of a key that broke the promise of unique keys, and have no id yet.
    pub end: u64,
    /// 1 if copies of a key may be in several slots, as in a cuckoo table whose build met a key
    /// twice. Then only the copy that lookups find counts. 0 if no key is in two slots.
    pub copies: u32,
    /// The capacity of the array of keys, if the keys get ids.
    pub capacity: u32,
}

/// A table whose slots, and after them its cell, are its rows. A thread processes one row.
struct Rows<K: KeyWord> {
    slots: Slots<K, u32>,
    table: cuckoo::Table<K, u32>,
    header: Global<u64>,
    plan: SlotsParams,
}

/// The row of a thread: a slot or the cell.
struct Row {
    /// The first word of the slot; [`EMPTY`] if the row is not a slot.
    item: u64,
    value: u32,
    /// Whether the row has a key that counts.
    held: bool,
    /// The id of the key, once it has one.
    target: u64,
}

impl<K: KeyWord> Rows<K> {
    #[inline(always)]
    fn new(words: Global<Slot<K, u32>>, header: Global<u64>, plan: SlotsParams) -> Self {
        Self { slots: Slots::new(words), table: cuckoo::Table::new(words, plan.functions), header, plan }
    }

    /// Returns the block's rows.
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
    /// Gives every key an id, in the order in which blocks append. The id becomes the key's value,
    /// and the key becomes `keys_out[id]` if `id` is below the capacity. `count[0]`, 0 at first,
    /// becomes the count of ids. There is one thread per slot, and one for the cell.
    NumberSlots<K: KeyWord>, "slots_number", threads 256,
        shared sums: u32 = WARPS, shared start: u64 = 1, shared keys: u64 = append::THREADS;
    { words: Global<Slot<K, u32>>, header: Global<u64>, keys_out: Global<K>, count: Global<u64>, plan: SlotsParams }
}

impl<K: KeyWord> NumberSlots<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>, keys: B::Shared<u64>) {
        let args = self;
        let table = Rows::new(args.words, args.header, args.plan);
        let staged = keys.cast::<K>();
        let first = block.first_thread();
        let mut rows = table.take(block);
        append::reserve(block, &mut rows, (sums, start), args.count, |row| row.held as u32, |row| &mut row.target);
        block.phase(&mut rows, |thread, row| {
            if row.held {
                // The cell's row looks like an empty slot, which has the word of the key that is
                // all ones.
                staged.set((row.target - start.get(0)) as u32, Slots::<K, u32>::key_of(row.item));
                row.value = row.target as u32;
            }
            table.put(first + thread as u64, row);
        });
        write_staged(block, &mut rows, (sums, start), staged, (args.keys_out, args.plan.capacity as u64));
    }
}

kernel! {
    /// Sets bit `value mod 32` of `bits[value / 32]` for the value of every key. All bits are 0 at
    /// first, and no two values are equal. There is one thread per slot, and one for the cell.
    FlagSlotValues<K: KeyWord>, "slots_mark_values", threads 256;
    { words: Global<Slot<K, u32>>, header: Global<u64>, bits: Global<u32>, plan: SlotsParams }
}

impl<K: KeyWord> FlagSlotValues<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
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
    /// Replaces every value by its rank: the count of smaller values whose bit in `bits` is set.
    /// `before[i]` is the count of set bits in the words before `bits[i]`. There is one thread per
    /// slot, and one for the cell.
    RankSlotValues<K: KeyWord>, "slots_rank_values", threads 256;
    { words: Global<Slot<K, u32>>, header: Global<u64>, bits: Global<u32>, before: Global<u32>, plan: SlotsParams }
}

impl<K: KeyWord> RankSlotValues<K> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
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
