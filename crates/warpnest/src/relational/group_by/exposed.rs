//! Gives tests access to the hot pass and to the bins.

use super::bins::{Attempt, Found, HashInput, group_in_bins, with_plan};
use super::bins_plan::{Expected, HashPlan, Page};
use super::hot::{HotFound, HotShape, Missed, hot_pass};
use super::outputs::Aggregates;
pub use super::outputs::Computed as FewBuffers;
use super::sample::sample;
use crate::primitives::Scratch;
use crate::split::Regions;
use crate::{Buffer, Result, Stream};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

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

/// Takes a sample and runs the hot pass over all rows; if `large`, with the blocks of large tables.
/// Returns the findings, and the keys and values of the rows whose key is not hot. Without a column
/// of values it returns no values.
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
    (seed, large): (u64, bool),
) -> Result<(Few, Vec<K>, Vec<WordOf<V>>)> {
    let wanted = out.outputs(column);
    let device = scratch.device().clone();
    let mut sampled = sample(stream, scratch, keys, &wanted, seed)?;
    sampled.is_large |= large;
    let (rows, distinct, hot) = (sampled.rows, sampled.distinct, sampled.hot);
    let (covered, missed_share, estimated_groups) = (sampled.covered, sampled.missed_share, sampled.groups());
    let shape = HotShape::new::<K, V>(stream, &sampled);
    let missed_rows = shape.missed_rows() as usize;
    let missed_keys = Buffer::zeroed(&device, missed_rows)?;
    let missed_values = Buffer::zeroed(&device, if V::VALUE_BITS == 0 { 0 } else { missed_rows })?;
    let counts = Buffer::zeroed(&device, shape.regions() as usize)?;
    let to = Missed { keys: &missed_keys, values: &missed_values, counts: &counts };
    let (found, _) = hot_pass::<K, V>(stream, keys, values, (sampled, shape), &wanted, to)?;
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

/// The outputs of [`group_by_hash`], as in [`Aggregates`].
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
    let out = aggregates(column, &outputs);
    let input = HashInput::all(keys, values);
    let found = if bits.is_empty() {
        match group_in_bins::<K, V>(stream, scratch, input, (0, Expected::about(expected_groups)), constants, &out)? {
            Found::Groups(groups) => Attempt::Groups(groups),
            Found::Overflow => Attempt::Overflow,
        }
    } else {
        let expected = Expected::about(expected_groups);
        let (machine, rows) = (stream.machine(), (input.rows, None));
        match HashPlan::with_levels::<K, V>(machine, rows, expected, out.wanted(), bits.iter().sum(), bits) {
            Some(plan) => with_plan::<K, V>(stream, scratch, (&plan, 0), input, constants, &out)?.0,
            None => Attempt::Overflow,
        }
    };
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
    let (out, input) = (aggregates(column, &outputs), HashInput::all(keys, values));
    let (machine, rows) = (stream.machine(), (input.rows, None));
    let expected = Expected { most: input.rows, ..Expected::about(expected) };
    let plan = HashPlan::with_levels::<K, V>(machine, rows, expected, out.wanted(), bits.iter().sum(), bits);
    let Some(plan) = plan.and_then(HashPlan::chained) else { return Ok(None) };
    let (found, page) = with_plan::<K, V>(stream, scratch, (&plan, 0), input, constants, &out)?;
    Ok(match found {
        Attempt::Groups(groups) => Some((groups, page == Page::Chains)),
        Attempt::FullPages | Attempt::Overflow => None,
    })
}

fn aggregates<'o, K, W>(
    column: ColumnParams,
    (keys, counts, sums, minima, maxima): &'o Outputs<'_, K, W>,
) -> Aggregates<'o, K, W> {
    Aggregates {
        column,
        keys,
        counts: counts.as_deref(),
        sums: sums.as_deref(),
        minima: minima.as_deref(),
        maxima: maxima.as_deref(),
    }
}
