//! Joins of record batches, compared with joins computed by a map.

use super::columns::{SHAPES, cell, column};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch};
use arrow_select::interleave::interleave;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use warpnest::Device;
use warpnest::arrow::ArrowJoin;
use warpnest::relational::{JoinKind, JoinMethod, NO_ROW};
use warpnest_tests::{TestEngine, at, on_every_engine, parameterized};

const KINDS: [JoinKind; 6] =
    [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];

const METHODS: [JoinMethod; 4] = [JoinMethod::Auto, JoinMethod::OnChip, JoinMethod::Direct, JoinMethod::Split];

/// The rows of a table: numbers for its three key columns.
type Numbers = Vec<[Option<u8>; 3]>;

/// A table: the numbers of its rows, and the count of array rows before them.
type Table = (Numbers, usize);

fn tables(most_rows: usize) -> impl Strategy<Value = Table> {
    let number = prop_oneof![1 => Just(None), 6 => (0u8..6).prop_map(Some), 1 => any::<u8>().prop_map(Some)];
    (prop::collection::vec([number.clone(), number.clone(), number], 0..=most_rows), 0..40usize)
}

/// Returns a batch with key columns of these shapes and names, and a column `rows` of row indices.
fn batch((numbers, offset): &Table, shapes: &[usize], names: &[&str], rows: &str) -> RecordBatch {
    let keys = shapes.iter().enumerate().map(|(number, shape)| {
        let numbers: Vec<Option<u8>> = numbers.iter().map(|row| row[number]).collect();
        column(*shape, &numbers, *offset)
    });
    let rows_column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..numbers.len() as i32));
    let columns = names.iter().copied().zip(keys).map(|(name, keys)| (name, keys, true));
    RecordBatch::try_from_iter_with_nullable(columns.chain([(rows, rows_column, false)])).unwrap()
}

/// Returns the keys of each row, or `None` if one of them is null.
fn keys_of((numbers, _): &Table, shapes: &[usize]) -> Vec<Option<Vec<u64>>> {
    let key = |row: &[Option<u8>; 3]| shapes.iter().zip(row).map(|(shape, number)| cell(*shape, *number)).collect();
    numbers.iter().map(key).collect()
}

/// Returns the sorted pairs of a join. A row with a null key matches no row.
fn expected(kind: JoinKind, left: &[Option<Vec<u64>>], right: &[Option<Vec<u64>>]) -> Vec<(u32, u32)> {
    let mut rows_of: HashMap<&[u64], Vec<u32>> = HashMap::new();
    for (row, keys) in right.iter().enumerate().filter_map(|(row, keys)| Some((row, keys.as_ref()?))) {
        rows_of.entry(keys).or_default().push(row as u32);
    }
    let (mut pairs, mut has_met) = (Vec::new(), vec![false; right.len()]);
    for (left, keys) in left.iter().enumerate() {
        let left = left as u32;
        let met = keys.as_ref().and_then(|keys| rows_of.get(&keys[..])).map_or(&[][..], |rows| rows);
        met.iter().for_each(|right| has_met[*right as usize] = true);
        match kind {
            JoinKind::Semi if met.is_empty() => {}
            JoinKind::Anti if !met.is_empty() => {}
            JoinKind::Semi | JoinKind::Anti => pairs.push((left, NO_ROW)),
            JoinKind::Left | JoinKind::Full if met.is_empty() => pairs.push((left, NO_ROW)),
            _ => pairs.extend(met.iter().map(|right| (left, *right))),
        }
    }
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        let alone = has_met.iter().enumerate().filter(|(_, has_met)| !**has_met);
        pairs.extend(alone.map(|(right, _)| (NO_ROW, right as u32)));
    }
    pairs.sort_unstable();
    pairs
}

/// Returns the pairs of a joined batch, in its order.
fn pairs_of(joined: &RecordBatch) -> Vec<(u32, u32)> {
    let rows = |name: &str| match joined.column_by_name(name) {
        Some(rows) => rows.as_primitive::<Int32Type>().iter().map(|row| row.map_or(NO_ROW, |row| row as u32)).collect(),
        None => vec![NO_ROW; joined.num_rows()],
    };
    rows("left_row").into_iter().zip(rows("right_row")).collect()
}

/// Checks a join by columns of these shapes, with the same names in both tables or with different
/// names.
fn check(
    device: &Device,
    [left, right]: [&Table; 2],
    shapes: &[usize],
    (kind, method): (JoinKind, JoinMethod),
    shared: bool,
) {
    let _at = at(format!("{kind:?} {method:?} of shapes {shapes:?}, shared {shared}: {left:?} {right:?}"));
    let left_names = &["a", "b", "c"][..shapes.len()];
    let right_names = if shared { left_names } else { &["x", "y", "z"][..shapes.len()] };
    let batches = [batch(left, shapes, left_names, "left_row"), batch(right, shapes, right_names, "right_row")];
    let join = ArrowJoin::new(&batches[0], &batches[1]).left_on(left_names.to_vec()).right_on(right_names.to_vec());
    let joined = join.kind(kind).method(method).run(device).unwrap();
    let pairs = pairs_of(&joined);
    let mut sorted = pairs.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected(kind, &keys_of(left, shapes), &keys_of(right, shapes)));

    let rows: Vec<(usize, usize)> = pairs
        .iter()
        .map(|&(left, right)| if left == NO_ROW { (1, right as usize) } else { (0, left as usize) })
        .collect();
    for (number, name) in left_names.iter().enumerate() {
        let found = joined.column_by_name(name).unwrap();
        if shared {
            let either = interleave(&[batches[0].column(number), batches[1].column(number)], &rows).unwrap();
            assert_eq!(found, &either, "{name}");
            continue;
        }
        for (row, (left, _)) in pairs.iter().enumerate() {
            let is_equal = match *left {
                NO_ROW => found.is_null(row) || shapes[number] == SHAPES - 1,
                left => found.slice(row, 1) == batches[0].column(number).slice(left as usize, 1),
            };
            assert!(is_equal, "{name}, row {row}");
        }
    }
}

/// Two tables, the shapes of their keys, a kind of join, a method, and whether names are shared.
type Case = (Table, Table, Vec<usize>, usize, usize, bool);

fn any_tables(engine: &TestEngine, columns: usize) -> impl Strategy<Value = Case> + use<> {
    let most = engine.max_items.min(600) / 4;
    let shapes = prop::collection::vec(0..SHAPES, 1..=columns);
    (tables(most), tables(most), shapes, 0..KINDS.len(), 0..METHODS.len(), any::<bool>())
}

#[test]
fn any_tables_by_one_column() {
    on_every_engine(
        |engine| any_tables(engine, 1),
        |engine, (left, right, shapes, kind, method, shared)| {
            check(&engine.device, [&left, &right], &shapes, (KINDS[kind], METHODS[method]), shared);
            Ok(())
        },
    );
}

#[test]
fn any_tables_by_several_columns() {
    on_every_engine(
        |engine| any_tables(engine, 3),
        |engine, (left, right, shapes, kind, method, shared)| {
            check(&engine.device, [&left, &right], &shapes, (KINDS[kind], METHODS[method]), shared);
            Ok(())
        },
    );
}

/// Checks each type of column with each kind of join: alone, as the second of two key columns, with
/// null keys, and with empty sides.
#[parameterized]
fn each_type_and_each_kind(engine: &TestEngine) {
    let numbers =
        |count: u8| -> Numbers { (0..count).map(|row| [(row % 5 != 0).then_some(row % 7), Some(3), None]).collect() };
    for shape in 0..SHAPES {
        for (number, kind) in KINDS.into_iter().enumerate() {
            let sides = [(numbers(23), 5), (numbers(12), number)];
            let (empty, method) = ((Vec::new(), 3), JoinMethod::Auto);
            let shapes = &[shape, 0][..1 + number % 2];
            check(&engine.device, [&sides[0], &sides[1]], shapes, (kind, method), number % 3 == 0);
            check(&engine.device, [&empty, &sides[1]], shapes, (kind, method), true);
            check(&engine.device, [&sides[0], &empty], shapes, (kind, method), true);
            check(&engine.device, [&empty, &empty], shapes, (kind, method), false);
        }
    }
}
