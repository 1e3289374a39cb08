//! Group-by on chip: the groups of hot keys are aggregated in one pass over all rows, and the other
//! groups in bins. A sample of the keys decides which keys are hot.

use super::bins::{Found, HashInput, SHARES_OF_BIN, group_in_bins};
use super::bins_plan::Expected;
use super::hot::{HotShape, Missed, hot_pass};
use super::outputs::{ChipInput, Computed, InputColumn};
use super::sample::{Sampled, sample};
use crate::hash::constants;
use crate::primitives::Scratch;
use crate::relational::columns::{WordsRef, WordsView, one_column};
use crate::{Result, Stream};
use gpu_kernels::columns::Source;
use gpu_kernels::split::MAX_SPLIT_BITS;
use gpu_kernels::types::{KeyWord, Row, ValueWord};

/// The largest share of rows that may miss the hot keys if the hot pass runs before the bins. If
/// more rows miss, the pass takes longer than it saves.
const MAX_MISSED: f64 = 0.2;

/// If the missed rows exceed twice the expected count by more than `1 / MUCH_MISSED` of all rows,
/// the sample counts as wrong.
const MUCH_MISSED: u64 = 16;

/// The factor by which the missed rows may exceed the count that is estimated from the sample.
const MORE_MISSED: f64 = 1.25;

/// The approximate count of groups of a bin, and the fewest bins.
const GROUPS_OF_BIN: f64 = 2048.0;
const MIN_BINS: f64 = 256.0;

/// Frequently drawn keys are a sign of skew if there are this many times more of them than chance
/// explains.
const UNLIKELY: f64 = 32.0;

/// The report of an attempt on chip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OnChip {
    /// The count of groups that was estimated from the sample.
    pub estimated_groups: u64,
    /// The count of rows that were aggregated in the hot pass.
    pub hot_rows: u64,
    /// Whether a sample was wrong, so that rows were grouped a second time in another way.
    pub overflowed: bool,
}

/// Aggregates the rows of each key on chip; waits for the result. Returns whether that succeeded.
/// If not, some keys are so frequent, or groups so many, that rows must be sorted, and `computed`
/// is unspecified.
pub(super) fn hot_and_bins<K: KeyWord + ValueWord, V: Row>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: ChipInput<'_, K>,
    computed: &mut Computed<K>,
) -> Result<(bool, OnChip)> {
    let (device, rows) = (scratch.device().clone(), input.keys.len() as u64);
    let mut report = OnChip::default();
    let mut capacity = 0;
    let (mut input, mut was_hot) = (input, None);
    let mut joined = None;
    let answer = loop {
        let sampled = sample(stream, scratch, input.keys, &computed.shape(), input.seed)?;
        report.estimated_groups = sampled.groups();
        // The estimate is low if some keys are rare, and it varies.
        let hot_pass_first = is_hot_pass_first(&sampled) || was_hot == Some(false);
        let expected = if hot_pass_first { others(&sampled).most + sampled.hot } else { sampled.groups() };
        capacity = computed.reserve(&device, capacity.max(expected / 4 * 5 + 1024).min(rows))?;
        let found = match hot_pass_first {
            true => hot_pass_and_bins::<K, V>(stream, sampled, input, computed, &mut report)?,
            false => {
                let expected = Expected::about(sampled.groups());
                let keys = one_column(stream, scratch, input.keys, &mut joined)?;
                let rows = HashInput::all(keys, input.columns);
                group_in_bins::<K, V>(stream, scratch, rows, (0, expected), constants(input.seed), computed)?
            }
        };
        match found {
            Found::Groups(groups) if groups <= capacity => {
                computed.set_length(groups);
                break (true, report);
            }
            // All groups were counted, so the next attempt has capacity for them.
            Found::Groups(groups) => capacity = groups,
            Found::Overflow if was_hot.is_some() => {
                break (false, OnChip { overflowed: true, hot_rows: 0, ..report });
            }
            // The sample was wrong. A new sample with another seed draws other rows.
            Found::Overflow => {
                (report.overflowed, report.hot_rows) = (true, 0);
                was_hot = Some(hot_pass_first);
                input.seed = input.seed.wrapping_add(1);
            }
        }
    };
    joined.into_iter().for_each(|joined| scratch.give_back(joined));
    Ok(answer)
}

/// Returns whether hot keys are aggregated before the other rows are split. They are if most rows
/// have hot keys, or if hot keys could make bins overflow.
fn is_hot_pass_first<K>(sampled: &Sampled<'_, K>) -> bool {
    if sampled.missed_share <= MAX_MISSED {
        return true;
    }
    let (drawn, groups) = (sampled.rows as f64, sampled.groups().max(1) as f64);
    let bins = (groups / GROUPS_OF_BIN).max(MIN_BINS);
    // A bin's capacity exceeds its mean size by some standard deviations. A key that is drawn at
    // least `harmless` times may use up half of this excess.
    let mut harmless = 4.0 * drawn / (groups * bins).sqrt();
    if bins <= (1u64 << MAX_SPLIT_BITS) as f64 {
        // One split is enough, and it can be repeated after an overflow.
        harmless = harmless.max(drawn / SHARES_OF_BIN as f64);
    }
    // `expected` is the count of keys that are drawn at least `times` times if all groups are
    // equally large. Then draws have a Poisson distribution.
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

/// Returns the expected count of groups besides the groups of hot keys. If most rows have hot keys,
/// or if some keys have many rows, the other keys are likely rare.
fn others<K>(sampled: &Sampled<'_, K>) -> Expected {
    let missed = (sampled.missed_share * sampled.all_rows as f64 * MORE_MISSED) as u64;
    let others = |groups: u64| groups.saturating_sub(sampled.hot).clamp(1, missed.max(1));
    let least = others(sampled.groups());
    let most = least.max(others(sampled.groups_of_power_law()));
    Expected { least, most, heaviest: sampled.heaviest_missed(), spare: sampled.all_rows }
}

/// Aggregates the rows of hot keys, and then the other rows by bins.
fn hot_pass_and_bins<K: KeyWord + ValueWord, V: Row>(
    stream: &Stream,
    sampled: Sampled<'_, K>,
    input: ChipInput<'_, K>,
    computed: &Computed<K>,
    report: &mut OnChip,
) -> Result<Found> {
    let rows = input.keys.len();
    let expected = others(&sampled);
    let expected_missed = (sampled.missed_share * rows as f64 * MORE_MISSED) as u64;
    let shape = HotShape::new::<K, V>(stream, &sampled);
    // The missed rows are stored in the second scratch, because the bins need the first.
    let mut beside = sampled.scratch.take_beside();
    let missed_rows = shape.missed_rows();
    let bits: Vec<u32> = computed.shape().columns.iter().map(|part| part.bits).collect();
    let words_of = |bits: u32| (missed_rows * bits as u64).div_ceil(128) * 2;
    let mut end = words_of(K::BITS);
    let mut place = |bits: u32| {
        let at = end;
        end += words_of(bits);
        at
    };
    let places: Vec<u64> = bits.iter().map(|&bits| place(bits)).collect();
    let words = beside.reserve(end + shape.regions().div_ceil(2))?;
    let keys = words.elements_at::<K>(0, missed_rows as usize);
    let views = places.iter().zip(&bits).map(|(&at, &bits)| WordsView::at(words, at, bits, missed_rows as usize));
    let views: Vec<WordsView<'_>> = views.collect();
    let columns: Vec<WordsRef<'_>> = views.iter().map(WordsView::lent).collect();
    let counts = words.elements_at::<u32>(end, shape.regions() as usize);
    let missed = Missed { keys: &keys, columns: &columns, counts: &counts };
    let (hot, scratch) = hot_pass::<K, V>(stream, input, (sampled, shape), computed, missed)?;
    report.hot_rows = rows as u64 - hot.missed;
    let found = if hot.missed == 0 {
        Found::Groups(hot.groups)
    } else if hot.missed > 2 * expected_missed + rows as u64 / MUCH_MISSED {
        // The sample was wrong, and so is its estimate of the other groups.
        Found::Overflow
    } else {
        let params = input.columns.iter().map(|column| column.params);
        let values = columns.iter().zip(params);
        let columns = values.map(|(&words, params)| InputColumn { words: Some(words), source: Source::Words, params });
        let columns: Vec<InputColumn<'_>> = columns.collect();
        let regions = hot.regions.map(|regions| (regions, &*counts));
        let rows = HashInput { keys: &keys, columns: &columns, rows: hot.missed, regions };
        let (before, constants) = ((hot.groups, expected), constants(input.seed));
        match group_in_bins::<K, V>(stream, scratch, rows, before, constants, computed)? {
            Found::Groups(groups) => Found::Groups(hot.groups + groups),
            Found::Overflow => Found::Overflow,
        }
    };
    scratch.put_beside(beside);
    Ok(found)
}
