//! Reductions of segments and of the rows of each key, compared with loops on every engine.

use proptest::prelude::*;
use std::fmt::Debug;
use warpnest::primitives::{
    Max, Min, Number, Reduction, Scratch, Sum, reduce_by_key, runs_of_sorted, segmented_reduce,
};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{TestEngine, key, on_every_engine};

/// A numeric type, with the results of loops over items.
trait Tested: Number + PartialEq + Debug {
    /// Returns a number made from random bits; sums of such numbers are never rounded.
    fn of(bits: u64) -> Self;
    fn sum_of(items: &[Self]) -> u64;
    fn bits(self) -> u64;
    fn min_of(items: &[Self]) -> Self;
    fn max_of(items: &[Self]) -> Self;
}

macro_rules! integers {
    ($($number:ident: $sum:ident),+) => {$(
        impl Tested for $number {
            fn of(bits: u64) -> Self {
                bits as $number
            }
            fn sum_of(items: &[Self]) -> u64 {
                items.iter().fold(0, |sum: $sum, &item| sum.wrapping_add(item as $sum)) as u64
            }
            fn bits(self) -> u64 {
                self as u64
            }
            fn min_of(items: &[Self]) -> Self {
                items.iter().copied().min().unwrap_or($number::MAX)
            }
            fn max_of(items: &[Self]) -> Self {
                items.iter().copied().max().unwrap_or($number::MIN)
            }
        }
    )+};
}
integers!(u32: u64, i32: i64, u64: u64, i64: i64);

macro_rules! floats {
    ($($number:ident),+) => {$(
        impl Tested for $number {
            fn of(bits: u64) -> Self {
                if bits % 64 == 0 { -0.0 } else { (bits as i16 / 4) as $number }
            }
            fn sum_of(items: &[Self]) -> u64 {
                items.iter().fold(0.0, |sum: f64, &item| sum + item as f64).to_bits()
            }
            fn bits(self) -> u64 {
                if self.is_nan() { $number::NAN.to_bits() as u64 } else { self.to_bits() as u64 }
            }
            fn min_of(items: &[Self]) -> Self {
                items.iter().copied().min_by($number::total_cmp).unwrap_or($number::NAN)
            }
            fn max_of(items: &[Self]) -> Self {
                items.iter().copied().max_by($number::total_cmp).unwrap_or($number::NAN)
            }
        }
    )+};
}
floats!(f32, f64);

fn reduced<T: Tested, R: Reduction<T>>(
    device: &Device,
    reduction: R,
    values: &Buffer<T>,
    starts: &[u32],
) -> Vec<R::Output> {
    let stream = device.default_stream();
    let mut output = Buffer::zeroed(device, starts.len() - 1).unwrap();
    let starts = Buffer::from_slice(device, starts).unwrap();
    segmented_reduce(stream, &mut Scratch::new(device), reduction, values, &starts, &mut output).unwrap();
    output.download(stream).unwrap()
}

fn check_segments<T: Tested>(engine: &TestEngine, values: &[u64], starts: &[u32]) -> Result<(), TestCaseError>
where
    T::Sum: Bits,
{
    let values: Vec<T> = values.iter().map(|&bits| T::of(bits)).collect();
    let segments: Vec<&[T]> = starts.windows(2).map(|range| &values[range[0] as usize..range[1] as usize]).collect();
    let device = &engine.device;
    let values = Buffer::from_slice(device, &values).unwrap();
    let found = reduced(device, Sum, &values, starts);
    for (segment, (found, items)) in found.iter().zip(&segments).enumerate() {
        prop_assert_eq!(found.to_bits(), T::sum_of(items), "the sum of segment {}", segment);
    }
    let (least, greatest) = (reduced(device, Min, &values, starts), reduced(device, Max, &values, starts));
    for (segment, items) in segments.iter().enumerate() {
        prop_assert_eq!(least[segment].bits(), T::min_of(items).bits(), "the least of segment {}", segment);
        prop_assert_eq!(greatest[segment].bits(), T::max_of(items).bits(), "the greatest of segment {}", segment);
    }
    Ok(())
}

/// The bits of a sum, for exact comparisons.
trait Bits {
    fn to_bits(&self) -> u64;
}
impl Bits for u64 {
    fn to_bits(&self) -> u64 {
        *self
    }
}
impl Bits for i64 {
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
impl Bits for f64 {
    fn to_bits(&self) -> u64 {
        f64::to_bits(*self)
    }
}

/// Returns the most items for an engine, which are several tiles of 4,096 items.
fn most(engine: &TestEngine) -> usize {
    if engine.max_items < 1000 { 9_000 } else { 30_000 }
}

/// Returns values and the starts of segments. The lengths are of the kinds that reductions treat
/// differently: no item, one, few, around 32, and more than a tile. Some items belong to no
/// segment.
fn segments(most: usize) -> impl Strategy<Value = (Vec<u64>, Vec<u32>)> {
    let length = prop_oneof![
        4 => Just(0),
        4 => Just(1),
        4 => 2u32..8,
        4 => 30u32..36,
        2 => 100u32..1000,
        1 => 4000u32..9000,
    ];
    let lengths = prop_oneof![
        prop::collection::vec(length, 0..300),
        prop::collection::vec(0u32..3, 0..5000),
        prop::collection::vec(31u32..35, 0..300),
        Just(vec![most as u32 - 10]),
    ];
    (lengths, 0u32..8, prop::collection::vec(any::<u64>(), most)).prop_map(move |(lengths, first, mut values)| {
        let mut starts = vec![first];
        for length in lengths {
            let start = starts[starts.len() - 1] + length;
            if start as usize <= most {
                starts.push(start);
            }
        }
        values.truncate(most.min(starts[starts.len() - 1] as usize + 3));
        (values, starts)
    })
}

fn segments_are_reduced<T: Tested>()
where
    T::Sum: Bits,
{
    on_every_engine(
        |engine| segments(most(engine)),
        |engine, (values, starts)| check_segments::<T>(engine, &values, &starts),
    );
}

#[test]
fn segments_of_32_bit_integers() {
    segments_are_reduced::<u32>();
    segments_are_reduced::<i32>();
}

#[test]
fn segments_of_64_bit_integers() {
    segments_are_reduced::<u64>();
    segments_are_reduced::<i64>();
}

#[test]
fn segments_of_floats() {
    segments_are_reduced::<f32>();
    segments_are_reduced::<f64>();
}

#[test]
fn no_items_and_no_segments() {
    on_every_engine(
        |_| prop::sample::select(vec![0usize, 1, 300, 4096, 8192]),
        |engine, items| {
            let values: Vec<u64> = (0..items as u64).map(|i| i.wrapping_mul(u64::MAX / 7)).collect();
            check_segments::<u32>(engine, &values, &[0])?;
            check_segments::<i64>(engine, &values, &[items as u32; 9])?;
            check_segments::<i64>(engine, &values, &[0, items as u32])?;
            check_segments::<f32>(engine, &values, &(0..=items as u32).collect::<Vec<u32>>())
        },
    );
}

#[test]
fn sums_of_floats_are_the_same_from_run_to_run() {
    on_every_engine(
        |engine| prop::collection::vec(any::<f32>(), most(engine)),
        |engine, values| {
            // Random bits include NaNs, which would hide the rounding of sums, so they are
            // replaced.
            let values: Vec<f32> = values.iter().map(|value| if value.is_finite() { *value } else { 1.1 }).collect();
            let starts = [0, 5, 4000, values.len() as u32];
            let on_device = Buffer::from_slice(&engine.device, &values).unwrap();
            let sums = reduced(&engine.device, Sum, &on_device, &starts);
            for _ in 0..2 {
                let again = reduced(&engine.device, Sum, &on_device, &starts);
                prop_assert!(
                    sums.iter().zip(&again).all(|(a, b)| a.to_bits() == b.to_bits()),
                    "{:?}, {:?}",
                    sums,
                    again
                );
            }
            for (&sum, range) in sums.iter().zip(starts.windows(2)) {
                let items = &values[range[0] as usize..range[1] as usize];
                let expected: f64 = items.iter().map(|&item| item as f64).sum();
                let scale: f64 = items.iter().map(|&item| (item as f64).abs()).sum();
                prop_assert!((sum - expected).abs() <= 1e-12 * scale, "{} is not {}", sum, expected);
            }
            Ok(())
        },
    );
}

#[test]
fn a_nan_and_the_zeros_have_their_place() {
    on_every_engine(
        |_| Just(()),
        |engine, ()| {
            let nan = f32::NAN;
            let values = [1.0, nan, -nan, 0.0, -0.0, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, -nan];
            let values = Buffer::from_slice(&engine.device, &values).unwrap();
            let starts = [0, 3, 5, 7, 9, 10];
            let bits = |floats: Vec<f32>| floats.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
            let least = bits(reduced(&engine.device, Min, &values, &starts));
            let greatest = bits(reduced(&engine.device, Max, &values, &starts));
            prop_assert_eq!(least, [1.0, -0.0, -0.0, f32::NEG_INFINITY, -nan].map(f32::to_bits));
            prop_assert_eq!(greatest, [1.0, 0.0, 0.0, f32::INFINITY, -nan].map(f32::to_bits));
            let sums = reduced(&engine.device, Sum, &values, &starts);
            prop_assert!([sums[0], sums[3], sums[4]].iter().all(|sum| sum.is_nan()));
            // A sum begins at 0.
            prop_assert_eq!([sums[1], sums[2]].map(f64::to_bits), [0; 2]);
            Ok(())
        },
    );
}

fn check_by_key<K: Key>(engine: &TestEngine, mut keys: Vec<K>) -> Result<(), TestCaseError> {
    keys.sort();
    let values: Vec<i32> = (0..keys.len() as i32).map(|i| i.wrapping_mul(0x9e37_79b9u32 as i32)).collect();
    let mut expected: Vec<(K, i64, u32)> = Vec::new();
    for (row, (&key, &value)) in keys.iter().zip(&values).enumerate() {
        match expected.last_mut() {
            Some(last) if last.0 == key => last.1 += value as i64,
            _ => expected.push((key, value as i64, row as u32)),
        }
    }
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let rows = keys.len();
    let (keys, values) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &values).unwrap());
    let mut keys_out = Buffer::from_slice(device, &vec![K::ALL_ONES; rows]).unwrap();
    let mut sums = Buffer::zeroed(device, rows).unwrap();
    let mut count = Buffer::from_slice(device, &[u32::MAX]).unwrap();
    reduce_by_key(stream, &mut scratch, Sum, (&keys, &values), (&mut keys_out, &mut sums), &mut count).unwrap();
    prop_assert_eq!(count.download(stream).unwrap(), [expected.len() as u32]);
    let (found, sums) = (keys_out.download(stream).unwrap(), sums.download(stream).unwrap());
    for (group, &(key, sum, _)) in expected.iter().enumerate() {
        prop_assert_eq!((found[group], sums[group]), (key, sum));
    }
    prop_assert!(found[expected.len()..].iter().all(|&key| key == K::ALL_ONES), "nothing stands behind them");
    prop_assert!(sums[expected.len()..].iter().all(|&sum| sum == 0), "nothing stands behind them");

    let mut starts = Buffer::from_slice(device, &vec![77; rows + 1]).unwrap();
    runs_of_sorted(stream, &mut scratch, &keys, &mut keys_out, &mut starts, &mut count).unwrap();
    let mut expected_starts: Vec<u32> = expected.iter().map(|group| group.2).chain([rows as u32]).collect();
    expected_starts.resize(rows + 1, 77);
    prop_assert_eq!(starts.download(stream).unwrap(), expected_starts);
    Ok(())
}

#[test]
fn rows_of_each_key() {
    on_every_engine(
        |engine| (prop::collection::vec(key::<u64>(), 0..most(engine)), 0u32..64),
        |engine, (keys, shift)| {
            check_by_key::<u64>(engine, keys.iter().map(|key| key >> shift).collect())?;
            check_by_key::<u32>(engine, keys.iter().map(|key| (key >> shift) as u32).collect())
        },
    );
}
