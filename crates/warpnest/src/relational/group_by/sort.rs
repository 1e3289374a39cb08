//! Group-by by sorting rows, which works for every query.
//!
//! The keys are sorted with the only column that is added or compared. If there are several such
//! columns, or if first or last rows are wanted, the keys are sorted with the row indices instead.
//! The sort is stable, so the rows of each group are in the order of the input.

use super::memory::{Grouped, Memory, permuted};
use super::wanted::{Order, Query, Wanted};
use crate::primitives::{
    OF_KEY, Pairs, Reduce, Scratch, Segments, Sort, heads_words, launch_gather, queue_runs, runs_words, starts_words,
};
use crate::relational::columns::{KeysOnDevice, Recoding, Words, WordsOf, recode};
use crate::runtime::stream::Batch;
use crate::types::KeyOrder;
use crate::{Buffer, Result, Stream};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::primitives::reduce::Combine;
use gpu_kernels::relational::group_by::means::{Means, MeansParams};
use gpu_kernels::relational::group_by::sort::{DescribeGroups, DescribeParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload, ValueWord, WordOf};

/// The columns of a query on a device.
pub(super) struct SortInput<'i, 'q, K> {
    pub keys: &'i KeysOnDevice<'q, K>,
    pub values: &'i [WordsOf<'q>],
    pub rows: u64,
    /// The order of the keys.
    pub order: KeyOrder,
}

/// Returns the keys of the groups, and their aggregates in the requested order.
pub(super) fn group_sorted<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    query: &Query<'_>,
    input: &SortInput<'_, '_, K>,
    memory: Memory<K>,
) -> Result<Grouped<K>> {
    let device = scratch.device().clone();
    if input.rows == 0 {
        return memory.of_length(&device, 0);
    }
    let mut folded = (0..query.columns.len()).filter(|&column| query.is_folded(column));
    let rides = match (query.needs_rows(), folded.next(), folded.next()) {
        (false, None, _) => return sorted_with::<K, Nothing>(stream, scratch, query, input, (None, None), memory),
        (false, Some(column), None) => Some(column),
        _ => None,
    };
    match rides.map(|column| &input.values[column]) {
        Some(WordsOf::Narrow(words)) => {
            sorted_with::<K, u32>(stream, scratch, query, input, (Some(words), rides), memory)
        }
        Some(WordsOf::Wide(words)) => {
            sorted_with::<K, u64>(stream, scratch, query, input, (Some(words), rides), memory)
        }
        None => sorted_with::<K, u32>(stream, scratch, query, input, (None, None), memory),
    }
}

/// The offsets of arrays in the scratch, in 64-bit words; each offset is even. The sort uses the
/// words at the beginning of the scratch, which are reused after the sort.
struct Regions {
    coded: u64,
    row_numbers: u64,
    keys: u64,
    payload: u64,
    starts: u64,
    distinct: u64,
    runs: u64,
    heads: u64,
    gathered: u64,
    uppers: u64,
    count: u64,
    words: u64,
}

impl Regions {
    fn new<K: KeyWord, P: Payload>(sort_words: u64, rows: u64, input: Needs) -> Self {
        let mut words = sort_words.next_multiple_of(2);
        let mut region = |bits: u64| {
            let at = words;
            words += bits.div_ceil(128) * 2;
            at
        };
        let (key_bits, payload_bits) = (K::BITS as u64, P::VALUE_BITS as u64);
        Self {
            coded: region(if input.encoding { rows * key_bits } else { 0 }),
            row_numbers: region(if input.row_numbers { rows * 32 } else { 0 }),
            keys: region(rows * key_bits),
            payload: region(rows * payload_bits),
            starts: region(64 * starts_words(rows)),
            distinct: region(rows * key_bits),
            runs: region(64 * runs_words::<K>(rows)),
            heads: region(64 * heads_words(rows)),
            gathered: region(rows * input.gathered_bits),
            uppers: region(if input.uppers { rows * 64 } else { 0 }),
            count: region(64),
            words,
        }
    }
}

/// The memory that a query needs besides the sort.
#[derive(Clone, Copy)]
struct Needs {
    /// Whether keys are encoded.
    encoding: bool,
    /// Whether row indices are sorted with the keys.
    row_numbers: bool,
    /// The bits of the widest column whose values are gathered.
    gathered_bits: u64,
    /// Whether upper halves of values are added for a mean.
    uppers: bool,
}

impl Needs {
    /// Returns the needs for keys in the given order. The column `rides`, if any, is sorted with
    /// the keys.
    fn of<K>(
        query: &Query<'_>,
        (keys, order): (&KeysOnDevice<'_, K>, KeyOrder),
        rides: Option<usize>,
        row_numbers: bool,
    ) -> Self {
        let columns = || 0..query.columns.len();
        let is_gathered = |&column: &usize| query.is_folded(column) && rides != Some(column);
        let gathered = columns().filter(is_gathered).map(|column| query.columns[column].bits as u64);
        Self {
            encoding: order != KeyOrder::default() || matches!(keys, KeysOnDevice::Two(_)),
            row_numbers,
            gathered_bits: gathered.max().unwrap_or(0),
            uppers: columns().any(|column| query.has_wide_mean(column)),
        }
    }
}

/// Sorts the keys together with the column `rides`, whose words are `payload`. If there is no such
/// column, sorts them with the row indices, or alone if the payload is nothing.
fn sorted_with<K: KeyWord + ValueWord, P: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    query: &Query<'_>,
    input: &SortInput<'_, '_, K>,
    (payload, rides): (Option<&Buffer<WordOf<P>>>, Option<usize>),
    memory: Memory<K>,
) -> Result<Grouped<K>> {
    let device = scratch.device().clone();
    // Keys that need not be in ascending order are sorted by their words, without encoding.
    let order = match input.keys {
        KeysOnDevice::One(_) if query.order != Order::ByKey => KeyOrder::default(),
        _ => input.order,
    };
    let needs = Needs::of(query, (input.keys, order), rides, payload.is_none() && P::VALUE_BITS != 0);
    let sort = Sort::<K, P>::new(OF_KEY, input.rows, stream.machine());
    let at = Regions::new::<K, P>(sort.words, input.rows, needs);
    let work = scratch.reserve(at.words)?;
    // SAFETY: the scratch has all regions.
    stream.batch(|batch| unsafe { queue_sort(batch, (input, order), payload, (&sort, work), (&at, needs)) })?;
    let groups = work.download_at(stream, at.count as usize)? as u32 as usize;

    let (keys_out, columns) = memory.of_length(&device, groups)?;
    let first_rows = match query.order {
        Order::FirstSeen => Some(Buffer::<u32>::uninitialized(&device, groups)?),
        _ => None,
    };
    stream.batch(|batch| {
        let base = batch.write(work);
        let sorted = SortedGroups {
            base,
            at: &at,
            rows: input.rows,
            groups: groups as u64,
            starts: base.offset(at.starts).cast(),
            row_numbers: base.offset(at.payload).cast(),
        };
        let distinct = base.offset(at.distinct).cast();
        // SAFETY: the regions contain the results of the first batch, and the outputs have an
        // element for each group.
        unsafe {
            recode(batch, (order, Recoding::Decode), groups as u64, distinct, batch.write(&keys_out))?;
            if let Some(first_rows) = &first_rows {
                sorted.describe(batch, Described::Firsts, batch.write(first_rows))?;
            }
            for column in 0..query.columns.len() {
                sorted.column(batch, (query, column), &input.values[column], rides == Some(column), &columns)?;
            }
            for (wanted, output) in query.wanted.iter().zip(&columns) {
                if let (Wanted::Count, Words::Narrow(counts)) = (wanted, output) {
                    sorted.describe(batch, Described::Counts, batch.write(counts))?;
                }
            }
        }
        Ok(())
    })?;
    match first_rows {
        Some(first_rows) => {
            permuted(stream, scratch, first_rows, keys_out, columns).map(|(_, keys, columns)| (keys, columns))
        }
        None => Ok((keys_out, columns)),
    }
}

/// Queues sorting the keys in the given order, with the payload, and finding the start of each
/// group.
///
/// # Safety
/// `work` has all regions.
unsafe fn queue_sort<'b, K: KeyWord + ValueWord, P: Payload>(
    batch: &Batch<'b>,
    (input, order): (&SortInput<'b, '_, K>, KeyOrder),
    payload: Option<&'b Buffer<WordOf<P>>>,
    (sort, work): (&Sort<K, P>, &'b Buffer<u64>),
    (at, needs): (&Regions, Needs),
) -> Result<()> {
    let rows = input.rows;
    let base = batch.write(work);
    // SAFETY: each region is large enough for its array, and all columns have `rows` rows.
    unsafe {
        let coded = base.offset(at.coded).cast::<K>();
        if needs.encoding {
            input.keys.lent().encode(batch, order, coded)?;
        }
        let keys = match input.keys {
            KeysOnDevice::One(keys) if !needs.encoding => batch.read(keys),
            _ => coded,
        };
        let values = match payload {
            Some(values) => batch.read(values),
            None if needs.row_numbers => {
                let numbers = base.offset(at.row_numbers).cast();
                let plan = IotaParams { items: rows, first: 0, padding: 0 };
                batch.launch(&Iota { output: numbers, plan }, rows)?;
                numbers.cast()
            }
            // Passes over keys alone do not use the array of values.
            None => coded.cast(),
        };
        let sorted = Pairs { keys: base.offset(at.keys).cast(), values: base.offset(at.payload).cast() };
        sort.queue(batch, work, Pairs { keys, values }, sorted, false)?;
        let outputs = (base.offset(at.distinct).cast(), base.offset(at.starts).cast(), base.offset(at.count).cast());
        queue_runs::<K>(batch, (work, at.runs), (rows, rows), sorted.keys, outputs)
    }
}

/// The groups, which are runs of sorted rows.
struct SortedGroups<'a> {
    /// The words of the scratch. The words at its beginning, which the sort has used, are free.
    base: Global<u64>,
    at: &'a Regions,
    rows: u64,
    groups: u64,
    starts: Global<u32>,
    /// The indices of the rows, sorted by key, unless a column was sorted with the keys.
    row_numbers: Global<u32>,
}

/// The property of groups that [`DescribeGroups`] writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Described {
    Counts,
    Firsts,
    Lasts,
}

impl SortedGroups<'_> {
    /// Queues writing a property of each group.
    ///
    /// # Safety
    /// `output` is an array of the batch, for writing, with an element for each group. The row
    /// indices were sorted, unless counts are wanted.
    unsafe fn describe(&self, batch: &Batch<'_>, what: Described, output: Global<u32>) -> Result<()> {
        // SAFETY: the kernel's documentation allows null outputs.
        let null = unsafe { Global::null() };
        let only = |described| if what == described { output } else { null };
        let describe = DescribeGroups {
            starts: self.starts,
            rows: self.row_numbers,
            counts: only(Described::Counts),
            firsts: only(Described::Firsts),
            lasts: only(Described::Lasts),
            plan: DescribeParams { groups: self.groups },
        };
        // SAFETY: the caller guarantees the arrays.
        unsafe { batch.launch(&describe, self.groups) }
    }

    /// Queues all aggregates of a column. Its values are already sorted if the column `rides` with
    /// the keys.
    ///
    /// # Safety
    /// There is a value for each row, and the row indices were sorted unless the column rides with
    /// the keys. The outputs have an element for each group.
    unsafe fn column<'b>(
        &self,
        batch: &Batch<'b>,
        of: (&Query<'_>, usize),
        values: &'b WordsOf<'_>,
        rides: bool,
        outputs: &'b [Words],
    ) -> Result<()> {
        // SAFETY: the caller guarantees the arrays.
        unsafe {
            match values {
                WordsOf::Narrow(values) => self.aggregates::<u32>(batch, of, values, rides, outputs),
                WordsOf::Wide(values) => self.aggregates::<u64>(batch, of, values, rides, outputs),
            }
        }
    }

    /// Does [`SortedGroups::column`] with words of a known type.
    unsafe fn aggregates<'b, W: ValueWord>(
        &self,
        batch: &Batch<'b>,
        (query, column): (&Query<'_>, usize),
        values: &'b Buffer<W>,
        rides: bool,
        outputs: &'b [Words],
    ) -> Result<()> {
        let (base, at) = (self.base, self.at);
        let source = batch.read(values);
        let sorted = if rides { base.offset(at.payload).cast::<W>() } else { base.offset(at.gathered).cast() };
        // SAFETY: the caller guarantees the arrays. The words that the sort used are enough for a
        // 32-bit word per group, because they held a key per row.
        unsafe {
            if query.is_folded(column) && !rides {
                launch_gather(batch, (source, self.rows), (self.row_numbers, self.rows), sorted)?;
            }
            let numbers = base.cast::<u32>();
            for (wanted, output) in query.wanted.iter().zip(outputs) {
                let output = output.write(batch);
                match *wanted {
                    Wanted::First(of) | Wanted::Last(of) if of == column => {
                        let is_first = matches!(wanted, Wanted::First(_));
                        let what = if is_first { Described::Firsts } else { Described::Lasts };
                        self.describe(batch, what, numbers)?;
                        launch_gather(batch, (source, self.rows), (numbers, self.groups), output.cast::<W>())?;
                    }
                    wanted if wanted.folded() == Some(column) => {
                        let Some((params, kind)) = query.numbers(column) else { continue };
                        let (combine, added) = match wanted {
                            Wanted::Min(_) => (Combine::Min, params),
                            Wanted::Max(_) => (Combine::Max, params),
                            Wanted::SumOfUpper(_) => (Combine::Sum, params.with_upper_halves()),
                            _ => (Combine::Sum, params),
                        };
                        let segments = Segments { starts: self.starts, count: None };
                        let reduce = |combine, column, output| {
                            let reduce = Reduce { column, combine, items: self.rows, segments: self.groups };
                            reduce.queue(batch, sorted, segments, output, base.offset(at.heads))
                        };
                        reduce(combine, added, output)?;
                        if matches!(wanted, Wanted::Mean(_)) {
                            let mut uppers = Global::null();
                            if query.has_wide_mean(column) {
                                uppers = base.offset(at.uppers);
                                reduce(Combine::Sum, params.with_upper_halves(), uppers)?;
                            }
                            self.describe(batch, Described::Counts, numbers)?;
                            let plan = MeansParams { items: self.groups, kind: kind as u32, padding: 0 };
                            let means = Means { sums: output, uppers, counts: numbers, means: output, plan };
                            batch.launch(&means, self.groups)?;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
