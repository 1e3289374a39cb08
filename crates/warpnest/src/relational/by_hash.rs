//! Group-by of many groups: rows are split into bins by their mixed keys, and each bin is
//! aggregated on chip.

use super::aggregates::Aggregates;
use super::hash_plan::{Expected, HashPlan};
use crate::primitives::{Pairs, Scratch};
use crate::runtime::stream::Batch;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::{Split, SplitParams, header};
use gpu_kernels::relational::column::ColumnParams;
use gpu_kernels::relational::{GroupPages, GroupPagesParams, Wanted};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The result of a group-by by hashing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The number of groups. Those that the outputs have capacity for are written.
    Groups(u64),
    /// Nothing that can be used: a bin got more rows, or more groups, than fit.
    Overflow,
}

/// Aggregates the rows of each key by hashing; waits for the result. `expected` is a guess,
/// `constants` are those of the mix. The first `groups_before` groups of the outputs stay as they
/// are, and are not counted. A column of values is there unless `V` is
/// [`Nothing`](gpu_kernels::types::Nothing).
///
/// The groups are written in any order, as many as the outputs have capacity for. After an overflow
/// the outputs are unspecified. It comes of many more groups than expected, and of keys that have
/// many more rows than others.
///
/// # Errors
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub(crate) fn by_hash<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    (groups_before, expected): (u64, Expected),
    constants: [u64; 2],
    out: &Aggregates<'_, K, WordOf<V>>,
) -> Result<Found> {
    let wanted = out.wanted();
    match HashPlan::new::<K, V>(keys.len() as u64, expected, wanted, stream.cores()) {
        Some(plan) => with_plan::<K, V>(stream, scratch, (&plan, groups_before), (keys, values), constants, out),
        None => Ok(Found::Overflow),
    }
}

impl<K, W> Aggregates<'_, K, W> {
    fn wanted(&self) -> Wanted {
        Wanted {
            counts: self.counts.is_some(),
            sums: self.sums.is_some(),
            minima: self.minima.is_some(),
            maxima: self.maxima.is_some(),
        }
    }
}

/// Does [`by_hash`] with this plan.
fn with_plan<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    (plan, groups_before): (&HashPlan, u64),
    (keys, values): (&Buffer<K>, Option<&Buffer<WordOf<V>>>),
    [a, b]: [u64; 2],
    out: &Aggregates<'_, K, WordOf<V>>,
) -> Result<Found> {
    if plan.rows == 0 {
        return Ok(Found::Groups(0));
    }
    let scratch = scratch.reserve(plan.scratch_words())?;
    stream.batch(|batch| {
        let input = Pairs::<K, V> { keys: batch.read(keys), values: or_null(values.map(|values| batch.read(values))) };
        let header = batch.write(scratch);
        batch.zero(scratch, plan.zeros() as usize)?;
        let counts = |level: usize| header.offset(plan.counts_at(level)).cast::<u32>();
        let mut from = input;
        for (number, level) in plan.levels.iter().enumerate() {
            let to = Pairs::<K, V>::at(header.offset(plan.storage_at(number)), level.capacity());
            let split = Split::<K, V, false> {
                keys: from.keys,
                values: from.values,
                keys_out: to.keys,
                values_out: to.values,
                counts_in: or_null(number.checked_sub(1).map(counts)),
                starts_out: or_null(None),
                counts_out: counts(number),
                state: or_null(None),
                header,
                plan: SplitParams {
                    a,
                    b,
                    region_capacity: level.region_capacity,
                    pairs: plan.rows,
                    bin_capacity: level.bin_capacity as u32,
                    tiles: level.tiles as u32,
                    shift: K::BITS - level.bits_so_far,
                    bits: level.bits,
                    skew_limit: u32::MAX,
                    level: number as u32,
                },
            };
            // SAFETY: the scratch has each split's counts, which are 0, and bins at their offsets.
            // A split reads where the one before it wrote. One that keeps no order takes no state.
            unsafe { batch.launch_blocks(&split, level.regions * level.tiles)? };
            from = to;
        }
        let output = Output::of(batch, out);
        let last = plan.levels.len().checked_sub(1);
        let group = GroupPages::<K, V> {
            keys: from.keys,
            values: from.values,
            counts: or_null(last.map(counts)),
            keys_out: output.keys,
            counts_out: output.counts,
            sums_out: output.sums,
            minima_out: output.minima,
            maxima_out: output.maxima,
            header,
            plan: GroupPagesParams {
                a,
                b,
                rows: plan.rows,
                bin_capacity: last.map_or(0, |last| plan.levels[last].bin_capacity),
                capacity: output.capacity,
                groups_before,
                column: out.column,
                page_bits: plan.page_bits,
                buckets: plan.buckets,
            },
        };
        // SAFETY: the rows are where the last split put them, or those of the input. There is a
        // block for each bin, and the outputs have the capacity.
        unsafe { batch.launch_blocks(&group, plan.pages()) }
    })?;
    let found = scratch.download_front(stream, header::WORDS)?;
    let overflowed = (0..header::LEVELS).any(|level| found[(header::OVERFLOW + level) as usize] != 0);
    Ok(match overflowed || found[header::FAILED as usize] != 0 {
        true => Found::Overflow,
        false => Found::Groups(found[header::LENGTH as usize]),
    })
}

/// The arrays that groups are written to, null where nothing is wanted.
struct Output<K, W> {
    keys: Global<K>,
    counts: Global<u32>,
    sums: Global<u64>,
    minima: Global<W>,
    maxima: Global<W>,
    /// The length of the shortest.
    capacity: u64,
}

impl<K: KeyWord, W> Output<K, W> {
    fn of<'b>(batch: &Batch<'b>, out: &Aggregates<'b, K, W>) -> Self {
        let lengths = [
            Some(out.keys.len()),
            out.counts.map(|buffer| buffer.len()),
            out.sums.map(|buffer| buffer.len()),
            out.minima.map(|buffer| buffer.len()),
            out.maxima.map(|buffer| buffer.len()),
        ];
        Self {
            keys: batch.write(out.keys),
            counts: or_null(out.counts.map(|buffer| batch.write(buffer))),
            sums: or_null(out.sums.map(|buffer| batch.write(buffer))),
            minima: or_null(out.minima.map(|buffer| batch.write(buffer))),
            maxima: or_null(out.maxima.map(|buffer| batch.write(buffer))),
            capacity: lengths.into_iter().flatten().min().unwrap_or(0) as u64,
        }
    }
}

/// Returns the array, or null for an argument that may be left out.
fn or_null<T>(array: Option<Global<T>>) -> Global<T> {
    // SAFETY: the kernels' documentation allows null for these arguments.
    array.unwrap_or_else(|| unsafe { Global::null() })
}

/// The outputs of [`group_by_hash`], as in [`Aggregates`].
pub type Outputs<'o, K, W> = (
    &'o mut Buffer<K>,
    Option<&'o mut Buffer<u32>>,
    Option<&'o mut Buffer<u64>>,
    Option<&'o mut Buffer<W>>,
    Option<&'o mut Buffer<W>>,
);

/// Does [`by_hash`] for tests and benchmarks, with splits of `bits` bits each if there are any.
/// Returns the number of groups, or `None` after an overflow.
///
/// # Errors
/// As for [`by_hash`].
#[doc(hidden)]
#[allow(clippy::too_many_arguments, reason = "these are those of a group-by")]
pub fn group_by_hash<K: KeyWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    keys: &Buffer<K>,
    values: Option<&Buffer<WordOf<V>>>,
    (expected_groups, bits): (u64, &[u32]),
    constants: [u64; 2],
    column: ColumnParams,
    (keys_out, counts, sums, minima, maxima): Outputs<'_, K, WordOf<V>>,
) -> Result<Option<u64>> {
    let out = Aggregates {
        column,
        keys: keys_out,
        counts: counts.as_deref(),
        sums: sums.as_deref(),
        minima: minima.as_deref(),
        maxima: maxima.as_deref(),
    };
    let found = if bits.is_empty() {
        by_hash::<K, V>(stream, scratch, keys, values, (0, Expected::about(expected_groups)), constants, &out)?
    } else {
        let rows = keys.len() as u64;
        match HashPlan::with_levels::<K, V>(rows, expected_groups.max(1), out.wanted(), bits.iter().sum(), bits) {
            Some(plan) => with_plan::<K, V>(stream, scratch, (&plan, 0), (keys, values), constants, &out)?,
            None => Found::Overflow,
        }
    };
    Ok(match found {
        Found::Groups(groups) => Some(groups),
        Found::Overflow => None,
    })
}
