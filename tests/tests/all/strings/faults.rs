//! The state of tables of strings after any kind of failure of any device operation.

use super::hashers::HASHERS;
use super::reference::{Reference, answers_are_right};
use warpnest::strings::{StringConfig, StringCounts, unique_with_hasher};
use warpnest_tests::planted::Operation::{Allocate, Download, Launch};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};

fn rows() -> Vec<Vec<u8>> {
    (0..3000u32).map(|row| format!("string {}", row.wrapping_mul(0x9e37_79b1) % 800).into_bytes()).collect()
}

#[test]
fn a_batch_that_fails_changes_no_counter_and_can_be_repeated() {
    let (device, plan) = planted();
    let (rows, hasher) = (rows(), HASHERS[1]);
    let (known, batch) = rows.split_at(500);
    let begin = || {
        let mut counts = StringCounts::with_hasher(&device, hasher);
        counts.add_many(known).unwrap();
        counts
    };
    let call = |counts: &mut StringCounts<_>| counts.add_many(batch);
    let right = |counts: &StringCounts<_>, rows: &[Vec<u8>]| {
        let Reference { strings, counts: expected, .. } = Reference::of(rows);
        let expected: Vec<u64> = expected.into_iter().map(u64::from).collect();
        assert_eq!(counts.counts(), expected);
        assert!(counts.ids().iter().eq(strings.iter().map(Vec::as_slice)));
    };
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut counts, done| {
        assert!(is_planted(&done.unwrap_err()));
        right(&counts, known);
        call(&mut counts).unwrap();
        right(&counts, &rows);
    });
    all_failed(&seen, &[Allocate, Launch]);
}

#[test]
fn unique_and_a_map_that_fail_say_so() {
    let (device, plan) = planted();
    let (rows, hasher) = (rows(), HASHERS[1]);
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || (),
        |_| unique_with_hasher(&device, &rows, &hasher),
        |(), done| assert!(is_planted(&done.unwrap_err())),
    );
    all_failed(&seen, &[Allocate, Launch, Download]);
    let values: Vec<String> = (0..rows.len()).map(|row| row.to_string()).collect();
    let config = StringConfig::default().hasher(hasher);
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || (),
        |_| config.build(&device, &rows, &values),
        |(), done| assert!(is_planted(&done.unwrap_err())),
    );
    all_failed(&seen, &[Allocate, Launch]);
    let map = config.build(&device, &rows, &values).unwrap();
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || (),
        |_| map.get_many(&rows).map(|found| found.len()),
        |(), done| {
            assert!(is_planted(&done.unwrap_err()));
            answers_are_right(&map, &rows);
        },
    );
    all_failed(&seen, &[Allocate, Launch, Download]);
}
