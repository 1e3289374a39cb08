//! An attempt to build the pages from pairs that are split into bins. The capacity of the bins is
//! known beforehand. If a bin of the last split overflows, that split is repeated.

use super::outcome::Outcome;
use super::plan::{PairStorage, Plan, Planned};
use crate::page::table::PageTable;
use crate::primitives::Pairs;
use crate::runtime::stream::Batch;
use crate::split::{SplitArrays, launch_one_of, queue_split};
use crate::table::input::{Input, Known};
use crate::table::stages::StageClock;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::{BuildPages, BuildParams, Layout, header};
use gpu_kernels::primitives::scan::{Scan, ScanParams, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload};

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Splits the pairs into bins of a capacity that is known beforehand, and builds the pages. If
    /// `zeroed`, the table contains only zeros.
    pub(in crate::page) fn attempt(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
        zeroed: bool,
    ) -> Result<Outcome> {
        let mut clock = StageClock::new(self.config.timings);
        let launches = self.launches((input, plan), plan.unique, zeroed)?;
        let scratch = launches.scratch;
        // SAFETY: the documentation of the kernels allows null starts.
        let nothing = unsafe { Global::null() };
        // SAFETY: the scratch has the words of its plan, the table the words of its layout. All
        // words that must be 0 are 0, and splits run one after the other. There is a count for
        // every page, unless there is only one.
        stream.batch(|batch| unsafe {
            launches.record(batch);
            clock.lap(batch)?;
            batch.zero(scratch, plan.zeros() as usize)?;
            clock.lap(batch)?;
            launches.splits(batch, &mut clock)?;
            launches.build(batch, launches.last_counts(batch), nothing)?;
            clock.lap(batch)
        })?;
        Outcome::of(stream, scratch, plan.levels.len(), &clock)
    }

    /// Repeats the last split of [`PageTable::attempt`], right after it ended with
    /// [`Outcome::LastOverflow`], and builds the pages. The attempt counted the pairs of every bin,
    /// so each bin can now begin where the bin before it ends.
    pub(in crate::page) fn attempt_last_split(
        &mut self,
        stream: &Stream,
        (input, plan): Planned<'_, K, V>,
    ) -> Result<Outcome> {
        let mut clock = StageClock::new(self.config.timings);
        let launches = self.launches((input, plan), plan.unique, false)?;
        let scratch = launches.scratch;
        let last = plan.levels.len() - 1;
        let bins = plan.levels[last].bins();
        // SAFETY: the kernel's documentation allows null counts.
        let nothing = unsafe { Global::null() };
        // The header is zeroed except for the counts of pairs that earlier splits dropped. The last
        // split reads these counts to decide which pairs it drops, and it should decide as before.
        //
        // SAFETY: as for an attempt, which has just filled what the last split reads, with the same
        // plan, layout and input. The counts are added up before they are set to 0 again. The
        // scan's own words are still 0. Counts and starts are aligned to 16 bytes. There is a start
        // for every page, and the end of the last page.
        stream.batch(|batch| unsafe {
            launches.record(batch);
            let starts = launches.starts(batch);
            let add_up = Scan::<u32> {
                input: launches.last_counts(batch),
                output: starts,
                total: starts.offset(bins),
                state: batch.write(scratch).offset(plan.scan_at()),
                plan: ScanParams { items: bins },
            };
            clock.lap(batch)?;
            batch.launch_blocks(&add_up, bins.div_ceil(tile::<u32>()))?;
            batch.zero_range(scratch, header::OVERFLOW as usize..header::WORDS)?;
            batch.zero_range(scratch, plan.counts_at(last) as usize..plan.scan_at() as usize)?;
            clock.lap(batch)?;
            clock.lap(batch)?;
            launches.split(batch, last, starts)?;
            clock.lap(batch)?;
            launches.build(batch, nothing, starts)?;
            clock.lap(batch)
        })?;
        Outcome::of(stream, scratch, plan.levels.len(), &clock)
    }

    /// Returns the launches of an attempt, with scratch for its plan. If `zeroed`, the table
    /// contains only zeros. If `unique`, the order of the pairs need not be kept.
    pub(in crate::page) fn launches<'a>(
        &'a mut self,
        (input, plan): Planned<'a, K, V>,
        unique: bool,
        zeroed: bool,
    ) -> Result<Launches<'a, K, V>> {
        let Self { scratch, words, layout, .. } = self;
        let scratch = scratch.reserve(plan.scratch_words())?;
        // If there are two splits or more, one may write to the table.
        let zeroed = zeroed && plan.levels.len() < 2;
        Ok(Launches { plan, layout, unique, input, scratch, words, zeroed })
    }
}

/// The plan, the input and the buffers of an attempt's launches.
pub(in crate::page) struct Launches<'a, K, V: Payload> {
    pub plan: &'a Plan,
    pub layout: &'a Layout,
    /// Whether the order of the pairs need not be kept.
    pub unique: bool,
    pub input: Input<'a, K, V>,
    pub scratch: &'a Buffer<u64>,
    pub words: &'a Buffer<u64>,
    /// Whether the table contains only zeros.
    pub zeroed: bool,
}

impl<'a, K: KeyWord, V: Payload> Launches<'a, K, V> {
    /// Records the use of all buffers, before the clock starts, so that waiting for other streams
    /// is not measured.
    pub(crate) fn record(&self, batch: &Batch<'a>) {
        self.input.read(batch);
        batch.writes(self.scratch);
        batch.writes(self.words);
    }

    /// Returns the arrays that contain the pairs after `splits` splits.
    pub(crate) fn after(&self, batch: &Batch<'a>, splits: usize) -> Pairs<K, V> {
        let Some(level) = splits.checked_sub(1).map(|number| &self.plan.levels[number]) else {
            return self.input.read(batch);
        };
        let back = self.plan.levels.len() - splits;
        pairs_in(batch, self.plan, back, level.capacity(), (self.words, self.scratch))
    }

    /// Returns the counts of pairs in the bins after `splits` splits, or null if `splits` is 0.
    pub(crate) fn counts(&self, batch: &Batch<'a>, splits: usize) -> Global<u32> {
        match splits.checked_sub(1) {
            Some(number) => batch.write(self.scratch).offset(self.plan.counts_at(number)).cast(),
            // SAFETY: the documentation of the kernels allows null counts.
            None => unsafe { Global::null() },
        }
    }

    /// Returns the counts of pairs in the bins of the last split. One block builds a page of each
    /// bin.
    pub(crate) fn last_counts(&self, batch: &Batch<'a>) -> Global<u32> {
        self.counts(batch, self.plan.levels.len())
    }

    /// Returns the array for the bins' starts, and the last bin's end, if the last split is
    /// repeated.
    fn starts(&self, batch: &Batch<'a>) -> Global<u32> {
        batch.write(self.scratch).offset(self.plan.starts_at()).cast()
    }

    /// Returns whether only keys are split and stored, because the values do not matter and need
    /// not be moved.
    fn keys_alone(&self) -> bool {
        self.input.known == Known::AnyValues
    }

    /// Queues all splits, into bins of the plan's capacity. The clock records when the first split
    /// and the last split end.
    ///
    /// # Safety
    /// As for [`Launches::split`].
    pub(crate) unsafe fn splits(&self, batch: &Batch<'a>, clock: &mut StageClock) -> Result<()> {
        for number in 0..self.plan.levels.len() {
            // SAFETY: the documentation of the kernels allows null starts. Splits run one after the
            // other. The caller guarantees the rest.
            unsafe { self.split(batch, number, Global::null())? };
            if number == 0 {
                clock.lap(batch)?;
            }
        }
        if self.plan.levels.is_empty() {
            clock.lap(batch)?;
        }
        clock.lap(batch)
    }

    /// Queues the split with index `number`. Its bins begin at `starts`, or have the plan's
    /// capacity if `starts` is null.
    ///
    /// # Safety
    /// The scratch has the words of the plan, and the words that must be 0 are 0. The table has the
    /// words of its layout. The splits before this one have been made, and the header records an
    /// overflow. If `starts` is not null, they are the sums of the bins' counts.
    unsafe fn split(&self, batch: &Batch<'a>, number: usize, starts: Global<u32>) -> Result<()> {
        // SAFETY: the caller guarantees it. For `Nothing` the plan is for keys alone.
        unsafe {
            if self.keys_alone() {
                self.split_of::<Nothing>(batch, number, starts)
            } else {
                self.split_of::<V>(batch, number, starts)
            }
        }
    }

    /// Does [`Launches::split`] with payload `P`, which is [`Nothing`] if only keys are moved.
    ///
    /// # Safety
    /// As for [`Launches::split`].
    unsafe fn split_of<P: Payload>(&self, batch: &Batch<'a>, number: usize, starts: Global<u32>) -> Result<()> {
        let Self { plan, layout, scratch, .. } = self;
        let level = &plan.levels[number];
        let header = batch.write(scratch);
        let (from, to) = (self.after(batch, number), self.after(batch, number + 1));
        let arrays = SplitArrays::<K, P> {
            from: Pairs { keys: from.keys, values: from.values.cast() },
            to: Pairs { keys: to.keys, values: to.values.cast() },
            columns: None,
            counts_in: Some(self.counts(batch, number)),
            starts: Some(starts),
            counts: self.counts(batch, number + 1),
            state: (!self.unique).then(|| header.offset(plan.state_at(number))),
            header,
        };
        // SAFETY: the scratch has each split's counts, look-back state and bins at their offsets. A
        // split reads what the one before it wrote. The last split writes to the scratch, and the
        // pages are built from there. The caller guarantees the rest.
        unsafe { queue_split(batch, (number, level), plan.pairs, [layout.a, layout.b], arrays) }
    }

    /// Queues the build of all pages from the output of the last split. With `counts`, the pairs of
    /// a page begin at the bin capacity times the page's index. With `starts`, they lie between two
    /// starts.
    ///
    /// # Safety
    /// As for [`Launches::split`], and all splits have been made. `counts` or `starts`, if not
    /// null, belong to the last split.
    unsafe fn build(&self, batch: &Batch<'a>, counts: Global<u32>, starts: Global<u32>) -> Result<()> {
        let build = self.build_args(batch, counts, starts);
        // Only the kernel that keeps the order accepts null values.
        let unique = self.unique && !self.keys_alone();
        // SAFETY: the caller guarantees the rest; there is a block for each page.
        unsafe { launch_one_of(batch, unique, &build, &build.variant::<true>(), self.layout.pages() as u64) }
    }

    /// Returns the arguments of [`Launches::build`].
    pub(crate) fn build_args(
        &self,
        batch: &Batch<'a>,
        counts: Global<u32>,
        starts: Global<u32>,
    ) -> BuildPages<K, V, false> {
        let Self { plan, layout, .. } = self;
        let from = self.after(batch, plan.levels.len());
        BuildPages::<K, V, false> {
            keys: from.keys,
            // SAFETY: the documentation of the kernel that is launched in this case allows null
            // values.
            values: if self.keys_alone() { unsafe { Global::null() } } else { from.values },
            counts,
            starts,
            words_out: batch.write(self.words).cast(),
            header: batch.write(self.scratch),
            plan: BuildParams {
                layout: **layout,
                page_capacity: plan.levels.last().map_or(0, |level| level.bin_capacity),
                pairs: plan.pairs,
                split: !plan.levels.is_empty() as u32,
                zeroed: self.zeroed as u32,
            },
        }
    }
}

/// Returns the arrays for `capacity` pairs in the storage that the split `back` splits before the
/// last one writes to.
pub(in crate::page) fn pairs_in<'b, K: KeyWord, V: Payload>(
    batch: &Batch<'b>,
    plan: &Plan,
    back: usize,
    capacity: u64,
    (words, scratch): (&'b Buffer<u64>, &'b Buffer<u64>),
) -> Pairs<K, V> {
    let at = match plan.storage_at(back) {
        PairStorage::Table => batch.write(words),
        PairStorage::Scratch(at) => batch.write(scratch).offset(at),
    };
    Pairs { keys: at.cast(), values: at.offset(plan.keys_words(capacity)).cast() }
}
