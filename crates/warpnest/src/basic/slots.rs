//! Numbers for the keys of a cuckoo or a two-level table: the same for both, since both keep their keys in slots, and one in a cell.

use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::compacting::{MarkSlotValues, NumberSlots, RankSlotValues, SlotsPlan};
use gpu_kernels::hash::HashFunctions;
use std::marker::PhantomData;

/// The slots of a table from keys to 32-bit values, and the cell.
pub(crate) struct SlotTable<'t, K> {
    words: &'t Buffer<u64>,
    header: &'t Buffer<u64>,
    plan: SlotsPlan,
    /// One for each slot and one for the cell, or none if the table is empty: whatever its words are then.
    threads: u64,
    types: PhantomData<K>,
}

impl<'t, K: Key> SlotTable<'t, K> {
    /// A table of `keys` keys in `slots` slots; a key may have copies in several of them if `copies`, that of the earliest of `functions` counts.
    ///
    /// # Safety
    /// The words are those of so many slots, the header is the table's.
    pub unsafe fn new(
        (words, header): (&'t Buffer<u64>, &'t Buffer<u64>),
        (slots, keys): (u64, u64),
        functions: HashFunctions,
        copies: bool,
    ) -> Self {
        // Any value of 32 bits.
        let plan = SlotsPlan { functions, slots, end: 1 << 32, copies: copies as u32, padding: 0 };
        Self { words, header, plan, threads: if keys == 0 { 0 } else { slots + 1 }, types: PhantomData }
    }

    /// Gives the keys numbers from 0 on as their values, and writes key `i` to `keys[i]`.
    ///
    /// # Safety
    /// There is room for all keys, and nobody else uses the table.
    pub unsafe fn number(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(device, 1)?;
        let number = NumberSlots::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            keys_out: keys.argument(),
            count: count.argument(),
            plan: self.plan,
        };
        // SAFETY: the caller's.
        unsafe { stream.launch(&number, self.threads, &[], &[self.words, self.header, keys, &count]) }
    }

    /// The plan for values that name these bits.
    fn of_bits(&self, bits: &Buffer<u32>) -> SlotsPlan {
        SlotsPlan { end: 32 * bits.len() as u64, ..self.plan }
    }

    /// Sets the bits that the values name. A value that names none counts for nothing.
    ///
    /// # Safety
    /// No two values name the same bit.
    pub unsafe fn mark_values(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        let mark = MarkSlotValues::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            bits: bits.argument(),
            plan: self.of_bits(bits),
        };
        // SAFETY: the caller's.
        unsafe { stream.launch(&mark, self.threads, &[self.words, self.header], &[bits]) }
    }

    /// Makes each value the number of bits that are set before the one that it names; `before` are set in the words before each.
    ///
    /// # Safety
    /// As for [`SlotTable::mark_values`], `before` is as long as `bits`, and nobody else uses the table.
    pub unsafe fn rank_values(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        let rank = RankSlotValues::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            bits: bits.argument(),
            before: before.argument(),
            plan: self.of_bits(bits),
        };
        // SAFETY: the caller's.
        unsafe { stream.launch(&rank, self.threads, &[bits, before], &[self.words, self.header]) }
    }
}
