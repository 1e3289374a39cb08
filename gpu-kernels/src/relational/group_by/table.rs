//! Group-by by one hash table in the device's memory, to which all blocks add their rows.
//!
//! The other ways divide the rows by what a sample says of them, which takes several launches and
//! waits. Below about a million rows these take longer than the rows. With a capacity for the keys
//! nothing may wait, so the table takes any count of rows. It then may have too few slots: the
//! count of keys exceeds the capacity, and the rest of the rows is left out.

use super::columns::each_on_chip;
use super::copies::Copies;
use super::in_memory::InMemory;
use super::on_chip::{MAX_ROWS, OnChip};
use crate::column_values::ColumnParams;
use crate::columns::each_column;
use crate::primitives::append::{WARPS, reserve};
use crate::relational::keys::RowKeys;
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Row, Scalar, WordOf};

/// The count of threads of a block of [`GroupRows`], each of which has a row.
const THREADS: u32 = 512;
/// The count of cells of a block's own table, which is on chip.
const CELLS: u32 = 2 * THREADS;
/// The count of steps of a probe after which it looks whether there are too many keys, a power of
/// two.
const STEPS: u32 = 64;

/// The scalar arguments of [`GroupRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GroupRowsParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// How values are added and compared.
    pub column: ColumnParams,
    /// The count of rows.
    pub rows: u64,
    /// The bits of the index of a slot, at least 1. There are more slots than the capacity.
    pub slot_bits: u32,
    /// The most keys. If there are more, the rows of some keys are left out.
    pub capacity: u32,
    /// The count of 32-bit words of the aggregates of listed columns of a group.
    pub listed_words: u32,
    /// An unused field: 0.
    pub padding: u32,
}

/// The row of a thread.
struct OwnRow<K, W> {
    /// The key, if the row exists and is not left out.
    key: Option<K>,
    value: W,
    /// The cell of the key in the block's table.
    cell: u32,
}

kernel! {
    /// Adds each row to the aggregates of the slot of its key. One thread a row.
    ///
    /// `slots` becomes a hash table of the keys: a slot holds the complement of the first row with
    /// its key, or 0. `groups` becomes the count of keys. Each slot has an element of `sums`,
    /// `counts`, `minima` and `maxima`, which become what [`HotPass`](super::HotPass) computes. All
    /// are 0 at first.
    ///
    /// If there are more keys than the capacity, `groups` becomes some count above the capacity,
    /// and the other outputs are unspecified.
    ///
    /// `slots_of_rows` becomes the slot of each row. What is not wanted is null, and so is `values`
    /// without a column of values.
    GroupRows<K: KeyWord, V: Row>, "group_rows", threads 512,
        dynamic words: u32 = |kernel| kernel.on_chip(()).end_after(kernel.plan.listed_words) + 1;
    {
        keys: Global<K>, upper: Global<u32>, values: Global<WordOf<V>>, slots: Global<u32>, sums: Global<u64>, counts: Global<u32>,
        minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, columns: Global<u64>, slots_of_rows: Global<u32>,
        groups: Global<u64>, plan: GroupRowsParams
    }
}

impl<K: KeyWord, V: Row> GroupRows<K, V> {
    /// The word of the first cell, behind the keys of all threads.
    const CELLS_AT: u32 = THREADS * K::BITS / 32;
    /// The word of the first cell's slot in the table in memory.
    const SLOTS_AT: u32 = Self::CELLS_AT + CELLS;

    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>) {
        let args = self;
        let plan = args.plan;
        let chip = args.on_chip(words);
        let held = words.cast::<K>();
        // The word of the count of keys that the block has found first, and has not yet added to
        // `groups`.
        let new_keys = chip.end_after(plan.listed_words);
        let first = block.first_thread();
        let mut threads = block.local(|_| OwnRow { key: None, value: Default::default(), cell: 0 });
        block.phase(&mut threads, |thread, row| {
            let groups = if thread == 0 { args.groups.atomic(0).load() } else { 0 };
            let mut word = Self::CELLS_AT + thread;
            while word < new_keys {
                words.set(word, 0);
                word += THREADS;
            }
            let index = first + thread as u64;
            if index < plan.rows {
                let key = RowKeys::new(args.keys, args.upper).load_streaming(index);
                if V::VALUE_BITS != 0 && !args.values.is_null() {
                    row.value = args.values.load_streaming(index);
                }
                held.set(thread, key);
                row.key = Some(key);
            }
            if thread == 0 {
                words.set(new_keys, (groups > plan.capacity as u64) as u32);
            }
        });
        // Rows are added on chip first, because rows of a frequent key would wait for each other in
        // memory.
        block.phase(&mut threads, |thread, row| {
            // Once there are too many keys, a block has nothing left to do.
            if words.get(new_keys) != 0 {
                row.key = None;
            }
            let Some(key) = row.key else { return };
            // A cell holds the first thread with its key, as a word that is the greater the earlier
            // the thread is, and never 0.
            let own = THREADS - thread;
            let mut cell = key.mix(plan.a, plan.b).scaled(CELLS);
            // At most as many steps as cells, which are more than threads: an empty one ends it.
            loop {
                let owner = words.compare_exchange(Self::CELLS_AT + cell, 0, own);
                if owner == 0 {
                    break;
                }
                if held.get(THREADS - owner) == key {
                    if owner < own {
                        words.fetch_max(Self::CELLS_AT + cell, own);
                    }
                    break;
                }
                cell = (cell + 1) % CELLS;
            }
            row.cell = cell;
            chip.add::<1, WordOf<V>>([chip.low + cell; MAX_ROWS], [row.value; MAX_ROWS]);
            if V::IS_LIST {
                let rows = (first + thread as u64, plan.rows);
                each_on_chip!((column, own) in args.columns, after chip => { column.add::<1, _>(&own, [own.low + cell; 4], rows); });
            }
        });
        block.phase(&mut threads, |thread, row| {
            let Some(key) = row.key else { return };
            if words.get(Self::CELLS_AT + row.cell) != THREADS - thread {
                return;
            }
            let Some(slot) = args.find_or_take(key, first as u32 + thread, (words, new_keys)) else { return };
            words.set(Self::SLOTS_AT + row.cell, slot);
            args.aggregates().add(slot as u64, chip.aggregate(row.cell), plan.column);
            if V::IS_LIST {
                each_on_chip!((column, own) in args.columns, after chip => { column.merge(&own, Copies::new(row.cell, 0), (slot, slot as u64)); });
            }
        });
        block.each(&mut threads, |thread, row| {
            if row.key.is_none() {
                return;
            }
            if thread == 0 {
                args.add_new((words, new_keys));
            }
            if !args.slots_of_rows.is_null() {
                args.slots_of_rows.store(first + thread as u64, words.get(Self::SLOTS_AT + row.cell));
            }
        });
    }

    #[inline(always)]
    fn aggregates(&self) -> InMemory<WordOf<V>> {
        let Self { sums, counts, minima, maxima, .. } = *self;
        InMemory { sums, counts, minima, maxima }
    }

    /// Returns the block's own aggregates, one for each cell.
    #[inline(always)]
    fn on_chip<S>(&self, words: S) -> OnChip<S> {
        let first = Self::SLOTS_AT + CELLS;
        OnChip::new::<WordOf<V>>(words, self.plan.column, self.aggregates().wanted(), first, (CELLS, 0))
    }

    /// Returns the slot of the key of a row, or `None` if there are more keys than the capacity. If
    /// no block had found the key before, it is counted by the word `new_keys`.
    #[inline(always)]
    fn find_or_take(&self, key: K, row: u32, (words, new_keys): (impl Shared<u32>, u32)) -> Option<u32> {
        let Self { slots, plan, .. } = *self;
        let keys = RowKeys::new(self.keys, self.upper);
        let mask = u32::MAX >> (32 - plan.slot_bits);
        let first = key.mix(plan.a, plan.b) >> (32 - plan.slot_bits);
        let (mut slot, mut pause) = (first, first.wrapping_add(STEPS) & mask);
        // At most as many steps as slots: a probe of all slots ends at a pause.
        loop {
            let at = slots.atomic(slot as u64);
            let mut found = at.load();
            if found == 0 {
                found = at.compare_exchange(0, !row);
                if found == 0 {
                    words.fetch_add(new_keys, 1);
                    return Some(slot);
                }
            }
            if keys.load_read_only(!found as u64) == key {
                if found < !row {
                    at.fetch_max(!row);
                }
                return Some(slot);
            }
            slot = slot.wrapping_add(1) & mask;
            if slot == pause {
                // Blocks that run at the same time may fill all slots. Probes of a full table would
                // take long, so each of them adds its block's keys, which soon ends all of them.
                if slot == first || self.add_new((words, new_keys)) > plan.capacity as u64 {
                    return None;
                }
                pause = pause.wrapping_add(STEPS) & mask;
            }
        }
    }

    /// Adds the keys that the block has found first to the count of keys, and returns the count.
    #[inline(always)]
    fn add_new(&self, (words, new_keys): (impl Shared<u32>, u32)) -> u64 {
        let (groups, new) = (self.groups.atomic(0), words.exchange(new_keys, 0) as u64);
        if new == 0 { groups.load() } else { groups.fetch_add(new) + new }
    }
}

/// The words that [`WriteGroups`] leaves in the slots.
pub mod answer {
    /// The index of the group.
    pub const GROUP: u32 = 0;
    /// The first row of the group.
    pub const FIRST_ROW: u32 = 1;
}

/// The scalar arguments of [`WriteGroups`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WriteGroupsParams {
    /// How values were added and compared.
    pub column: ColumnParams,
    /// The count of slots.
    pub slots: u64,
    /// The most groups that are written.
    pub capacity: u64,
    /// The word that the slot of a group gets: one of [`answer`].
    pub answer: u32,
    /// 0.
    pub padding: u32,
}

kernel! {
    /// Writes the groups of a table as [`GroupRows`] leaves it, in any order. One thread a slot.
    ///
    /// Outputs have `capacity` elements. Groups beyond it are left out, but counted by `written`,
    /// which is 0 at first. Each group's slot gets a word that says where the group is.
    /// What is not wanted is null, both what it is read from and where it is written to.
    WriteGroups<K: KeyWord, V: Row>, "group_rows_write", threads 256,
        shared found: u32 = 8, shared start: u64 = 1;
    {
        keys: Global<K>, upper: Global<u32>, slots: Global<u32>, sums: Global<u64>, counts: Global<u32>, minima: Global<WordOf<V>>,
        maxima: Global<WordOf<V>>, columns: Global<u64>, keys_out: Global<K>, firsts_out: Global<u32>, sums_out: Global<u64>,
        counts_out: Global<u32>, minima_out: Global<WordOf<V>>, maxima_out: Global<WordOf<V>>,
        written: Global<u64>, plan: WriteGroupsParams
    }
}

/// The first row of the group of a slot, if it has one, and the group's index.
struct Group {
    row: Option<u32>,
    target: u64,
}

impl<K: KeyWord, V: Row> WriteGroups<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, found: B::Shared<u32>, start: B::Shared<u64>) {
        const { assert!(WARPS == 8) }
        let args = self;
        let WriteGroupsParams { column, slots, capacity, answer, .. } = args.plan;
        let first = block.first_thread();
        let Self { sums, counts, minima, maxima, .. } = args;
        let from = InMemory { sums, counts, minima, maxima };
        let Self { sums_out, counts_out, minima_out, maxima_out, .. } = args;
        let to = InMemory { sums: sums_out, counts: counts_out, minima: minima_out, maxima: maxima_out };
        let mut groups = block.local(|thread| {
            let slot = first + thread as u64;
            let held = if slot < slots { args.slots.load(slot) } else { 0 };
            Group { row: if held != 0 { Some(!held) } else { None }, target: 0 }
        });
        reserve(
            block,
            &mut groups,
            (found, start),
            args.written,
            |group| group.row.is_some() as u32,
            |group| &mut group.target,
        );
        block.each(&mut groups, |thread, group| {
            let (slot, target) = (first + thread as u64, group.target);
            let Some(row) = group.row else { return };
            args.slots.store(slot, if answer == answer::FIRST_ROW { row } else { target as u32 });
            if target >= capacity {
                return;
            }
            args.keys_out.store(target, RowKeys::new(args.keys, args.upper).load_read_only(row as u64));
            from.copy_slot(slot, to, target, column);
            if V::IS_LIST {
                each_column!(column in args.columns => { column.copy_slot(slot, target); });
            }
            if !args.firsts_out.is_null() {
                args.firsts_out.store(target, row);
            }
        });
    }
}
