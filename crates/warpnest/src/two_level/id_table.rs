//! A two-level map under a compacting table or a multimap.

use super::{TwoLevelConfig, TwoLevelMap, TwoLevelReport};
use crate::layered::id_table::{Numbers, RunsQuery, SlotTable};
use crate::table::input::Input;
use crate::{Result, Stream, Tracked};
use gpu_kernels::layered::multi::RunsOfTwoLevel;
use gpu_kernels::two_level::FindParams;

crate::layered::id_table::impl_id_table! {
    TwoLevelConfig builds TwoLevelMap, TwoLevelReport tells of it;
    scratch |config, pairs, _any_values| config.scratch_bytes::<K, u32>(pairs);
    fn rebuild_from(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()> {
        self.rebuild_from(stream, input)
    }
    fn shrink_to_fit(&mut self) {
        self.shrink_to_fit();
    }
    fn numbers(&self) -> impl Numbers<K> {
        let buffers = (&self.words, &self.header);
        // Copies of a key move through a bucket in step, and end in one slot.
        // SAFETY: the buffers are this table's.
        unsafe { SlotTable::new(buffers, (self.slots(), self.length), self.layout.buckets, false) }
    }
    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>, writes: &[&dyn Tracked]) -> Result<()> {
        let runs = RunsOfTwoLevel::<K> {
            queries: query.queries.argument(),
            words: self.words.argument(),
            seeds: self.seeds.argument(),
            header: self.header.argument(),
            lasts: query.lasts.argument(),
            starts: query.starts,
            counts: query.counts,
            wide_counts: query.wide_counts,
            plan: FindParams { layout: self.layout, queries: query.queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 5] = [query.queries, &self.words, &self.seeds, &self.header, query.lasts];
        // SAFETY: the caller guarantees the rest; the table and its layout belong together.
        unsafe { stream.launch(&runs, query.queries.len() as u64, &reads, writes) }
    }
}
