//! The row map, compared with `std::collections::HashMap` through sequences of all its operations,
//! on every engine. It is tested over each map that changes, and with rows of several sizes.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::design::{Changes, Extendible, Linear, Page};
use warpnest::types::WordKey as Key;
use warpnest::{Error, RowMap};
use warpnest_tests::changing::stepping::{change, few};
use warpnest_tests::changing::steps::{Step, fail, step};
use warpnest_tests::rows::{Row, Under, check, rows_of};
use warpnest_tests::{TestEngine, on_every_engine};

/// Applies a step to a map and its reference, and returns keys to look up.
fn take<K: Key, R: Row, D: Changes>(
    map: &mut RowMap<K, R, D>,
    reference: &mut HashMap<K, R>,
    step: Step<K>,
) -> Result<Vec<K>, TestCaseError> {
    let device = &map.device().clone();
    match step {
        Step::Update(..) => {
            let length = map.rows().len();
            change(device, (map, reference), step, rows_of)?;
            prop_assert_eq!(map.rows().len(), length, "no key is new");
        }
        Step::Clear => {
            let capacity = map.rows().capacity();
            map.clear().map_err(fail)?;
            prop_assert_eq!((map.rows().len(), map.rows().capacity()), (0, capacity));
            reference.clear();
        }
        Step::Reserve(additional) => {
            map.reserve(additional).map_err(fail)?;
            let free = map.rows().len() - map.len();
            prop_assert!(map.rows().capacity() - map.rows().len() >= additional.saturating_sub(free));
        }
        Step::Shrink => {
            map.shrink_to_fit().map_err(fail)?;
            prop_assert_eq!(map.rows().len(), map.len());
        }
        Step::Rebuild(keys, seed) => {
            // A row map has no rebuild, so the map is cleared and filled again.
            let rows = rows_of::<R>(keys.len(), seed);
            map.clear().map_err(fail)?;
            map.insert_many(&keys, &rows).map_err(fail)?;
            *reference = keys.into_iter().zip(rows).collect();
        }
        Step::Clone => *map = map.try_clone().map_err(fail)?,
        Step::SaveAndLoad => {
            let mut file = Vec::new();
            map.save(&mut file).map_err(fail)?;
            *map = RowMap::load(device, &file[..]).map_err(fail)?;
        }
        step => return change(device, (map, reference), step, rows_of),
    }
    Ok(few())
}

fn as_a_hash_map<K: Key, R: Row, D: Under>() {
    let inputs = |engine: &TestEngine| {
        let most = (engine.max_items / 10).clamp(40, 1000);
        (any::<u64>(), prop::collection::vec(step::<K>(most), 1..7))
    };
    on_every_engine(inputs, |engine, (seed, steps)| {
        let mut map: RowMap<K, R, D> = match D::config(seed).create_rows(&engine.device) {
            Err(Error::NoWideAtomics { .. }) => return Ok(()),
            map => map.map_err(fail)?,
        };
        let mut reference = HashMap::new();
        let mut most = 0;
        for step in steps {
            let queries = take(&mut map, &mut reference, step)?;
            check(&map, &reference, &queries).map_err(TestCaseError::fail)?;
            most = most.max(map.len());
            prop_assert!(map.rows().len() <= most, "{} rows, for {most} keys at most", map.rows().len());
        }
        Ok(())
    });
}

#[test]
fn of_32_bits_to_rows_of_4_bytes_over_pages() {
    as_a_hash_map::<u32, [u32; 1], Page>();
}

#[test]
fn of_64_bits_to_rows_of_12_bytes_over_pages() {
    as_a_hash_map::<u64, [u32; 3], Page>();
}

#[test]
fn of_32_bits_to_rows_of_24_bytes_over_slots() {
    as_a_hash_map::<u32, [u64; 3], Linear>();
}

#[test]
fn of_64_bits_to_rows_of_64_bytes_over_slots() {
    as_a_hash_map::<u64, [u64; 8], Linear>();
}

#[test]
fn of_32_bits_to_rows_of_20_bytes_over_extendible_buckets() {
    as_a_hash_map::<u32, [u32; 5], Extendible>();
}
