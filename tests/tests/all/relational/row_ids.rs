//! Ids of rows of several columns, compared with a map of the standard library, on every engine.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{RowIds, Rows};
use warpnest::{Buffer, Device, Error};
use warpnest_tests::planted::{
    LASTING_FAULTS, Operation, SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, planted,
};
use warpnest_tests::{TestEngine, assert_lengths, elsewhere, engines, on_every_engine, parameterized};

/// A row as a tuple. If there are fewer columns, the last ones are 0 in all rows.
type Tuple = (u32, u64, i32, u64, char);

/// Returns a row whose columns have few values each, so rows may differ in any of the columns.
fn tuple(number: u64, columns: usize) -> Tuple {
    let spread = |shift: u32, values: u64| (number >> shift) % values;
    let wide = |value: u64| if columns > 1 { value.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { 0 };
    let letter = if columns > 4 { ['x', 'y', '\u{10ffff}'][spread(12, 3) as usize] } else { '\0' };
    (
        (spread(0, 5) as u32).wrapping_sub(1),
        wide(spread(3, 4)),
        if columns > 2 { spread(6, 3) as i32 - 1 } else { 0 },
        if columns > 3 { wide(spread(9, 5)) } else { 0 },
        letter,
    )
}

/// The columns of rows.
struct Columns {
    tuples: Vec<Tuple>,
    first: Vec<u32>,
    second: Vec<u64>,
    third: Vec<i32>,
    fourth: Vec<u64>,
    fifth: Vec<char>,
}

impl Columns {
    fn new(numbers: &[u64], columns: usize) -> Self {
        let tuples: Vec<Tuple> = numbers.iter().map(|&number| tuple(number, columns)).collect();
        Self {
            first: tuples.iter().map(|row| row.0).collect(),
            second: tuples.iter().map(|row| row.1).collect(),
            third: tuples.iter().map(|row| row.2).collect(),
            fourth: tuples.iter().map(|row| row.3).collect(),
            fifth: tuples.iter().map(|row| row.4).collect(),
            tuples,
        }
    }

    /// Returns the first `columns` columns as rows.
    fn rows(&self, columns: usize) -> Rows<'_> {
        let rows = Rows::of(&self.first);
        match columns {
            1 => rows,
            2 => rows.and(&self.second),
            3 => rows.and(&self.second).and(&self.third),
            4 => rows.and(&self.second).and(&self.third).and(&self.fourth),
            _ => rows.and(&self.second).and(&self.third).and(&self.fourth).and(&self.fifth),
        }
    }
}

/// Checks that each id has the columns of its row, and that there are no columns if there are no
/// rows.
fn check_columns(ids: &RowIds, expected: &[Tuple], columns: usize) -> Result<(), TestCaseError> {
    if expected.is_empty() {
        let refused = ids.column::<u32>(0, &[]).unwrap_err();
        prop_assert!(matches!(refused, Error::Input(InputError::NoColumn { .. })), "{refused}");
        return Ok(());
    }
    let all: Vec<u32> = (0..expected.len() as u32).collect();
    let first: Vec<u32> = expected.iter().map(|row| row.0).collect();
    prop_assert_eq!(ids.column::<u32>(0, &all).unwrap(), first);
    if columns > 1 {
        let second: Vec<u64> = expected.iter().map(|row| row.1).collect();
        prop_assert_eq!(ids.column::<u64>(1, &all).unwrap(), second);
    }
    if columns > 2 {
        let third: Vec<i32> = expected.iter().map(|row| row.2).collect();
        prop_assert_eq!(ids.column::<i32>(2, &all).unwrap(), third);
    }
    if columns > 3 {
        let fourth: Vec<u64> = expected.iter().map(|row| row.3).collect();
        prop_assert_eq!(ids.column::<u64>(3, &all).unwrap(), fourth);
    }
    if columns > 4 {
        let fifth: Vec<char> = expected.iter().map(|row| row.4).collect();
        prop_assert_eq!(ids.column::<char>(4, &all).unwrap(), fifth);
    }
    Ok(())
}

/// Checks batches of rows. Before each batch, all rows and others are looked up.
fn check(engine: &TestEngine, batches: &[Vec<u64>], columns: usize) -> Result<(), TestCaseError> {
    let device = &engine.device;
    let mut ids = RowIds::new(device);
    let mut expected: HashMap<Tuple, u32> = HashMap::new();
    let mut in_order: Vec<Tuple> = Vec::new();
    for batch in batches {
        let batch = Columns::new(batch, columns);
        let found = ids.get_many(&batch.rows(columns)).unwrap();
        let held: Vec<Option<u32>> = batch.tuples.iter().map(|row| expected.get(row).copied()).collect();
        prop_assert_eq!(found, held);
        let given = ids.get_or_insert_many(&batch.rows(columns)).unwrap();
        for &row in &batch.tuples {
            expected.entry(row).or_insert_with(|| {
                in_order.push(row);
                in_order.len() as u32 - 1
            });
        }
        prop_assert_eq!(given, batch.tuples.iter().map(|row| expected[row]).collect::<Vec<_>>());
        prop_assert_eq!((ids.len(), ids.is_empty()), (in_order.len(), in_order.is_empty()));
    }
    check_columns(&ids, &in_order, columns)
}

#[test]
fn every_different_row_has_one_id() {
    on_every_engine(
        |engine| {
            let rows = if engine.max_items < 1000 { 0..40 } else { 0..3000 };
            let batch = prop::collection::vec(any::<u64>(), rows).prop_flat_map(|batch| {
                // The rows differ in the low columns alone, or in all columns.
                (0u32..16).prop_map(move |bits| batch.iter().map(|number| number & ((1 << bits) - 1)).collect())
            });
            (prop::collection::vec(batch, 1..4), 1usize..6)
        },
        |engine, (batches, columns): (Vec<Vec<u64>>, usize)| check(engine, &batches, columns),
    );
}

/// Checks many rows, most of which differ in every column.
#[test]
fn many_rows() {
    for engine in engines().iter().filter(|engine| engine.max_items >= 100_000) {
        let (device, stream) = (&engine.device, engine.device.default_stream());
        let (mut ids, mut scratch) = (RowIds::new(device), Scratch::new(device));
        let column = |from: u64, factor: u64| -> Vec<u64> {
            (from..from + 60_000).map(|row| (row / 2).wrapping_mul(factor)).collect()
        };
        for from in [0u64, 30_000, 200_000] {
            let columns = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 3].map(|factor| column(from, factor));
            let rows = Rows::of(&columns[0]).and(&columns[1]).and(&columns[2]);
            let given = ids.get_or_insert_many_on(stream, &rows).unwrap();
            let found = ids.get_many_on(stream, &mut scratch, &rows).unwrap();
            let on_host = given.download(stream).unwrap();
            assert_eq!(found.download(stream).unwrap(), on_host.iter().copied().map(Some).collect::<Vec<_>>());
            for (number, expected) in columns.iter().enumerate() {
                let column = ids.column_on::<u64>(stream, &mut scratch, number, &given).unwrap();
                assert_eq!(&column.download(stream).unwrap(), expected);
            }
        }
        assert_eq!(ids.len(), 45_000 + 30_000);
        assert!(ids.memory_bytes() > ids.len() * 24);
    }
}

#[parameterized]
fn edges(device: &Device) {
    let mut ids = RowIds::new(device);
    assert_eq!(ids.get_many(&Rows::of(&[1u32, 2]).and(&[1u64, 2])).unwrap(), [None, None]);
    assert!(ids.is_empty() && ids.memory_bytes() == 0);
    let error = ids.column::<u32>(0, &[0]).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::NoColumn { number: 0, .. })), "{error}");
    // A batch without rows determines no columns.
    assert_eq!(ids.get_or_insert_many(&Rows::of(&[0u32; 0]).and(&['a'; 0])).unwrap(), []);
    assert_eq!(ids.get_or_insert_many(&Rows::of(&[u64::MAX, 0, u64::MAX])).unwrap(), [0, 1, 0]);
    // An id that no row has returns zero.
    assert_eq!(ids.column::<u64>(0, &[1, 0, 2, u32::MAX]).unwrap(), [0, u64::MAX, 0, 0]);
    let mut ids = RowIds::new(device);
    let (first, second) = ([u32::MAX, 0, 0, u32::MAX], [0u32, u32::MAX, 0, u32::MAX]);
    let rows = Rows::of(&first).and(&second).and(&first);
    assert_eq!(ids.get_or_insert_many(&rows).unwrap(), [0, 1, 2, 3]);
    for (number, expected) in [first, second, first].iter().enumerate() {
        assert_eq!(ids.column::<u32>(number, &[0, 1, 2, 3]).unwrap(), expected);
    }
    // Each column has a value of some row, but no row has them together.
    assert_eq!(ids.get_many(&Rows::of(&[0u32]).and(&[0u32]).and(&[u32::MAX])).unwrap(), [None]);
}

#[parameterized]
fn what_does_not_fit_is_refused(device: &Device) {
    let mut ids = RowIds::new(device);
    let rows = Rows::of(&[1u32, 2]).and(&['a', 'b']);
    assert_eq!(ids.get_or_insert_many(&rows).unwrap(), [0, 1]);
    let few = Rows::of(&[1u32, 2]).and(&['a']);
    assert_lengths(ids.get_or_insert_many(&few).unwrap_err(), ("the first column", 2), ("another column", 1));
    assert_lengths(ids.get_many(&few).unwrap_err(), ("the first column", 2), ("another column", 1));
    for others in [Rows::of(&[1u32]), Rows::of(&[1u32]).and(&[1u32]), rows_of_three()] {
        for error in [ids.get_or_insert_many(&others).unwrap_err(), ids.get_many(&others).unwrap_err()] {
            let Error::Input(InputError::OtherColumns { held, .. }) = &error else { panic!("{error}") };
            assert_eq!(held, &["u32", "char"]);
        }
    }
    for error in [ids.column::<u32>(1, &[0]).unwrap_err(), ids.column::<char>(2, &[0]).unwrap_err()] {
        assert!(matches!(error, Error::Input(InputError::NoColumn { .. })), "{error}");
    }
    let there = elsewhere();
    let far = Buffer::from_slice(&there, &[1u32, 2]).unwrap();
    let error = ids.get_or_insert_many(&Rows::of(&far).and(&['a', 'b'])).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    let error = ids.get_or_insert_many_on(there.default_stream(), &rows).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    let error = ids.column_on::<u32>(device.default_stream(), &mut Scratch::new(device), 0, &far).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    assert_eq!(ids.get_or_insert_many(&rows).unwrap(), [0, 1]);
}

fn rows_of_three() -> Rows<'static> {
    Rows::of(&[1u32]).and(&['a']).and(&['a'])
}

/// Lets each operation of a batch fail. Then all ids are as they were, or there are no ids.
#[test]
fn after_a_failure_ids_are_as_before_or_none() {
    let (device, plan) = planted();
    let host = |ids: &RowIds, rows: &Columns| ids.get_many(&rows.rows(4)).unwrap();
    let (old, new) = (Columns::new(&(0..300).collect::<Vec<_>>(), 4), Columns::new(&(200..900).collect::<Vec<_>>(), 4));
    let expected = {
        let mut ids = RowIds::new(&Device::cpu());
        let of_old = ids.get_or_insert_many(&old.rows(4)).unwrap();
        (of_old, ids.get_or_insert_many(&new.rows(4)).unwrap())
    };
    let begin = || {
        let mut ids = RowIds::new(&device);
        assert_eq!(ids.get_or_insert_many(&old.rows(4)).unwrap(), expected.0);
        ids
    };
    let call = |ids: &mut RowIds| ids.get_or_insert_many(&new.rows(4));
    let mut emptied = 0;
    let whole = |ids: &RowIds| {
        let all: Vec<u32> = (0..ids.len() as u32).collect();
        let of_id = |id: u32| {
            let row = expected.1.iter().position(|given| *given == id).map(|row| new.tuples[row]);
            row.unwrap_or_else(|| old.tuples[expected.0.iter().position(|given| *given == id).unwrap()])
        };
        check_columns(ids, &all.iter().map(|&id| of_id(id)).collect::<Vec<_>>(), 4).unwrap();
    };
    for faults in [SINGLE_FAULTS, LASTING_FAULTS] {
        let seen = in_each_operation(&plan, &faults, begin, call, |mut ids, done| {
            if matches!(done, Err(Error::Emptied { .. })) {
                emptied += 1;
                assert!(ids.is_empty());
                assert!(host(&ids, &old).iter().all(Option::is_none));
                assert_eq!(ids.get_or_insert_many(&old.rows(4)).unwrap(), expected.0);
            } else {
                assert_planted(&done);
                assert_eq!(host(&ids, &old), expected.0.iter().copied().map(Some).collect::<Vec<_>>());
            }
            whole(&ids);
            assert_eq!(call(&mut ids).unwrap(), expected.1);
            whole(&ids);
        });
        all_failed(&seen, &[Operation::Allocate, Operation::Launch, Operation::Download]);
    }
    assert!(emptied > 0);
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

/// Checks that calls can run on a stream of their own.
#[parameterized]
fn other_streams(device: &Device) {
    let stream = device.stream().unwrap();
    let mut ids = RowIds::new(device);
    let rows = Rows::of(&[3u64, 4, 3]).and(&[0u64, 0, 0]);
    assert_eq!(ids.get_or_insert_many_on(&stream, &rows).unwrap().download(&stream).unwrap(), [0, 1, 0]);
}
