//! Joins with a kept side and a capacity for the pairs, compared with loops, on every engine.

use super::bounded::check_over;
use super::rows::{Tested, key_numbers, kinds_of_case};
use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{Bounded, JoinKind, JoinMethod, Joined, KeptSide, NO_ROW};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::planted::{LASTING_FAULTS, Operation, SINGLE_FAULTS, in_each_operation, is_planted, planted};
use warpnest_tests::{TestEngine, assert_wrong_device, elsewhere, on_every_engine, parameterized, says};

const KINDS: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];

/// Returns the pairs of a join in ascending order; the second row is 0 if there are no right rows.
fn pairs_of<K: Tested>(kind: JoinKind, left: &[K], right: &[K]) -> Vec<(u32, u32)> {
    let mut rows: HashMap<K, Vec<u32>> = HashMap::new();
    for (row, &key) in (0..).zip(right) {
        rows.entry(key).or_default().push(row);
    }
    let mut pairs = Vec::new();
    for (row, key) in (0..).zip(left) {
        let matches = rows.get(key).map_or(&[] as &[u32], Vec::as_slice);
        match kind {
            JoinKind::Inner => pairs.extend(matches.iter().map(|&other| (row, other))),
            JoinKind::Left if matches.is_empty() => pairs.push((row, NO_ROW)),
            JoinKind::Left => pairs.extend(matches.iter().map(|&other| (row, other))),
            JoinKind::Semi if !matches.is_empty() => pairs.push((row, 0)),
            JoinKind::Anti if matches.is_empty() => pairs.push((row, 0)),
            _ => {}
        }
    }
    pairs
}

/// Returns the pairs of a result in ascending order, as [`pairs_of`] does.
fn sorted(device: &Device, kind: JoinKind, joined: &Joined) -> Vec<(u32, u32)> {
    let stream = device.default_stream();
    let left = joined.left_rows().download(stream).unwrap();
    let mut right = joined.right_rows().download(stream).unwrap();
    if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        assert!(right.is_empty());
        right = vec![0; left.len()];
    }
    assert_eq!(left.len(), right.len());
    let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
    pairs.sort_unstable();
    pairs
}

/// Checks every kind of join one after the other in one result, with and without enough capacity.
fn check<K: Tested>(engine: &TestEngine, left: &[K], right: &[K], seed: u64) -> Result<(), TestCaseError> {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let column = Buffer::from_slice(device, left).unwrap();
    let method = [JoinMethod::OnChip, JoinMethod::Direct][(seed % 2) as usize];
    let kept = KeptSide::new_on(stream, &mut scratch, right, method).unwrap();
    let kind = KINDS[(seed / 2 % 4) as usize];
    let expected = pairs_of(kind, left, right);
    let capacity = [expected.len(), expected.len().saturating_sub(1), 0, expected.len() + 70][(seed / 8 % 4) as usize];
    if kept.method() == JoinMethod::Split {
        let error = kept.join_bounded(kind, stream, &mut scratch, &column, capacity).unwrap_err();
        prop_assert!(matches!(error, Error::Input(InputError::NotBounded { .. })), "{error:?}");
        return Ok(());
    }
    let mut joined = kept.join_bounded(kind, stream, &mut scratch, &column, capacity).unwrap();
    for kind in [kind, KINDS[(seed / 32 % 4) as usize], kind] {
        let expected = pairs_of(kind, left, right);
        kept.join_bounded_into(kind, stream, &mut scratch, &column, &mut joined).unwrap();
        let memory = joined.memory();
        let right_rows = if matches!(kind, JoinKind::Semi | JoinKind::Anti) { 0 } else { capacity };
        prop_assert_eq!([memory.left_rows().len(), memory.right_rows().len()], [capacity, right_rows]);
        prop_assert_eq!(memory.report().method, kept.method());
        prop_assert_eq!(joined.count().download(stream).unwrap(), [expected.len() as u64]);
        if expected.len() > capacity {
            check_over(device, &mut joined, "pairs")?;
        } else {
            for _ in 0..2 {
                prop_assert_eq!(&sorted(device, kind, joined.finish(stream).unwrap()), &expected);
            }
        }
    }
    Ok(())
}

fn sides(engine: &TestEngine) -> impl Strategy<Value = (Vec<u64>, Vec<u64>, u64)> + use<> {
    let most = if engine.max_items < 1000 { 100 } else { 3_000 };
    let few = |numbers: Vec<u64>| numbers.into_iter().map(|number| number % 2003).collect();
    (key_numbers(most).prop_map(few), key_numbers(most / 2).prop_map(few), any::<u64>())
}

#[test]
fn pairs_of_kept_sides() {
    on_every_engine(sides, |engine, (left, right, seed)| {
        let [narrow, wide] = kinds_of_case(engine, seed);
        if narrow {
            let words = |numbers: &[u64]| numbers.iter().map(|&number| number as u32).collect::<Vec<u32>>();
            check(engine, &words(&left), &words(&right), seed)?;
        }
        // Each right key occurs once, so that it has a slot of a hash table.
        let distinct: Vec<u64> = (0..right.len() as u64).chain([u64::MAX]).collect();
        if wide {
            check(engine, &left, &distinct, seed)?;
        }
        Ok(())
    });
}

/// Lets each operation of a second call fail, which may only queue fills, copies and launches.
#[test]
fn a_second_join_only_queues_and_may_fail() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..3000u32).map(|row| row % 700).collect();
    let column = Buffer::from_slice(&device, &keys).unwrap();
    let kept = KeptSide::new_on(&stream, &mut Scratch::new(&device), &keys[..600], JoinMethod::Auto).unwrap();
    let expected = pairs_of(JoinKind::Left, &keys, &keys[..600]);
    let call = |(scratch, joined): &mut (Scratch, Bounded<Joined>)| {
        kept.join_bounded_into(JoinKind::Left, &stream, scratch, &column, joined)
    };
    let begin = || {
        let mut scratch = Scratch::new(&device);
        let joined = kept.join_bounded(JoinKind::Left, &stream, &mut scratch, &column, expected.len()).unwrap();
        (scratch, joined)
    };
    for faults in [SINGLE_FAULTS, LASTING_FAULTS] {
        let seen = in_each_operation(&plan, &faults, begin, call, |mut subject, done| {
            assert!(is_planted(&done.unwrap_err()));
            assert!(subject.1.memory().is_empty() && subject.1.finish(&stream).unwrap().is_empty());
            call(&mut subject).unwrap();
            assert_eq!(sorted(&device, JoinKind::Left, subject.1.finish(&stream).unwrap()), expected);
        });
        let queued = [Operation::Fill, Operation::Launch, Operation::Copy, Operation::Record];
        assert!(seen.iter().all(|operation| queued.contains(operation)), "{seen:?}");
    }
}

#[parameterized]
fn joins_that_need_a_wait_are_refused(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let rows: Vec<u32> = (0..200).collect();
    let kept = KeptSide::new_on(stream, &mut scratch, &rows, JoinMethod::Split).unwrap();
    let error = kept.join_bounded(JoinKind::Inner, stream, &mut scratch, &rows, 10).unwrap_err();
    says(&error, &["split into bins", "without a capacity"]);
    let kept = KeptSide::new(device, &rows).unwrap();
    for kind in [JoinKind::Right, JoinKind::Full] {
        let error = kept.join_bounded(kind, stream, &mut scratch, &rows, 10).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::KeptJoin { .. })), "{error:?}");
    }
    let mut joined = kept.join_bounded(JoinKind::Inner, stream, &mut scratch, &rows[..7], 10).unwrap();
    let there = elsewhere();
    let done = kept.join_bounded_into(JoinKind::Inner, stream, &mut Scratch::new(&there), &rows, &mut joined);
    assert_wrong_device(done.unwrap_err(), "the memory of the result", device, &there);
    assert_eq!(joined.finish(stream).unwrap().len(), 7);
}
