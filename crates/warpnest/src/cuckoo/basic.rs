//! A cuckoo map under a compacting table or a multimap.

use super::{BuildReport, CuckooConfig, CuckooMap};
use crate::basic::{RunsQuery, SlotTable};
use crate::input::Input;
use crate::{Buffer, Key, Result, Stream, Tracked};
use gpu_kernels::cuckoo::FindPlan;
use gpu_kernels::multi::RunsOfCuckoo;

impl<K: Key> CuckooMap<K, u32> {
    fn slot_table(&self) -> SlotTable<'_, K> {
        let buffers = (&self.words, &self.header);
        // SAFETY: they are this table's.
        unsafe { SlotTable::new(buffers, (self.slots(), self.length), self.functions, self.report.repeated_keys) }
    }
}

crate::basic::basic_map! {
    CuckooConfig builds CuckooMap, BuildReport tells of it;
    scratch |config, pairs, any_values| {
        // A word for each slot, to find the last pair of each key.
        let slots = config.check(pairs)?;
        Ok(if any_values || config.unique { 0 } else { 4 * slots })
    };
    fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()> {
        self.rebuild_resized(stream, input)
    }
    // There is nothing: a build works in the table.
    fn shrink_to_fit(&mut self) {}
    unsafe fn number(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.slot_table().number(stream, &self.device, keys) }
    }
    unsafe fn mark_values(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.slot_table().mark_values(stream, bits) }
    }
    unsafe fn rank_values(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.slot_table().rank_values(stream, bits, before) }
    }
    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>, writes: &[&dyn Tracked]) -> Result<()> {
        let runs = RunsOfCuckoo::<K> {
            queries: query.queries.argument(),
            words: self.words.argument(),
            header: self.header.argument(),
            lasts: query.lasts.argument(),
            starts: query.starts,
            counts: query.counts,
            wide_counts: query.wide_counts,
            plan: FindPlan { functions: self.functions, queries: query.queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 4] = [query.queries, &self.words, &self.header, query.lasts];
        // SAFETY: the caller's; the table and its functions belong together.
        unsafe { stream.launch(&runs, query.queries.len() as u64, &reads, writes) }
    }
}
