//! The state of groups, of a column's different keys, and of reductions, after any kind of failure
//! of any device operation.

use warpnest::primitives::{Scratch, Sum, reduce_by_key, segmented_reduce};
use warpnest::relational::{GroupBy, Groups, Method, OnDevice, Order, Unique, isin_into};
use warpnest::{Buffer, Result};
use warpnest_tests::planted::Operation::{Allocate, Fill, Launch, Record, Wait};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};

/// Returns the keys of 3,000 rows: half of them have one key, the others have 800 keys.
fn keys() -> Vec<u32> {
    (0..3000u32).map(|row| if row % 2 == 0 { 7 } else { row.wrapping_mul(0x9e37_79b1) % 800 }).collect()
}

fn check(method: Method, order: Order) {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys = keys();
    let (keys_on, values) = (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &keys).unwrap());
    let mut query = GroupBy::new(&keys_on);
    let (count, mean, max) = (query.count(), query.mean(&values), query.max(&values));
    query.method(method).order(order).seed(5);
    let right = |groups: &Groups<u32>| {
        let found = groups.keys().download(&stream).unwrap();
        let counts = groups.column(count).unwrap().download(&stream).unwrap();
        let means = groups.column(mean).unwrap().download(&stream).unwrap();
        let greatest = groups.column(max).unwrap().download(&stream).unwrap();
        assert_eq!(counts.iter().sum::<u32>() as usize, keys.len());
        for (group, key) in found.iter().enumerate() {
            // The value of each row is its key.
            assert_eq!(counts[group] as usize, keys.iter().filter(|row| *row == key).count());
            assert_eq!((means[group], greatest[group]), (*key as f64, *key));
        }
    };
    let call = |(scratch, groups): &mut (Scratch, Groups<u32>)| query.run_into(&stream, scratch, groups);
    let begin = || {
        let groups = query.run_on(&stream, &mut Scratch::new(&device)).unwrap();
        (Scratch::new(&device), groups)
    };
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
        assert!(is_planted(&done.unwrap_err()));
        assert!(subject.1.is_empty() && subject.1.column(count).unwrap().is_empty());
        call(&mut subject).unwrap();
        right(&subject.1);
    });
    all_failed(&seen, &[Allocate, Fill, Launch, Record]);
}

#[test]
fn a_group_by_that_fails_leaves_no_groups_and_can_be_repeated() {
    check(Method::Sort, Order::FirstSeen);
    check(Method::Hash, Order::Any);
    check(Method::Hash, Order::ByKey);
}

#[test]
fn derived_aggregates_that_fail_leave_no_groups_and_can_be_repeated() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..700u32).map(|row| row.wrapping_mul(0x9e37_79b1) % 90).collect();
    let values: Vec<u64> = keys.iter().map(|key| u64::from(key / 2)).collect();
    let (keys_on, values) =
        (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
    let mut query = GroupBy::new(&keys_on);
    let (count, distinct) = (query.count(), query.count_distinct(&values));
    let (var, median) = (query.ddof(0).var(&values), query.median(&values));
    query.order(Order::FirstSeen).seed(5).top(40, median);
    let call = |(scratch, groups): &mut (Scratch, Groups<u32>)| query.run_into(&stream, scratch, groups);
    let begin = || {
        let groups = query.run_on(&stream, &mut Scratch::new(&device)).unwrap();
        (Scratch::new(&device), groups)
    };
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
        assert!(is_planted(&done.unwrap_err()));
        let groups = &subject.1;
        assert!(groups.is_empty() && groups.column(count).unwrap().is_empty());
        assert!(groups.column(distinct).unwrap().is_empty() && groups.column(median).unwrap().is_empty());
        call(&mut subject).unwrap();
        let groups = &subject.1;
        let found = groups.keys().download(&stream).unwrap();
        assert_eq!(found.len(), 40);
        // All rows of a group have the same value.
        assert_eq!(groups.column(distinct).unwrap().download(&stream).unwrap(), [1; 40]);
        assert_eq!(groups.column(var).unwrap().download(&stream).unwrap(), [0.0; 40]);
        let medians: Vec<f64> = found.iter().map(|key| f64::from(key / 2)).collect();
        assert_eq!(groups.column(median).unwrap().download(&stream).unwrap(), medians);
    });
    all_failed(&seen, &[Allocate, Fill, Launch, Record]);
}

/// Lets each operation of a query for different keys fail. The result must then be empty, and the
/// next call with the same result and scratch must be right.
fn check_distinct(keys: &[u32], order: Order) {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let column = Buffer::from_slice(&device, keys).unwrap();
    let query = Unique::of(&column).ids().counts().first_rows().order(order).seed(3);
    type Subject = (Scratch, OnDevice<u32, u32, u32, u32>);
    let call = |(scratch, found): &mut Subject| query.run_into(&stream, scratch, found);
    let begin = || {
        let found = query.run_on(&stream, &mut Scratch::new(&device)).unwrap();
        (Scratch::new(&device), found)
    };
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
        assert!(is_planted(&done.unwrap_err()));
        let found = &subject.1;
        assert!(found.keys.is_empty() && found.ids.is_empty());
        assert!(found.counts.is_empty() && found.first_rows.is_empty());
        call(&mut subject).unwrap();
        let found = &subject.1;
        let [ids, counts, firsts] =
            [&found.ids, &found.counts, &found.first_rows].map(|numbers| numbers.download(&stream).unwrap());
        let found = found.keys.download(&stream).unwrap();
        assert!(keys.iter().zip(&ids).all(|(key, &id)| found[id as usize] == *key));
        for (id, key) in found.iter().enumerate() {
            assert_eq!(keys.iter().position(|row| row == key), Some(firsts[id] as usize));
        }
        assert_eq!(counts.iter().sum::<u32>() as usize, keys.len());
    });
    all_failed(&seen, &[Allocate, Fill, Launch, Record]);
}

#[test]
fn different_keys_that_fail_leave_none_and_can_be_found_again() {
    let twice: Vec<u32> = (0..600u32).map(|row| (row % 300).wrapping_mul(0x9e37_79b1)).collect();
    // All keys differ except one, which occurs twice.
    let once: Vec<u32> = (0..600u32).map(|row| (row % 599).wrapping_mul(0x9e37_79b1)).collect();
    for order in [Order::Any, Order::FirstSeen] {
        check_distinct(&twice, order);
        check_distinct(&once, order);
    }
    check_distinct(&twice, Order::ByKey);
}

#[test]
fn membership_that_fails_can_be_asked_again_with_the_same_scratch() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..2000).collect();
    let on_device = Buffer::from_slice(&device, &keys).unwrap();
    let among = Buffer::from_slice(&device, &keys.iter().map(|key| key * 2).collect::<Vec<u32>>()).unwrap();
    let call = |(scratch, found): &mut (Scratch, Buffer<u32>)| isin_into(&stream, scratch, &on_device, &among, found);
    let begin = || (Scratch::new(&device), Buffer::zeroed(&device, keys.len().div_ceil(32)).unwrap());
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
        assert!(is_planted(&done.unwrap_err()));
        call(&mut subject).unwrap();
        let words = subject.1.download(&stream).unwrap();
        assert!((0..keys.len()).all(|row| (words[row / 32] >> (row % 32) & 1 != 0) == row.is_multiple_of(2)));
    });
    all_failed(&seen, &[Allocate, Fill, Launch, Record]);
}

#[test]
fn a_reduction_that_fails_can_be_repeated_with_the_same_scratch() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let mut keys = keys();
    keys.sort_unstable();
    let values: Vec<i32> = (0..keys.len() as i32).collect();
    let starts: Vec<u32> = (0..=keys.len() as u32).step_by(100).collect();
    let of_segments: Vec<i64> = values.chunks(100).map(|part| part.iter().map(|&value| value as i64).sum()).collect();
    let runs = keys.chunk_by(|a, b| a == b);
    let of_runs: Vec<i64> = runs
        .scan(0, |first, run| {
            let rows = *first..*first + run.len();
            *first = rows.end;
            Some(values[rows].iter().map(|&value| value as i64).sum())
        })
        .collect();
    let (keys, values) = (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
    let starts = Buffer::from_slice(&device, &starts).unwrap();
    type Outputs = (Scratch, Buffer<i64>, Buffer<u32>, Buffer<u32>);
    let does = |by_key: bool, (scratch, sums, keys_out, count): &mut Outputs| -> Result<()> {
        if by_key {
            reduce_by_key(&stream, scratch, Sum, (&keys, &values), (keys_out, sums), count)
        } else {
            segmented_reduce(&stream, scratch, Sum, &values, &starts, sums)
        }
    };
    for (by_key, expected) in [(true, &of_runs), (false, &of_segments)] {
        let begin = || -> Outputs {
            let length = if by_key { keys.len() } else { expected.len() };
            let sums = Buffer::zeroed(&device, length).unwrap();
            let (keys_out, count) = (Buffer::zeroed(&device, keys.len()).unwrap(), Buffer::zeroed(&device, 1).unwrap());
            (Scratch::new(&device), sums, keys_out, count)
        };
        let call = |outputs: &mut Outputs| does(by_key, outputs);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut outputs, done| {
            assert!(is_planted(&done.unwrap_err()));
            call(&mut outputs).unwrap();
            assert!(outputs.1.download(&stream).unwrap().starts_with(expected), "by key: {by_key}");
        });
        all_failed(&seen, &[Allocate, Launch, Record, Wait]);
    }
}
