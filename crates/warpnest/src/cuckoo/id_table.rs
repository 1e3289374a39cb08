//! A cuckoo map under a compacting table or a multimap. Its keys are in slots, except for the one
//! in the cell.

use super::{Cuckoo, CuckooConfig, CuckooTable};
use crate::table::id_table::{IdTable, Ids, RunsQuery};
use crate::table::input::{Input, Known};
use crate::{Buffer, Result, Stream};
use gpu_kernels::cuckoo::FindParams;
use gpu_kernels::layered::compacting::{FlagSlotValues, NumberSlots, RankSlotValues, SlotsParams};
use gpu_kernels::layered::multi::RunsOfCuckoo;
use gpu_kernels::types::KeyWord;

impl<K: KeyWord> CuckooTable<K, u32> {
    /// Returns the plan of a kernel that processes the keys whose values are below `end`.
    fn slots_below(&self, end: u64, capacity: usize) -> SlotsParams {
        let (functions, slots) = (self.functions, self.slots());
        SlotsParams { functions, slots, end, copies: self.report.repeated_keys as u32, capacity: capacity as u32 }
    }

    /// Returns the count of threads of such a kernel, one for each slot and one for the cell. It is
    /// 0 if the table is empty, because its words are then arbitrary.
    fn rows(&self) -> u64 {
        if self.length == 0 { 0 } else { self.slots() + 1 }
    }
}

impl Ids for Cuckoo {
    fn scratch_bytes<K: KeyWord>(config: &CuckooConfig, pairs: u64, known: Known) -> Result<u64> {
        // The scratch has a word for each slot, which is used to find the last pair of each key.
        let slots = config.check(pairs)?;
        Ok(if known == Known::AnyValues || config.unique_given(known) { 0 } else { 4 * slots })
    }

    fn rebuild_resized<K: KeyWord>(
        table: &mut CuckooTable<K, u32>,
        stream: &Stream,
        input: Input<'_, K, u32>,
    ) -> Result<()> {
        table.resize_and_rebuild(stream, input)
    }

    fn forget<K: KeyWord>(table: &mut CuckooTable<K, u32>, stream: &Stream) {
        table.empty(stream);
    }

    fn id_table<K: KeyWord>(table: &CuckooTable<K, u32>) -> &dyn IdTable<K> {
        table
    }
}

impl<K: KeyWord> IdTable<K> for CuckooTable<K, u32> {
    unsafe fn assign_ids(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        stream.batch(|batch| {
            let number = NumberSlots::<K> {
                words: batch.write(&self.words).cast(),
                header: batch.write(&self.header),
                keys_out: batch.write(keys),
                count: batch.write(&count),
                // All 32-bit values are below this end.
                plan: self.slots_below(1 << 32, keys.len()),
            };
            // SAFETY: the caller keeps the contract of this method.
            unsafe { batch.launch(&number, self.rows()) }
        })
    }

    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        stream.batch(|batch| {
            let flag = FlagSlotValues::<K> {
                words: batch.read(&self.words).cast(),
                header: batch.read(&self.header),
                bits: batch.write(bits),
                // A value beyond the last bit is ignored.
                plan: self.slots_below(32 * bits.len() as u64, 0),
            };
            // SAFETY: the caller keeps the contract of this method.
            unsafe { batch.launch(&flag, self.rows()) }
        })
    }

    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        stream.batch(|batch| {
            let rank = RankSlotValues::<K> {
                words: batch.write(&self.words).cast(),
                header: batch.write(&self.header),
                bits: batch.read(bits),
                before: batch.read(before),
                plan: self.slots_below(32 * bits.len() as u64, 0),
            };
            // SAFETY: the caller keeps the contract of this method.
            unsafe { batch.launch(&rank, self.rows()) }
        })
    }

    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>) -> Result<()> {
        let &RunsQuery { queries, lasts, starts, counts, wide_counts } = query;
        let plan = FindParams { functions: self.functions, queries: queries.len() as u64 };
        // SAFETY: the kernel's documentation allows null for outputs. The caller guarantees the
        // rest; the table and its functions belong together.
        stream.batch(|batch| unsafe {
            let runs = RunsOfCuckoo::<K> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
                header: batch.read(&self.header),
                lasts: batch.read(lasts),
                starts: batch.write_or_null(starts),
                counts: batch.write_or_null(counts),
                wide_counts: batch.write_or_null(wide_counts),
                plan,
            };
            batch.launch(&runs, plan.queries)
        })
    }
}
