//! Joins, compared with loops over a hash table.

use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::primitives::Scratch;
use warpnest::relational::{Join, JoinKind, JoinMethod, Joined, NO_ROW};
use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Error};
use warpnest_tests::{
    TestEngine, assert_lengths, assert_wrong_device, at, elsewhere, failing, key, on_every_engine, only, parameterized,
};

pub const KINDS: [JoinKind; 6] =
    [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

pub const METHODS: [JoinMethod; 4] = [JoinMethod::Auto, JoinMethod::OnChip, JoinMethod::Direct, JoinMethod::Split];

/// Returns the sorted pairs of a join; in a semi or anti join they have no right row.
pub fn expected<K: Copy + Eq + Hash>(kind: JoinKind, left: &[K], right: &[K]) -> Vec<(u32, u32)> {
    let mut rows_of: HashMap<K, Vec<u32>> = HashMap::new();
    for (row, &key) in right.iter().enumerate() {
        rows_of.entry(key).or_default().push(row as u32);
    }
    let (mut pairs, mut has_met) = (Vec::new(), vec![false; right.len()]);
    for (row, key) in left.iter().enumerate() {
        let met = rows_of.get(key).map_or(&[][..], |rows| rows);
        for &other in met {
            has_met[other as usize] = true;
            if kind.has_pairs() {
                pairs.push((row as u32, other));
            }
        }
        let alone = match kind {
            JoinKind::Left | JoinKind::Full | JoinKind::Anti => met.is_empty(),
            JoinKind::Semi => !met.is_empty(),
            _ => false,
        };
        if alone {
            pairs.push((row as u32, NO_ROW));
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = has_met.iter().enumerate().filter(|(_, met)| !**met);
        pairs.extend(alone.map(|(row, _)| (NO_ROW, row as u32)));
    }
    pairs.sort_unstable();
    pairs
}

trait HasPairs {
    fn has_pairs(self) -> bool;
}

impl HasPairs for JoinKind {
    fn has_pairs(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti)
    }
}

/// Returns the sorted pairs of a result.
pub fn pairs_of(device: &Device, joined: &Joined) -> Vec<(u32, u32)> {
    let stream = device.default_stream();
    let left = joined.left_rows().download(stream).unwrap();
    let mut right = joined.right_rows().download(stream).unwrap();
    right.resize(left.len(), NO_ROW);
    assert_eq!((joined.len(), joined.is_empty()), (left.len(), left.is_empty()));
    let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
    pairs.sort_unstable();
    pairs
}

/// Checks the pairs of a join, and its size, by one method.
fn check<K: WordKey + Eq + Hash + Debug>(device: &Device, left: &[K], right: &[K], how: (JoinKind, JoinMethod)) {
    let (kind, method) = how;
    let _at = at(format!("{kind:?} join of {} and {} rows, {method:?}", left.len(), right.len()));
    let mut join = Join::new(left, right);
    let joined = join.kind(kind).method(method).run(device).unwrap();
    let expected = expected(kind, left, right);
    assert_eq!(join.size(device).unwrap(), expected.len() as u64);
    assert!(pairs_of(device, &joined) == expected, "{:?}", joined.report());
    assert_ne!(joined.report().method, JoinMethod::Auto);
}

/// Returns a strategy for the keys of both sides.
pub fn sides<K: WordKey>(engine: &TestEngine) -> impl Strategy<Value = (Vec<K>, Vec<K>)> + use<K> {
    let most = engine.max_items.min(3000);
    let side = move || {
        prop_oneof![
            prop::collection::vec(key::<K>(), 0..most),
            (0..most, 1u64..40)
                .prop_map(|(rows, step)| (0..rows as u64).map(|row| K::from_u64(row / step)).collect::<Vec<_>>()),
        ]
    };
    (side(), side())
}

#[parameterized(each_width)]
fn any_sides<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| (sides::<K>(engine), 0..KINDS.len(), 0..METHODS.len()),
        |engine, ((left, right), kind, method)| {
            check(&engine.device, &left, &right, (KINDS[kind], METHODS[method]));
            Ok(())
        },
    );
}

/// Checks all kinds of joins by all methods.
fn check_all<K: WordKey + Eq + Hash + Debug>(device: &Device, left: &[K], right: &[K]) {
    for kind in KINDS {
        for method in METHODS {
            check(device, left, right, (kind, method));
        }
    }
}

#[parameterized]
fn no_row_one_row_and_extreme_keys(engine: &TestEngine) {
    let device = &engine.device;
    check_all::<u32>(device, &[], &[]);
    check_all::<u64>(device, &[], &[0]);
    check_all::<u32>(device, &[u32::MAX], &[]);
    check_all::<u32>(device, &[0], &[0]);
    check_all::<u64>(device, &[u64::MAX, 0, 1, 0], &[0, 0, u64::MAX, u64::MAX, 1 << 32]);
    check_all::<u32>(device, &[7; 40], &[7; 35]);
    check_all::<u32>(device, &(0..100).collect::<Vec<_>>(), &(100..180).collect::<Vec<_>>());
    check_all::<u64>(device, &(0..130).collect::<Vec<_>>(), &(0..130).rev().collect::<Vec<_>>());
}

#[parameterized]
fn rows_around_those_of_a_page_and_of_a_round(engine: &TestEngine) {
    if engine.max_items < 2000 {
        return;
    }
    let page = gpu_kernels::relational::join::PAGE_ROWS;
    for rows in [page - 1, page, page + 1, 2 * page, 2 * page + 1] {
        let (keys, others): (Vec<u32>, Vec<u32>) = ((0..rows).collect(), (1..=rows).rev().collect());
        for kind in [JoinKind::Inner, JoinKind::Full, JoinKind::Semi] {
            check(&engine.device, &keys, &others, (kind, JoinMethod::OnChip));
        }
        check(&engine.device, &keys, &others, (JoinKind::Left, JoinMethod::Split));
        check(&engine.device, &keys, &others, (JoinKind::Anti, JoinMethod::Direct));
    }
}

/// Checks keys that have more rows than a page holds, or than a block takes of a bin.
#[parameterized]
fn keys_with_many_rows(engine: &TestEngine) {
    let device = &engine.device;
    // Rows of one frequent key, and `others` rows of different keys, which share its bins.
    let rows = |hot: usize, key: u32, others: u32| {
        let mut keys = vec![key; hot];
        keys.extend((0..others).map(|other| other * 3));
        keys
    };
    let page = gpu_kernels::relational::join::PAGE_ROWS as usize;
    let (many, few) = if engine.max_items < 1000 { (page + 5, 2) } else { (8 * page + 700, 30) };
    for (left, right) in [
        (rows(many, 5, 50), rows(few, 5, 60)),
        (rows(few, 6, 60), rows(many, 6, 50)),
        (rows(2 * page, 9, 40), rows(10, 7, 40)),
    ] {
        let kinds = if engine.max_items < 1000 { &KINDS[1..2] } else { &KINDS[..] };
        for &kind in kinds {
            check(device, &left, &right, (kind, JoinMethod::Split));
        }
        if engine.max_items >= 1000 {
            check(device, &left, &right, (JoinKind::Left, JoinMethod::Direct));
            check(device, &left, &right, (JoinKind::Full, JoinMethod::OnChip));
        }
    }
}

#[parameterized]
fn bins_that_overflow_are_sorted_and_the_report_says_so(engine: &TestEngine) {
    if engine.max_items < 1000 {
        return;
    }
    let (left, right) = (vec![3u32; 20_000], (0..9000u32).collect::<Vec<_>>());
    let joined = Join::new(&left, &right).method(JoinMethod::Split).run(&engine.device).unwrap();
    assert!(pairs_of(&engine.device, &joined).into_iter().eq((0..20_000).map(|row| (row, 3))));
    assert!(joined.report().overflowed && joined.report().method == JoinMethod::Split);
    let joined = Join::new(&right, &right).method(JoinMethod::Split).run(&engine.device).unwrap();
    assert!(pairs_of(&engine.device, &joined).into_iter().eq((0..9000).map(|row| (row, row))));
    assert!(!joined.report().overflowed, "{:?}", joined.report());
}

/// Checks so many rows that there are two splits. The last split is repeated on one side, on the
/// other, or on both.
#[parameterized]
fn many_rows_with_repeated_keys_are_split_again(engine: &TestEngine) {
    if engine.max_items < 100_000 {
        return;
    }
    let side = |rows: u32, of_key: u32, step: u64| -> Vec<u32> {
        (0..rows as u64).map(|row| (row * step % rows as u64) as u32 / of_key).collect()
    };
    let rows = (1 << 20) + 5;
    let left = side(rows, 48, 2_654_435_761);
    // Some of these keys are on both sides.
    let right: Vec<u32> = side(rows, 48, 2_147_483_647).into_iter().map(|key| key + 20_000).collect();
    let unique = side(rows, 1, 2_654_435_761);
    for (left, right) in [(&left, &unique), (&unique, &right), (&left, &right)] {
        let mut join = Join::new(left, right);
        let joined = join.method(JoinMethod::Split).seed(3).run(&engine.device).unwrap();
        assert!(joined.report().overflowed, "{:?}", joined.report());
        assert!(pairs_of(&engine.device, &joined) == expected(JoinKind::Inner, left, right));
    }
}

/// Checks many rows on both sides whose frequencies follow a power law.
#[parameterized]
fn a_power_law_on_both_sides(engine: &TestEngine) {
    if engine.max_items < 2000 {
        return;
    }
    let rows = engine.max_items.min(30_000) as u64;
    let side = |seed: u64| -> Vec<u64> {
        let random = |row: u64| (row ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
        (0..rows).map(|row| (1.0 / (random(row) as f64 / (1u64 << 53) as f64 + 1e-4)) as u64).collect()
    };
    let (left, right) = (side(1), side(1 << 40));
    check(&engine.device, &left, &right[..rows as usize / 8], (JoinKind::Full, JoinMethod::Split));
    check(&engine.device, &left[..rows as usize / 8], &right, (JoinKind::Inner, JoinMethod::Auto));
}

/// Checks a bin with more build rows than a page on every engine; the rows that do not fit are
/// listed.
#[parameterized]
fn listed_rows_of_a_bin_of_several_pages<K: WordKey + Eq + Hash + Debug>(device: &Device) {
    let page = gpu_kernels::relational::join::PAGE_ROWS;
    // Few left rows have the key of the many right rows, so there are few pairs.
    let left: Vec<K> = (0..5600).map(|row| K::from_u64(if row % 1000 == 0 { 1 } else { row + 2 })).collect();
    let right: Vec<K> = (0..page + 40).map(|row| K::from_u64(row.saturating_sub(page).max(1) as u64)).collect();
    check(device, &left, &right, (JoinKind::Inner, JoinMethod::Split));
    check(device, &left, &right, (JoinKind::Left, JoinMethod::Split));
}

/// Checks that each pass lists its own work items, and that the list has capacity for bins whose
/// sides are swapped. Checks also that a result is reused whose memory is larger for one side.
#[parameterized]
fn work_items_of_both_passes_and_of_exchanged_sides(engine: &TestEngine) {
    if engine.max_items < 2000 {
        return;
    }
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let (left, right) = (vec![1u32; 25_000], vec![2u32; 25_000]);
    let mut join = Join::new(&left, &right);
    let joined = join.kind(JoinKind::Full).method(JoinMethod::Split).run(device).unwrap();
    assert!(pairs_of(device, &joined) == expected(JoinKind::Full, &left, &right));
    assert!(joined.report().further_items > 0 || engine.in_turn);
    let rows = |of_first: usize, of_second: usize| [vec![1u32; of_first], vec![2; of_second]].concat();
    let (left, right) = (rows(5000, 3000), rows(3000, 5000));
    let mut join = Join::new(&left, &right);
    assert_eq!(join.method(JoinMethod::Split).size(device).unwrap(), 2 * 5000 * 3000);

    let (mut scratch, many) = (Scratch::new(device), vec![7u32; 9000]);
    let mut joined = Joined::new(device).unwrap();
    Join::new(&many, &[7u32]).kind(JoinKind::Semi).run_into(stream, &mut scratch, &mut joined).unwrap();
    assert_eq!((joined.len(), joined.right_rows().len()), (9000, 0));
    Join::new(&many[..100], &many[..50]).run_into(stream, &mut scratch, &mut joined).unwrap();
    assert!(pairs_of(device, &joined) == expected(JoinKind::Inner, &many[..100], &many[..50]));
}

#[parameterized]
fn a_result_is_used_again_and_two_columns_are_one_key(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let (mut scratch, mut joined) = (Scratch::new(device), Joined::new(device).unwrap());
    for rows in [0u32, 50, 7, 200] {
        let keys: Vec<u32> = (0..rows).map(|row| row / 3).collect();
        let on_device = Buffer::from_slice(device, &keys).unwrap();
        for kind in [JoinKind::Anti, JoinKind::Inner] {
            let join_kind = (kind, &keys[..], &keys[..rows as usize / 2]);
            Join::new(&on_device, join_kind.2).kind(kind).run_into(stream, &mut scratch, &mut joined).unwrap();
            assert_eq!(pairs_of(device, &joined), expected(kind, join_kind.1, join_kind.2));
        }
    }
    let (first, second) = ([1u32, 2, 1, 3], [-1i32, -1, 5, 0]);
    let others = ([1u32, 3], [5i32, 0]);
    let joined = Join::by_two((&first, &second), (&others.0, &others.1)).run(device).unwrap();
    assert_eq!(pairs_of(device, &joined), [(2, 0), (3, 1)]);
    let short = Join::by_two((&first, &second[..2]), (&others.0, &others.1)).run(device).unwrap_err();
    assert_lengths(short, ("the first key column", 4), ("the second key column", 2));
}

/// Checks that keys are compared by their bits: a NaN equals the same NaN, and 0 does not equal −0.
#[parameterized]
fn floating_point_keys_are_compared_by_their_bits(engine: &TestEngine) {
    let nans = [f32::NAN.to_bits(), 0x7fc0_0001, (-0.0f32).to_bits(), 0.0f32.to_bits()];
    let joined = Join::new(&nans, &nans).run(&engine.device).unwrap();
    assert_eq!(pairs_of(&engine.device, &joined), [(0, 0), (1, 1), (2, 2), (3, 3)]);
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    let (device, there) = (Device::cpu(), elsewhere());
    let far = Buffer::from_slice(&there, &[1u32, 2]).unwrap();
    let error = Join::new(&far, &[1u32]).run(&device).unwrap_err();
    assert_wrong_device(error, "the buffer of a column", &there, &device);
    let error = Join::new(&[1u32], &[1u32]).run_on(there.default_stream(), &mut Scratch::new(&device)).unwrap_err();
    assert_wrong_device(error, "the stream", &there, &device);
    let mut joined = Join::new(&[1u32], &[1u32]).run(&there).unwrap();
    let mut scratch = Scratch::new(&device);
    let error = Join::new(&[1u32], &[1u32]).run_into(device.default_stream(), &mut scratch, &mut joined).unwrap_err();
    assert_wrong_device(error, "the joined rows", &there, &device);
    assert_eq!(joined.len(), 1);
}

/// Lets each launch of a join fail. Then there are no pairs, and the next call returns them.
#[test]
fn after_a_failure_there_are_no_pairs() {
    let (device, good_launches) = failing();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let (left, right): (Vec<u32>, Vec<u32>) = ((0..40_000).collect(), (0..40_000).rev().map(|row| row / 2).collect());
    let mut join = Join::new(&left, &right);
    join.kind(JoinKind::Full).method(JoinMethod::Split);
    let mut joined = join.run_on(stream, &mut scratch).unwrap();
    let expected = expected(JoinKind::Full, &left, &right);
    assert!(pairs_of(&device, &joined) == expected);
    let mut failures = 0;
    while let Err(error) = only(&good_launches, failures, || join.run_into(stream, &mut scratch, &mut joined)) {
        assert!(matches!(error, Error::Kernel { .. }), "{error}");
        assert!(joined.is_empty() && joined.right_rows().is_empty());
        failures += 1;
    }
    assert!(failures > 3 && pairs_of(&device, &joined) == expected, "{failures}");
}
