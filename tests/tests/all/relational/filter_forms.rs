//! Filtered aggregates in results with a capacity, in merged and in reproducible ones, and refusals
//! of masks, on every engine.

use super::derived::{Found, computed};
use super::filter::{Columns, Settings, mask, most, settings};
use super::rows::{Rows, key_numbers};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{GroupBy, Groups, Method, Order};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::{assert_lengths, assert_wrong_device, elsewhere, on_every_engine, parameterized, says};

#[test]
fn bounded_groups_take_filters() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), settings()),
        |engine, (keys, seed, Settings { kinds, choices, .. })| {
            let device = &engine.device;
            let rows = Rows::new(keys.iter().map(|key| *key as u32).collect(), seed);
            let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
            let mask = Buffer::from_slice(device, &mask(keys.len(), kinds[0], choices)).unwrap();
            let mut query = GroupBy::new(&rows.keys);
            let count = query.count();
            query.filter(count, &mask);
            // One pass over the rows has four columns.
            let (is_sum, mut of_sum, mut of_mean) = (choices & 1 != 0, None, None);
            if is_sum {
                let (sum, min) = of_sum.insert((query.sum(&rows.double), query.min(&rows.wide)));
                query.filter(*sum, &mask).filter(*min, &mask);
            } else {
                let (mean, last) = of_mean.insert((query.mean(&rows.long), query.last(&rows.letters)));
                query.filter(*mean, &mask).filter(*last, &mask);
            }
            let expected = query.run(device).unwrap();
            let mut groups = query.run_bounded(stream, &mut scratch, rows.keys.len() + 3).unwrap();
            for _ in 0..2 {
                query.run_bounded_into(stream, &mut scratch, &mut groups).unwrap();
                let found = groups.finish(stream).unwrap();
                let keys = found.keys().download(stream).unwrap();
                let place = |key: &u32| expected.keys.iter().position(|held| held == key).unwrap();
                let places: Vec<usize> = keys.iter().map(place).collect();
                prop_assert_eq!(places.iter().collect::<HashSet<_>>().len(), expected.keys.len());
                macro_rules! check {
                    ($aggregate:expr, $bits:expr) => {
                        let found = found.column($aggregate).unwrap().download(stream).unwrap();
                        let of_all = expected.column($aggregate).unwrap();
                        let found: Vec<u64> = found.into_iter().map($bits).collect();
                        let expected: Vec<u64> = places.iter().map(|&place| of_all[place]).map($bits).collect();
                        prop_assert_eq!(found, expected);
                    };
                }
                check!(count, u64::from);
                if let Some((sum, min)) = of_sum {
                    check!(sum, |sum| (sum + 0.0).to_bits());
                    check!(min, u64::from);
                }
                if let Some((mean, last)) = of_mean {
                    check!(mean, |mean: f64| if mean.is_nan() { 1 } else { mean.to_bits() });
                    check!(last, u64::from);
                }
            }
            Ok(())
        },
    );
}

#[test]
fn reproducible_sums_of_filtered_rows() {
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), settings()),
        |engine, (keys, seed, Settings { kinds, choices, .. })| {
            let rows = Rows::new(keys, seed);
            let (values, mask) = (Columns::new(&rows).rough, mask(rows.keys.len(), kinds[0], choices));
            let on_device = Buffer::from_slice(&engine.device, &mask).unwrap();
            let run = |is_first: bool| {
                let mut query = GroupBy::new(&rows.keys);
                let (sum, mean) = (query.sum(&values), query.mean(&values));
                query.order(Order::ByKey).reproducible();
                if is_first {
                    query.filter(sum, &mask).filter(mean, &mask);
                } else {
                    query.filter(mean, &on_device).filter(sum, &on_device).method(Method::Hash);
                }
                let groups = query.run(&engine.device).unwrap();
                let columns = [groups.column(sum).unwrap(), groups.column(mean).unwrap()];
                let bits = |column: &[f64]| column.iter().map(|number| number.to_bits()).collect::<Vec<u64>>();
                columns.map(bits)
            };
            prop_assert_eq!(run(true), run(false));
            Ok(())
        },
    );
}

#[parameterized]
fn groups_without_rows_are_the_last_of_the_top(device: &Device) {
    let (keys, values) = ([1u32, 2, 3, 3, 4], [-5i32, 9, 2, -7, 4]);
    let mask = [0b11101u32];
    let mut query = GroupBy::new(&keys);
    let (least, sum) = (query.min(&values), query.sum(&values));
    query.filter(least, &mask).filter(sum, &mask).order(Order::ByKey);
    for (count, expected) in [(4, &[4, 1, 3, 2][..]), (2, &[4, 1])] {
        let groups = query.top(count, least).run(device).unwrap();
        assert_eq!(groups.keys, expected);
        let groups = query.top(count, sum).run(device).unwrap();
        assert_eq!(groups.keys, expected);
        assert_eq!(&groups.column(sum).unwrap()[..2], [4, -5]);
    }
}

#[parameterized]
fn groups_of_filtered_rows_are_merged(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let part = |keys: &[u32; 3], values: &[i32; 3], mask: &[u32; 1], scratch: &mut Scratch| {
        let mut query = GroupBy::new(keys);
        let asked = (query.count(), query.sum(values), query.min(values));
        query.filter(asked.0, mask).filter(asked.1, mask).filter(asked.2, mask).order(Order::ByKey);
        (asked, query.run_on(stream, scratch).unwrap())
    };
    let (asked, first) = part(&[1, 2, 2], &[5, -6, 7], &[0b101], &mut scratch);
    let (_, second) = part(&[2, 3, 1], &[4, 1, -9], &[0b001], &mut scratch);
    let groups: Groups<u32> = first.merge(stream, &mut scratch, &second).unwrap();
    assert_eq!(groups.keys().download(stream).unwrap(), [1, 2, 3]);
    assert_eq!(groups.column(asked.0).unwrap().download(stream).unwrap(), [1, 2, 0]);
    assert_eq!(groups.column(asked.1).unwrap().download(stream).unwrap(), [5, 11, 0]);
    assert_eq!(groups.column(asked.2).unwrap().download(stream).unwrap(), [5, 4, i32::MAX]);
    let mask = [u32::MAX];
    let mut query = GroupBy::new(&[1u32, 2]);
    let last = query.last(&[3u32, 4]);
    let groups = query.filter(last, &mask).run_on(stream, &mut scratch).unwrap();
    let error = groups.merge(stream, &mut scratch, &groups).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::NotMerged { .. })), "{error:?}");
    says(&error, &["first or last values of filtered rows", "only_rows"]);
}

#[parameterized]
fn what_is_no_filter_is_refused(device: &Device) {
    let (keys, values, long) = ([1u32; 33], [1u32; 33], [u32::MAX; 3]);
    let mut query = GroupBy::new(&keys);
    let sum = query.sum(&values);
    assert_lengths(query.filter(sum, &long).run(device).unwrap_err(), ("the keys", 2), ("the words of a mask", 3));
    let mut query = GroupBy::new(&keys);
    let error = query.only_rows(&long[..1]).run(device).unwrap_err();
    assert_lengths(error, ("the keys", 2), ("the words of a mask", 1));
    // An aggregate of another query, which has as many aggregates.
    let mut query = GroupBy::new(&keys);
    query.sum(&values);
    let error = query.filter(sum, &long[..2]).run(device).unwrap_err();
    assert_eq!(error, Error::Input(InputError::ForeignAggregate));
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let error = query.run_bounded(stream, &mut scratch, 9).map(drop).unwrap_err();
    assert_eq!(error, Error::Input(InputError::ForeignAggregate));
    let mut query = GroupBy::new(&keys);
    let error = query.only_rows(&long[..2]).run_bounded(stream, &mut scratch, 9).map(drop).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::NotBounded { .. })), "{error:?}");
    says(&error, &["leaving rows out"]);
    let there = elsewhere();
    let far = Buffer::from_slice(&there, &long[..2]).unwrap();
    let mut query = GroupBy::new(&keys);
    let count = query.count();
    assert_wrong_device(query.filter(count, &far).run(device).unwrap_err(), "the buffer of a mask", &there, device);
    // No row at all is left, or there is none.
    let nothing = [0u32; 2];
    let mut query = GroupBy::new(&keys);
    let (sum, var) = (query.sum(&values), query.var(&values));
    let groups = query.only_rows(&nothing).filter(var, &nothing).run(device).unwrap();
    assert!(groups.keys.is_empty() && groups.column(sum).unwrap().is_empty() && groups.column(var).unwrap().is_empty());
    let mut query = GroupBy::<u64>::new(&[]);
    let last = query.last::<u32>(&[]);
    assert!(query.filter(last, &[]).only_rows(&[]).run(device).unwrap().keys.is_empty());
    let found = computed(device, &query, true);
    assert!(matches!(found, Found::OnDevice(..)) && found.column(last).is_empty());
}
