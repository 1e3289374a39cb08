//! Joins with keys of so many rows that their bins are heavy, or their buckets in memory are too
//! long.

use super::join::{KINDS, expected, pairs_of, sides};
use std::fmt::Debug;
use std::hash::Hash;
use warpnest::Device;
use warpnest::relational::{Join, JoinKind, JoinMethod};
use warpnest::types::WordKey;
use warpnest_tests::{TestEngine, at, on_every_engine, parameterized};

/// Checks a join in which bins with more than `light_rows` build rows are heavy.
fn check<K: WordKey + Eq + Hash + Debug>(device: &Device, left: &[K], right: &[K], kind: JoinKind, light_rows: u32) {
    let _at = at(format!("{kind:?} join of {} and {} rows, {light_rows} light", left.len(), right.len()));
    let mut join = Join::new(left, right);
    let joined = join.kind(kind).method(JoinMethod::Split).light_rows(light_rows).run(device).unwrap();
    let expected = expected(kind, left, right);
    assert!(pairs_of(device, &joined) == expected, "{:?}", joined.report());
    assert_eq!(join.size(device).unwrap(), expected.len() as u64);
}

#[parameterized(each_width)]
fn heavy_bins<K: WordKey + Eq + Hash + Debug>() {
    on_every_engine(
        |engine| (sides::<K>(engine), 0..KINDS.len(), 0u32..6),
        |engine, ((left, right), kind, light_rows)| {
            check(&engine.device, &left, &right, KINDS[kind], light_rows);
            Ok(())
        },
    );
}

/// Checks bins of several pages: bins with enough capacity, bins that were split again, and bins of
/// a side that is sorted.
#[parameterized]
fn frequent_keys_on_either_side(engine: &TestEngine) {
    let rows = engine.max_items.min(12_000) as u32;
    let many: Vec<u32> = (0..rows).map(|row| row.wrapping_mul(0x9e37_79b1)).collect();
    let hot = many[rows as usize / 2];
    let hot_quarter: Vec<u32> =
        many.iter().enumerate().map(|(row, &key)| if row < many.len() * 3 / 4 { !key } else { hot }).collect();
    let two: Vec<u32> = (0..rows).map(|row| if row % 2 == 0 { hot } else { !hot }).collect();
    for (left, right) in [(&many, &two), (&two, &many), (&many, &hot_quarter), (&hot_quarter, &many)] {
        for kind in KINDS {
            check(&engine.device, left, right, kind, 100);
        }
    }
    // Semi and anti joins write no pairs, so both sides may have the key often.
    for kind in [JoinKind::Semi, JoinKind::Anti] {
        check(&engine.device, &hot_quarter, &two, kind, 100);
    }
}

#[parameterized]
fn rows_of_a_long_bucket_are_split_instead_of_read_in_memory(engine: &TestEngine) {
    let rows = engine.max_items.min(3000) as u64;
    // An inner join takes the smaller side as its build side.
    let (few, more): (Vec<u64>, Vec<u64>) = ((0..40).collect(), (0..2 * rows).map(|row| row % 4001).collect());
    let right = vec![7u64; rows as usize];
    for (kind, left) in
        [(JoinKind::Inner, &more), (JoinKind::Left, &few), (JoinKind::Semi, &few), (JoinKind::Anti, &few)]
    {
        let mut join = Join::new(left, &right);
        let joined = join.kind(kind).method(JoinMethod::Direct).run(&engine.device).unwrap();
        assert!(pairs_of(&engine.device, &joined) == expected(kind, left, &right));
        assert_eq!(joined.report().method, JoinMethod::Split);
    }
}
