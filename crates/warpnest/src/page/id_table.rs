//! A page map under a compacting table or a multimap.

use super::config::{Page, PageConfig};
use super::table::PageTable;
use crate::table::design::Builds;
use crate::table::id_table::{IdTable, Ids, RunsQuery};
use crate::table::input::{Input, Known};
use crate::{Buffer, Result, Stream};
use gpu_kernels::layered::multi::{Runs, RunsParams};
use gpu_kernels::page::{FlagValues, Number, NumberParams, RankValues, ValuesParams};
use gpu_kernels::types::KeyWord;

impl Ids for Page {
    fn scratch_bytes<K: KeyWord>(config: &PageConfig, pairs: u64, known: Known) -> Result<u64> {
        Ok(8 * config.plan_for::<K, u32>(pairs, known)?.scratch_words())
    }

    fn rebuild_resized<K: KeyWord>(
        table: &mut PageTable<K, u32>,
        stream: &Stream,
        input: Input<'_, K, u32>,
    ) -> Result<()> {
        <Self as Builds>::rebuild(table, stream, input)
    }

    fn forget<K: KeyWord>(table: &mut PageTable<K, u32>, stream: &Stream) {
        table.empty(stream);
    }

    fn id_table<K: KeyWord>(table: &PageTable<K, u32>) -> &dyn IdTable<K> {
        table
    }
}

impl<K: KeyWord> IdTable<K> for PageTable<K, u32> {
    unsafe fn assign_ids(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let plan = NumberParams { layout: self.layout, capacity: keys.len() as u64 };
        stream.batch(|batch| {
            let (words, keys_out) = (batch.write(&self.words).cast(), batch.write(keys));
            let number = Number::<K> { words, keys_out, count: batch.write(&count), plan };
            // SAFETY: the caller guarantees the rest; the table and its layout belong together.
            unsafe { batch.launch(&number, self.buckets_with_pairs()) }
        })
    }

    unsafe fn flag(&self, stream: &Stream, bits: &Buffer<u32>) -> Result<()> {
        let plan = ValuesParams { layout: self.layout };
        stream.batch(|batch| {
            let flag = FlagValues::<K> { words: batch.read(&self.words).cast(), bits: batch.write(bits), plan };
            // SAFETY: the caller guarantees the rest; the table and its layout belong together.
            unsafe { batch.launch(&flag, self.buckets_with_pairs()) }
        })
    }

    unsafe fn rank(&self, stream: &Stream, bits: &Buffer<u32>, before: &Buffer<u32>) -> Result<()> {
        let plan = ValuesParams { layout: self.layout };
        stream.batch(|batch| {
            let (bits, before) = (batch.read(bits), batch.read(before));
            let rank = RankValues::<K> { words: batch.write(&self.words).cast(), bits, before, plan };
            // SAFETY: the caller guarantees the rest; the table and its layout belong together.
            unsafe { batch.launch(&rank, self.buckets_with_pairs()) }
        })
    }

    unsafe fn find_runs(&self, stream: &Stream, query: &RunsQuery<'_, K>) -> Result<()> {
        let &RunsQuery { queries, lasts, starts, counts, wide_counts } = query;
        let plan = RunsParams { layout: self.layout, queries: queries.len() as u64 };
        // SAFETY: the kernel's documentation allows null for outputs. The caller guarantees the
        // rest; the table and its layout belong together.
        stream.batch(|batch| unsafe {
            let runs = Runs::<K> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
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
