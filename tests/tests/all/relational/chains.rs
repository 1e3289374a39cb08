//! Group-by of nearly as many groups as rows. Chains of rows are compared with a `HashMap`, and so
//! are the hash pages that replace them.

use super::hash::{ALL, Case, ONLY_COUNTS, ONLY_SUMS, Pages, everywhere, has_values, keys_of, of_every_case};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::relational::group_by::CHAINED_ROWS;
use gpu_kernels::types::{Columns, Nothing, Payload, WordOf};
use proptest::prelude::*;
use warpnest::types::WordKey as Key;
use warpnest_tests::{TestEngine, distinct_keys, the_cpu_engine};

/// Returns a case whose keys are chained, in the bins of splits by `bits`.
fn chained<K: Key, V: Payload>(keys: Vec<K>, column: ColumnParams, bits: &'static [u32]) -> Case<K, WordOf<V>>
where
    WordOf<V>: Key,
{
    let case = Case::of::<V>(keys, column);
    // If only one group is expected, bins have capacity for all rows.
    let rows = case.keys.len() as u64;
    let expected = if rows <= CHAINED_ROWS as u64 { 1 } else { rows / 2 };
    Case { bits, expected, pages: Pages::Chains, ..case }
}

/// Returns `rows` keys, each of them about `times` times, with equal keys far apart.
fn repeated<K: Key>(rows: usize, times: usize) -> Vec<K> {
    let mut keys = distinct_keys::<K>(rows.div_ceil(times), 23);
    keys[0] = K::from_u64(0);
    let last = keys.len() - 1;
    keys[last] = K::ALL_ONES;
    let of_row = |row: usize| keys[row % keys.len()];
    (0..rows).map(of_row).collect()
}

fn every_case<K: Key, V: Payload>(engine: &TestEngine, column: ColumnParams)
where
    WordOf<V>: Key,
{
    let most = engine.max_items.min(9_000);
    let mut asked = vec![ONLY_COUNTS];
    if has_values::<V>() {
        asked.extend([ALL, ONLY_SUMS, [true, true, false, false], [false, false, true, false], [false; 4]]);
    }
    // Interpreters run fewer cases because they are slow.
    let is_slow = engine.max_items < 1_000;
    let splits: &[&[u32]] = if is_slow { &[&[1]] } else { &[&[3], &[1, 2], &[4]] };
    let asked = if is_slow { &asked[..asked.len().min(2)] } else { &asked[..] };
    for (number, bits) in splits.iter().enumerate() {
        for times in 1..=3 {
            let case = chained::<K, V>(repeated(most, times), column, bits);
            for &asked in if number == 0 { asked } else { &asked[..1] } {
                Case { asked, ..case.clone() }.check::<V>(&engine.device);
            }
        }
    }
}

of_every_case!(narrow values of wide keys: signed(32));

#[test]
fn bins_of_every_size_around_those_of_blocks() {
    everywhere(|engine| {
        for rows in [0, 1, 2, 31, 33, 383, 384, 385, 769, 1_500, 2_047, 2_688, 3_000] {
            if rows <= engine.max_items {
                for keys in [distinct_keys::<u32>(rows, 3), repeated(rows.max(1), 2)] {
                    chained::<u32, u32>(keys, ColumnParams::unsigned(), &[1]).check::<u32>(&engine.device);
                }
            }
        }
    });
}

/// Returns keys that are all in one of two bins, nearly as many as a block takes.
fn one_bin<K: Key>(rows: usize) -> Vec<K> {
    let in_bin =
        |key: &K| key.mixed(super::hash::CONSTANTS[0], super::hash::CONSTANTS[1]) >> (K::BITS - 1) != K::default();
    let mut keys = distinct_keys::<K>(rows * 3, 29);
    keys.retain(in_bin);
    keys.truncate(rows);
    keys
}

fn full_block<K: Key, V: Payload>(column: ColumnParams)
where
    WordOf<V>: Key,
{
    // The interpreters need about a second for one such block.
    everywhere(|engine| {
        let rows = CHAINED_ROWS as usize;
        for keys in [one_bin::<K>(rows), [one_bin(rows / 2), one_bin(rows / 2)].concat()] {
            assert_eq!(keys.len(), rows);
            chained::<K, V>(keys, column, &[1]).check::<V>(&engine.device);
        }
    });
}

#[test]
fn a_full_block_is_aggregated_on_every_engine() {
    full_block::<u32, u32>(ColumnParams::signed(32));
    full_block::<u32, u64>(ColumnParams::unsigned());
    full_block::<u64, u32>(ColumnParams::unsigned());
    full_block::<u64, u64>(ColumnParams::unsigned());
}

#[test]
fn a_full_block_of_keys_alone_is_counted_on_every_engine() {
    full_block::<u32, Nothing>(ColumnParams::unsigned());
    full_block::<u64, Nothing>(ColumnParams::unsigned());
}

#[test]
fn a_long_chain_and_a_bin_of_too_many_rows_are_left_to_hash_pages() {
    everywhere(|engine| {
        let rows = engine.max_items.min(2_000);
        let mut keys = distinct_keys::<u32>(rows, 31);
        // The chain of the last of these rows has all the others.
        keys[..rows / 2].fill(7);
        let case = chained::<u32, u32>(keys, ColumnParams::unsigned(), &[1]);
        let pages = if rows / 2 > 256 { Pages::NoChains } else { Pages::Chains };
        Case { pages, ..case.clone() }.check::<u32>(&engine.device);
        // With as many groups as rows expected, bins have capacity only for their share, so one
        // overflows.
        Case { bits: &[3], expected: rows as u64, pages: Pages::NoChains, ..case }.check::<u32>(&engine.device);
    });
}

#[test]
fn of_more_groups_than_there_is_capacity_for_all_are_counted() {
    everywhere(|engine| {
        let rows = engine.max_items.min(2_000);
        for keys in [distinct_keys::<u32>(rows, 37), repeated(rows, 2)] {
            let case = chained::<u32, u32>(keys, ColumnParams::unsigned(), &[2]);
            for capacity in [0, 1, rows / 5, rows / 2 + rows / 4] {
                Case { capacity, ..case.clone() }.check::<u32>(&engine.device);
            }
        }
    });
}

#[test]
fn bins_that_may_get_too_many_rows_are_not_chained() {
    let Some(engine) = the_cpu_engine() else { return };
    let keys = distinct_keys::<u32>(2 * CHAINED_ROWS as usize, 41);
    let case = chained::<u32, u32>(keys, ColumnParams::unsigned(), &[1]);
    assert_eq!(case.run::<u32>(&engine.device), None);
    Case { bits: &[2], ..case }.check::<u32>(&engine.device);
}

#[test]
fn many_rows_are_chained_by_themselves() {
    // On CPU cores rows are not chained.
    everywhere(|engine| {
        let rows = 70_000;
        if engine.max_items >= rows {
            for groups in [rows, rows / 2 + rows / 8] {
                let case = Case::<u32, u32>::of::<u32>(keys_of(rows, groups), ColumnParams::signed(32));
                let expected = case.groups().len() as u64;
                Case { expected, asked: ONLY_SUMS, ..case }.check::<u32>(&engine.device);
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_keys_are_grouped(picks in prop::collection::vec((any::<u16>(), 0u32..6), 0..2_500), bits in 0usize..3) {
        let Some(engine) = the_cpu_engine() else { return Ok(()) };
        // Some keys are frequent: one of six picks has one of seven keys, the others have 2^16.
        let keys = picks.iter().map(|&(pick, often)| if often == 0 { pick as u64 % 7 } else { pick as u64 }).collect();
        let bits: &'static [u32] = [&[1][..], &[2], &[1, 1]][bits];
        let case = chained::<u64, u32>(keys, ColumnParams::signed(32), bits);
        let groups = case.groups();
        // Bins may overflow and chains may be long; then hash pages give the groups.
        for pages in [Pages::Hash, Pages::Any] {
            if let Some((found, written)) = (Case { pages, ..case.clone() }).run::<u32>(&engine.device) {
                prop_assert_eq!(found, groups.len());
                prop_assert!(written.iter().all(|(key, group)| groups[key] == *group));
            }
        }
    }
}
