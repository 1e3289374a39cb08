//! The build of a sorted map: sort the pairs, keep the last pair of each key, and write the index.

use super::config::{Plan, bytes, keys_length, values_length};
use super::report::{SortedReport, SortedStages};
use super::{Sorted, SortedConfig, SortedTable};
use crate::primitives::{Pairs, Scratch, Storage, launch_compact, launch_flag};
use crate::runtime::machine::Machine;
use crate::table::design::Builds;
use crate::table::input::Input;
use crate::table::stages::StageClock;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::seam::Global;
use gpu_kernels::sorted::{GROUP, Index, IndexParams, Layout};
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};

impl Builds for Sorted {
    type Report = SortedReport;

    fn sizes<K: KeyWord, P: Payload>(config: &SortedConfig, items: u64) -> Result<(u64, u64)> {
        let scratch = 8 * config.plan::<K, WordOf<P>>(items, Machine::UNKNOWN)?.scratch_words();
        Ok((bytes::<K, WordOf<P>>(keys_length(items), values_length(items)), scratch))
    }

    fn build<K: KeyWord, P: Payload>(
        config: SortedConfig,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<SortedTable<K, WordOf<P>>> {
        let plan = config.plan::<K, WordOf<P>>(input.pairs, stream.machine())?;
        let mut table = SortedTable {
            device: device.clone(),
            layout: Layout::new(0),
            keys: Buffer::uninitialized(device, keys_length(plan.pairs) as usize)?,
            values: Buffer::uninitialized(device, values_length(plan.pairs) as usize)?,
            scratch: Scratch::new(device),
            report: SortedReport { repeats: 0, stages: None },
            config,
        };
        table.run(stream, &input.with_values(), &plan)?;
        table.scratch.release();
        Ok(table)
    }

    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut SortedTable<K, WordOf<P>>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()> {
        let plan = table.config.plan::<K, WordOf<P>>(input.pairs, stream.machine())?;
        table.layout = Layout::new(0);
        let built = table.ensure_capacity(plan.pairs).and_then(|()| table.run(stream, &input.with_values(), &plan));
        if built.is_err() {
            // The keys of an empty map are padding, which is all ones. If this fails too, the
            // device is lost, and the first error says more.
            let _ = table.keys.set_bytes(stream, 0xff);
        }
        built
    }

    fn config<K: KeyWord, P: Payload>(table: &SortedTable<K, WordOf<P>>) -> &SortedConfig {
        &table.config
    }

    fn report<K: KeyWord, P: Payload>(table: &SortedTable<K, WordOf<P>>) -> &Self::Report {
        &table.report
    }
}

impl<K: KeyWord, V: ValueWord> SortedTable<K, V> {
    /// Allocates more memory if the map is too small for `pairs` pairs.
    fn ensure_capacity(&mut self, pairs: u64) -> Result<()> {
        let device = &self.device;
        if (self.keys.len() as u64) < keys_length(pairs) {
            // A tiny map is allocated first, so that an empty map is left if the large one cannot
            // be allocated.
            self.keys = Buffer::uninitialized(device, keys_length(0) as usize)?;
            self.values = Buffer::uninitialized(device, values_length(0) as usize)?;
            self.keys = Buffer::uninitialized(device, keys_length(pairs) as usize)?;
        }
        if (self.values.len() as u64) < values_length(pairs) {
            self.values = Buffer::uninitialized(device, values_length(pairs) as usize)?;
        }
        Ok(())
    }

    /// Builds the map, and waits until it is built.
    fn run(&mut self, stream: &Stream, input: &Input<'_, K, V>, plan: &Plan<K, V>) -> Result<()> {
        let mut clock = StageClock::new(self.config.timings);
        let Self { scratch, keys: own_keys, values: own_values, .. } = self;
        let work = scratch.reserve(plan.scratch_words())?;
        // SAFETY: the kernel's documentation allows a null count.
        let mut count = unsafe { Global::<u32>::null() };
        // SAFETY: for all launches, the scratch has the words of its plan, which include the pairs
        // and the bits. The map has slots for all pairs and their index. The sort ends where the
        // compaction reads, and the words of both are reused only after them.
        stream.batch(|batch| unsafe {
            let words = batch.write(work);
            let pairs_in = input.read(batch);
            let own = Pairs { keys: batch.write(own_keys), values: batch.write(own_values) };
            let spare = words.offset(plan.pairs_at());
            let (own_storage, in_scratch) = (Storage::Arrays(own), Storage::Words(spare));
            clock.lap(batch)?;
            plan.passes.clear(batch, work)?;
            clock.lap(batch)?;
            plan.passes.count(batch, work, pairs_in.keys)?;
            let differing = plan.passes.differing(batch, work)?;
            plan.passes.scan(batch, work)?;
            let storages = if plan.unique { (&own_storage, &in_scratch) } else { (&in_scratch, &own_storage) };
            plan.passes.order(batch, work, differing, (pairs_in, false), storages)?;
            let from = storages.0.pairs(plan.pairs);
            clock.lap(batch)?;
            if !plan.unique {
                let (pairs, keep) = (plan.pairs, words.offset(plan.keep_at()).cast());
                count = words.offset(Plan::<K, V>::COUNT_AT).cast();
                let state = words.offset(Plan::<K, V>::STATE_AT);
                launch_flag(batch, pairs, from.keys, keep)?;
                batch.zero(work, plan.compaction_words() as usize)?;
                launch_compact(batch, pairs, from.keys, keep, own.keys, count, state)?;
                batch.zero(work, plan.compaction_words() as usize)?;
                launch_compact(batch, pairs, from.values, keep, own.values, count, state)?;
            }
            clock.lap(batch)?;
            let index = Index { keys: own.keys, count, plan: IndexParams { keys: plan.pairs } };
            // If there are fewer keys, the index is smaller, but there may be more padding behind
            // the keys, by at most one group.
            batch.launch(&index, keys_length(plan.pairs) - plan.pairs + GROUP)?;
            clock.lap(batch)
        })?;
        let length = if plan.unique {
            stream.synchronize()?;
            plan.pairs
        } else {
            // The count is in the lower half of the first word.
            work.download_front(stream, 1)?[0] as u32 as u64
        };
        let stages = clock.durations()?.map(SortedStages::new);
        self.layout = Layout::new(length);
        self.report = SortedReport { repeats: plan.pairs - length, stages };
        Ok(())
    }
}
