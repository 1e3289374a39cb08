//! Tests with CSV and Parquet files, intact and damaged.

use std::path::Path;
use std::sync::Arc;

use super::super::column::{Column, Texts, Use};
use super::super::query::Need;
use super::super::reading::{Options, ReadError};
use super::super::table::Table;
use super::read;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use warpnest_applications_shared::testing::Folder;

fn needs<const N: usize>(needs: [(&str, Use); N]) -> [Need; N] {
    needs.map(|(name, usage)| Need { name: name.to_owned(), usage })
}

/// Reads a file, and skips unreadable rows.
fn table(path: impl AsRef<Path>, needs: &[Need]) -> Result<Table, ReadError> {
    read(path.as_ref(), needs, Options::default(), &mut |_| ())
}

/// Returns the message of an error with its causes' messages, as the program prints them.
fn message(result: Result<Table, ReadError>) -> String {
    let error = result.unwrap_err();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// Returns the values of a column as text.
fn values(column: &Column) -> Vec<String> {
    match column {
        Column::Integers(values) => values.iter().map(|value| format!("i{value}")).collect(),
        Column::Floats(values) => values.iter().map(|value| format!("f{value}")).collect(),
        Column::Texts(Texts { ids, dictionary }) => {
            ids.iter().map(|id| dictionary.entries()[*id as usize].to_string()).collect()
        }
    }
}

#[test]
fn columns_of_csv_are_read_by_name_and_bad_rows_are_counted() {
    let folder = Folder::new();
    let text = b"\xef\xbb\xbfid, zone ,fare,note\n1,\"north, east\",2.5,x\n2,south,,x\n3,south,free,x\n4,west\n\
        5,\xff,1,x\n6,\"two\nlines\",7,x\r\n\n7,south,-1e1,\xff\n";
    let path = folder.write("trips.csv", text);
    let needs = needs([("fare", Use::Number), ("zone", Use::Key), ("id", Use::Key)]);
    let read = table(&path, &needs).unwrap();
    assert_eq!((read.rows, read.skipped), (3, 4));
    let said = read.first_skipped.unwrap().to_string();
    assert_eq!(said, "line 3: the column \"fare\" is empty");
    let columns: Vec<_> = read.columns.iter().map(values).collect();
    assert_eq!(columns, [["f2.5", "f7", "f-10"], ["north, east", "two\nlines", "south"], ["i1", "i6", "i7"]]);
}

#[test]
fn the_delimiter_is_a_matter_of_the_name_unless_it_is_given() {
    let folder = Folder::new();
    let needs = needs([("b", Use::Number)]);
    let path = folder.write("a.tsv", "a\tb\n1,0\t2\n");
    assert_eq!(values(&table(&path, &needs).unwrap().columns[0]), ["i2"]);
    let path = folder.write("a.CSV", "a;b\n1,5;2\n");
    let said = message(table(&path, &needs));
    assert!(said.contains("there are a;b") && said.contains("--delimiter"), "{said}");
    let options = Options { delimiter: Some(b';'), ..Options::default() };
    assert_eq!(values(&read(path.as_ref(), &needs, options, &mut |_| ()).unwrap().columns[0]), ["i2"]);
}

#[test]
fn progress_goes_from_nothing_to_all() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "a\n".to_owned() + &"12345\n".repeat(1 << 16));
    let mut shares = Vec::new();
    read(path.as_ref(), &needs([("a", Use::Key)]), Options::default(), &mut |share| shares.push(share)).unwrap();
    assert!(shares.len() == 4 && shares.is_sorted() && shares[0] > 0.2 && shares[3] > 0.99, "{shares:?}");
    assert!(shares.iter().all(|share| *share <= 1.0), "{shares:?}");
}

#[test]
fn files_that_are_no_tables_are_refused_by_name() {
    let folder = Folder::new();
    let number = needs([("b", Use::Number)]);
    std::fs::create_dir_all(folder.path("folder.csv")).unwrap();
    let wide: Vec<String> = (0..70_000).map(|column| format!("c{column}")).collect();
    let cases = [
        (folder.write("empty.csv", ""), "the file is empty"),
        (folder.write("blank.csv", "\n\r\n\n"), "the file is empty"),
        (folder.write("headless.csv", "1,2\n3,4\n"), "there is no column \"b\"; there are 1, 2; the first line must"),
        (folder.write("twice.csv", "b,a,b\n1,2,3\n"), "the columns 1 and 3 are both named \"b\""),
        (
            folder.write("text.csv", "a,b\nx,y\nz,w\n"),
            "none of 2 rows can be read; the first is line 2: the column \"b\" is \"y\"",
        ),
        (folder.write("wide.csv", wide.join(",") + "\n"), "c29 and 69970 more"),
        (folder.write("empty.parquet", ""), "cannot be read as Parquet"),
        (folder.write("text.pq", "a,b\n1,2\n"), "cannot be read as Parquet"),
        (folder.write("table.xlsx", ""), "name it .csv"),
        (folder.write("table", ""), "name it .csv"),
        (folder.path("folder.csv"), "is a folder"),
        (folder.path("none.csv"), "cannot read the file"),
    ];
    for (path, words) in cases {
        let said = message(table(&path, &number));
        assert!(said.starts_with(&path) && said.contains(words), "{said}");
        assert!(said.len() < 1000, "{said}");
    }
    let strict = Options { strict: true, ..Options::default() };
    let path = folder.write("strict.csv", "a,b\n1,2\n3\n");
    let said = message(read(path.as_ref(), &number, strict, &mut |_| ()));
    assert!(said.contains("line 3: fields: 1, columns in the first line: 2; correct it"), "{said}");
}

#[test]
fn seventy_thousand_columns_are_read() {
    let folder = Folder::new();
    let line = |cell: &dyn Fn(usize) -> String| (0..70_000).map(cell).collect::<Vec<_>>().join(",") + "\n";
    let path = folder.write("wide.csv", line(&|column| format!("c{column}")) + &line(&|column| column.to_string()));
    let needs = needs([("c69999", Use::Number), ("c0", Use::Key)]);
    let columns: Vec<_> = table(&path, &needs).unwrap().columns.iter().map(values).collect();
    assert_eq!(columns, [["i69999"], ["i0"]]);
}

/// A column of a Parquet file that a test writes, in which `None` is a missing value.
struct Written {
    schema: Type,
    write: Box<dyn Fn(&mut parquet::file::writer::SerializedColumnWriter<'_>)>,
}

fn column<T: DataType>(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    rows: Vec<Option<T::T>>,
) -> Written {
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    let builder = match logical {
        Some(LogicalType::Decimal(_)) => builder.with_precision(9).with_scale(2),
        _ => builder,
    };
    let schema = builder.with_logical_type(logical).build().unwrap();
    let write = move |writer: &mut parquet::file::writer::SerializedColumnWriter<'_>| {
        let levels: Vec<i16> = rows.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T::T> = rows.iter().flatten().cloned().collect();
        writer.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
    };
    Written { schema, write: Box::new(write) }
}

/// Returns a Parquet file with `groups` row groups, each of which has all rows of the columns.
fn parquet_of(columns: Vec<Written>, groups: usize, compression: Compression) -> Vec<u8> {
    let fields = columns.iter().map(|column| Arc::new(column.schema.clone())).collect();
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build().unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        for column in &columns {
            let mut open = group.next_column().unwrap().unwrap();
            (column.write)(&mut open);
            open.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// Returns columns of all readable types, with three rows.
fn all_types() -> Vec<Written> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let text = |text: &str| Some(ByteArray::from(text));
    vec![
        column::<Int32Type>("i32", Physical::INT32, None, vec![Some(-1), Some(2), None]),
        column::<Int32Type>("u32", Physical::INT32, unsigned(32), vec![Some(-1), Some(2), Some(3)]),
        column::<Int64Type>("i64", Physical::INT64, None, vec![Some(i64::MIN), None, Some(3)]),
        column::<Int64Type>("u64", Physical::INT64, unsigned(64), vec![Some(-1), Some(2), Some(3)]),
        column::<FloatType>("f32", Physical::FLOAT, None, vec![Some(0.5), Some(f32::NAN), Some(2.0)]),
        column::<DoubleType>("f64", Physical::DOUBLE, None, vec![Some(0.25), Some(f64::INFINITY), Some(3.0)]),
        column::<BoolType>("bool", Physical::BOOLEAN, None, vec![Some(true), None, Some(false)]),
        column::<ByteArrayType>(
            "text",
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
            vec![text("b"), None, text("a")],
        ),
        column::<ByteArrayType>("bytes", Physical::BYTE_ARRAY, None, vec![Some(vec![255].into()), text("7"), text("")]),
        column::<Int32Type>(
            "price",
            Physical::INT32,
            Some(LogicalType::decimal(2, 9)),
            vec![Some(1250), None, Some(-5)],
        ),
        column::<Int96Type>("time", Physical::INT96, None, vec![Some(Int96::new()), None, None]),
    ]
}

#[test]
fn every_type_of_parquet_is_read_or_refused() {
    let folder = Folder::new();
    for (name, compression) in [("plain", Compression::UNCOMPRESSED), ("snappy", Compression::SNAPPY)] {
        let path = folder.write(&format!("{name}.parquet"), parquet_of(all_types(), 2, compression));
        for (name, usage, expected) in [
            ("i32", Use::Number, &["i-1", "i2"][..]),
            ("u32", Use::Number, &["i4294967295", "i2", "i3"]),
            ("i64", Use::Key, &["i-9223372036854775808", "i3"]),
            ("u64", Use::Number, &["f18446744073709552000", "f2", "f3"]),
            ("f32", Use::Value, &["f0.5", "f2"]),
            ("f64", Use::Key, &["f0.25", "f3"]),
            ("bool", Use::Key, &["true", "false"]),
            ("bool", Use::Number, &["i1", "i0"]),
            ("text", Use::Key, &["b", "a"]),
            ("bytes", Use::Number, &["i7"]),
            ("price", Use::Number, &["f12.5", "f-0.05"]),
        ] {
            let read = table(&path, &needs([(name, usage)])).unwrap();
            assert_eq!(values(&read.columns[0]), [expected, expected].concat(), "{name}");
            assert_eq!((read.rows + read.skipped as usize, read.rows), (6, 2 * expected.len()), "{name}");
        }
        let both = table(&path, &needs([("text", Use::Key), ("f64", Use::Number)])).unwrap();
        assert_eq!(both.first_skipped.unwrap().to_string(), "row 2: the column \"text\" is empty");
        assert_eq!(
            both.columns.iter().map(values).collect::<Vec<_>>(),
            [["b", "a", "b", "a"], ["f0.25", "f3", "f0.25", "f3"]]
        );
        let said = message(table(&path, &needs([("time", Use::Key)])));
        assert!(said.contains("a time of 96 bits") && said.contains("a timestamp of 64 bits"), "{said}");
        let said = message(table(&path, &needs([("zone", Use::Key)])));
        assert!(said.contains("there are i32, u32, i64"), "{said}");
    }
}

#[test]
fn long_columns_are_read_in_batches() {
    let rows: Vec<Option<i64>> = (0..20_000).map(|row| (row % 3 != 0).then_some(row)).collect();
    let expected: Vec<i64> = rows.iter().flatten().copied().collect();
    let folder = Folder::new();
    let columns = vec![column::<Int64Type>("a", Physical::INT64, None, rows)];
    let path = folder.write("long.pq", parquet_of(columns, 1, Compression::SNAPPY));
    let mut shares = Vec::new();
    let needs = needs([("a", Use::Number)]);
    let read = read(path.as_ref(), &needs, Options::default(), &mut |share| shares.push(share)).unwrap();
    assert!(matches!(&read.columns[0], Column::Integers(values) if *values == expected));
    assert_eq!(shares, [8192.0 / 20_000.0, 16_384.0 / 20_000.0, 1.0]);
}

#[test]
fn a_damaged_parquet_file_is_an_error_or_other_values_but_no_panic() {
    let folder = Folder::new();
    let whole = parquet_of(all_types(), 1, Compression::SNAPPY);
    let needs = needs([("text", Use::Key), ("i32", Use::Number), ("f64", Use::Value), ("bool", Use::Key)]);
    assert!(table(folder.write("whole.pq", &whole), &needs).is_ok());
    for length in 0..whole.len() {
        let said = message(table(folder.write("short.pq", &whole[..length]), &needs));
        assert!(said.contains("write the file anew") || said.contains("write it anew"), "{length}: {said}");
    }
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        for value in [!whole[byte], 0, 255] {
            damaged[byte] = value;
            // The result does not matter, but reading must not panic.
            let _ = table(folder.write("damaged.pq", &damaged), &needs);
        }
    }
}
