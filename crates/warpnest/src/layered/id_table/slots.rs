//! Numbers for the keys of a cuckoo or a two-level table. The code is the same for both, since both
//! keep their keys in slots, and one in a cell.

use super::Numbers;
use crate::{Buffer, Device, Key, Result, Stream};
use gpu_kernels::hash::HashFunctions;
use gpu_kernels::layered::compacting::{FlagSlotValues, NumberSlots, RankSlotValues, SlotsParams};
use std::marker::PhantomData;

/// The slots of a table from keys to 32-bit values, and the cell.
pub(crate) struct SlotTable<'t, K> {
    words: &'t Buffer<u64>,
    header: &'t Buffer<u64>,
    plan: SlotsParams,
    /// The number of threads: one for each slot and one for the cell. It is 0 if the table is
    /// empty, whatever its words are then.
    threads: u64,
    types: PhantomData<K>,
}

impl<'t, K: Key> SlotTable<'t, K> {
    /// The slots of a table of `keys` keys in `slots` slots. With `copies`, a key may have copies
    /// in several of them, and that of the earliest of `functions` counts.
    ///
    /// # Safety
    /// The words are those of so many slots, and the header is the table's.
    pub unsafe fn new(
        (words, header): (&'t Buffer<u64>, &'t Buffer<u64>),
        (slots, keys): (u64, u64),
        functions: HashFunctions,
        copies: bool,
    ) -> Self {
        // Values may have any 32 bits.
        let plan = SlotsParams { functions, slots, end: 1 << 32, copies: copies as u32, capacity: 0 };
        Self { words, header, plan, threads: if keys == 0 { 0 } else { slots + 1 }, types: PhantomData }
    }

    /// The plan for values that name these bits. A value that names none is ignored.
    fn of_bits(&self, bits: &Buffer<u32>) -> SlotsParams {
        SlotsParams { end: 32 * bits.len() as u64, ..self.plan }
    }
}

impl<K: Key> Numbers<K> for SlotTable<'_, K> {
    unsafe fn assign_ids(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(device, 1)?;
        let number = NumberSlots::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            keys_out: keys.argument(),
            count: count.argument(),
            plan: SlotsParams { capacity: keys.len() as u32, ..self.plan },
        };
        // SAFETY: the caller keeps the contract of [`Numbers::assign_ids`].
        unsafe { stream.launch(&number, self.threads, &[], &[self.words, self.header, keys, &count]) }
    }

    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        let flag = FlagSlotValues::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            bits: bits.argument(),
            plan: self.of_bits(bits),
        };
        // SAFETY: the caller keeps the contract of [`Numbers::flag`].
        unsafe { stream.launch(&flag, self.threads, &[self.words, self.header], &[bits]) }
    }

    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        let rank = RankSlotValues::<K> {
            words: self.words.argument(),
            header: self.header.argument(),
            bits: bits.argument(),
            before: before.argument(),
            plan: self.of_bits(bits),
        };
        // SAFETY: the caller keeps the contract of [`Numbers::rank`].
        unsafe { stream.launch(&rank, self.threads, &[bits, before], &[self.words, self.header]) }
    }
}
