//! Gives tests access to the hot pass and to the bins.

use super::bins::{Attempt, Found, HashInput, group_in_bins, with_plan};
use super::bins_plan::{Expected, HashPlan, Page};
use super::hot::{HotFound, HotShape, Missed, hot_pass};
use super::outputs::{ChipInput, Computed, ComputedColumn, InputColumn};
use super::sample::{Sampled, sample};
use crate::primitives::Scratch;
use crate::relational::columns::{RowKeys, Words, WordsRef};
use crate::split::Regions;
use crate::{Buffer, Result, Stream};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::columns::Source;
use gpu_kernels::plain::Plain;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};

/// The outputs for aggregates of at most one column, which are the fields that are `Some`.
#[derive(Debug)]
pub struct FewBuffers<K, W> {
    /// The key of each group.
    pub keys: Buffer<K>,
    /// The count of rows of each group.
    pub counts: Option<Buffer<u32>>,
    /// The sum of each group.
    pub sums: Option<Buffer<u64>>,
    /// The least value of each group.
    pub minima: Option<Buffer<W>>,
    /// The greatest value of each group.
    pub maxima: Option<Buffer<W>>,
}

impl<K: Plain, W: ValueWord> FewBuffers<K, W> {
    /// Moves the buffers to outputs, of a column if there is one.
    fn take(&mut self, column: Option<ColumnParams>) -> Computed<K> {
        let Self { keys, counts, sums, minima, maxima } = self;
        let column = column.map(|params| ComputedColumn {
            sums: sums.as_mut().map(Buffer::take),
            minima: minima.as_mut().map(|words| Words::of(words.take())),
            maxima: maxima.as_mut().map(|words| Words::of(words.take())),
            ..ComputedColumn::new(W::BITS, params)
        });
        Computed { keys: keys.take(), counts: counts.as_mut().map(Buffer::take), columns: Vec::from_iter(column) }
    }

    /// Moves the buffers back.
    fn put_back(&mut self, computed: Computed<K>) {
        let Computed { keys, counts, columns } = computed;
        (self.keys, self.counts) = (keys, counts);
        if let Some(ComputedColumn { sums, minima, maxima, .. }) = columns.into_iter().next() {
            self.sums = sums;
            (self.minima, self.maxima) = (minima.map(Words::into_buffer), maxima.map(Words::into_buffer));
        }
    }
}

/// Returns the column of values, if there is one.
fn input_columns<W: ValueWord>(values: Option<&Buffer<W>>, params: ColumnParams) -> Vec<InputColumn<'_>> {
    let column = |values| InputColumn { words: Some(WordsRef::of(values)), source: Source::Words, params };
    values.map(column).into_iter().collect()
}

/// The findings of [`group_few`].
#[derive(Clone, Copy, Debug)]
pub struct Few {
    /// The count of rows that were drawn.
    pub rows: u64,
    /// The count of distinct keys among the drawn rows.
    pub distinct: u64,
    /// The count of hot keys.
    pub hot: u64,
    /// The count of drawn rows whose key is hot.
    pub covered: u64,
    /// The estimated share of rows whose key is not hot.
    pub missed_share: f64,
    /// The estimated count of groups.
    pub estimated_groups: u64,
    /// The count of groups of hot keys.
    pub groups: u64,
    /// The count of rows whose key is not hot.
    pub missed: u64,
}

/// The blocks of a hot pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HotBlocks {
    /// As the sample says.
    OfSample,
    /// The blocks of large tables.
    Large,
    /// The blocks of a table with a power of two of parts, whose logarithm is given, or fewer if
    /// these do not fit its memory.
    Parts(u32),
}

impl HotBlocks {
    fn set<K>(self, sampled: &mut Sampled<'_, K>) {
        sampled.is_large |= self != Self::OfSample;
        if let Self::Parts(bits) = self {
            let slots = sampled.layout.draws - sampled.layout.list;
            let fits = |bits: &u32| (sampled.table.slots as u64) << bits <= slots;
            sampled.table.part_bits = (0..=bits).rev().find(fits).unwrap_or(0);
        }
    }
}

/// Takes a sample and runs the hot pass over all rows with the given blocks. Returns the findings,
/// and the keys and values of the rows whose key is not hot. Without a column of values it returns
/// no values.
///
/// # Errors
/// The errors of the two steps.
pub fn group_few<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    column: ColumnParams,
    out: &mut FewBuffers<K, WordOf<V>>,
    (seed, blocks): (u64, HotBlocks),
) -> Result<(Few, Vec<K>, Vec<WordOf<V>>)> {
    let (columns, computed) = (input_columns(values, column), out.take(values.map(|_| column)));
    let device = scratch.device().clone();
    let mut sampled = sample(stream, scratch, RowKeys::One(keys), &computed.shape(), seed)?;
    blocks.set(&mut sampled);
    let (rows, distinct, hot) = (sampled.rows, sampled.distinct, sampled.hot);
    let (covered, missed_share, estimated_groups) = (sampled.covered, sampled.missed_share, sampled.groups());
    let shape = HotShape::new::<K, V>(stream, &sampled);
    let missed_rows = shape.missed_rows() as usize;
    let missed_keys = Buffer::zeroed(&device, missed_rows)?;
    let missed_values = Buffer::<V::Word>::zeroed(&device, if values.is_none() { 0 } else { missed_rows })?;
    let counts = Buffer::zeroed(&device, shape.regions() as usize)?;
    let missed_columns = [WordsRef::of(&missed_values)];
    let of_columns = &missed_columns[..columns.len()];
    let to = Missed { keys: &missed_keys, columns: of_columns, counts: &counts };
    let input = ChipInput { keys: RowKeys::One(keys), columns: &columns, seed };
    let (found, _) = hot_pass::<K, V>(stream, input, (sampled, shape), &computed, to)?;
    out.put_back(computed);
    let HotFound { groups, missed, regions } = found;
    let (mut missed_keys, mut missed_values) = (missed_keys.download(stream)?, missed_values.download(stream)?);
    if let Some(Regions { number, capacity, most }) = regions {
        let counts = counts.download(stream)?;
        assert_eq!((counts.len() as u64, counts.iter().max().copied()), (number, Some(most as u32)));
        let mut to = 0;
        for (region, count) in (0..).step_by(capacity as usize).zip(counts) {
            let rows = region..region + count as usize;
            missed_keys.copy_within(rows.clone(), to);
            if !missed_values.is_empty() {
                missed_values.copy_within(rows, to);
            }
            to += count as usize;
        }
    }
    missed_keys.truncate(missed as usize);
    missed_values.truncate(missed as usize);
    Ok((
        Few { rows, distinct, hot, covered, missed_share, estimated_groups, groups, missed },
        missed_keys,
        missed_values,
    ))
}

/// The outputs of [`group_by_hash`]: keys, counts, sums, least and greatest values.
pub(crate) type Outputs<'o, K, W> = (
    &'o mut Buffer<K>,
    Option<&'o mut Buffer<u32>>,
    Option<&'o mut Buffer<u64>>,
    Option<&'o mut Buffer<W>>,
    Option<&'o mut Buffer<W>>,
);

/// Groups rows by bins, for tests. If `bits` is not empty, the splits use these counts of bits.
/// Returns the count of groups, or `None` after an overflow.
///
/// # Errors
/// The errors of [`GroupBy::run_on`](super::GroupBy::run_on).
#[allow(clippy::too_many_arguments, reason = "these are those of a group-by")]
pub fn group_by_hash<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    (expected_groups, bits): (u64, &[u32]),
    constants: [u64; 2],
    column: ColumnParams,
    outputs: Outputs<'_, K, WordOf<V>>,
) -> Result<Option<u64>> {
    let columns = input_columns(values, column);
    let (mut buffers, out) = taken(outputs, values.map(|_| column));
    let input = HashInput::all(keys, &columns);
    let found = if bits.is_empty() {
        match group_in_bins::<K, V>(stream, scratch, input, (0, Expected::about(expected_groups)), constants, &out)? {
            Found::Groups(groups) => Attempt::Groups(groups),
            Found::Overflow => Attempt::Overflow,
        }
    } else {
        let expected = Expected::about(expected_groups);
        let (machine, rows) = (stream.machine(), (input.rows, None));
        match HashPlan::with_levels::<K, V>(machine, rows, expected, &out.shape(), bits.iter().sum(), bits) {
            Some(plan) => with_plan::<K, V>(stream, scratch, (&plan, 0), input, constants, &out)?.0,
            None => Attempt::Overflow,
        }
    };
    buffers.put_back(out);
    Ok(match found {
        Attempt::Groups(groups) => Some(groups),
        Attempt::FullPages | Attempt::Overflow => None,
    })
}

/// Groups rows by bins of chained rows, for tests, with splits of `bits` bits each, for `expected`
/// groups. Returns the count of groups, and whether chains and not hash pages produced them.
/// Returns `None` after an overflow, or if bins are too large for chains.
///
/// # Errors
/// The errors of [`GroupBy::run_on`](super::GroupBy::run_on).
#[allow(clippy::too_many_arguments, reason = "these are those of a group-by")]
pub fn group_by_chains<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    (expected, bits): (u64, &[u32]),
    constants: [u64; 2],
    column: ColumnParams,
    outputs: Outputs<'_, K, WordOf<V>>,
) -> Result<Option<(u64, bool)>> {
    let columns = input_columns(values, column);
    let (mut buffers, out) = taken(outputs, values.map(|_| column));
    let input = HashInput::all(keys, &columns);
    let (machine, rows) = (stream.machine(), (input.rows, None));
    let expected = Expected { most: input.rows, ..Expected::about(expected) };
    let plan = HashPlan::with_levels::<K, V>(machine, rows, expected, &out.shape(), bits.iter().sum(), bits);
    let Some(plan) = plan.and_then(HashPlan::chained) else { return Ok(None) };
    let (found, page) = with_plan::<K, V>(stream, scratch, (&plan, 0), input, constants, &out)?;
    buffers.put_back(out);
    Ok(match found {
        Attempt::Groups(groups) => Some((groups, page == Page::Chains)),
        Attempt::FullPages | Attempt::Overflow => None,
    })
}

/// Outputs that were moved to [`Computed`].
struct Taken<'o, K, W>(Outputs<'o, K, W>);

/// Moves the buffers to outputs, of a column if there is one.
fn taken<K: Plain, W: ValueWord>(
    outputs: Outputs<'_, K, W>,
    column: Option<ColumnParams>,
) -> (Taken<'_, K, W>, Computed<K>) {
    let (keys, mut counts, mut sums, mut minima, mut maxima) = outputs;
    let mut buffers = FewBuffers {
        keys: keys.take(),
        counts: counts.as_mut().map(|counts| counts.take()),
        sums: sums.as_mut().map(|sums| sums.take()),
        minima: minima.as_mut().map(|minima| minima.take()),
        maxima: maxima.as_mut().map(|maxima| maxima.take()),
    };
    let computed = buffers.take(column);
    (Taken((keys, counts, sums, minima, maxima)), computed)
}

impl<K: Plain, W: ValueWord> Taken<'_, K, W> {
    /// Moves the buffers back.
    fn put_back(&mut self, computed: Computed<K>) {
        let Computed { keys, counts, columns } = computed;
        let (keys_to, counts_to, sums_to, minima_to, maxima_to) = &mut self.0;
        **keys_to = keys;
        put(counts_to, counts);
        if let Some(ComputedColumn { sums, minima, maxima, .. }) = columns.into_iter().next() {
            put(sums_to, sums);
            put(minima_to, minima.map(Words::into_buffer));
            put(maxima_to, maxima.map(Words::into_buffer));
        }
    }
}

/// Moves a buffer to its place.
fn put<T>(place: &mut Option<&mut Buffer<T>>, buffer: Option<Buffer<T>>) {
    if let (Some(place), Some(buffer)) = (place, buffer) {
        **place = buffer;
    }
}
