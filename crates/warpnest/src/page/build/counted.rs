//! The build of a page map from pairs that are sorted by page, or arrive in that order. No bin can
//! overflow.

use super::attempt::pairs_in;
use super::outcome::Outcome;
use super::plan::Planned;
use crate::page::table::PageTable;
use crate::primitives::{Pairs, RadixPasses, Scratch};
use crate::runtime::stream::Batch;
use crate::split::launch_one_of;
use crate::table::input::Known;
use crate::table::stages::StageClock;
use crate::{Buffer, Result, Stream};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::page::{BuildPages, BuildParams, Layout, Starts, StartsParams, header};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload};

/// Returns the function that maps a key to its page.
fn page_function<K: KeyWord>(layout: &Layout) -> HashFunctions {
    let mut constants = [layout.a, layout.b].into_iter().cycle();
    HashFunctions::new(Formula::Mix, 1, layout.pages(), 0, K::BITS, || constants.next().unwrap_or_default())
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Counts the pairs of every page, puts them at exact offsets, in the order of the input, and
    /// builds the pages.
    pub(in crate::page) fn attempt_counted(&mut self, stream: &Stream, planned: Planned<'_, K, V>) -> Result<Outcome> {
        if planned.0.known == Known::AnyValues {
            self.count_and_move::<Nothing>(stream, planned)
        } else {
            self.count_and_move::<V>(stream, planned)
        }
    }

    /// Does [`PageTable::attempt_counted`]. It moves keys with payload `M`: the map's, or none if
    /// values do not matter.
    fn count_and_move<M: Payload>(&mut self, stream: &Stream, (input, plan): Planned<'_, K, V>) -> Result<Outcome> {
        let mut clock = StageClock::new(self.config.timings);
        let Self { scratch, words, layout, .. } = self;
        let functions = page_function::<K>(layout);
        let passes = RadixPasses::<K, M>::by_bucket(functions, plan.page_bits, plan.pairs, stream.machine());
        // The pages' starts come behind the memory of the splits, which holds the pairs here too.
        let starts_at = plan.scratch_words();
        let pairs_scratch = scratch.reserve(starts_at + starts_words(layout))?;
        let mut passes_scratch = Scratch::new(&self.device);
        let passes_scratch = passes_scratch.reserve(passes.words())?;
        // SAFETY: the following holds for all launches. By the plan, every storage has capacity for
        // all keys and their payloads. The last pass writes to the scratch. There is one start more
        // than there are pages. The table has the words of its layout.
        stream.batch(|batch| unsafe {
            let Pairs { keys, values } = input.read(batch);
            batch.writes(pairs_scratch);
            batch.writes(words);
            clock.lap(batch)?;
            batch.zero(pairs_scratch, header::WORDS)?;
            passes.clear(batch, passes_scratch)?;
            clock.lap(batch)?;
            let mut from = Pairs::<K, M> { keys, values: values.cast() };
            passes.count(batch, passes_scratch, from.keys)?;
            passes.scan(batch, passes_scratch)?;
            for pass in 0..passes.digits() {
                let back = (passes.digits() - 1 - pass) as usize;
                let to = pairs_in::<K, M>(batch, plan, back, plan.pairs, (words, pairs_scratch));
                passes.pass(batch, passes_scratch, pass, from, to)?;
                from = to;
            }
            // Only the kernel that keeps the order accepts null values.
            let moved = M::VALUE_BITS == V::VALUE_BITS;
            let values = if moved { from.values.cast() } else { Global::null() };
            let from = Pairs::<K, V> { keys: from.keys, values };
            let unique = plan.unique && moved;
            build_in_place(batch, &mut clock, (layout, unique, plan.pairs), from, words, (pairs_scratch, starts_at))
        })?;
        Outcome::of(stream, pairs_scratch, 0, &clock)
    }

    /// Builds the pages from input that is sorted by the keys mixed with the layout's constants,
    /// and contains each key once.
    pub(in crate::page) fn attempt_in_order(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
    ) -> Result<Outcome> {
        let mut clock = StageClock::new(self.config.timings);
        let Self { scratch, words, layout, .. } = self;
        let starts_at = header::WORDS as u64;
        let scratch = scratch.reserve(starts_at + starts_words(layout))?;
        // SAFETY: the scratch has a header and behind it the starts, one more than there are pages.
        // The table has the words of its layout.
        stream.batch(|batch| unsafe {
            let pairs = input.read(batch);
            batch.writes(scratch);
            batch.writes(words);
            clock.lap(batch)?;
            batch.zero(scratch, header::WORDS)?;
            clock.lap(batch)?;
            build_in_place(batch, &mut clock, (layout, true, plan.pairs), pairs, words, (scratch, starts_at))
        })?;
        Outcome::of(stream, scratch, 0, &clock)
    }
}

/// Returns the count of 64-bit words for the starts of all pages, and the end of the last one.
fn starts_words(layout: &Layout) -> u64 {
    (layout.pages() as u64 + 1).div_ceil(2)
}

/// Builds the pages from `pairs` pairs that are sorted by page. The first stage finds where each
/// page's pairs begin, and the second stage builds the pages.
///
/// # Safety
/// The batch gave `pairs` pairs, sorted by page. If `unique`, their keys are all different and have
/// values. The scratch begins with a header that is 0, and has [`starts_words`] words that begin at
/// `starts_at`. The table has the words of its layout.
unsafe fn build_in_place<'b, K: KeyWord, V: Payload>(
    batch: &Batch<'b>,
    clock: &mut StageClock,
    (layout, unique, pairs): (&Layout, bool, u64),
    from: Pairs<K, V>,
    words: &'b Buffer<u64>,
    (scratch, starts_at): (&'b Buffer<u64>, u64),
) -> Result<()> {
    let header = batch.write(scratch);
    let starts = header.offset(starts_at).cast::<u32>();
    let find_starts = Starts { keys: from.keys, starts, plan: StartsParams { layout: *layout, keys: pairs } };
    let build = BuildPages::<K, V, false> {
        keys: from.keys,
        values: from.values,
        // SAFETY: the kernel's documentation allows null counts.
        counts: unsafe { Global::null() },
        starts,
        words_out: batch.write(words).cast(),
        header,
        plan: BuildParams { layout: *layout, page_capacity: 0, pairs, split: 0, zeroed: 0 },
    };
    // SAFETY: the caller guarantees it.
    unsafe {
        batch.launch(&find_starts, layout.pages() as u64 + 1)?;
        clock.lap(batch)?;
        clock.lap(batch)?;
        launch_one_of(batch, unique, &build, &build.variant::<true>(), layout.pages() as u64)?;
        clock.lap(batch)
    }
}
