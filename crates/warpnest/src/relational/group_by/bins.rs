//! Group-by for many groups: rows are split into bins by their mixed keys, and each bin is
//! aggregated on chip.

use super::bins_plan::{Expected, HashPlan, Page};
use super::listed::List;
use super::outputs::{Computed, InputColumn, Moved, OwnArrays, moved, values};
use crate::primitives::{Pairs, Scratch};
use crate::runtime::stream::Batch;
use crate::split::Regions;
use crate::split::{SplitArrays, or_null, queue_split, queue_starts};
use crate::{Buffer, Result, Stream};
use gpu_kernels::columns::Source;
use gpu_kernels::page::header;
use gpu_kernels::relational::group_by::{GroupChains, GroupChainsParams, GroupPages, GroupPagesParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Row, inverse_multiplier};
use std::marker::PhantomData;

/// The result of a group-by by hashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The count of groups. Groups are written only as far as the outputs have capacity.
    Groups(u64),
    /// No usable result, because a bin got more rows, or more groups, than fit.
    Overflow,
}

/// The rows of a group-by by hashing.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashInput<'i, K> {
    pub keys: &'i Buffer<K>,
    pub columns: &'i [InputColumn<'i>],
    /// The count of rows.
    pub rows: u64,
    /// The regions that contain the rows, with the count of rows of each region; `None` if the rows
    /// are contiguous.
    pub regions: Option<(Regions, &'i Buffer<u32>)>,
}

impl<'i, K> HashInput<'i, K> {
    /// Returns an input of all rows of `keys`.
    pub(super) fn all(keys: &'i Buffer<K>, columns: &'i [InputColumn<'i>]) -> Self {
        Self { keys, columns, rows: keys.len() as u64, regions: None }
    }
}

/// Aggregates the rows of each key by hashing; waits for the result. `expected` is a guess of the
/// groups, and `constants` mix the keys. The first `groups_before` groups of the outputs stay as
/// they are, and are not counted. There is a column of values unless `V` is
/// [`Nothing`](gpu_kernels::types::Nothing).
///
/// The groups are written in any order, as far as the outputs have capacity. After an overflow the
/// outputs are unspecified. An overflow happens if there are many more groups than expected, or if
/// some keys have many more rows than other keys.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(super) fn group_in_bins<K: KeyWord, V: Row>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: HashInput<'_, K>,
    (groups_before, expected): (u64, Expected),
    constants: [u64; 2],
    out: &Computed<K>,
) -> Result<Found> {
    let rows = input.rows;
    let at = (rows, input.regions.map(|(regions, _)| regions));
    let (mut expected, shape, machine) = (expected, out.shape(), stream.machine());
    let mut chains = HashPlan::of_chains::<K, V>(machine, at, expected, &shape);
    loop {
        let Some(plan) = chains.take().or_else(|| HashPlan::new::<K, V>(machine, at, expected, &shape)) else {
            return Ok(Found::Overflow);
        };
        match with_plan::<K, V>(stream, scratch, (&plan, groups_before), input, constants, out)?.0 {
            Attempt::Groups(groups) => return Ok(Found::Groups(groups)),
            // This attempt also tried hash pages, but with the bins of chains.
            Attempt::FullPages if plan.page == Page::Chains => {}
            Attempt::FullPages if expected.most < rows => expected.most = (expected.most * MORE_GROUPS).min(rows),
            Attempt::FullPages | Attempt::Overflow => return Ok(Found::Overflow),
        }
    }
}

/// A bin may have at most `rows / SHARES_OF_BIN + SMALL_BIN` rows, because one block aggregates all
/// rows of a bin.
pub(super) const SHARES_OF_BIN: u64 = 128;
const SMALL_BIN: u64 = 1 << 17;

/// The factor by which the expected count of groups grows after a page got too many groups.
const MORE_GROUPS: u64 = 16;

/// The result of an attempt with one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Groups(u64),
    /// A page got more groups than fit.
    FullPages,
    /// A bin got more rows than fit.
    Overflow,
}

/// Does [`group_in_bins`] with the given plan. Also returns the kind of page that produced the
/// groups: if chains are too long or bins overflow, hash pages replace chains.
pub(super) fn with_plan<K: KeyWord, V: Row>(
    stream: &Stream,
    scratch: &mut Scratch,
    (plan, groups_before): (&HashPlan, u64),
    input: HashInput<'_, K>,
    [a, b]: [u64; 2],
    out: &Computed<K>,
) -> Result<(Attempt, Page)> {
    let mut page = plan.page;
    if plan.rows == 0 {
        return Ok((Attempt::Groups(0), page));
    }
    let scratch = scratch.reserve(plan.scratch_words())?;
    let launches = Launches::<K, V> { plan, scratch, input, constants: [a, b], groups_before, out, row: PhantomData };
    stream.batch(|batch| {
        launches.record(batch);
        batch.zero(scratch, plan.zeros() as usize)?;
        for level in 0..plan.levels.len() {
            launches.split(batch, level, None)?;
        }
        launches.pages(batch, page, None)
    })?;
    let last = (plan.levels.len() as u64).saturating_sub(1);
    let mut found = scratch.download_front(stream, header::WORDS)?;
    let overflowed = |found: &[u64], level: u64| found[(header::OVERFLOW + level) as usize] != 0;
    if (0..last).any(|level| overflowed(&found, level)) {
        return Ok((Attempt::Overflow, page));
    }
    if overflowed(&found, last) {
        page = Page::Hash;
        let bins = plan.pages();
        let largest = plan.rows / SHARES_OF_BIN + SMALL_BIN;
        let counts = scratch.elements_at::<u32>(plan.counts_at(last as usize), bins as usize).download(stream)?;
        if counts.iter().any(|&rows| rows as u64 > largest) {
            return Ok((Attempt::Overflow, page));
        }
        // All rows were counted, so each bin can begin where the previous bin ends.
        stream.batch(|batch| {
            launches.record(batch);
            let starts = batch.write(scratch).offset(plan.starts_at()).cast::<u32>();
            let state = batch.write(scratch).offset(plan.scan_at());
            // SAFETY: there is a count for each bin, and there are words for the starts and their
            // end, and for the scan's state, which is 0.
            unsafe { queue_starts(batch, bins, launches.counts(batch, last as usize), starts, state)? };
            batch.zero(scratch, header::WORDS)?;
            batch.zero_range(scratch, plan.counts_at(last as usize) as usize..plan.counts_end() as usize)?;
            launches.split(batch, last as usize, Some(starts))?;
            launches.pages(batch, page, Some(starts))
        })?;
        found = scratch.download_front(stream, header::WORDS)?;
    } else if page == Page::Chains && found[header::FAILED as usize] != 0 {
        page = Page::Hash;
        stream.batch(|batch| {
            launches.record(batch);
            batch.zero(scratch, header::WORDS)?;
            launches.pages(batch, page, None)
        })?;
        found = scratch.download_front(stream, header::WORDS)?;
    }
    let attempt = match found[header::FAILED as usize] {
        0 => Attempt::Groups(found[header::LENGTH as usize]),
        _ => Attempt::FullPages,
    };
    Ok((attempt, page))
}

/// The launches of an attempt, and their inputs and outputs.
struct Launches<'a, K, V> {
    plan: &'a HashPlan,
    scratch: &'a Buffer<u64>,
    input: HashInput<'a, K>,
    constants: [u64; 2],
    groups_before: u64,
    out: &'a Computed<K>,
    row: PhantomData<V>,
}

impl<'a, K: KeyWord, V: Row> Launches<'a, K, V> {
    /// Records all buffers, before the first launch that writes a buffer.
    fn record(&self, batch: &Batch<'a>) {
        batch.writes(self.scratch);
        self.rows(batch, 0);
        self.counts_in(batch, 0);
        self.keys_out(batch);
        self.out.arrays(batch);
        let of_columns = self.input.columns.iter().filter_map(|column| column.words);
        of_columns.for_each(|words| _ = words.read(batch));
    }

    fn keys_out(&self, batch: &Batch<'a>) -> Global<K> {
        batch.write(&self.out.keys)
    }

    /// Queues writing the list of columns for the split of level `level`, or for the kernel after
    /// the last one, unless the payload is no list. Returns its place.
    ///
    /// # Safety
    /// The scratch is as large as the plan says.
    unsafe fn list(&self, batch: &Batch<'a>, level: usize) -> Result<Global<u64>> {
        let list = batch.write(self.scratch).offset(self.plan.list_at(level));
        if !V::IS_LIST {
            return Ok(list);
        }
        let words = batch.write(self.scratch);
        let after = |level: usize, column: usize| words.offset(self.plan.column_at::<K, V>(level, column));
        let is_last = level == self.plan.levels.len();
        let out: Vec<_> = (0..self.plan.listed()).filter(|_| !is_last).map(|column| after(level, column)).collect();
        let mut columns = moved(self.input.columns, batch, self.out, &out);
        if let Some(before) = level.checked_sub(1) {
            for (number, (.., moved)) in columns.iter_mut().enumerate() {
                *moved = Moved { words: after(before, number), source: Source::Words, out: moved.out };
            }
        }
        let groups = is_last.then(|| self.out.arrays(batch));
        // SAFETY: the caller guarantees it.
        unsafe { List::new(columns, [None, groups]).queue(batch, list)? };
        Ok(list)
    }

    fn counts(&self, batch: &Batch<'a>, level: usize) -> Global<u32> {
        batch.write(self.scratch).offset(self.plan.counts_at(level)).cast()
    }

    /// Returns the count of rows of each region of a split's input, unless the input is one region.
    fn counts_in(&self, batch: &Batch<'a>, level: usize) -> Option<Global<u32>> {
        match level.checked_sub(1) {
            None => self.input.regions.map(|(_, counts)| batch.read(counts)),
            Some(before) => Some(self.counts(batch, before)),
        }
    }

    /// Returns the rows after `splits` splits.
    fn rows(&self, batch: &Batch<'a>, splits: usize) -> Pairs<K, V> {
        match splits.checked_sub(1) {
            None => Pairs { keys: batch.read(self.input.keys), values: values::<V>(self.input.columns, batch) },
            Some(level) => {
                let storage = batch.write(self.scratch).offset(self.plan.storage_at(level));
                Pairs::at(storage, self.plan.levels[level].capacity())
            }
        }
    }

    /// Queues the split of level `number`. Its bins begin at `starts` if these are given.
    fn split(&self, batch: &Batch<'a>, number: usize, starts: Option<Global<u32>>) -> Result<()> {
        let arrays = SplitArrays {
            from: self.rows(batch, number),
            to: self.rows(batch, number + 1),
            // SAFETY: the scratch is as large as the plan says.
            columns: Some(unsafe { self.list(batch, number)? }),
            counts_in: self.counts_in(batch, number),
            starts,
            counts: self.counts(batch, number),
            state: None,
            header: batch.write(self.scratch),
        };
        let level = (number, &self.plan.levels[number]);
        // SAFETY: the scratch has each split's counts, which are 0, and its bins. The bins either
        // have the same capacity, or are placed by `starts` so that all rows fit. A split reads the
        // rows where the previous split wrote them.
        unsafe { queue_split::<K, V>(batch, level, self.plan.rows, self.constants, arrays) }
    }

    /// Queues the aggregation of the last split's bins, which begin at `starts` if these are given.
    /// Bins with starts are possible only with hash pages.
    fn pages(&self, batch: &Batch<'a>, page: Page, starts: Option<Global<u32>>) -> Result<()> {
        let ([a, b], plan) = (self.constants, self.plan);
        let from = self.rows(batch, plan.levels.len());
        let last = plan.levels.len().checked_sub(1);
        let counts = or_null(starts.or_else(|| last.map(|last| self.counts(batch, last))));
        let bin_capacity = last.filter(|_| starts.is_none()).map_or(0, |last| plan.levels[last].bin_capacity);
        let (keys_out, capacity) = (self.keys_out(batch), self.out.capacity());
        let OwnArrays { counts: counts_out, sums, minima, maxima } = self.out.arrays(batch).own::<V>();
        // SAFETY: the scratch is as large as the plan says.
        let columns = unsafe { self.list(batch, plan.levels.len())? };
        if page == Page::Chains {
            let group = GroupChains::<K, V> {
                keys: from.keys,
                values: from.values,
                counts,
                keys_out,
                counts_out,
                sums_out: sums,
                minima_out: minima,
                maxima_out: maxima,
                columns,
                header: batch.write(self.scratch),
                plan: GroupChainsParams {
                    a,
                    inverse_of_b: inverse_multiplier(b),
                    bin_capacity,
                    capacity,
                    groups_before: self.groups_before,
                    column: self.out.params(),
                    page_bits: plan.page_bits,
                    padding: 0,
                },
            };
            // SAFETY: as below, and the plan's bins have at most as many rows as chains can hold.
            return unsafe { batch.launch_blocks(&group, plan.pages()) };
        }
        let group = GroupPages::<K, V> {
            keys: from.keys,
            values: from.values,
            counts,
            keys_out,
            counts_out,
            sums_out: sums,
            minima_out: minima,
            maxima_out: maxima,
            columns,
            header: batch.write(self.scratch),
            plan: GroupPagesParams {
                a,
                b,
                rows: plan.rows,
                bin_capacity,
                capacity,
                groups_before: self.groups_before,
                column: self.out.params(),
                page_bits: plan.page_bits,
                slots: plan.slots,
                listed_words: self.out.shape().listed_words::<V>(),
                copy_bits: plan.copy_bits,
            },
        };
        // SAFETY: the rows are where the last split put them, or in the input. There is a block for
        // each bin, and the outputs have the given capacity.
        unsafe { batch.launch_blocks(&group, plan.pages()) }
    }
}
