//! Means of integers, which must be the `f64` nearest to the exact mean, and least and greatest
//! numbers among NaNs.

use proptest::prelude::*;
use warpnest::low_level::kernels::relational::group_by::means::mean_of_integers;
use warpnest::primitives::Number;
use warpnest::relational::{GroupBy, Method, Order};
use warpnest_tests::{TestEngine, on_every_engine};

/// Returns the `f64` nearest to the mean of `count` integers with a sum below 2^96 in magnitude.
pub fn exact(sum: i128, count: usize) -> f64 {
    let magnitude = sum.unsigned_abs();
    if magnitude == 0 {
        return 0.0;
    }
    // The quotient has at least 96 bits. If there is a remainder, the mean lies between two
    // integers.
    let up = magnitude.leading_zeros();
    let (numerator, count) = (magnitude << up, count as u128);
    let quotient = (numerator / count) | u128::from(!numerator.is_multiple_of(count));
    let mean = quotient as f64 * 2f64.powi(-(up as i32));
    if sum < 0 { -mean } else { mean }
}

/// Checks the mean of integers, each of which is there `times` times, from sums as a device
/// computes them.
fn check(values: &[i128], is_signed: bool, times: u32) {
    let sum_of = |of: &dyn Fn(i128) -> u64| {
        values.iter().fold(0u64, |sum, &value| sum.wrapping_add(of(value).wrapping_mul(times.into())))
    };
    let (sum, upper) = (sum_of(&|value| value as u64), sum_of(&|value| (value >> 32) as u64));
    let count = values.len() as u32 * times;
    let expected = exact(values.iter().sum::<i128>() * i128::from(times), count as usize);
    let mean = mean_of_integers(sum, upper, is_signed, count);
    assert_eq!(mean.to_bits(), expected.to_bits(), "{mean} for {expected}, {times} times {values:?}");
}

#[test]
fn means_are_the_nearest_floats() {
    let edges = [0, 1, -1, 2, -3, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 62, (1 << 53) + 1, 1 << 54, -(1 << 32)];
    let (signed, unsigned) = (edges.map(i128::from), edges.map(|edge| i128::from(edge as u64)));
    for (edges, is_signed) in [(signed, true), (unsigned, false)] {
        for times in [1, 2, 3, 7, 1 << 20, 0x5555_5555] {
            for a in edges {
                check(&[a], is_signed, times);
                for b in edges {
                    check(&[a, b], is_signed, times);
                    check(&[a, b, 1], is_signed, times);
                }
            }
        }
    }
    assert!(mean_of_integers(0, 0, false, 0).is_nan());
}

proptest! {
    #[test]
    fn means_of_any_integers(values in prop::collection::vec((any::<i64>(), 0u32..64), 1..9), times in 1u32..1 << 28) {
        let signed: Vec<i128> = values.iter().map(|&(value, shift)| (value >> shift).into()).collect();
        check(&signed, true, times);
        let unsigned: Vec<i128> = values.iter().map(|&(value, shift)| (value as u64 >> shift).into()).collect();
        check(&unsigned, false, times);
    }
}

/// Checks the means of a column by both methods. The first key has half of the rows.
fn check_column<T: Number<Word = u64> + Into<i128> + std::fmt::Debug>(
    engine: &TestEngine,
    values: &[T],
) -> Result<(), TestCaseError> {
    let device = &engine.device;
    let keys: Vec<u32> = (0..values.len() as u32).map(|row| if row % 2 == 0 { 0 } else { row % 9 }).collect();
    let mut sums = std::collections::BTreeMap::<u32, (i128, usize)>::new();
    for (&key, &value) in keys.iter().zip(values) {
        let (sum, count) = sums.entry(key).or_default();
        (*sum, *count) = (*sum + value.into(), *count + 1);
    }
    let expected: Vec<u64> = sums.values().map(|&(sum, count)| exact(sum, count).to_bits()).collect();
    for method in [Method::Hash, Method::Sort] {
        let mut query = GroupBy::new(&keys);
        // The sum in the same query wraps.
        let (first, _, mean) = (query.mean(values), query.sum(values), query.mean(values));
        let groups = query.order(Order::ByKey).method(method).run(device).unwrap();
        prop_assert!(groups.report.method == method || groups.report.overflowed, "{:?}", groups.report);
        for mean in [first, mean] {
            let found: Vec<u64> = groups.column(mean).unwrap().iter().copied().map(f64::to_bits).collect();
            prop_assert_eq!(&found, &expected, "{:?} of {:?}", method, values);
        }
    }
    Ok(())
}

#[test]
fn means_of_integers_whose_sums_wrap() {
    on_every_engine(
        |engine| prop::collection::vec(any::<i64>(), 2..engine.max_items.min(5000)),
        |engine, values| {
            let extreme = |row: usize, value: i64| [i64::MAX, i64::MIN, 1 << 62, value][row % 4];
            let mixed: Vec<i64> = values.iter().enumerate().map(|(row, &value)| extreme(row, value)).collect();
            let unsigned = |values: &[i64]| values.iter().map(|&value| value as u64).collect::<Vec<u64>>();
            check_column(engine, &unsigned(&mixed))?;
            check_column(engine, &mixed)?;
            check_column(engine, &values)?;
            check_column(engine, &unsigned(&values))?;
            check_column(engine, &vec![1i64 << 62; values.len()])?;
            // Only one value, in the last row, is too large.
            let mut one: Vec<i64> = values.iter().map(|value| value >> 45).collect();
            check_column(engine, &one)?;
            *one.last_mut().unwrap() = -1 << 62;
            check_column(engine, &one)
        },
    );
}

/// Returns the bits of a number; all NaNs have the same bits.
pub fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

/// Returns the greatest number, or a NaN if there is none. If NaNs are not skipped, any NaN makes
/// the result a NaN.
pub fn greatest(numbers: impl Iterator<Item = f64>, skips_nans: bool) -> f64 {
    let (nans, numbers): (Vec<f64>, Vec<f64>) = numbers.partition(|number| number.is_nan());
    if nans.is_empty() || skips_nans { numbers.into_iter().max_by(f64::total_cmp).unwrap_or(f64::NAN) } else { nans[0] }
}

/// Returns the least number, by the rules of [`greatest`].
pub fn least(numbers: impl Iterator<Item = f64>, skips_nans: bool) -> f64 {
    -greatest(numbers.map(|number| -number), skips_nans)
}

#[test]
fn a_nan_is_neither_the_least_nor_the_greatest_while_there_is_a_number() {
    // Few groups are aggregated in the hot pass; more groups are aggregated in bins, or sorted.
    on_every_engine(
        |engine| (prop::collection::vec(any::<(u8, u16)>(), 1..engine.max_items.min(5000)), any::<bool>()),
        |engine, (rows, skips_nans)| {
            for groups in [3, 900] {
                let keys: Vec<u32> = rows.iter().map(|row| u32::from(row.1) % groups).collect();
                let number = |&(kind, number): &(u8, u16)| match kind % 11 {
                    0..=3 => f64::from_bits(f64::NAN.to_bits() | u64::from(number)),
                    4..=6 => -f64::from_bits(f64::NAN.to_bits() | u64::from(number)),
                    7 => f64::INFINITY,
                    8 => f64::NEG_INFINITY,
                    9 => [0.0, -0.0][usize::from(number % 2)],
                    _ => f64::from(number) - 30_000.0,
                };
                let double: Vec<f64> = rows.iter().map(number).collect();
                let single: Vec<f32> = double.iter().map(|&number| number as f32).collect();
                let mut of = std::collections::BTreeMap::<u32, Vec<f64>>::new();
                keys.iter().zip(&double).for_each(|(&key, &number)| of.entry(key).or_default().push(number));
                let expected: [Vec<u64>; 2] = [least, greatest].map(|extreme| {
                    of.values().map(|numbers| bits(extreme(numbers.iter().copied(), skips_nans))).collect()
                });
                for method in [Method::Hash, Method::Sort] {
                    let mut query = GroupBy::new(&keys);
                    let (min, max) = (query.min(&double), query.max(&double));
                    query.order(Order::ByKey).method(method).skip_nans(skips_nans);
                    let groups = query.run(&engine.device).unwrap();
                    for (extreme, expected) in [min, max].into_iter().zip(&expected) {
                        let found = groups.column(extreme).unwrap();
                        let found: Vec<u64> = found.iter().copied().map(bits).collect();
                        prop_assert_eq!(&found, expected, "{:?}", method);
                    }
                    let mut query = GroupBy::new(&keys);
                    let (min, max) = (query.min(&single), query.max(&single));
                    query.order(Order::ByKey).method(method).skip_nans(skips_nans);
                    let groups = query.run(&engine.device).unwrap();
                    for (extreme, expected) in [min, max].into_iter().zip(&expected) {
                        let found = groups.column(extreme).unwrap();
                        let found: Vec<u64> = found.iter().map(|&number| bits(number.into())).collect();
                        prop_assert_eq!(&found, expected, "{:?}", method);
                    }
                }
            }
            Ok(())
        },
    );
}
