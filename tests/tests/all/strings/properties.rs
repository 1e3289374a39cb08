//! Tables of strings, compared with `HashMap` on every engine; some hashers have few different
//! hashes.

use super::hashers::HASHERS;
use super::reference::{Reference, batches_are_right, map_is_right, unique_is_right};
use proptest::collection::vec;
use proptest::prelude::*;
use warpnest::strings::{RandomState, StringColumn, StringConfig};
use warpnest::{CuckooConfig, PageConfig, SortedConfig, TwoLevelConfig};
use warpnest_tests::{TestEngine, on_every_engine};

/// Returns a strategy for rows: strings from a few words, which repeat, and strings of any bytes,
/// including the empty string.
fn rows(engine: &TestEngine) -> impl Strategy<Value = Vec<Vec<u8>>> + use<> {
    // `prop_oneof` would keep a random number generator for each value.
    let string = (0..8u32, any::<[u8; 12]>(), 0..=12usize).prop_map(|(kind, bytes, length)| match kind {
        0..5 => format!("word {}", bytes[0] % 50).into_bytes(),
        5 => vec![bytes[0] % 2; length],
        6 => bytes.repeat(1 + usize::from(bytes[0] % 40)),
        _ => bytes[..length].to_vec(),
    });
    vec(string, 0..engine.max_items.min(6000))
}

#[test]
fn every_string_has_one_id() {
    on_every_engine(rows, |engine, rows| {
        let reference = Reference::of(&rows);
        unique_is_right(&engine.device, &rows, &reference, &RandomState::default());
        for hasher in HASHERS {
            unique_is_right(&engine.device, &rows, &reference, &hasher);
        }
        let bytes = rows.concat();
        let offsets: Vec<i32> = [0]
            .into_iter()
            .chain(rows.iter().scan(0, |end, row| {
                Some({
                    *end += row.len() as i32;
                    *end
                })
            }))
            .collect();
        let column = StringColumn::new(&bytes, &offsets).unwrap();
        unique_is_right(&engine.device, &column, &reference, &RandomState::default());
        Ok(())
    });
}

#[test]
fn batches_have_the_same_ids_and_counts_as_all_rows_at_once() {
    on_every_engine(
        |engine| (rows(engine), 1..3000usize, 0..HASHERS.len()),
        |engine, (rows, batch, hasher)| {
            batches_are_right(&engine.device, &rows, batch.max(rows.len() / 4), &HASHERS[hasher]);
            Ok(())
        },
    );
}

#[test]
fn a_map_has_the_last_value_of_each_string() {
    on_every_engine(
        |engine| (rows(engine), 0..HASHERS.len()),
        |engine, (rows, hasher)| {
            let (device, hasher) = (&engine.device, HASHERS[hasher]);
            map_is_right(device, &StringConfig::on(PageConfig::default()).hasher(hasher), &rows);
            match rows.len() % 3 {
                0 => map_is_right(device, &StringConfig::on(CuckooConfig::default()).hasher(hasher), &rows),
                1 => map_is_right(device, &StringConfig::on(TwoLevelConfig::default()).hasher(hasher), &rows),
                _ => map_is_right(device, &StringConfig::on(SortedConfig::default()).hasher(hasher), &rows),
            }
            Ok(())
        },
    );
}
