//! Row maps after any kind of failure of any device operation. Every key must have a whole row, and
//! no row may be lost.

use std::collections::HashMap;
use warpnest::design::{Changes, Extendible, Linear, Page};
use warpnest::{Buffer, Device, Error, Result, RowMap};
use warpnest_tests::distinct_keys;
use warpnest_tests::planted::Operation::{Allocate, Launch, Record};
use warpnest_tests::planted::{
    LASTING_FAULTS, SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, is_planted, planted,
};
use warpnest_tests::rows::{Row, Under, check, rows_of};

type Rows = [u64; 3];
type Change<D> = fn(&mut RowMap<u32, Rows, D>, &Input) -> Result<()>;

/// A batch: some keys of the map with other rows, and some keys that the map does not have.
struct Input {
    old: Vec<u32>,
    keys: Buffer<u32>,
    rows: Buffer<Rows>,
    reference: HashMap<u32, Rows>,
}

impl Input {
    fn new(device: &Device) -> Self {
        let old = distinct_keys::<u32>(100, 1);
        let keys = [&old[80..], &distinct_keys::<u32>(60, 1 << 20), &old[80..85]].concat();
        let rows = rows_of(keys.len(), 1000);
        let reference = keys.iter().copied().zip(rows.iter().copied()).collect();
        let (keys, rows) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(device, &rows).unwrap());
        Self { old, keys, rows, reference }
    }
}

/// Returns the row of a key that is inserted after a failure.
fn own(key: u32) -> Rows {
    Rows::from_seed(1 << 40 | key as u64)
}

/// Returns the changes to test.
fn changes<D: Changes>() -> [Change<D>; 5] {
    [
        |map, batch| map.insert_many(&batch.keys, &batch.rows).map(drop),
        |map, batch| map.remove_many_on(map.device().clone().default_stream(), &batch.keys).map(drop),
        |map, batch| map.erase_many(&batch.keys).map(drop),
        |map, _| map.shrink_to_fit(),
        |map, _| map.clear(),
    ]
}

/// Checks that every key has its earlier row or its row of the batch, and that the map works as
/// before.
fn is_whole<D: Changes>(map: &mut RowMap<u32, Rows, D>, batch: &Input, done: &Result<()>) {
    match done {
        Err(Error::Emptied { source }) => {
            assert!(is_planted(source) && map.is_empty());
        }
        done => assert_planted(done),
    }
    // A linear map may not know its contents until a change succeeds.
    if let Err(error) = map.get_many(&[1]) {
        assert!(done.is_err() && is_planted(&error), "{error}");
        map.insert_many(&[], &[]).unwrap();
    }
    let old = rows_of::<Rows>(batch.old.len(), 7);
    for (key, row) in map.to_pairs().unwrap() {
        let before = batch.old.iter().position(|old| *old == key).map(|at| old[at]);
        let of_batch = batch.reference.get(&key) == Some(&row);
        assert!(before == Some(row) || of_batch || row == own(key), "{key} has a row of none");
    }
    // No row is lost: new keys use all free rows.
    let mut reference: HashMap<u32, Rows> = map.to_pairs().unwrap().into_iter().collect();
    let others = distinct_keys::<u32>(300, 1 << 40 | 3);
    let others: Vec<u32> = others.into_iter().filter(|key| !reference.contains_key(key)).collect();
    let rows = map.rows().len();
    let count = (rows - map.len()).max(10);
    let others_rows: Vec<Rows> = others.iter().copied().map(own).collect();
    map.insert_many(&others[..count], &others_rows[..count]).unwrap();
    reference.extend(others[..count].iter().copied().zip(others_rows));
    assert_eq!(map.rows().len(), rows.max(map.len()), "rows were lost");
    check(map, &reference, &others).unwrap();
}

fn whatever_fails_every_key_has_a_row_and_no_row_is_lost<D: Under>() {
    let (device, plan) = planted();
    let batch = Input::new(&device);
    let begin = || {
        let mut map: RowMap<u32, Rows, D> = D::config(3).create_rows(&device).unwrap();
        map.insert_many(&batch.old, &rows_of(100, 7)).unwrap();
        map.erase_many(&batch.old[..30]).unwrap();
        map
    };
    for (number, change) in changes::<D>().into_iter().enumerate() {
        let call = |map: &mut RowMap<u32, Rows, D>| change(map, &batch);
        // Batches are tested with all faults. Other changes are tested with a single failed
        // operation and with lasting ones.
        let all = [SINGLE_FAULTS, LASTING_FAULTS].concat();
        let faults = if number < 2 { all } else { vec![SINGLE_FAULTS[0], LASTING_FAULTS[1]] };
        let seen = in_each_operation(&plan, &faults, begin, call, |mut map, done| {
            is_whole(&mut map, &batch, &done);
            // When the same change is repeated, it succeeds as a whole.
            let mut expected: HashMap<u32, Rows> = map.to_pairs().unwrap().into_iter().collect();
            match number {
                0 => expected.extend(&batch.reference),
                1 | 2 => expected.retain(|key, _| !batch.reference.contains_key(key)),
                3 => (),
                _ => expected.clear(),
            }
            call(&mut map).unwrap();
            check(&map, &expected, &batch.old).unwrap();
            is_whole(&mut map, &batch, &Ok(()));
        });
        if number < 4 {
            all_failed(&seen, &[Allocate, Launch, Record]);
        }
    }
    drop(batch);
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

#[test]
fn over_pages() {
    whatever_fails_every_key_has_a_row_and_no_row_is_lost::<Page>();
}

#[test]
fn over_slots() {
    whatever_fails_every_key_has_a_row_and_no_row_is_lost::<Linear>();
}

#[test]
fn over_extendible_buckets() {
    whatever_fails_every_key_has_a_row_and_no_row_is_lost::<Extendible>();
}
