//! The columns of joined batches, and joins that are refused.

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeListArray, Int32Array, NullArray, RecordBatch, StringArray, StructArray,
    record_batch,
};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;
use warpnest::arrow::{ArrowGroupBy, ArrowJoin};
use warpnest::error::InputError;
use warpnest::relational::JoinKind;
use warpnest::{Device, Error};

fn names(batch: &RecordBatch) -> Vec<String> {
    batch.schema().fields().iter().map(|field| field.name().clone()).collect()
}

fn input_error(result: warpnest::Result<RecordBatch>) -> InputError {
    match result {
        Err(Error::Input(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_both_batches_are_kept_and_get_suffixes() {
    let device = Device::cpu();
    let left = record_batch!(("id", Int32, [1, 2]), ("name", Utf8, ["a", "b"])).unwrap();
    let right = record_batch!(("id", Int32, [2, 3]), ("name", Utf8, ["c", "d"]), ("x", Int32, [4, 5])).unwrap();
    let join = ArrowJoin::new(&left, &right).on(["id"]);
    assert_eq!(names(&join.run(&device).unwrap()), ["id", "name", "name_right", "x"]);
    assert_eq!(names(&join.clone().suffix(".r").run(&device).unwrap()), ["id", "name", "name.r", "x"]);
    for kind in [JoinKind::Semi, JoinKind::Anti] {
        assert_eq!(names(&join.clone().kind(kind).run(&device).unwrap()), ["id", "name"]);
    }
    let join = ArrowJoin::new(&left, &right).left_on(["id"]).right_on(["x"]);
    assert_eq!(names(&join.run(&device).unwrap()), ["id", "name", "id_right", "name_right", "x"]);
    let error = input_error(join.suffix("").run(&device));
    assert!(matches!(&error, InputError::SameName { name, .. } if name == "id"), "{error}");
    let taken = record_batch!(("id", Int32, [1]), ("name", Utf8, ["a"]), ("name_right", Utf8, ["a"])).unwrap();
    let error = input_error(ArrowJoin::new(&taken, &right).on(["id"]).run(&device));
    assert!(matches!(&error, InputError::SameName { name, .. } if name == "name_right"), "{error}");
}

/// Checks that fields are nullable if their side may be unmatched, and otherwise keep their
/// nullability.
#[test]
fn unmatched_sides_are_null() {
    let device = Device::cpu();
    let batch = |name: &str, ids: [i32; 2]| {
        let schema =
            Schema::new(vec![Field::new("id", DataType::Int32, false), Field::new(name, DataType::Int32, false)]);
        let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        RecordBatch::try_new(Arc::new(schema), vec![ids.clone(), ids]).unwrap()
    };
    let (left, right) = (batch("l", [1, 2]), batch("r", [2, 3]));
    for (kind, rows, nullable) in [
        (JoinKind::Inner, 1, [false, false, false]),
        (JoinKind::Left, 2, [false, false, true]),
        (JoinKind::Right, 2, [false, true, false]),
        (JoinKind::Full, 3, [false, true, true]),
    ] {
        let joined = ArrowJoin::new(&left, &right).on(["id"]).kind(kind).run(&device).unwrap();
        let schema = joined.schema();
        let found: Vec<bool> = schema.fields().iter().map(|field| field.is_nullable()).collect();
        assert_eq!((joined.num_rows(), &found[..]), (rows, &nullable[..]), "{kind:?}");
        let mut ids = joined.column(0).as_primitive::<Int32Type>().values().to_vec();
        ids.sort_unstable();
        let expected: &[i32] = match kind {
            JoinKind::Inner => &[2],
            JoinKind::Left => &[1, 2],
            JoinKind::Right => &[2, 3],
            _ => &[1, 2, 3],
        };
        assert_eq!(ids, expected);
    }
}

#[test]
fn dictionaries_meet_what_they_stand_for() {
    let device = Device::cpu();
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
    let dictionary: DictionaryArray<Int32Type> = ["b", "c", "b"].into_iter().collect();
    let left = RecordBatch::try_from_iter([("k", texts)]).unwrap();
    let right = RecordBatch::try_from_iter([("k", Arc::new(dictionary) as ArrayRef)]).unwrap();
    for [left, right] in [[&left, &right], [&right, &left]] {
        let joined = ArrowJoin::new(left, right).on(["k"]).kind(JoinKind::Full).run(&device).unwrap();
        assert_eq!(joined.column(0).data_type(), &DataType::Utf8);
        let mut keys: Vec<Option<&str>> = joined.column(0).as_string::<i32>().iter().collect();
        keys.sort_unstable();
        assert_eq!(keys, [None, Some("a"), Some("b"), Some("b"), Some("c")]);
    }
}

/// Checks that columns of nested types are gathered, including their null rows.
#[test]
fn columns_of_other_types_are_gathered() {
    let device = Device::cpu();
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![2, 3]));
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), None]);
    lists.append_value([Some(7)]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (key, value) in [("x", 1), ("y", 2)] {
        maps.keys().append_value(key);
        maps.values().append_value(value);
        maps.append(true).unwrap();
    }
    let structs = StructArray::from(vec![(Arc::new(Field::new("v", DataType::Int32, false)), ids.clone())]);
    let fixed = FixedSizeListArray::new(Arc::new(Field::new("v", DataType::Int32, false)), 1, ids.clone(), None);
    let columns: [(&str, ArrayRef); 6] = [
        ("id", ids.clone()),
        ("list", Arc::new(lists.finish())),
        ("map", Arc::new(maps.finish())),
        ("struct", Arc::new(structs)),
        ("fixed", Arc::new(fixed)),
        ("null", Arc::new(NullArray::new(2))),
    ];
    let right = RecordBatch::try_from_iter(columns).unwrap();
    let left = record_batch!(("id", Int32, [3, 9])).unwrap();
    for right in [&right, &right.slice(1, 1), &right.slice(0, 0)] {
        let joined = ArrowJoin::new(&left, right).on(["id"]).kind(JoinKind::Left).run(&device).unwrap();
        let row = joined.column(0).as_primitive::<Int32Type>().values().iter().position(|id| *id == 3).unwrap();
        let met = right.num_rows() != 0;
        for name in ["list", "map", "struct", "fixed"] {
            let column = joined.column_by_name(name).unwrap();
            assert!(column.is_null(1 - row) && column.is_valid(row) == met, "{name}");
            if met {
                let last = right.num_rows() - 1;
                assert!(column.slice(row, 1) == right.column_by_name(name).unwrap().slice(last, 1), "{name}");
            }
        }
    }
}

#[test]
fn what_cannot_be_joined_is_refused() {
    let device = Device::cpu();
    let left = record_batch!(("id", Int32, [1]), ("t", Utf8, ["a"])).unwrap();
    let right = record_batch!(("id", Int64, [1]), ("t", Utf8, ["a"])).unwrap();
    let join = || ArrowJoin::new(&left, &right);
    assert_eq!(input_error(join().run(&device)), InputError::KeyColumns { left: 0, right: 0 });
    let uneven = join().left_on(["id", "t"]).right_on(["t"]);
    assert_eq!(input_error(uneven.run(&device)), InputError::KeyColumns { left: 2, right: 1 });
    let error = input_error(join().on(["id"]).run(&device));
    assert_eq!(
        error.to_string(),
        "the left column \"id\" is of type Int32 and the right column \"id\" of type Int64: cast one of them to the type of the other"
    );
    let error = input_error(join().on(["ID"]).run(&device)).to_string();
    assert_eq!(error, "the left batch has no column \"ID\", but [\"id\", \"t\"]: name one of these");
    let lists = ListBuilder::new(Int32Builder::new()).finish();
    let nested = RecordBatch::try_from_iter([("t", Arc::new(lists) as ArrayRef)]).unwrap();
    let error = input_error(ArrowJoin::new(&nested, &nested).on(["t"]).run(&device));
    assert!(matches!(&error, InputError::ColumnType { column, .. } if column == "t"), "{error}");
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    let error = input_error(ArrowJoin::new(&none, &right).on(["t"]).run(&device));
    assert!(matches!(&error, InputError::ColumnName { several: false, held, .. } if held.is_empty()), "{error}");
    let error = input_error(ArrowJoin::new(&none, &none).run(&device));
    assert_eq!(error, InputError::KeyColumns { left: 0, right: 0 });
}

#[test]
fn names_that_several_columns_have_are_refused_as_keys() {
    let device = Device::cpu();
    let field = |name: &str| Field::new(name, DataType::Int32, true);
    let schema = Arc::new(Schema::new(vec![field("a"), field("a"), field("b")]));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let twice = RecordBatch::try_new(schema, vec![numbers.clone(), numbers.clone(), numbers]).unwrap();
    for error in [
        input_error(ArrowJoin::new(&twice, &twice).on(["a"]).run(&device)),
        input_error(ArrowGroupBy::new(&twice).by(["a"]).run(&device)),
        input_error(ArrowGroupBy::new(&twice).by(["b"]).sum("a", "s").run(&device)),
    ] {
        assert!(matches!(error, InputError::ColumnName { several: true, .. }), "{error}");
        assert!(error.to_string().ends_with("batch has several columns \"a\": rename all but one of them"), "{error}");
    }
    let error = input_error(ArrowJoin::new(&twice, &twice).on(["b"]).run(&device));
    assert!(matches!(&error, InputError::SameName { name, .. } if name == "a"), "{error}");
}

#[test]
fn more_rows_than_numbers_count_are_refused() {
    let device = Device::cpu();
    let many: ArrayRef = Arc::new(NullArray::new(1 << 32));
    let many = RecordBatch::try_from_iter([("n", many)]).unwrap();
    let few = many.slice(0, 3);
    let limit = |error| assert!(matches!(error, InputError::TooManyItems { asked, .. } if asked == 1 << 32), "{error}");
    limit(input_error(ArrowJoin::new(&many, &few).on(["n"]).run(&device)));
    limit(input_error(ArrowJoin::new(&few, &many).on(["n"]).run(&device)));
    limit(input_error(ArrowGroupBy::new(&many).by(["n"]).run(&device)));
}
