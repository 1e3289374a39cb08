//! Groups of parts of the rows, merged, compared with the groups of all rows, on every engine.

use super::rows::{Rows, Tested, in_order, key_numbers, kinds_of_case};
use proptest::prelude::*;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{Aggregate, GroupBy, Groups, Order};
use warpnest::{Device, Error, Key};
use warpnest_tests::{TestEngine, assert_wrong_device, elsewhere, on_every_engine, parameterized, says};

/// The aggregates of a query that can be merged.
struct Asked {
    count: Aggregate<u32>,
    sums: (Aggregate<i64>, Aggregate<u64>, Aggregate<f64>),
    min: Aggregate<f32>,
    max: (Aggregate<i32>, Aggregate<u64>),
    first: Aggregate<char>,
    last: Aggregate<u64>,
}

fn asked<'r, K: Key>(query: &mut GroupBy<'r, K>, rows: &'r Rows<K>, part: std::ops::Range<usize>) -> Asked {
    Asked {
        count: query.count(),
        sums: (
            query.sum(&rows.signed[part.clone()]),
            query.sum(&rows.wide[part.clone()]),
            query.sum(&rows.double[part.clone()]),
        ),
        min: query.min(&rows.single[part.clone()]),
        max: (query.max(&rows.signed[part.clone()]), query.max(&rows.wide[part.clone()])),
        first: query.first(&rows.letters[part.clone()]),
        last: query.last(&rows.wide[part]),
    }
}

/// Checks the groups of three parts of the rows, some of which may be empty.
fn check<K: Tested>(
    device: &Device,
    rows: &Rows<K>,
    order: Order,
    [first, second]: [usize; 2],
) -> Result<(), TestCaseError> {
    let (stream, mut scratch, length) = (device.default_stream(), Scratch::new(device), rows.keys.len());
    let (first, second) = (first.min(second) % (length + 1), first.max(second) % (length + 1));
    let (first, second) = (first.min(second), first.max(second));
    let mut merged: Option<(Asked, Groups<K>)> = None;
    for part in [0..first, first..second, second..length] {
        let mut query = GroupBy::new(&rows.keys[part.clone()]);
        let asked = asked(&mut query, rows, part);
        let groups = query.order(order).run_on(stream, &mut scratch).unwrap();
        merged = Some(match merged {
            None => (asked, groups),
            Some((asked, before)) => (asked, before.merge(stream, &mut scratch, &groups).unwrap()),
        });
    }
    let (asked, groups) = merged.unwrap();
    let expected = in_order(&rows.keys, &groups.keys().download(stream).unwrap(), order)?;
    macro_rules! check {
        ($aggregate:expr, $of:expr) => {
            let found = groups.column($aggregate).unwrap().download(stream).unwrap();
            let of: &dyn Fn(&[usize]) -> _ = &$of;
            prop_assert_eq!(found, expected.iter().map(|group| of(&group.1)).collect::<Vec<_>>());
        };
    }
    check!(asked.count, |of| of.len() as u32);
    check!(asked.sums.0, |of| of.iter().map(|&row| i64::from(rows.signed[row])).sum::<i64>());
    check!(asked.sums.1, |of| of.iter().fold(0u64, |sum, &row| sum.wrapping_add(rows.wide[row])));
    check!(asked.sums.2, |of| of.iter().map(|&row| rows.double[row]).sum::<f64>());
    check!(asked.min, |of| of.iter().map(|&row| rows.single[row]).min_by(f32::total_cmp).unwrap());
    check!(asked.max.0, |of| of.iter().map(|&row| rows.signed[row]).max().unwrap());
    check!(asked.max.1, |of| of.iter().map(|&row| rows.wide[row]).max().unwrap());
    check!(asked.first, |of| rows.letters[of[0]]);
    check!(asked.last, |of| rows.wide[of[of.len() - 1]]);
    Ok(())
}

#[test]
fn merged_groups_are_the_groups_of_all_rows() {
    let most = |engine: &TestEngine| if engine.max_items < 1000 { 300 } else { 6_000 };
    let orders = || prop::sample::select(vec![Order::Any, Order::ByKey, Order::FirstSeen]);
    on_every_engine(
        |engine| (key_numbers(most(engine)), any::<u64>(), orders(), any::<[usize; 2]>()),
        |engine, (keys, seed, order, ends)| {
            let [narrow, pairs] = kinds_of_case(engine, seed);
            if narrow {
                let keys = keys.iter().map(|&key| key as i32).collect();
                check::<i32>(&engine.device, &Rows::new(keys, seed), order, ends)?;
            }
            if pairs {
                let keys = keys.iter().map(|key| ((key % 3) as i32 - 1, *key as u32)).collect();
                check::<(i32, u32)>(&engine.device, &Rows::new(keys, seed), order, ends)?;
            }
            Ok(())
        },
    );
}

#[parameterized]
fn what_cannot_be_merged_is_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let (keys, values) = ([1u32, 2], [1.0f64, 2.0]);
    let mut groups = |asks: &dyn Fn(&mut GroupBy<'_, u32>)| {
        let mut query = GroupBy::new(&keys);
        asks(&mut query);
        query.run_on(stream, &mut scratch).unwrap()
    };
    let sum = groups(&|query| _ = query.sum(&[1.0f64, 2.0]));
    let others: [(Groups<u32>, &[&str]); 6] = [
        (groups(&|query| _ = query.mean(&[1u32, 2])), &["means", "the sum and the count"]),
        (groups(&|query| _ = query.median(&[1u32, 2])), &["quantiles", "all rows at once"]),
        (groups(&|query| _ = query.sum(&[1u32, 2])), &["another query", "the same aggregates"]),
        (groups(&|query| _ = query.max(&[1.0f64, 2.0])), &["another query", "the same aggregates"]),
        (groups(&|query| _ = query.order(Order::ByKey).sum(&[1.0f64, 2.0])), &["another query", "order"]),
        (
            groups(&|query| {
                let sum = query.sum(&[1.0f64, 2.0]);
                query.top(1, sum);
            }),
            &["`top`", "the last merge"],
        ),
    ];
    let mut scratch = Scratch::new(device);
    for (other, words) in &others {
        let error = sum.merge(stream, &mut scratch, other).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::NotMerged { .. })), "{error:?}");
        says(&error, words);
    }
    assert_eq!(sum.merge(stream, &mut scratch, &sum).unwrap().len(), 2);
    let there = elsewhere();
    let mut query = GroupBy::new(&keys);
    query.sum(&values);
    let far = query.run_on(there.default_stream(), &mut Scratch::new(&there)).unwrap();
    let error = sum.merge(stream, &mut scratch, &far).unwrap_err();
    assert_wrong_device(error, "the other groups", &there, device);
}
