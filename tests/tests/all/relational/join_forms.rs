//! Joins whose right side is kept, joins that return values, and the memory of joins.

use super::join::{METHODS, expected, pairs_of, sides};
use proptest::prelude::*;
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, JoinMethod, JoinWithValues, Joined, JoinedValues, KeptSide};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Error};
use warpnest_testing::planted::{SINGLE_FAULTS, planted};
use warpnest_tests::{TestEngine, assert_lengths, assert_wrong_device, at, elsewhere, on_every_engine, parameterized};

/// The kinds of joins with a kept side.
const KEPT_KINDS: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];

fn check_kept<K: WordKey + Eq + Hash + Debug>(device: &Device, kept: &KeptSide<K>, left: &[K], right: &[K]) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let mut joined = Joined::new(device).unwrap();
    for kind in KEPT_KINDS {
        let _at =
            at(format!("{kind:?} join of {} rows with {} kept ones, {:?}", left.len(), right.len(), kept.method()));
        kept.join_into(kind, stream, &mut scratch, left, &mut joined).unwrap();
        let expected = expected(kind, left, right);
        assert!(pairs_of(device, &joined) == expected, "{:?}", joined.report());
        assert_eq!(joined.report().method, kept.method());
        assert_eq!(kept.size_on(kind, stream, &mut scratch, left).unwrap(), expected.len() as u64);
    }
}

/// Checks a kept side that receives its rows in two batches, with a batch of left rows after each.
#[parameterized(each_width)]
fn kept_sides<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| (sides::<K>(engine), 0..METHODS.len(), any::<prop::sample::Index>()),
        |engine, ((left, right), method, part)| {
            let (device, stream) = (&engine.device, engine.device.default_stream());
            let (first, second) = right.split_at(part.index(right.len() + 1));
            let mut scratch = Scratch::new(device);
            let mut kept = KeptSide::new_on(stream, &mut scratch, first, METHODS[method]).unwrap();
            check_kept(device, &kept, &left[left.len() / 2..], first);
            kept.extend_on(stream, &mut scratch, second).unwrap();
            assert_eq!((kept.len(), kept.is_empty()), (right.len(), right.is_empty()));
            check_kept(device, &kept, &left, &right);
            Ok(())
        },
    );
}

/// Checks kept sides and batches whose bins overflow, so they are split again or sorted.
#[parameterized]
fn hot_keys_in_kept_sides_and_in_batches(engine: &TestEngine) {
    let device = &engine.device;
    let (stream, rows) = (device.default_stream(), engine.max_items.min(6000));
    let many: Vec<u32> = (0..rows as u32).collect();
    let hot: Vec<u32> = (0..rows as u32).map(|row| if row % 8 == 0 { row } else { 1 }).collect();
    let few = [1u32, 7, 1, 8];
    for method in [JoinMethod::Split, JoinMethod::Direct] {
        for (left, right) in [(&many[..], &hot[..]), (&hot, &many), (&few[..], &hot)] {
            let kept = KeptSide::new_on(stream, &mut Scratch::new(device), right, method).unwrap();
            check_kept(device, &kept, left, right);
        }
    }
}

fn check_values<K: WordKey + Eq + Hash + Debug>(device: &Device, left: &[K], right: &[K], method: JoinMethod) {
    let stream = device.default_stream();
    let _at = at(format!("values of {} and {} rows, {method:?}", left.len(), right.len()));
    let left_values: Vec<f32> = (0..left.len()).map(|row| row as f32 + 0.5).collect();
    let right_values: Vec<i32> = (0..right.len()).map(|row| -(row as i32)).collect();
    let mut join = JoinWithValues::new((left, &left_values), (right, &right_values));
    let joined = join.method(method).run(device).unwrap();
    let keys = joined.keys().download(stream).unwrap();
    let (lefts, rights) =
        (joined.left_values().download(stream).unwrap(), joined.right_values().download(stream).unwrap());
    assert_eq!((joined.len(), joined.is_empty()), (keys.len(), keys.is_empty()));
    let rows = |left: f32, right: i32| ((left - 0.5) as u32, (-right) as u32);
    let mut pairs: Vec<_> = lefts.iter().zip(&rights).map(|(&left, &right)| rows(left, right)).collect();
    for (key, (row, _)) in keys.iter().zip(&pairs) {
        assert_eq!(*key, left[*row as usize]);
    }
    pairs.sort_unstable();
    assert!(pairs == expected(JoinKind::Inner, left, right), "{:?}", joined.report());
}

fn values<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| (sides::<K>(engine), 0..METHODS.len()),
        |engine, ((left, right), method)| {
            check_values(&engine.device, &left, &right, METHODS[method]);
            Ok(())
        },
    );
}

#[test]
fn values_with_keys_of_32_bits() {
    values::<u32>();
}

#[test]
fn values_with_keys_of_64_bits() {
    values::<u64>();
}

/// Checks bins that overflow, one side of which is sorted, and work items.
#[parameterized]
fn values_of_hot_keys(engine: &TestEngine) {
    let rows = engine.max_items.min(4000) as u64;
    let hot: Vec<u64> = (0..rows).map(|row| if row % 16 == 0 { row } else { 3 }).collect();
    let many: Vec<u64> = (0..rows).map(|row| row * 3).collect();
    check_values(&engine.device, &hot, &many, JoinMethod::Split);
    check_values(&engine.device, &many, &hot, JoinMethod::Split);
}

#[parameterized]
fn what_kept_sides_and_values_refuse(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let mut kept = KeptSide::new(device, &[1u32, 2]).unwrap();
    for (kind, name) in [(JoinKind::Right, "right"), (JoinKind::Full, "full")] {
        let error = kept.join(kind, &[1u32]).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::KeptJoin { kind }) if kind == name), "{error}");
    }
    let other = elsewhere();
    let strange = Buffer::from_slice(&other, &[1u32]).unwrap();
    let refused = kept.join(JoinKind::Inner, &strange).unwrap_err();
    assert_wrong_device(refused, "the buffer of a column", &other, device);
    let refused = kept.extend_on(stream, &mut scratch, &strange).unwrap_err();
    assert_wrong_device(refused, "the buffer of a column", &other, device);
    assert_eq!(kept.len(), 2);

    let keys = [1u32, 2, 3];
    let refused = JoinWithValues::new((&keys, &[1u32, 2]), (&keys, &keys)).run(device).unwrap_err();
    assert_lengths(refused, ("the left keys", 3), ("the left values", 2));
    let refused = JoinWithValues::new((&keys, &keys), (&keys, &[1.5f32])).run(device).unwrap_err();
    assert_lengths(refused, ("the right keys", 3), ("the right values", 1));
    let mut joined = JoinedValues::new(&other).unwrap();
    let join = JoinWithValues::new((&keys, &keys), (&keys, &keys));
    let refused = join.run_into(stream, &mut scratch, &mut joined).unwrap_err();
    assert_wrong_device(refused, "the joined rows", &other, device);
}

/// Checks that a kept side keeps its earlier rows if it cannot be extended, and that results are
/// empty after an error.
#[test]
fn after_a_failure_there_are_the_rows_of_before() {
    let (device, plan) = planted();
    let stream = device.default_stream();
    let (first, second) = ((0..300u32).collect::<Vec<_>>(), (200..40_500u32).collect::<Vec<_>>());
    for fault in SINGLE_FAULTS {
        for good in 0.. {
            let mut scratch = Scratch::new(&device);
            let mut kept = KeptSide::new_on(stream, &mut scratch, &first, JoinMethod::Split).unwrap();
            let (done, failed) = plan.with(fault, good, || kept.extend_on(stream, &mut scratch, &second));
            let all: Vec<u32> = first.iter().chain(if done.is_ok() { &second[..] } else { &[] }).copied().collect();
            assert_eq!(kept.len(), all.len(), "{fault:?} {good}");
            let joined = kept.join(JoinKind::Inner, &[250u32, 40_400]).unwrap();
            assert!(pairs_of(&device, &joined) == expected(JoinKind::Inner, &[250, 40_400], &all), "{fault:?} {good}");
            if failed.is_empty() {
                assert!(done.is_ok());
                break;
            }
        }
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

/// Checks that a join uses no more memory than it announces.
#[test]
fn joins_keep_to_the_memory_that_they_state() {
    let unique: Vec<u32> = (0..60_000).collect();
    let hot: Vec<u32> = (0..60_000).map(|row| if row % 5 == 0 { row } else { 9 }).collect();
    let few: Vec<u32> = (0..500).collect();
    for (left, right) in [(&unique, &unique), (&unique, &hot), (&hot, &few), (&few, &unique)] {
        for kind in super::join::KINDS {
            for method in METHODS {
                let (device, plan) = planted();
                let [left, right] = [left, right].map(|keys| Buffer::from_slice(&device, keys).unwrap());
                let mut join = Join::new(&left, &right);
                join.kind(kind).method(method);
                let pairs = join.size(&device).unwrap() as usize;
                let columns = plan.bytes();
                let stated = join.scratch_bytes(&device).unwrap() + 8 * pairs.max(left.len()).max(right.len());
                let joined = join.run(&device).unwrap();
                // Memory is allocated in pieces of 256 bytes.
                let taken = plan.most_bytes() - columns;
                assert!(taken <= stated as u64 + 1024, "{kind:?} {method:?}: {taken} bytes, {stated} were stated");
                assert_eq!(joined.len(), pairs);
            }
        }
    }
}
