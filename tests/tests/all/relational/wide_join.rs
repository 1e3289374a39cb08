//! Joins by keys of several columns, compared with joins by a map of the standard library.

use super::join::{KINDS, expected, pairs_of};
use super::wide_keys::{SHAPES, Table, numbers};
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{JoinKind, JoinMethod, Joined, TextColumn, WideJoin, WideKeys};
use warpnest::{Device, Error};
use warpnest_tests::planted::Operation::{Allocate, Fill, Launch, Record};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};
use warpnest_tests::{TestEngine, assert_wrong_device, at, elsewhere, failing, on_every_engine, only, parameterized};

/// Checks a join of two tables with hashes of `bits` bits.
fn check(device: &Device, [left, right]: [&[u64]; 2], shape: usize, (kind, bits): (JoinKind, u32)) {
    let _at = at(format!("{kind:?} join of {} and {} rows, shape {shape}, {bits} bits", left.len(), right.len()));
    let tables = [Table::new(device, left, shape), Table::new(device, right, shape)];
    let mut join = WideJoin::new(tables[0].keys(shape), tables[1].keys(shape));
    let joined = join.kind(kind).hash_bits(bits).run(device).unwrap();
    let [left, right] = Table::numbers([&tables[0], &tables[1]]);
    assert!(pairs_of(device, &joined) == expected(kind, &left, &right), "{:?}", joined.report());
}

/// Returns the most rows of a side, which are few if all hashes may be equal.
fn most_rows(engine: &TestEngine, bits: u32) -> usize {
    match bits {
        64 => engine.max_items.min(600) / 3,
        _ => engine.max_items.min(180) / 3,
    }
}

fn any_tables(bits: &'static [u32]) {
    on_every_engine(
        move |engine| {
            let most = bits.iter().map(|&bits| most_rows(engine, bits)).min().unwrap_or(0);
            (numbers(most), numbers(most), 0..SHAPES, 0..KINDS.len(), 0..bits.len())
        },
        |engine, (left, right, shape, kind, bits_number)| {
            check(&engine.device, [&left, &right], shape, (KINDS[kind], bits[bits_number]));
            Ok(())
        },
    );
}

#[test]
fn any_tables_by_their_whole_hashes() {
    any_tables(&[64]);
}

/// Checks hashes of no bits, one, two or five, so rows with different keys have equal hashes.
#[test]
fn any_tables_whose_hashes_collide() {
    any_tables(&[0, 1, 2, 5]);
}

#[parameterized]
fn empty_sides_equal_rows_and_rows_without_a_match(engine: &TestEngine) {
    let same = |rows: usize| vec![3u64; rows];
    let different = |from: u64| (from..from + 40).collect::<Vec<u64>>();
    for kind in KINDS {
        for bits in [64, 1] {
            for (left, right) in [
                (Vec::new(), Vec::new()),
                (same(3), Vec::new()),
                (Vec::new(), same(3)),
                (same(35), same(40)),
                (different(0), different(0)),
                (different(0), different(20)),
            ] {
                check(&engine.device, [&left, &right], 0, (kind, bits));
            }
        }
    }
}

/// Checks that a key with many rows on both sides makes no pairs of rows in a semi or anti join.
#[parameterized]
fn many_equal_rows_take_no_pairs_if_one_side_is_wanted(engine: &TestEngine) {
    let rows = if engine.max_items < 10_000 { 300 } else { 70_000 };
    let names: Vec<&str> = (0..rows).map(|row| if row % 7 == 0 { "rare" } else { "frequent" }).collect();
    let texts = TextColumn::new(&engine.device, &names).unwrap();
    let others = TextColumn::new(&engine.device, &vec!["frequent"; rows]).unwrap();
    for (kind, wanted) in [(JoinKind::Semi, "frequent"), (JoinKind::Anti, "rare")] {
        let mut join = WideJoin::new(WideKeys::of_text(&texts), WideKeys::of_text(&others));
        let joined = join.kind(kind).run(&engine.device).unwrap();
        let mut found = joined.left_rows().download(engine.device.default_stream()).unwrap();
        found.sort_unstable();
        let expected = (0..rows as u32).filter(|&row| names[row as usize] == wanted);
        assert!(found.into_iter().eq(expected) && joined.right_rows().is_empty());
    }
}

#[parameterized]
fn a_result_and_its_scratch_are_used_again(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let (mut scratch, mut joined) = (Scratch::new(device), Joined::new(device).unwrap());
    for (rows, bits) in [(0, 64), (50, 2), (7, 64), (90, 64), (60, 2)] {
        let numbers: Vec<u64> = (0..rows).map(|row| row * row).collect();
        let tables = [Table::new(device, &numbers, 3), Table::new(device, &numbers[rows as usize / 2..], 3)];
        let [left, right] = Table::numbers([&tables[0], &tables[1]]);
        for kind in KINDS {
            let mut join = WideJoin::new(tables[0].keys(3), tables[1].keys(3));
            join.kind(kind).hash_bits(bits).method(JoinMethod::Split).seed(rows);
            join.run_into(stream, &mut scratch, &mut joined).unwrap();
            assert!(pairs_of(device, &joined) == expected(kind, &left, &right), "{kind:?}");
        }
    }
}

#[test]
fn keys_that_cannot_be_joined_are_refused_and_leave_no_pairs() {
    let (device, there) = (Device::cpu(), elsewhere());
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let texts = TextColumn::new(&device, &["a", "b"]).unwrap();
    let mut joined = WideJoin::new(WideKeys::of_text(&texts), WideKeys::of_text(&texts)).run(&device).unwrap();
    assert_eq!(joined.len(), 2);
    let join = WideJoin::new(WideKeys::of_text(&texts), WideKeys::of_text(&texts).and(&[1u32, 2]));
    let error = join.run_into(stream, &mut scratch, &mut joined).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::KeysDiffer { number: 1, .. })), "{error}");
    assert!(joined.is_empty() && joined.right_rows().is_empty());
    let uneven = WideKeys::of_text(&texts).and(&[1u32]);
    let error = WideJoin::new(uneven, WideKeys::of_text(&texts).and(&[1u32, 2])).run(&device).unwrap_err();
    assert_eq!(error, InputError::ColumnLength { number: 1, rows: 1, first: 2 }.into());

    let error = WideJoin::new(WideKeys::of(&[1u64]), WideKeys::of(&[1u64]))
        .run_into(there.default_stream(), &mut Scratch::new(&there), &mut joined)
        .unwrap_err();
    assert_wrong_device(error, "the joined rows", &device, &there);
}

/// Lets each launch of a join fail. Then there are no pairs, and the next call returns them.
#[test]
fn after_a_failure_there_are_no_pairs() {
    let (device, good_launches) = failing();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let numbers: Vec<u64> = (0..100).collect();
    let tables = [Table::new(&device, &numbers, 3), Table::new(&device, &numbers[50..], 3)];
    let [left, right] = Table::numbers([&tables[0], &tables[1]]);
    for (kind, bits) in [(JoinKind::Full, 3), (JoinKind::Anti, 3), (JoinKind::Semi, 64)] {
        let mut join = WideJoin::new(tables[0].keys(3), tables[1].keys(3));
        join.kind(kind).hash_bits(bits);
        let mut joined = join.run_on(stream, &mut scratch).unwrap();
        assert!(pairs_of(&device, &joined) == expected(kind, &left, &right));
        let mut failures = 0;
        while let Err(error) = only(&good_launches, failures, || join.run_into(stream, &mut scratch, &mut joined)) {
            assert!(matches!(error, Error::Kernel { .. }), "{error}");
            assert!(joined.is_empty() && joined.right_rows().is_empty());
            failures += 1;
        }
        assert!(failures > 6 && pairs_of(&device, &joined) == expected(kind, &left, &right), "{failures}");
    }
}

/// Lets each operation of a join fail, in which different keys have equal hashes.
#[test]
fn whatever_fails_in_a_join_it_can_be_repeated() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let numbers: Vec<u64> = (0..60).collect();
    let tables = [Table::new(&device, &numbers, 0), Table::new(&device, &numbers[30..], 0)];
    let [left, right] = Table::numbers([&tables[0], &tables[1]]);
    for (kind, bits) in [(JoinKind::Full, 2), (JoinKind::Semi, 64)] {
        let mut join = WideJoin::new(tables[0].keys(0), tables[1].keys(0));
        join.kind(kind).hash_bits(bits).seed(4);
        let call = |(scratch, joined): &mut (Scratch, Joined)| join.run_into(&stream, scratch, joined);
        let begin = || (Scratch::new(&device), Joined::new(&device).unwrap());
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
            assert!(is_planted(&done.unwrap_err()));
            assert!(subject.1.is_empty() && subject.1.right_rows().is_empty());
            call(&mut subject).unwrap();
            assert!(pairs_of(&device, &subject.1) == expected(kind, &left, &right));
        });
        all_failed(&seen, &[Allocate, Fill, Launch, Record]);
    }
}
