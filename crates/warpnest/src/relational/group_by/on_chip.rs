//! Decides which queries can be aggregated on chip, and returns their results as columns.

use super::bounded::Bound;
use super::hot_and_bins::{ChipInput, OnChip, hot_and_bins};
use super::memory::{Grouped, Memory, permuted};
use super::outputs::Computed;
use super::sort::SortInput;
use super::table::{OfRows, group_in_table};
use super::wanted::{Order, Query, Wanted};
use crate::primitives::Scratch;
use crate::relational::columns::{KeysOnDevice, Recoding, Words, WordsOf, recode};
use crate::types::KeyOrder;
use crate::{Buffer, InputError, Result, Stream};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::relational::group_by::means::{Exceeding, ExceedingParams, Means, MeansParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Nothing, Payload, ValueWord, WordOf};

impl Query<'_> {
    /// Returns whether the query can be answered on chip. At most one column may be added or
    /// compared, no floating-point numbers may be added, and no row indices may be needed. Queries
    /// with means must also pass [`sums_may_wrap`].
    pub(super) fn fits_on_chip(&self) -> bool {
        let adds_floats = |wanted: &Wanted| match *wanted {
            Wanted::Sum(column) | Wanted::Mean(column) => {
                !matches!(self.columns[column].numbers, Some((_, SumKind::Unsigned | SumKind::Signed)))
            }
            Wanted::SumOfUpper(_) => true,
            _ => false,
        };
        !self.needs_rows() && self.folded().count() <= 1 && !self.wanted.iter().any(adds_floats)
    }

    /// Fails unless the query can be answered by one table without a wait.
    pub(super) fn check_bounded(&self) -> Result<()> {
        let is_wide_mean = |column: usize| self.has_wide_mean(column);
        let what = match self {
            _ if self.order != Order::Any => "an order of the groups",
            _ if self.needs_rows() => "a first or last value",
            _ if self.folded().count() > 1 => "values of several columns",
            _ if !self.fits_on_chip() => "a sum or mean of floating-point numbers",
            _ if self.folded().any(is_wide_mean) => "a mean of 64-bit integers",
            _ => return Ok(()),
        };
        Err(InputError::NotBounded { what }.into())
    }

    /// Returns the columns whose values are added or compared.
    fn folded(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|&column| self.is_folded(column))
    }
}

/// Returns whether a sum from which a mean is computed may wrap, because values are large. Reads
/// the values once and waits for the result, unless there is no such mean.
pub(super) fn sums_may_wrap(
    stream: &Stream,
    scratch: &mut Scratch,
    query: &Query<'_>,
    values: &[WordsOf<'_>],
    rows: u64,
) -> Result<bool> {
    let found = scratch.reserve(1)?;
    for (column, words) in values.iter().enumerate().filter(|&(column, _)| query.has_wide_mean(column)) {
        let WordsOf::Wide(words) = words else { continue };
        let is_signed = matches!(query.numbers(column), Some((_, SumKind::Signed)));
        stream.batch(|batch| {
            batch.zero(found, 1)?;
            let plan = ExceedingParams::of_sums(rows, is_signed);
            let exceeding = Exceeding { words: batch.read(words), found: batch.write(found).cast(), plan };
            // SAFETY: there is a word for each row, and `found` is one word, which is 0.
            unsafe { batch.launch(&exceeding, rows) }
        })?;
        if found.download_at(stream, 0)? != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The method for rows that are not sorted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'b> {
    /// One table in the device's memory, for few rows, or with a bound.
    Table(Option<Bound<'b>>),
    /// The hot pass and bins, which a sample decides on.
    HotAndBins,
}

/// Returns the keys of the groups, and their aggregates in the requested order; `None` if the rows
/// must be sorted instead.
pub(super) fn group_on_chip<K: KeyWord + ValueWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    query: &Query<'_>,
    input: &SortInput<'_, '_, K>,
    memory: Memory<K>,
    (seed, way): (u64, Way<'_>),
) -> Result<(Option<Grouped<K>>, OnChip)> {
    let device = scratch.device().clone();
    let is_sorted = query.order == Order::ByKey;
    let is_joined = matches!(input.keys, KeysOnDevice::Two(_));
    let mut lent = None;
    let keys: &Buffer<K> = match input.keys {
        KeysOnDevice::One(keys) => keys,
        // Two columns of keys are joined to one column, of words that sort like the keys if they
        // must be sorted.
        KeysOnDevice::Two(_) => {
            let joined = &*lent.insert(scratch.lend(input.rows as usize)?);
            let order = if is_sorted { input.order } else { KeyOrder::default() };
            // SAFETY: there is a key for each row.
            stream.batch(|batch| unsafe { input.keys.encode(batch, order, input.rows, batch.write(joined)) })?;
            joined
        }
    };
    let column = query.folded().next();
    let params = column.and_then(|column| query.numbers(column)).map_or(ColumnParams::unsigned(), |(of, _)| of);
    let of = (stream, &mut *scratch, query, memory, way);
    let (done, report) = match column.map(|column| &input.values[column]) {
        None => computed::<K, Nothing>(of, ChipInput { keys, values: None, column: params, seed })?,
        Some(WordsOf::Narrow(values)) => {
            computed::<K, u32>(of, ChipInput { keys, values: Some(values), column: params, seed })?
        }
        Some(WordsOf::Wide(values)) => {
            computed::<K, u64>(of, ChipInput { keys, values: Some(values), column: params, seed })?
        }
    };
    if let Some(joined) = lent {
        scratch.give_back(joined);
    }
    let (keys, columns) = match done {
        Some(groups) if is_sorted => groups,
        done => return Ok((done, report)),
    };
    let words = keys.duplicate(stream, &device)?;
    if !is_joined {
        recoded(stream, input.order, (&keys, &words), Recoding::Encode)?;
    }
    let (words, keys, columns) = permuted(stream, scratch, words, keys, columns)?;
    if is_joined {
        recoded(stream, input.order, (&words, &keys), Recoding::Decode)?;
    }
    Ok((Some((keys, columns)), report))
}

/// Queues encoding or decoding keys from the first buffer to the second, which may be the same.
fn recoded<K: KeyWord>(
    stream: &Stream,
    order: KeyOrder,
    (from, to): (&Buffer<K>, &Buffer<K>),
    how: Recoding,
) -> Result<()> {
    stream.batch(|batch| {
        let (output, keys) = (batch.write(to), batch.read(from));
        // SAFETY: both buffers have the same count of keys.
        unsafe { recode(batch, (order, how), from.len() as u64, keys, output) }
    })
}

/// A query, with its stream, its scratch and its memory.
type Of<'a, 'q, K> = (&'a Stream, &'a mut Scratch, &'a Query<'q>, Memory<K>, Way<'a>);

/// Returns the keys and the aggregates of a query whose values have a known type.
fn computed<K: KeyWord + ValueWord, V: Payload>(
    (stream, scratch, query, memory, way): Of<'_, '_, K>,
    input: ChipInput<'_, K, V>,
) -> Result<(Option<Grouped<K>>, OnChip)> {
    let device = scratch.device().clone();
    let mut computed =
        Computed::<K, WordOf<V>> { keys: memory.keys, counts: None, sums: None, minima: None, maxima: None };
    // The first aggregate of each kind is computed in its own memory, and copied for the others.
    let (mut means, mut copies) = (Vec::new(), Vec::new());
    for (wanted, words) in query.wanted.iter().zip(memory.columns) {
        match wanted {
            Wanted::Count if computed.counts.is_none() => computed.counts = Some(words.into_buffer()),
            Wanted::Sum(_) if computed.sums.is_none() => computed.sums = Some(words.into_buffer()),
            Wanted::Min(_) if computed.minima.is_none() => computed.minima = Some(words.into_buffer()),
            Wanted::Max(_) if computed.maxima.is_none() => computed.maxima = Some(words.into_buffer()),
            Wanted::Mean(_) => means.push(words),
            _ => copies.push(words),
        }
    }
    if !means.is_empty() {
        let groups = if let Way::Table(Some(bound)) = way { bound.capacity } else { 0 };
        if computed.counts.is_none() {
            computed.counts = Some(scratch.lend(groups)?);
        }
        if computed.sums.is_none() {
            computed.sums = Some(scratch.lend(groups)?);
        }
    }
    let report = match way {
        Way::Table(bound) => {
            group_in_table(stream, scratch, input, &mut computed, OfRows::default(), bound)?;
            OnChip { estimated_groups: computed.keys.len() as u64, ..OnChip::default() }
        }
        Way::HotAndBins => {
            let (done, report) = hot_and_bins(stream, scratch, input, &mut computed)?;
            if !done {
                return Ok((None, report));
            }
            report
        }
    };
    let Computed { keys, counts, sums, minima, maxima } = computed;
    for words in &mut means {
        words.resize(&device, keys.len())?;
        if let (Some(counts), Some(sums)) = (&counts, &sums) {
            divide(stream, query, (sums, counts), words)?;
        }
    }
    let mut kinds = [counts.map(Words::Narrow), sums.map(Words::Wide), minima.map(Words::of), maxima.map(Words::of)];
    let (mut means, mut copies) = (means.into_iter(), copies.into_iter());
    let mut columns: Vec<Words> = Vec::new();
    for (number, wanted) in query.wanted.iter().enumerate() {
        let earlier = query.wanted[..number].iter().position(|earlier| earlier == wanted);
        let own = match wanted {
            Wanted::Count => kinds[0].take(),
            Wanted::Sum(_) => kinds[1].take(),
            Wanted::Min(_) => kinds[2].take(),
            Wanted::Max(_) => kinds[3].take(),
            Wanted::Mean(_) => means.next(),
            Wanted::SumOfUpper(_) | Wanted::First(_) | Wanted::Last(_) => None,
        };
        match (own, earlier) {
            (Some(words), _) => columns.push(words),
            (None, Some(earlier)) => {
                let copy = copies.next().map(|copy| columns[earlier].copied_to(copy, stream, &device));
                columns.extend(copy.transpose()?);
            }
            (None, None) => debug_assert!(false, "{wanted:?} is not computed on chip"),
        }
    }
    for words in kinds.into_iter().flatten() {
        words.give_back(scratch);
    }
    Ok((Some((keys, columns)), report))
}

/// Queues dividing sums by counts.
fn divide(
    stream: &Stream,
    query: &Query<'_>,
    (sums, counts): (&Buffer<u64>, &Buffer<u32>),
    means: &Words,
) -> Result<()> {
    let kind =
        query.folded().next().and_then(|column| query.numbers(column)).map_or(SumKind::Unsigned, |(_, kind)| kind);
    let plan = MeansParams { items: sums.len() as u64, kind: kind as u32, padding: 0 };
    stream.batch(|batch| {
        // SAFETY: there is a sum, a count and a mean for each group, and no sum has wrapped.
        unsafe {
            let (sums, counts, means) = (batch.read(sums), batch.read(counts), means.write(batch));
            batch.launch(&Means { sums, uppers: Global::null(), counts, means, plan }, plan.items)
        }
    })
}
