//! Group-bys of record batches, compared with a map of the standard library.

use super::columns::{SHAPES, cell, column};
use crate::relational::means;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int8Type, Int32Type, TimestampSecondType, UInt64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch,
    StringArray, TimestampSecondArray, UInt32Array, UInt64Array, record_batch,
};
use arrow_schema::DataType;
use arrow_select::take::take;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use warpnest::arrow::ArrowGroupBy;
use warpnest::error::InputError;
use warpnest::{Device, Error};
use warpnest_tests::{TestEngine, at, on_every_engine, parameterized};

/// A row: the numbers of its keys, and of its values.
type Row = ([Option<u8>; 3], [Option<u8>; 2]);

/// Returns the columns of values of a batch: integers whose sums wrap, floats whose sums are exact,
/// floats with NaNs and zeros, small integers, times and texts.
fn values(rows: &[Row]) -> Vec<(&'static str, ArrayRef)> {
    let numbers = |column: usize| rows.iter().map(move |(_, values)| values[column]);
    let special = |number: u8| match number % 6 {
        0 => 0.0,
        1 => -0.0,
        2 => f64::NAN,
        3 => -f64::NAN,
        4 => f64::INFINITY,
        _ => -f64::from(number),
    };
    let times = numbers(1).map(|number| number.map(|number| i64::from(number) - 99)).collect::<TimestampSecondArray>();
    let texts: StringArray = numbers(0).map(|number| number.map(|number| format!("text {number}"))).collect();
    let dictionary: DictionaryArray<Int8Type> = {
        let texts: Vec<Option<String>> =
            numbers(1).map(|number| number.map(|number| format!("{}", number % 9))).collect();
        texts.iter().map(|text| text.as_deref()).collect()
    };
    let int = numbers(0).map(|number| number.map(|number| i32::from(number) - 100)).collect::<Int32Array>();
    let exact = numbers(1).map(|number| number.map(|number| f64::from(number) / 4.0 - 9.0)).collect::<Float64Array>();
    vec![
        ("int", Arc::new(int)),
        (
            "large",
            Arc::new(
                numbers(1)
                    .map(|number| number.map(|number| u64::MAX / 7 * u64::from(number % 8)))
                    .collect::<UInt64Array>(),
            ),
        ),
        ("exact", Arc::new(exact)),
        ("special", Arc::new(numbers(0).map(|number| number.map(special)).collect::<Float64Array>())),
        ("tiny", Arc::new(numbers(1).map(|number| number.map(|number| number as i8)).collect::<Int8Array>())),
        ("time", Arc::new(times.with_timezone("+02:00"))),
        ("text", Arc::new(texts)),
        ("word", Arc::new(dictionary)),
    ]
}

/// Returns an aggregate over the values of each group that are not null.
fn folded<T: ArrowPrimitiveType, U: ArrowPrimitiveType>(
    groups: &[Vec<usize>],
    values: &ArrayRef,
    fold: impl Fn(&[T::Native]) -> U::Native,
) -> ArrayRef {
    let values = values.as_primitive::<T>();
    let of_group = |rows: &Vec<usize>| {
        let valid = rows.iter().filter(|row| values.is_valid(**row)).map(|row| values.value(*row));
        let valid: Vec<T::Native> = valid.collect();
        (!valid.is_empty()).then(|| fold(&valid))
    };
    Arc::new(groups.iter().map(of_group).collect::<PrimitiveArray<U>>())
}

/// Returns each group's first or last value that is not null.
fn chosen(groups: &[Vec<usize>], values: &ArrayRef, last: bool) -> ArrayRef {
    let nulls = values.logical_nulls();
    let rows = groups.iter().map(|rows| {
        let mut valid = rows.iter().filter(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(**row)));
        let row = if last { valid.next_back() } else { valid.next() };
        row.map(|row| *row as u32)
    });
    take(values, &rows.collect::<UInt32Array>(), None).unwrap()
}

/// Returns the count of distinct values of each group that are not null. Values are equal if their
/// bytes are.
fn distinct(groups: &[Vec<usize>], values: &ArrayRef) -> ArrayRef {
    let nulls = values.logical_nulls();
    let word = |row: usize| match values.data_type() {
        DataType::Float64 => values.as_primitive::<Float64Type>().value(row).to_bits().to_string(),
        _ => format!("{:?}", values.slice(row, 1)),
    };
    let count = |rows: &Vec<usize>| {
        let valid = rows.iter().filter(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(**row)));
        valid.map(|row| word(*row)).collect::<HashSet<String>>().len() as i64
    };
    Arc::new(groups.iter().map(|rows| Some(count(rows))).collect::<Int64Array>())
}

/// Returns the median of integers.
fn median(values: &[i32]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    f64::from(sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// Returns the rows of each group, in the order in which their keys first appear.
fn groups_of(rows: &[Row], shapes: &[usize]) -> Vec<Vec<usize>> {
    let (mut ids, mut groups) = (HashMap::new(), Vec::<Vec<usize>>::new());
    for (row, (numbers, _)) in rows.iter().enumerate() {
        let key: Vec<Option<u64>> = shapes.iter().zip(numbers).map(|(shape, number)| cell(*shape, *number)).collect();
        let id = *ids.entry(key).or_insert(groups.len());
        if id == groups.len() {
            groups.push(Vec::new());
        }
        groups[id].push(row);
    }
    groups
}

fn check(device: &Device, rows: &[Row], shapes: &[usize], offset: usize) {
    let _at = at(format!("shapes {shapes:?}, offset {offset}: {rows:?}"));
    let names = &["a", "b", "c"][..shapes.len()];
    let keys: Vec<ArrayRef> = (0..shapes.len())
        .map(|number| column(shapes[number], &rows.iter().map(|row| row.0[number]).collect::<Vec<_>>(), offset))
        .collect();
    // The columns of values are slices, too.
    let before = std::iter::repeat_n(([None; 3], [Some(9), None]), offset);
    let all: Vec<Row> = before.chain(rows.iter().copied()).collect();
    let values: Vec<(&str, ArrayRef)> =
        values(&all).into_iter().map(|(name, array)| (name, array.slice(offset, rows.len()))).collect();
    let columns = names.iter().copied().zip(keys.iter().cloned()).chain(values.iter().cloned());
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();

    let groups = groups_of(rows, shapes);
    let first_rows: UInt32Array = groups.iter().map(|rows| Some(rows[0] as u32)).collect();
    let mut expected: Vec<ArrayRef> = keys.iter().map(|keys| take(keys, &first_rows, None).unwrap()).collect();
    let query = ArrowGroupBy::new(&batch).by(names.to_vec()).in_order_of_appearance();
    let (query, aggregates) = with_aggregates(query, &groups, &values);
    expected.extend(aggregates);
    let found = query.run(device).unwrap();
    for (number, (found_column, expected)) in found.columns().iter().zip(&expected).enumerate() {
        let is_extreme = ["min_special", "max_special"].contains(&found.schema().field(number).name().as_str());
        let normalized = |array: &ArrayRef| -> ArrayRef {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| f64::from_bits(means::bits(x))))
        };
        let found_column = if is_extreme { &normalized(found_column) } else { found_column };
        assert_eq!(found_column, expected, "{}", found.schema().field(number).name());
    }
    assert_eq!(found.num_columns(), expected.len());
}

/// Adds every aggregate of values of every type to the query, and returns the expected results.
fn with_aggregates<'b>(
    query: ArrowGroupBy<'b>,
    groups: &[Vec<usize>],
    values: &[(&str, ArrayRef)],
) -> (ArrowGroupBy<'b>, Vec<ArrayRef>) {
    let array = |name: &str| &values.iter().find(|(other, _)| *other == name).unwrap().1;
    let count = |name: &str| -> ArrayRef {
        let values = array(name);
        let count = |rows: &Vec<usize>| rows.iter().filter(|row| values.is_valid(**row)).count() as i64;
        Arc::new(groups.iter().map(|rows| Some(count(rows))).collect::<Int64Array>())
    };
    // Which of several NaNs is the result does not matter.
    let least = |values: &[f64]| f64::from_bits(means::bits(means::least(values.iter().copied(), true)));
    let greatest = |values: &[f64]| f64::from_bits(means::bits(means::greatest(values.iter().copied(), true)));
    let wrapped = |values: &[u64]| values.iter().fold(0u64, |sum, value| sum.wrapping_add(*value));
    let of_int = |values: &[i32]| values.iter().map(|value| i64::from(*value)).sum::<i64>();
    let zoned = |times: ArrayRef| -> ArrayRef {
        Arc::new(times.as_primitive::<TimestampSecondType>().clone().with_timezone("+02:00"))
    };
    type Long = arrow_array::types::Int64Type;
    let rows = groups.iter().map(|rows| Some(rows.len() as i64)).collect::<Int64Array>();
    let (mut query, mut expected) = (query.count_rows("rows"), vec![Arc::new(rows) as ArrayRef]);
    macro_rules! ask {
        ($function:ident($column:literal), $expected:expr) => {
            query = query.$function($column, format!("{}_{}", stringify!($function), $column));
            expected.push($expected);
        };
    }
    ask!(count("int"), count("int"));
    ask!(count("text"), count("text"));
    ask!(sum("int"), folded::<Int32Type, Long>(groups, array("int"), of_int));
    ask!(min("int"), folded::<Int32Type, Int32Type>(groups, array("int"), |values| *values.iter().min().unwrap()));
    ask!(max("int"), folded::<Int32Type, Int32Type>(groups, array("int"), |values| *values.iter().max().unwrap()));
    let mean = |values: &[i32]| means::exact(of_int(values).into(), values.len());
    ask!(mean("int"), folded::<Int32Type, Float64Type>(groups, array("int"), mean));
    ask!(sum("large"), folded::<UInt64Type, UInt64Type>(groups, array("large"), wrapped));
    let exact = |values: &[u64]| means::exact(values.iter().map(|&value| i128::from(value)).sum(), values.len());
    ask!(mean("large"), folded::<UInt64Type, Float64Type>(groups, array("large"), exact));
    ask!(
        max("large"),
        folded::<UInt64Type, UInt64Type>(groups, array("large"), |values| *values.iter().max().unwrap())
    );
    ask!(sum("exact"), folded::<Float64Type, Float64Type>(groups, array("exact"), |values| values.iter().sum()));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    ask!(mean("exact"), folded::<Float64Type, Float64Type>(groups, array("exact"), mean));
    ask!(min("special"), folded::<Float64Type, Float64Type>(groups, array("special"), least));
    ask!(max("special"), folded::<Float64Type, Float64Type>(groups, array("special"), greatest));
    let of_tiny = |values: &[i8]| values.iter().map(|value| i64::from(*value)).sum::<i64>();
    ask!(sum("tiny"), folded::<Int8Type, Long>(groups, array("tiny"), of_tiny));
    ask!(min("tiny"), folded::<Int8Type, Int8Type>(groups, array("tiny"), |values| *values.iter().min().unwrap()));
    let earliest = |values: &[i64]| *values.iter().min().unwrap();
    ask!(min("time"), zoned(folded::<TimestampSecondType, TimestampSecondType>(groups, array("time"), earliest)));
    for name in ["special", "text"] {
        query = query.count_distinct(name, format!("distinct_{name}"));
        expected.push(distinct(groups, array(name)));
    }
    let exact = |values: &[f64]| values.iter().map(|value| (value * 4.0) as i32).collect::<Vec<i32>>();
    ask!(
        median("exact"),
        folded::<Float64Type, Float64Type>(groups, array("exact"), |values| median(&exact(values)) / 4.0)
    );
    for name in ["special", "time", "text", "word"] {
        query = query.first(name, format!("first_{name}")).last(name, format!("last_{name}"));
        expected.extend([chosen(groups, array(name), false), chosen(groups, array(name), true)]);
    }
    (query, expected)
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let key = prop_oneof![1 => Just(None), 6 => (0u8..5).prop_map(Some), 1 => any::<u8>().prop_map(Some)];
    let value = prop_oneof![1 => Just(None), 4 => any::<u8>().prop_map(Some)];
    let no_nulls = (prop::array::uniform3((0u8..9).prop_map(Some)), prop::array::uniform2(any::<u8>().prop_map(Some)));
    prop_oneof![
        3 => prop::collection::vec((prop::array::uniform3(key), prop::array::uniform2(value)), 0..=most),
        1 => prop::collection::vec(no_nulls, 0..=most),
    ]
}

#[test]
fn any_batch_by_any_columns() {
    on_every_engine(
        |engine| (rows(engine.max_items.min(600) / 4), prop::collection::vec(0..SHAPES, 1..=3), 0..40usize),
        |engine, (rows, shapes, offset)| {
            check(&engine.device, &rows, &shapes, offset);
            Ok(())
        },
    );
}

#[parameterized]
fn each_type_alone_with_and_without_nulls(engine: &TestEngine) {
    for shape in 0..SHAPES {
        for has_nulls in [false, true] {
            let number = |row: u8| (!has_nulls || !row.is_multiple_of(4)).then_some(row % 5);
            let rows: Vec<Row> = (0..30).map(|row| ([number(row); 3], [number(row / 3), number(row)])).collect();
            check(&engine.device, &rows, &[shape], 3);
        }
        check(&engine.device, &[], &[shape], 0);
    }
}

/// Checks more nullable columns of keys than a word has bits.
#[test]
fn nulls_of_many_columns_make_groups() {
    let (device, columns, rows) = (Device::cpu(), 40usize, 40usize);
    let batch = RecordBatch::try_from_iter((0..columns).map(|column| {
        let numbers = (0..rows).map(|row| (row / 2 != column).then_some(7)).collect::<Int32Array>();
        (format!("k{column}"), Arc::new(numbers) as ArrayRef)
    }));
    let names = (0..columns).map(|column| format!("k{column}"));
    let groups = ArrowGroupBy::new(&batch.unwrap()).by(names).count_rows("n").run(&device).unwrap();
    assert_eq!(groups.num_rows(), rows / 2);
    assert!(groups.column(columns).as_primitive::<arrow_array::types::Int64Type>().values().iter().all(|n| *n == 2));
}

#[parameterized]
fn variances_and_quantiles_ignore_nulls(device: &Device) {
    let batch = record_batch!(
        ("k", Int32, [1, 1, 1, 2, 2, 3]),
        ("x", Float64, [Some(1.0), None, Some(3.0), None, None, Some(5.0)])
    )
    .unwrap();
    let query = || ArrowGroupBy::new(&batch).by(["k"]).in_order_of_appearance();
    let of_samples = query().var("x", "var").std("x", "std").median("x", "median").quantile("x", 0.25, "low");
    let found = of_samples.count_distinct("x", "n").var("k", "var k").run(device).unwrap();
    let expected = record_batch!(
        ("k", Int32, [1, 2, 3]),
        ("var", Float64, [Some(2.0), None, Some(f64::NAN)]),
        ("std", Float64, [Some(std::f64::consts::SQRT_2), None, Some(f64::NAN)]),
        ("median", Float64, [Some(2.0), None, Some(5.0)]),
        ("low", Float64, [Some(1.5), None, Some(5.0)]),
        ("n", Int64, [2, 0, 1]),
        ("var k", Float64, [0.0, 0.0, f64::NAN])
    );
    // Arrow's arrays are equal only if the bits of their NaNs are.
    for (found, expected) in found.columns().iter().zip(expected.unwrap().columns()) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
    let found = query().ddof(0).var("x", "var").run(device).unwrap();
    assert_eq!(format!("{:?}", found.column(1)), format!("{:?}", Float64Array::from(vec![Some(1.0), None, Some(0.0)])));
    let error = query().quantile("x", 2.0, "q").run(device).unwrap_err();
    assert_eq!(error, Error::Input(InputError::Quantile { asked: 2.0 }));
}

#[parameterized]
fn the_greatest_groups_are_first_and_nulls_last(device: &Device) {
    let batch = record_batch!(
        ("a", Int32, [5, 6, 5, 7, 8, 7]),
        ("b", Utf8, [Some("x"), None, Some("x"), Some("y"), Some("y"), Some("y")]),
        ("x", Int32, [Some(-4), None, Some(-3), Some(9), None, None]),
        ("y", Float64, [Some(0.1), Some(0.2), Some(0.3), None, None, Some(f64::NAN)])
    )
    .unwrap();
    for keys in [&["a"][..], &["b", "a"]] {
        let query = || ArrowGroupBy::new(&batch).by(keys.to_vec()).in_order_of_appearance().first("x", "first");
        let found = |query: ArrowGroupBy<'_>| {
            let found = query.reproducible().run(device).unwrap();
            let name = |name: &str| found.column_by_name(name).unwrap().clone();
            (name("a").as_primitive::<Int32Type>().values().to_vec(), name("first"))
        };
        let firsts = |of: &[Option<i32>]| -> ArrayRef { Arc::new(Int32Array::from(of.to_vec())) };
        let expected = (vec![7, 5, 6, 8], firsts(&[Some(9), Some(-4), None, None]));
        assert_eq!(found(query().top(9, "least").min("x", "least")), expected);
        assert_eq!(found(query().sum("x", "sum").top(4, "sum")), expected);
        assert_eq!(found(query().sum("x", "sum").top(1, "sum")), (vec![7], firsts(&[Some(9)])));
        assert_eq!(found(query().mean("y", "mean").top(2, "mean")).0, [5, 6]);
        assert_eq!(found(query().count("x", "n").top(3, "n")).0, [5, 7, 6]);
        let error = query().top(1, "first").run(device).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::ColumnType { .. })), "{error:?}");
        let error = query().top(1, "x").run(device).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::ColumnName { .. })), "{error:?}");
    }
}

#[test]
fn without_aggregates_there_are_the_different_keys() {
    let batch = record_batch!(("a", Utf8, ["x", "y", "x"]), ("b", Int32, [1, 1, 1])).unwrap();
    let groups = ArrowGroupBy::new(&batch).by(["b", "a"]).in_order_of_appearance().run(&Device::cpu()).unwrap();
    let expected = record_batch!(("b", Int32, [1, 1]), ("a", Utf8, ["x", "y"])).unwrap();
    assert_eq!(groups, expected);
}

#[test]
fn what_cannot_be_aggregated_is_refused() {
    let device = Device::cpu();
    let batch = record_batch!(("a", Int32, [1]), ("t", Utf8, ["x"]), ("b", Boolean, [true])).unwrap();
    let query = || ArrowGroupBy::new(&batch).by(["a"]);
    let input_error = |query: ArrowGroupBy<'_>| match query.run(&device) {
        Err(Error::Input(error)) => error,
        other => panic!("{other:?}"),
    };
    let of_type = |query, column: &str, what: &str| match input_error(query) {
        InputError::ColumnType { column: found, what: found_what, .. } => {
            assert_eq!((&found[..], found_what), (column, what))
        }
        other => panic!("{other}"),
    };
    of_type(query().sum("t", "s"), "t", "no sum");
    of_type(query().min("t", "first").mean("b", "s"), "t", "no least or greatest value");
    of_type(query().max("b", "s"), "b", "no least or greatest value");
    of_type(query().mean("b", "s"), "b", "no mean");
    of_type(query().var("t", "s"), "t", "no variance");
    of_type(query().median("b", "s"), "b", "no quantile");
    assert_eq!(input_error(ArrowGroupBy::new(&batch).count_rows("n")), InputError::KeyColumns { left: 0, right: 0 });
    for twice in [query().count_rows("a"), query().count_rows("n").sum("a", "n"), query().by(["a", "a"])] {
        assert!(matches!(input_error(twice), InputError::SameName { .. }));
    }
    assert!(matches!(input_error(query().sum("x", "s")), InputError::ColumnName { several: false, .. }));
    // Times have a least value but no sum, even when another aggregate computes their sum.
    let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
    of_type(ArrowGroupBy::new(&batch).by(["t"]).min("t", "m").sum("t", "s"), "t", "no sum");
    assert_eq!(batch.schema().field(0).data_type(), &DataType::Timestamp(arrow_schema::TimeUnit::Second, None));
}
