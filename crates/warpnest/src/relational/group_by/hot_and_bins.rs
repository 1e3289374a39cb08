//! Groups that are aggregated on chip: the groups of hot keys in one pass over all rows, the others
//! in bins. A sample of the keys decides which.

use super::bins::{Found, HashInput, SHARES_OF_BIN, group_in_bins};
use super::bins_plan::Expected;
use super::hot::{HotShape, Missed, hot_pass};
use super::outputs::Computed;
use super::sample::{Sampled, sample};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::{Buffer, Result, Stream};
use gpu_kernels::column::ColumnParams;
use gpu_kernels::split::MAX_SPLIT_BITS;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};

/// The share of the rows that may miss the hot keys if the hot pass is to come before bins: where
/// more do, it takes longer than it saves.
const MAX_MISSED: f64 = 0.2;

/// The share of all rows, one in so many, that may miss the hot keys though no sign of it was
/// drawn.
const MUCH_MISSED: u64 = 16;

/// The factor by which more rows may miss the hot keys than the sample lets expect.
const MORE_MISSED: f64 = 1.25;

/// The count of groups of a bin, about, and the fewest bins.
const GROUPS_OF_BIN: f64 = 2048.0;
const MIN_BINS: f64 = 256.0;

/// The factor by which more keys must be drawn often than chance explains, to be a sign of skew.
const UNLIKELY: f64 = 32.0;

/// The rows of a group-by.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChipInput<'i, K, V: Payload> {
    pub keys: &'i Buffer<K>,
    /// The values; `None` if the payload is nothing.
    pub values: Option<&'i Buffer<WordOf<V>>>,
    pub column: ColumnParams,
    pub seed: u64,
}

/// The account of an attempt on chip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnChip {
    /// The count of groups that the sample let expect.
    pub estimated_groups: u64,
    /// The count of rows that were aggregated in the hot pass.
    pub hot_rows: u64,
    /// Whether a sample was wrong, so that rows were taken another way.
    pub overflowed: bool,
}

/// Aggregates the rows of each key on chip; waits for the result. Returns whether that succeeded:
/// if not, the keys are so frequent, or the groups so many, that rows must be sorted, and
/// `computed` is unspecified.
pub(super) fn hot_and_bins<K: KeyWord + ValueWord, V: Payload>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: ChipInput<'_, K, V>,
    computed: &mut Computed<K, WordOf<V>>,
) -> Result<(bool, OnChip)> {
    let (device, rows) = (scratch.device().clone(), input.keys.len() as u64);
    let mut report = OnChip::default();
    let mut capacity = 0;
    let (mut input, mut was_hot) = (input, None);
    loop {
        let sampled = sample(stream, scratch, input.keys, &computed.outputs(input.column), input.seed)?;
        report.estimated_groups = sampled.groups();
        // The estimate is low if some keys are rare, and varies.
        let hot_pass_first = is_hot_pass_first(&sampled) || was_hot == Some(false);
        let expected = if hot_pass_first { others(&sampled).most + sampled.hot } else { sampled.groups() };
        capacity = computed.reserve(&device, capacity.max(expected / 4 * 5 + 1024).min(rows))?;
        let found = match hot_pass_first {
            true => hot_pass_and_bins(stream, sampled, input, computed, &mut report)?,
            false => {
                let expected = Expected::about(sampled.groups());
                let out = computed.outputs(input.column);
                let rows = HashInput::all(input.keys, input.values);
                group_in_bins::<K, V>(stream, scratch, rows, (0, expected), constants(input.seed), &out)?
            }
        };
        match found {
            Found::Groups(groups) if groups <= capacity => {
                computed.set_length(groups);
                return Ok((true, report));
            }
            // All groups were counted, so the next attempt has capacity for them.
            Found::Groups(groups) => capacity = groups,
            Found::Overflow if was_hot.is_some() => {
                return Ok((false, OnChip { overflowed: true, hot_rows: 0, ..report }));
            }
            // The sample was wrong. Another one is of other rows.
            Found::Overflow => {
                (report.overflowed, report.hot_rows) = (true, 0);
                was_hot = Some(hot_pass_first);
                input.seed = input.seed.wrapping_add(1);
            }
        }
    }
}

/// Returns whether hot keys are aggregated before the other rows are split: if most rows have such
/// keys, or if they could make bins overflow.
fn is_hot_pass_first<K>(sampled: &Sampled<'_, K>) -> bool {
    if sampled.missed_share <= MAX_MISSED {
        return true;
    }
    let (drawn, groups) = (sampled.rows as f64, sampled.groups().max(1) as f64);
    let bins = (groups / GROUPS_OF_BIN).max(MIN_BINS);
    // A bin has capacity for some standard deviations more than its share. A key that is drawn more
    // often may have half of these.
    let mut harmless = 4.0 * drawn / (groups * bins).sqrt();
    if bins <= (1u64 << MAX_SPLIT_BITS) as f64 {
        // One split is enough, which can be made again.
        harmless = harmless.max(drawn / SHARES_OF_BIN as f64);
    }
    // The count of keys that are drawn at least so often if all groups are as large: each count of
    // draws has a Poisson distribution.
    let mean = drawn / groups;
    let mut probability = (-mean).exp();
    let mut expected = groups * (1.0 - probability);
    let mut found = sampled.distinct as f64;
    for (times, &keys) in (1..).zip(&sampled.classes) {
        let is_last = times == sampled.classes.len();
        if (times as f64 >= harmless || is_last) && found > UNLIKELY * expected + 0.5 {
            return true;
        }
        probability *= mean / times as f64;
        (expected, found) = ((expected - groups * probability).max(0.0), found - keys as f64);
    }
    false
}

/// Returns the count of groups that are expected besides the groups of hot keys. Where most rows
/// have hot keys, or some keys have many, the others are likely rare.
fn others<K>(sampled: &Sampled<'_, K>) -> Expected {
    let missed = (sampled.missed_share * sampled.all_rows as f64 * MORE_MISSED) as u64;
    let others = |groups: u64| groups.saturating_sub(sampled.hot).clamp(1, missed.max(1));
    let least = others(sampled.groups());
    let most = least.max(others(sampled.groups_of_power_law()));
    Expected { least, most, heaviest: sampled.heaviest_missed(), spare: sampled.all_rows }
}

/// Aggregates the rows of hot keys, then splits the others.
fn hot_pass_and_bins<K: KeyWord + ValueWord, V: Payload>(
    stream: &Stream,
    sampled: Sampled<'_, K>,
    input: ChipInput<'_, K, V>,
    computed: &Computed<K, WordOf<V>>,
    report: &mut OnChip,
) -> Result<Found> {
    let rows = input.keys.len();
    let (expected, out) = (others(&sampled), computed.outputs(input.column));
    let expected_missed = (sampled.missed_share * rows as f64 * MORE_MISSED) as u64;
    let shape = HotShape::new::<K, V>(stream, &sampled);
    // What the hot pass leaves is beside the scratch, which the bins need.
    let mut beside = sampled.scratch.take_beside();
    let missed_rows = shape.missed_rows();
    let values_at = (missed_rows * K::BITS as u64).div_ceil(128) * 2;
    let counts_at = values_at + (missed_rows * V::VALUE_BITS as u64).div_ceil(64);
    let words = beside.reserve(counts_at + shape.regions().div_ceil(2))?;
    let of_values = if V::VALUE_BITS == 0 { 0 } else { missed_rows as usize };
    let keys = words.elements_at::<K>(0, missed_rows as usize);
    let values = words.elements_at::<WordOf<V>>(values_at, of_values);
    let counts = words.elements_at::<u32>(counts_at, shape.regions() as usize);
    let missed = Missed { keys: &keys, values: &values, counts: &counts };
    let (hot, scratch) = hot_pass::<K, V>(stream, input.keys, input.values, (sampled, shape), &out, missed)?;
    report.hot_rows = rows as u64 - hot.missed;
    let found = if hot.missed == 0 {
        Found::Groups(hot.groups)
    } else if hot.missed > 2 * expected_missed + rows as u64 / MUCH_MISSED {
        // The sample was wrong, and so is what it says of the others.
        Found::Overflow
    } else {
        let rows = HashInput {
            keys: &keys,
            values: input.values.map(|_| &*values),
            rows: hot.missed,
            regions: hot.regions.map(|regions| (regions, &*counts)),
        };
        match group_in_bins::<K, V>(stream, scratch, rows, (hot.groups, expected), constants(input.seed), &out)? {
            Found::Groups(groups) => Found::Groups(hot.groups + groups),
            Found::Overflow => Found::Overflow,
        }
    };
    scratch.put_beside(beside);
    Ok(found)
}
