//! Joins whose pairs are returned in chunks.

use super::join::{KINDS, METHODS, expected, sides};
use super::join_nulls::{bits, is_valid, nullable};
use proptest::prelude::*;
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, JoinMethod, NO_ROW};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Error};
use warpnest_testing::planted::{SINGLE_FAULTS, planted};
use warpnest_tests::{TestEngine, at, on_each_engine, on_every_engine, parameterized};

/// Returns the sorted pairs of a join in chunks, each of at least one pair and at most `most`.
fn pairs_in_chunks<K: WordKey>(device: &Device, join: &Join<'_, K>, most: usize) -> Result<Vec<(u32, u32)>, Error> {
    let (stream, mut scratch, mut pairs) = (device.default_stream(), Scratch::new(device), Vec::new());
    let all = join.run_in_chunks(stream, &mut scratch, most, |chunk| {
        let left = chunk.left_rows().download(stream)?;
        let mut right = chunk.right_rows().download(stream)?;
        assert!((1..=most.max(1)).contains(&chunk.len()) && chunk.len() == left.len());
        right.resize(left.len(), NO_ROW);
        pairs.extend(left.into_iter().zip(right));
        Ok::<(), Error>(())
    })?;
    assert_eq!(all, pairs.len() as u64);
    pairs.sort_unstable();
    Ok(pairs)
}

fn check<K: WordKey + Eq + Hash + Debug>(
    device: &Device,
    [left, right]: [&[K]; 2],
    most: usize,
    (kind, method): (JoinKind, JoinMethod),
) {
    let _at = at(format!("{kind:?} of {} and {} rows in chunks of {most}, {method:?}", left.len(), right.len()));
    let mut join = Join::new(left, right);
    let pairs = pairs_in_chunks(device, join.kind(kind).method(method), most).unwrap();
    assert!(pairs == expected(kind, left, right));
}

#[parameterized(each_width)]
fn any_chunks<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| {
            let most = prop_oneof![Just(usize::MAX), (4..400usize)];
            (sides::<K>(engine), most, 0..KINDS.len(), 0..METHODS.len(), any::<Option<[u64; 2]>>())
        },
        |engine, ((left, right), most, kind, method, patterns)| {
            let device = &engine.device;
            // There are no more chunks than an interpreter can process.
            let size = expected(KINDS[kind], &left, &right).len();
            let most = most.max(size / if engine.max_items < 2000 { 3 } else { 40 });
            let how = (KINDS[kind], METHODS[method]);
            let Some(patterns) = patterns else {
                check(device, [&left, &right], most, how);
                return Ok(());
            };
            let valid = patterns.map(is_valid);
            let bits = [bits(left.len(), valid[0]), bits(right.len(), valid[1])];
            let mut join = Join::new(&left, &right);
            join.kind(how.0).method(how.1).left_valid(&bits[0]).right_valid(&bits[1]);
            let pairs = pairs_in_chunks(device, &join, most).unwrap();
            let expected = expected(how.0, &nullable(&left, 0, valid[0]), &nullable(&right, 1, valid[1]));
            assert!(pairs == expected, "{how:?}, {patterns:?}");
            Ok(())
        },
    );
}

/// Checks chunks of one pair, of no pair, which counts as one, and of fewer pairs than a row has.
#[parameterized]
fn rows_with_more_pairs_than_a_chunk(engine: &TestEngine) {
    let device = &engine.device;
    for kind in KINDS {
        check(device, [&[7u32, 8, 7], &[7, 9, 7]], 0, (kind, JoinMethod::Auto));
        check(device, [&[7u32, 8, 7], &[7, 9, 7]], 1, (kind, JoinMethod::Split));
        check::<u32>(device, [&[], &[]], 1, (kind, JoinMethod::Direct));
        check(device, [&[], &[1u64, 1, 2]], 2, (kind, JoinMethod::OnChip));
        check(device, [&[1u64, 1, 2], &[]], 2, (kind, JoinMethod::Auto));
    }
    // Few left rows have the key of many right rows, and they are at odd offsets.
    let right = vec![3u32; engine.max_items.min(900) / 3];
    let left: Vec<u32> = (0..40).map(|row| if row % 13 == 5 { 3 } else { 100 + row }).collect();
    for (kind, method) in [(JoinKind::Full, JoinMethod::Split), (JoinKind::Inner, JoinMethod::Direct)] {
        check(device, [&left, &right], right.len() / 2 - 1, (kind, method));
    }
}

#[parameterized]
fn one_key_in_many_rows_of_both_sides(engine: &TestEngine) {
    if engine.max_items < 2000 {
        return;
    }
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let rows = if engine.max_items >= 100_000 { 20_000 } else { 2000 };
    let equal = Buffer::from_slice(device, &vec![9u32; rows]).unwrap();
    let (most, mut largest, mut chunks) = (1 << 20, 0, 0u64);
    let mut sums = [0u64; 2];
    let mut join = Join::new(&equal, &equal);
    let pairs = join
        .kind(JoinKind::Full)
        .run_in_chunks(stream, &mut Scratch::new(device), most, |chunk| {
            largest = largest.max(chunk.len());
            chunks += 1;
            for (sum, rows) in sums.iter_mut().zip([chunk.left_rows(), chunk.right_rows()]) {
                *sum += rows.download(stream)?.into_iter().map(u64::from).sum::<u64>();
            }
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(pairs, (rows * rows) as u64);
    // Each row is in as many pairs as the other side has rows.
    assert_eq!(sums, [(0..rows as u64).sum::<u64>() * rows as u64; 2]);
    assert!(largest <= most && chunks <= 2 * pairs.div_ceil(most as u64), "{chunks} chunks");
}

/// Checks that the join returns an error of the function that takes the chunks, and calls it no
/// more.
#[test]
fn an_error_of_who_takes_the_chunks_ends_them() {
    #[derive(Debug)]
    enum Stopped {
        Library(Error),
        Here(usize),
    }
    impl From<Error> for Stopped {
        fn from(error: Error) -> Self {
            Self::Library(error)
        }
    }
    on_each_engine(|engine| {
        let (device, stream) = (&engine.device, engine.device.default_stream());
        let keys = [4u32; 30];
        let mut chunks = 0;
        let stopped = Join::new(&keys, &keys).run_in_chunks(stream, &mut Scratch::new(device), 100, |chunk| {
            chunks += 1;
            if chunks == 3 { Err(Stopped::Here(chunk.len())) } else { Ok(()) }
        });
        assert!(matches!(stopped, Err(Stopped::Here(1..=100))), "{stopped:?}");
        assert_eq!(chunks, 3);
        let mut join = Join::new(&keys, &keys);
        let failed = join.left_valid(&[0u32; 2]).run_in_chunks(stream, &mut Scratch::new(device), 100, |_| Ok(()));
        assert!(matches!(failed, Err(Stopped::Library(Error::Input(_)))), "{failed:?}");
    });
}

/// Lets each operation fail. The join must return the error and free all memory.
#[test]
fn a_failure_comes_out_and_takes_no_memory_along() {
    let (device, plan) = planted();
    let keys: Vec<u32> = (0..120).map(|row| row % 3).collect();
    let valid = is_valid(10);
    let bits = bits(keys.len(), valid);
    let expected = expected(JoinKind::Full, &nullable(&keys, 0, valid), &nullable(&keys, 1, valid));
    for fault in SINGLE_FAULTS {
        for good in 0.. {
            let mut join = Join::new(&keys, &keys);
            join.kind(JoinKind::Full).left_valid(&bits).right_valid(&bits);
            let (done, failed) = plan.with(fault, good, || pairs_in_chunks(&device, &join, 2000));
            if failed.is_empty() {
                assert!(done.unwrap() == expected);
                break;
            }
            assert!(done.is_err_and(|error| !matches!(error, Error::Input(_))), "{fault:?} {good}");
        }
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}
