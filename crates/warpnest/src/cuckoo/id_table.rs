//! A cuckoo map under a compacting table or a multimap.

use super::{CuckooConfig, CuckooMap, CuckooReport};
use crate::layered::id_table::{Numbers, RunsQuery, SlotTable};
use crate::table::input::Input;
use crate::{Result, Stream, Tracked};
use gpu_kernels::cuckoo::FindParams;
use gpu_kernels::layered::multi::RunsOfCuckoo;

crate::layered::id_table::impl_id_table! {
    CuckooConfig builds CuckooMap, CuckooReport tells of it;
    scratch |config, pairs, any_values| {
        // There is a word for each slot, to find the last pair of each key.
        let slots = config.check(pairs)?;
        Ok(if any_values || config.unique { 0 } else { 4 * slots })
    };
    fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()> {
        self.rebuild_resized(stream, input)
    }
    // There is no scratch to give back: a build works in the table.
    fn shrink_to_fit(&mut self) {}
    fn numbers(&self) -> impl Numbers<K> {
        let buffers = (&self.words, &self.header);
        // SAFETY: the buffers are this table's.
        unsafe { SlotTable::new(buffers, (self.slots(), self.length), self.functions, self.report.repeated_keys) }
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
            plan: FindParams { functions: self.functions, queries: query.queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 4] = [query.queries, &self.words, &self.header, query.lasts];
        // SAFETY: the caller guarantees the rest; the table and its functions belong together.
        unsafe { stream.launch(&runs, query.queries.len() as u64, &reads, writes) }
    }
}
