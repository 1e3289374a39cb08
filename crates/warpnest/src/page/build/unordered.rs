//! A build that treats keys as if they were unique, and the check of whether they are.
//!
//! Keys are sampled first. If few sampled keys are repeated, the pairs are split without keeping
//! their order, and each page lists the keys that it finds again. If the list can hold all of
//! these, they are resolved: one pass over the input finds the last pair of each. Otherwise the
//! pairs are split in order ([`attempt`](super::attempt)).

use super::outcome::{Outcome, Repeats};
use super::plan::Planned;
use super::unordered_plan::UnorderedPlan;
use crate::page::table::PageTable;
use crate::primitives::Pairs;
use crate::table::stages::StageClock;
use crate::{Result, Stream};
use gpu_kernels::page::{
    BuildPagesUnordered, FILTER_WORDS, FindLast, IndexRepeats, LAST_ROUND, LastParams, RepeatsParams, Sample,
    SampleParams, StoreLast, UnorderedParams, header,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar};

/// The most repeated keys that a sample may have. If it has more, no unordered attempt is made.
const MAX_SAMPLED: u64 = 4;

/// The most rounds of a block that looks for the last pairs of keys, and the count of blocks that
/// keeps a large device busy. If there are fewer blocks, they have fewer rounds.
const MAX_ROUNDS: u64 = 16;
const MANY_BLOCKS: u64 = 512;

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns whether so many sampled keys are repeated that an unordered attempt is not
    /// worthwhile, and waits. Few pairs are not sampled.
    pub(in crate::page) fn sample_is_repeated(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
    ) -> Result<bool> {
        let Some((sizes, sample_bits)) = plan.unordered.and_then(|sizes| Some((sizes, sizes.sample_bits?))) else {
            return Ok(false);
        };
        let Self { scratch, layout, .. } = self;
        let scratch = scratch.reserve(plan.scratch_words())?;
        let of_sample = SampleParams {
            a: layout.a,
            b: layout.b,
            keys: plan.pairs,
            position_bits: sizes.position_bits,
            cell_bits: sample_bits + 1,
        };
        stream.batch(|batch| {
            batch.zero(scratch, plan.zeros_unordered() as usize)?;
            let header = batch.write(scratch);
            let cells = header.offset(plan.cells_at()).cast();
            let sample = Sample::<K> { keys: batch.read(input.keys), cells, header, plan: of_sample };
            // SAFETY: the scratch has the words of its plan, and header and cells are 0. There are
            // as many keys as the plan has pairs, and at least one position for each thread.
            unsafe { batch.launch(&sample, 1 << sample_bits) }
        })?;
        let found = scratch.download_front(stream, header::WORDS)?;
        Ok(found[header::SAMPLED as usize] > MAX_SAMPLED)
    }

    /// Splits the pairs without keeping their order, and builds the pages, which list repeated
    /// keys. If `zeroed`, the table contains only zeros. If a sample has too many repeated keys,
    /// nothing is split or built. If a page finds the list full, the attempt ends early.
    pub(in crate::page) fn attempt_unordered(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
        zeroed: bool,
    ) -> Result<Outcome> {
        let Some(sizes) = plan.unordered else { return Ok(Outcome::Repeated) };
        if self.sample_is_repeated(stream, (input, plan))? {
            return Ok(Outcome::Repeated);
        }
        let mut clock = StageClock::new(self.config.timings);
        let launches = self.launches((input, plan), true, zeroed)?;
        let scratch = launches.scratch;
        // SAFETY: the scratch has the words of its plan, the table the words of its layout. All
        // words that must be 0 are 0, and splits run one after the other. There is a count for
        // every page, unless there is only one. The list of repeated keys is behind the storage for
        // pairs. There is a block for each page.
        stream.batch(|batch| unsafe {
            launches.record(batch);
            clock.lap(batch)?;
            batch.zero(scratch, plan.cells_at() as usize)?;
            clock.lap(batch)?;
            launches.splits(batch, &mut clock)?;
            // The documentation of the kernels allows null for the starts.
            let build = launches.build_args(batch, launches.last_counts(batch), Global::null());
            let build = BuildPagesUnordered::<K, V> {
                keys: build.keys,
                values: build.values,
                counts: build.counts,
                starts: build.starts,
                words_out: build.words_out,
                header: build.header,
                repeats: batch.write(scratch).offset(plan.repeats_at()),
                plan: UnorderedParams { build: build.plan, sizes: sizes.list },
            };
            batch.launch_blocks(&build, launches.layout.pages() as u64)?;
            clock.lap(batch)
        })?;
        Outcome::of_listing(stream, scratch, plan.levels.len(), &clock, sizes.list.common as u64)
    }

    /// Stores the value of the last pair for each repeated key that the pages of
    /// [`PageTable::attempt_unordered`] have listed. Returns the milliseconds that this took, if
    /// timings are requested.
    pub(in crate::page) fn resolve_repeats(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
        repeats: Repeats,
    ) -> Result<f64> {
        let Some(sizes) = plan.unordered else { return Ok(0.0) };
        let mut clock = StageClock::new(self.config.timings);
        let Self { scratch, words, layout, .. } = self;
        let scratch = scratch.reserve(plan.scratch_words())?;
        let repeats_at = plan.repeats_at();
        let zeros = (repeats_at + sizes.zeros_at(), sizes.zeros(repeats.all()));
        let index_bits = UnorderedPlan::index_bits(repeats.all());
        let rounds = (plan.pairs / (LAST_ROUND * MANY_BLOCKS)).clamp(1, MAX_ROUNDS);
        let word_bits = <K::PackedWord<V> as Scalar>::BITS;
        let of_repeats =
            RepeatsParams { layout: *layout, sizes: sizes.list, common: repeats.common, index_bits, word_bits };
        let of_last = LastParams { a: layout.a, b: layout.b, keys: plan.pairs, index_bits, rounds: rounds as u32 };
        // SAFETY: the scratch has the words of its plan, which are enough for a full list. The
        // attempt listed the repeated keys, in a table of this layout, from this input. All words
        // that must be 0 are 0.
        stream.batch(|batch| unsafe {
            let list = batch.write(scratch).offset(repeats_at);
            let filter = list.offset(sizes.zeros_at()).cast::<u32>();
            let lasts = filter.offset(FILTER_WORDS as u64);
            let told = lasts.offset(sizes.list.entries());
            let index = told.offset(1 << index_bits);
            let listed = list.offset(sizes.keys_at()).cast::<K>();
            let Pairs { keys, values } = input.read(batch);
            let put = IndexRepeats::<K> { list, keys_out: listed, index, told, filter, plan: of_repeats };
            let find = FindLast::<K> { keys, listed, index, told, filter, lasts, plan: of_last };
            let store = StoreLast::<K, V> { listed, lasts, values, words: batch.write(words).cast(), plan: of_repeats };
            clock.lap(batch)?;
            batch.zero_range(scratch, zeros.0 as usize..(zeros.0 + zeros.1) as usize)?;
            batch.launch(&put, sizes.list.entries())?;
            batch.launch_blocks(&find, plan.pairs.div_ceil(rounds * LAST_ROUND))?;
            batch.launch(&store, sizes.list.entries())?;
            clock.lap(batch)
        })?;
        Ok(clock.durations::<1>()?.map_or(0.0, |[resolving]| resolving))
    }
}
