//! Joins of rows whose keys may be null.

use super::join::{KINDS, METHODS, expected, pairs_of, sides};
use super::wide_keys::{SHAPES, Table, numbers};
use proptest::prelude::*;
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, JoinMethod, JoinWithValues, Joined, WideJoin};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device};
use warpnest_tests::planted::Operation::{Allocate, Fill, Launch, Record};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};
use warpnest_tests::{TestEngine, assert_lengths, assert_wrong_device, at, elsewhere, on_every_engine, parameterized};

/// A key, or `None` for null together with a number that no other row has.
pub type Nullable<K> = (Option<K>, usize);

/// Returns words with a bit for each row that has a key. The bits after the last row must be
/// ignored.
pub fn bits(rows: usize, is_valid: impl Fn(usize) -> bool) -> Vec<u32> {
    let bit = |row: usize| row >= rows || is_valid(row);
    (0..rows.div_ceil(32)).map(|word| (0..32).map(|lane| u32::from(bit(32 * word + lane)) << lane).sum()).collect()
}

/// Returns which rows of a side have a key: all, none or some of them, according to `pattern`.
pub fn is_valid(pattern: u64) -> impl Fn(usize) -> bool + Copy {
    move |row| match pattern % 8 {
        0 => true,
        1 => false,
        _ => (row as u64 ^ pattern).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 != 0,
    }
}

/// Returns the keys of a side. A null key equals no other key.
pub fn nullable<K: Copy>(keys: &[K], side: usize, is_valid: impl Fn(usize) -> bool) -> Vec<Nullable<K>> {
    let rows = keys.iter().enumerate();
    rows.map(|(row, &key)| if is_valid(row) { (Some(key), 0) } else { (None, 2 * row + side) }).collect()
}

fn check<K: WordKey + Eq + Hash + Debug>(
    device: &Device,
    [left, right]: [&[K]; 2],
    patterns: [Option<u64>; 2],
    (kind, method): (JoinKind, JoinMethod),
) {
    let _at = at(format!("{kind:?} of {} and {} rows, {patterns:?}, {method:?}", left.len(), right.len()));
    let valid = patterns.map(|pattern| is_valid(pattern.unwrap_or(0)));
    let bits = [bits(left.len(), valid[0]), bits(right.len(), valid[1])];
    let expected = expected(kind, &nullable(left, 0, valid[0]), &nullable(right, 1, valid[1]));

    let mut join = Join::new(left, right);
    let mut with_values = (0..left.len() as u32).collect::<Vec<_>>();
    with_values.iter_mut().for_each(|value| *value += 7);
    let right_values: Vec<u32> = (0..right.len() as u32).collect();
    let mut values = JoinWithValues::new((left, &with_values), (right, &right_values));
    if patterns[0].is_some() {
        join.left_valid(&bits[0]);
        values.left_valid(&bits[0]);
    }
    if patterns[1].is_some() {
        join.right_valid(&bits[1]);
        values.right_valid(&bits[1]);
    }
    let joined = join.kind(kind).method(method).run(device).unwrap();
    assert!(pairs_of(device, &joined) == expected, "{:?}", joined.report());
    assert_eq!(join.size(device).unwrap(), expected.len() as u64);
    if kind == JoinKind::Inner {
        let stream = device.default_stream();
        let joined = values.method(method).run(device).unwrap();
        let columns = (joined.left_values().download(stream).unwrap(), joined.right_values().download(stream).unwrap());
        let mut pairs: Vec<_> = columns.0.into_iter().map(|value| value - 7).zip(columns.1).collect();
        for (key, pair) in joined.keys().download(stream).unwrap().into_iter().zip(&pairs) {
            assert_eq!(key, left[pair.0 as usize]);
        }
        pairs.sort_unstable();
        assert!(pairs == expected, "{:?}", joined.report());
    }
}

#[parameterized(each_width)]
fn any_nulls<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| (sides::<K>(engine), any::<[Option<u64>; 2]>(), 0..KINDS.len(), 0..METHODS.len()),
        |engine, ((left, right), patterns, kind, method)| {
            check(&engine.device, [&left, &right], patterns, (KINDS[kind], METHODS[method]));
            Ok(())
        },
    );
}

/// Checks all kinds and methods with nulls on one side, on the other, and on both. A side may be
/// empty, have one row, or have only nulls.
#[parameterized]
fn nulls_meet_no_row_whatever_their_words(engine: &TestEngine) {
    let equal = [5u32; 40];
    for (left, right) in [(&equal[..], &equal[..35]), (&equal[..1], &equal[..0]), (&equal[..0], &equal[..33])] {
        for patterns in [[Some(3), None], [None, Some(4)], [Some(1), Some(3)], [Some(3), Some(1)], [Some(1); 2]] {
            for kind in KINDS {
                check(&engine.device, [left, right], patterns, (kind, METHODS[(left.len() + right.len()) % 4]));
            }
        }
    }
    if engine.max_items >= 2000 {
        let (left, right): (Vec<u64>, Vec<u64>) = ((0..2000).collect(), (0..900).map(|row| row / 2).collect());
        for kind in KINDS {
            for method in METHODS {
                check(&engine.device, [&left, &right], [Some(11), Some(12)], (kind, method));
            }
        }
    }
}

/// Checks joins of keys of several columns, some of which are null, also if hashes collide.
#[test]
fn nulls_among_wide_keys() {
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(180) / 3;
            (numbers(most), numbers(most), 0..SHAPES, 0..KINDS.len(), any::<[u64; 2]>(), prop::sample::select(&[1, 64]))
        },
        |engine, (left, right, shape, kind, patterns, hash_bits)| {
            let device = &engine.device;
            let tables = [Table::new(device, &left, shape), Table::new(device, &right, shape)];
            let valid = patterns.map(is_valid);
            let bits = [bits(left.len(), valid[0]), bits(right.len(), valid[1])];
            let mut join = WideJoin::new(tables[0].keys(shape), tables[1].keys(shape));
            join.left_valid(&bits[0]).right_valid(&bits[1]).kind(KINDS[kind]).hash_bits(hash_bits);
            let joined = join.run(device).unwrap();
            let [left, right] = Table::numbers([&tables[0], &tables[1]]);
            let expected = expected(KINDS[kind], &nullable(&left, 0, valid[0]), &nullable(&right, 1, valid[1]));
            assert!(pairs_of(device, &joined) == expected, "{:?} {:?}", KINDS[kind], joined.report());
            Ok(())
        },
    );
}

#[parameterized]
fn what_validity_refuses(engine: &TestEngine) {
    let device = &engine.device;
    let keys: Vec<u32> = (0..33).collect();
    let error = Join::new(&keys, &keys).left_valid(&[1u32]).run(device).unwrap_err();
    assert_lengths(error, ("the keys, in words of 32,", 2), ("the words that say which keys are valid", 1));
    let error = Join::new(&keys, &keys).right_valid(&[1u32; 3]).size(device).unwrap_err();
    assert_lengths(error, ("the keys, in words of 32,", 2), ("the words that say which keys are valid", 3));
    let error = Join::new(&keys, &keys).right_valid(&[1u32; 3]).scratch_bytes(device).unwrap_err();
    assert_lengths(error, ("the keys, in words of 32,", 2), ("the words that say which keys are valid", 3));
    let other = elsewhere();
    let strange = Buffer::from_slice(&other, &[1u32, 2]).unwrap();
    let error = Join::new(&keys, &keys).left_valid(&strange).run(device).unwrap_err();
    assert_wrong_device(error, "the buffer of a column", &other, device);
}

/// Checks that a join with nulls uses no more memory than it announces.
#[test]
fn nulls_keep_to_the_memory_that_is_stated() {
    let keys: Vec<u64> = (0..40_000).map(|row| row % 30_000).collect();
    for kind in KINDS {
        for method in METHODS {
            let (device, plan) = planted();
            let column = Buffer::from_slice(&device, &keys).unwrap();
            let valid = Buffer::from_slice(&device, &bits(keys.len(), is_valid(9))).unwrap();
            let mut join = Join::new(&column, &column);
            join.kind(kind).method(method).left_valid(&valid).right_valid(&valid);
            let pairs = join.size(&device).unwrap() as usize;
            let columns = plan.bytes();
            let stated = join.scratch_bytes(&device).unwrap() + 8 * pairs.max(keys.len());
            let joined = join.run(&device).unwrap();
            // Memory is allocated in pieces of 256 bytes.
            let taken = plan.most_bytes() - columns;
            assert!(taken <= stated as u64 + 2048, "{kind:?} {method:?}: {taken} bytes, {stated} were stated");
            assert_eq!(joined.len(), pairs);
        }
    }
}

/// Lets each operation of a join with nulls fail. Then there are no pairs, and the next call
/// returns them.
#[test]
fn after_a_failure_there_are_no_pairs() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    // No key is repeated: otherwise the join would try to allocate memory for more pairs, and could
    // do without.
    let keys: Vec<u32> = (0..300).collect();
    let valid = is_valid(10);
    let column = Buffer::from_slice(&device, &keys).unwrap();
    let bits = Buffer::from_slice(&device, &bits(keys.len(), valid)).unwrap();
    for kind in [JoinKind::Full, JoinKind::Anti] {
        let expected = expected(kind, &nullable(&keys, 0, valid), &nullable(&keys, 1, valid));
        let mut join = Join::new(&column, &column);
        join.left_valid(&bits).right_valid(&bits).kind(kind).seed(4);
        let call = |(scratch, joined): &mut (Scratch, Joined)| join.run_into(&stream, scratch, joined);
        let begin = || (Scratch::new(&device), Joined::new(&device).unwrap());
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut subject, done| {
            assert!(is_planted(&done.unwrap_err()));
            assert!(subject.1.is_empty() && subject.1.right_rows().is_empty());
            call(&mut subject).unwrap();
            assert!(pairs_of(&device, &subject.1) == expected);
        });
        all_failed(&seen, &[Allocate, Fill, Launch, Record]);
    }
}
