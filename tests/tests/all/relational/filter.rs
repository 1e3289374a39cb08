//! Aggregates of rows that masks leave, and queries of such rows, compared with exact arithmetic on
//! every engine.

use super::derived::{Found, computed, quartile, variance};
use super::means;
use super::rows::{Rows, Tested, in_order, key_numbers, kinds_of_case};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::relational::{Aggregate, GroupBy, Method, Order};
use warpnest::{Device, Key, Value};
use warpnest_tests::{TestEngine, on_every_engine};

/// The settings of a query.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub order: Order,
    pub method: Method,
    skips_nans: bool,
    is_reproducible: bool,
    /// The kinds of the masks of [`mask`].
    pub kinds: [u32; 3],
    /// The choices of aggregates and of their masks, a bit for each.
    pub choices: u64,
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let orders = prop::sample::select(vec![Order::Any, Order::ByKey, Order::FirstSeen]);
    let methods = prop::sample::select(vec![Method::Auto, Method::Sort, Method::Hash]);
    (orders, methods, any::<[bool; 2]>(), prop::array::uniform3(0u32..5), any::<u64>()).prop_map(
        |(order, method, [skips_nans, is_reproducible], kinds, choices)| Settings {
            order,
            method,
            skips_nans,
            is_reproducible,
            kinds,
            choices,
        },
    )
}

/// Returns a mask with no bit set, all bits, half of them, few, or the ones of the first rows. Bits
/// after the last row are set.
pub fn mask(rows: usize, kind: u32, seed: u64) -> Vec<u32> {
    let bit = |row: usize| {
        let mixed = ((row as u64 + 1) ^ seed.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        row >= rows || [false, true, mixed.is_multiple_of(2), mixed.is_multiple_of(23), row < rows / 3][kind as usize]
    };
    let word = |word: usize| (0..32).map(|at| u32::from(bit(32 * word + at)) << at).sum();
    (0..rows.div_ceil(32)).map(word).collect()
}

fn is_set(mask: &[u32], row: usize) -> bool {
    mask[row / 32] >> (row % 32) & 1 != 0
}

/// Columns whose aggregates are not simple.
pub struct Columns {
    /// Numbers with NaNs, zeros and infinities.
    special: Vec<f64>,
    /// Numbers whose sums are rounded.
    pub rough: Vec<f64>,
}

impl Columns {
    pub fn new<K>(rows: &Rows<K>) -> Self {
        let special = |wide: &u64| {
            let number = f64::from((wide >> 9) as i32);
            [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, number, number][(wide % 8) as usize]
        };
        let rough = rows.wide.iter().map(|wide| 1.0 / (wide % 1_000_003 + 1) as f64).collect();
        Self { special: rows.wide.iter().map(special).collect(), rough }
    }
}

/// Returns the least number, or with `is_max` the greatest. It is a NaN if all are, or if one is
/// and NaNs are not skipped.
fn extreme(numbers: &[f64], is_max: bool, skips_nans: bool) -> f64 {
    let worst = if is_max { f64::NEG_INFINITY } else { f64::INFINITY };
    let has_nan = numbers.iter().any(|number| number.is_nan());
    let real: Vec<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    let found = if is_max { real.into_iter().max_by(f64::total_cmp) } else { real.into_iter().min_by(f64::total_cmp) };
    match found {
        _ if has_nan && !skips_nans => f64::NAN,
        Some(found) => found,
        None if skips_nans => f64::NAN,
        None => worst,
    }
}

/// Returns the sum of positive numbers from 2^-21 to 1, rounded once.
fn exact_sum(numbers: &[f64]) -> f64 {
    let scale = 2f64.powi(80);
    numbers.iter().map(|number| (number * scale) as i128).sum::<i128>() as f64 / scale
}

/// Filters an aggregate by one of two masks or by none, as the lowest bits say. Returns the mask.
fn filtered<'r, K: Key, T: Value>(
    query: &mut GroupBy<'r, K>,
    aggregate: Aggregate<T>,
    masks: &'r [Vec<u32>],
    choice: u64,
) -> Option<&'r Vec<u32>> {
    let mask = [None, Some(&masks[0]), Some(&masks[1]), Some(&masks[0])][(choice % 4) as usize];
    if let Some(mask) = mask {
        // The last mask counts.
        query.filter(aggregate, &masks[(choice as usize / 4) % 2]).filter(aggregate, mask);
    }
    mask
}

/// A query of rows, of which a mask may leave some out.
struct Case<'r, K> {
    rows: &'r Rows<K>,
    columns: &'r Columns,
    masks: &'r [Vec<u32>],
    settings: Settings,
}

impl<'r, K: Tested> Case<'r, K> {
    fn takes_some(&self) -> bool {
        self.settings.choices >> 63 != 0
    }

    fn query(&self) -> GroupBy<'r, K> {
        let Settings { order, method, skips_nans, is_reproducible, .. } = self.settings;
        let mut query = GroupBy::new(&self.rows.keys);
        query.order(order).method(method).skip_nans(skips_nans);
        if is_reproducible {
            query.reproducible();
        }
        if self.takes_some() {
            query.only_rows(&self.masks[2]);
        }
        query
    }

    /// Returns the rows of each group, in the order of the result's keys.
    fn groups(&self, found: &Found<K>) -> Result<Vec<Vec<usize>>, TestCaseError> {
        let is_taken = |&row: &usize| !self.takes_some() || is_set(&self.masks[2], row);
        let taken: Vec<usize> = (0..self.rows.keys.len()).filter(is_taken).collect();
        let keys: Vec<K> = taken.iter().map(|&row| self.rows.keys[row]).collect();
        let groups = in_order(&keys, &found.keys(), self.settings.order)?;
        Ok(groups.iter().map(|group| group.1.iter().map(|&row| taken[row]).collect()).collect())
    }
}

/// Requests an aggregate and filters it, or does not, as the choices say.
macro_rules! ask {
    ($query:ident, $case:ident, $choices:ident, $aggregate:ident($($argument:expr)?)) => {{
        $choices = $choices.rotate_left(5);
        ($choices & 16 == 0).then(|| {
            let aggregate = $query.$aggregate($($argument)?);
            (aggregate, filtered(&mut $query, aggregate, $case.masks, $choices))
        })
    }};
}

/// Checks an aggregate, of which `$of` returns the exact value from the rows that are left.
macro_rules! check {
    ($found:ident, $groups:ident, $asked:expr, $of:expr) => {
        check!($found, $groups, $asked, $of, |found, expected, _| found == expected)
    };
    ($found:ident, $groups:ident, $asked:expr, $of:expr, $same:expr) => {
        if let Some((aggregate, mask)) = $asked {
            let (of, same): (&dyn Fn(&[usize]) -> _, &dyn Fn(_, _, &[usize]) -> bool) = (&$of, &$same);
            let values = $found.column(aggregate);
            prop_assert_eq!(values.len(), $groups.len());
            for (&value, group) in values.iter().zip(&$groups) {
                let is_left = |row: &usize| mask.is_none_or(|mask| is_set(mask, *row));
                let left: Vec<usize> = group.iter().copied().filter(is_left).collect();
                let expected = of(&left);
                prop_assert!(same(value, expected, &left), "{value:?} for {expected:?} of {left:?}");
            }
        }
    };
}

/// Returns whether two numbers have the same bits, or are NaNs.
fn same(found: f64, expected: f64, _: &[usize]) -> bool {
    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
}

/// Checks a random set of counts, sums and means.
fn check_sums<K: Tested>(device: &Device, case: &Case<'_, K>) -> Result<(), TestCaseError> {
    let (rows, rough, mut choices) = (case.rows, &case.columns.rough, case.settings.choices);
    let mut query = case.query();
    let count = ask!(query, case, choices, count());
    let signed = ask!(query, case, choices, sum(&rows.signed));
    let wide = ask!(query, case, choices, sum(&rows.wide));
    let single = ask!(query, case, choices, sum(&rows.single));
    let double = ask!(query, case, choices, sum(&rows.double));
    let of_rough = ask!(query, case, choices, sum(rough));
    let means = (
        ask!(query, case, choices, mean(&rows.signed)),
        ask!(query, case, choices, mean(&rows.wide)),
        ask!(query, case, choices, mean(&rows.long)),
        ask!(query, case, choices, mean(&rows.double)),
    );
    let found = computed(device, &query, choices & 1 != 0);
    let groups = case.groups(&found)?;
    check!(found, groups, count, |of| of.len() as u32);
    check!(found, groups, signed, |of| of.iter().map(|&row| i64::from(rows.signed[row])).sum::<i64>());
    check!(found, groups, wide, |of| of.iter().fold(0u64, |sum, &row| sum.wrapping_add(rows.wide[row])));
    check!(found, groups, single, |of| of.iter().map(|&row| f64::from(rows.single[row])).sum::<f64>());
    check!(found, groups, double, |of| of.iter().map(|&row| rows.double[row]).sum::<f64>());
    let sum_of_rough = |of: &[usize]| exact_sum(&of.iter().map(|&row| rough[row]).collect::<Vec<f64>>());
    let is_close = |found: f64, sum: f64, of: &[usize]| (found - sum).abs() <= of.len() as f64 * f64::EPSILON * sum;
    check!(found, groups, of_rough, sum_of_rough, is_close);
    let exact = |of: &[usize], value: &dyn Fn(usize) -> i128| match of {
        [] => f64::NAN,
        of => means::exact(of.iter().map(|&row| value(row)).sum(), of.len()),
    };
    check!(found, groups, means.0, |of| exact(of, &|row| rows.signed[row].into()), same);
    check!(found, groups, means.1, |of| exact(of, &|row| rows.wide[row].into()), same);
    check!(found, groups, means.2, |of| exact(of, &|row| rows.long[row].into()), same);
    // The sign of a zero is not specified.
    let equal = |found: f64, expected: f64, _: &[usize]| found == expected || found.is_nan() && expected.is_nan();
    check!(found, groups, means.3, |of| of.iter().map(|&row| rows.double[row]).sum::<f64>() / of.len() as f64, equal);
    Ok(())
}

/// Checks a random set of least, greatest, first and last values, and of derived aggregates.
fn check_others<K: Tested>(device: &Device, case: &Case<'_, K>) -> Result<(), TestCaseError> {
    let (rows, special) = (case.rows, &case.columns.special);
    let Settings { mut choices, skips_nans, .. } = case.settings;
    let mut query = case.query();
    let least = (ask!(query, case, choices, min(&rows.signed)), ask!(query, case, choices, min(&rows.wide)));
    let greatest = (ask!(query, case, choices, max(&rows.narrow)), ask!(query, case, choices, max(&rows.long)));
    let of_special = (ask!(query, case, choices, min(special)), ask!(query, case, choices, max(special)));
    let firsts = (ask!(query, case, choices, first(&rows.letters)), ask!(query, case, choices, first(&rows.wide)));
    let lasts = (ask!(query, case, choices, last(&rows.letters)), ask!(query, case, choices, last(&rows.wide)));
    let distinct = ask!(query, case, choices, count_distinct(&rows.letters));
    let (var, median) =
        (ask!(query, case, choices, var(&rows.signed)), ask!(query, case, choices, median(&rows.signed)));
    let found = computed(device, &query, choices & 1 != 0);
    let groups = case.groups(&found)?;
    check!(found, groups, least.0, |of| of.iter().map(|&row| rows.signed[row]).min().unwrap_or(i32::MAX));
    check!(found, groups, least.1, |of| of.iter().map(|&row| rows.wide[row]).min().unwrap_or(u64::MAX));
    check!(found, groups, greatest.0, |of| of.iter().map(|&row| rows.narrow[row]).max().unwrap_or(0));
    check!(found, groups, greatest.1, |of| of.iter().map(|&row| rows.long[row]).max().unwrap_or(i64::MIN));
    let numbers = |of: &[usize]| of.iter().map(|&row| special[row]).collect::<Vec<f64>>();
    check!(found, groups, of_special.0, |of| extreme(&numbers(of), false, skips_nans), same);
    check!(found, groups, of_special.1, |of| extreme(&numbers(of), true, skips_nans), same);
    check!(found, groups, firsts.0, |of| of.first().map_or('\0', |&row| rows.letters[row]));
    check!(found, groups, firsts.1, |of| of.first().map_or(0, |&row| rows.wide[row]));
    check!(found, groups, lasts.0, |of| of.last().map_or('\0', |&row| rows.letters[row]));
    check!(found, groups, lasts.1, |of| of.last().map_or(0, |&row| rows.wide[row]));
    let letters = |of: &[usize]| of.iter().map(|&row| rows.letters[row]).collect::<HashSet<char>>().len() as u32;
    check!(found, groups, distinct, letters);
    let signed = |of: &[usize]| of.iter().map(|&row| rows.signed[row].into()).collect::<Vec<i128>>();
    let near = |found: f64, expected: f64, of: &[usize]| {
        let bound = (of.len() + 8) as f64 * f64::EPSILON * expected.abs();
        (found - expected).abs() <= bound || found.is_nan() && expected.is_nan()
    };
    check!(found, groups, var, |of| variance(&signed(of), 1), near);
    check!(found, groups, median, |of| if of.is_empty() { f64::NAN } else { quartile(&signed(of), 2) }, same);
    Ok(())
}

/// Checks random sets of aggregates with random masks.
fn check<K: Tested>(device: &Device, rows: &Rows<K>, settings: Settings) -> Result<(), TestCaseError> {
    let mask = |number: usize| mask(rows.keys.len(), settings.kinds[number], settings.choices >> number);
    let (columns, masks) = (Columns::new(rows), [mask(0), mask(1), mask(2)]);
    let case = Case { rows, columns: &columns, masks: &masks, settings };
    check_sums(device, &case)?;
    check_others(device, &case)
}

pub fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 300 } else { 6_000 }
}

/// Checks rows of each kind of keys.
fn check_kinds(engine: &TestEngine, keys: &[u64], seed: u64, settings: Settings) -> Result<(), TestCaseError> {
    let [narrow, wide, pairs] = kinds_of_case(engine, seed);
    if narrow {
        let keys = keys.iter().map(|&key| key as i32).collect();
        check::<i32>(&engine.device, &Rows::new(keys, seed), settings)?;
    }
    if wide {
        check::<u64>(&engine.device, &Rows::new(keys.to_vec(), seed), settings)?;
    }
    if pairs {
        let keys = keys.iter().map(|key| ((key % 3) as i32 - 1, *key as u32)).collect();
        check::<(i32, u32)>(&engine.device, &Rows::new(keys, seed), settings)?;
    }
    Ok(())
}

#[test]
fn random_sets_of_filtered_aggregates() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), settings()),
        |engine, (keys, seed, settings)| check_kinds(engine, &keys, seed, settings),
    );
}

#[test]
fn lengths_around_a_word_of_a_mask() {
    let lengths = || prop::sample::select(vec![0usize, 1, 31, 32, 33, 63, 64, 65, 96]);
    on_every_engine(
        |_| (lengths(), 1u64..40, any::<u64>(), settings()),
        |engine, (rows, most, seed, settings)| {
            let keys: Vec<u64> = (0..rows as u64).map(|row| row.wrapping_mul(seed | 1) >> 8).collect();
            let keys: Vec<u64> = keys.iter().map(|key| key % most).collect();
            check_kinds(engine, &keys, seed, settings)
        },
    );
}

#[test]
fn two_key_columns_and_some_of_their_rows() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), settings()),
        |engine, (keys, Settings { order, method, kinds, choices, .. })| {
            let first: Vec<i32> = keys.iter().map(|key| (key % 7) as i32 - 3).collect();
            let second: Vec<u32> = keys.iter().map(|key| (key >> 3) as u32 % 50).collect();
            let [only, mask] = [mask(keys.len(), kinds[0], choices), mask(keys.len(), kinds[1], choices >> 1)];
            let mut query = GroupBy::by_two(&first, &second);
            let (rows, some) = (query.count(), query.count());
            query.filter(some, &mask).only_rows(&only).order(order).method(method);
            let groups = query.run(&engine.device).unwrap();
            let taken: Vec<usize> = (0..keys.len()).filter(|&row| is_set(&only, row)).collect();
            let pairs: Vec<(i32, u32)> = taken.iter().map(|&row| (first[row], second[row])).collect();
            let expected = in_order(&pairs, &groups.keys, order)?;
            let left = |of: &Vec<usize>| of.iter().filter(|&&row| is_set(&mask, taken[row])).count() as u32;
            let counts: Vec<u32> = expected.iter().map(|group| group.1.len() as u32).collect();
            prop_assert_eq!(groups.column(rows).unwrap(), counts);
            prop_assert_eq!(groups.column(some).unwrap(), expected.iter().map(|of| left(&of.1)).collect::<Vec<u32>>());
            Ok(())
        },
    );
}
