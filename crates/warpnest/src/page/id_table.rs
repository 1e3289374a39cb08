//! A page map under a compacting table or a multimap.

use super::{PageConfig, PageTable};
use crate::layered::id_table::{IdTable, RunsQuery};
use crate::table::input::Input;
use crate::table::raw::BuiltTable;
use crate::{Buffer, Result, Stream, Tracked};
use gpu_kernels::layered::multi::{Runs, RunsParams};
use gpu_kernels::page::{FlagValues, Number, NumberParams, RankValues, ValuesParams};
use gpu_kernels::types::Key;

impl<K: Key> IdTable<K> for PageTable<K, u32> {
    fn scratch_bytes(config: &PageConfig, pairs: u64, any_values: bool) -> Result<u64> {
        Ok(8 * config.plan_for::<K, u32>(pairs, any_values)?.scratch_words())
    }

    fn rebuild_resized(&mut self, stream: &Stream, input: Input<'_, K, u32>) -> Result<()> {
        self.rebuild(stream, input)
    }

    fn forget(&mut self, stream: &Stream) {
        self.empty(stream);
    }

    unsafe fn assign_ids(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let plan = NumberParams { layout: self.layout, capacity: keys.len() as u64 };
        let number =
            Number::<K> { words: self.words.argument(), keys_out: keys.argument(), count: count.argument(), plan };
        // SAFETY: the caller guarantees the rest; the table and its layout belong together.
        unsafe { stream.launch(&number, self.buckets_with_pairs(), &[], &[&self.words, keys, &count]) }
    }

    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        let plan = ValuesParams { layout: self.layout };
        let flag = FlagValues::<K> { words: self.words.argument(), bits: bits.argument(), plan };
        // SAFETY: the caller guarantees the rest; the table and its layout belong together.
        unsafe { stream.launch(&flag, self.buckets_with_pairs(), &[&self.words], &[bits]) }
    }

    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        let plan = ValuesParams { layout: self.layout };
        let rank =
            RankValues::<K> { words: self.words.argument(), bits: bits.argument(), before: before.argument(), plan };
        // SAFETY: the caller guarantees the rest; the table and its layout belong together.
        unsafe { stream.launch(&rank, self.buckets_with_pairs(), &[bits, before], &[&self.words]) }
    }

    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>, writes: &[&dyn Tracked]) -> Result<()> {
        let runs = Runs::<K> {
            queries: query.queries.argument(),
            words: self.words.argument(),
            lasts: query.lasts.argument(),
            starts: query.starts,
            counts: query.counts,
            wide_counts: query.wide_counts,
            plan: RunsParams { layout: self.layout, queries: query.queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 3] = [query.queries, &self.words, query.lasts];
        // SAFETY: the caller guarantees the rest; the table and its layout belong together.
        unsafe { stream.launch(&runs, query.queries.len() as u64, &reads, writes) }
    }
}
