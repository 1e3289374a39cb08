//! Tests with malformed files, and small files that expand beyond the memory.

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::Int64Type;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::sync::Arc;
use warpnest_applications_shared::testing::{Folder, assert_cause_once, bad_tables, refusal, run, run_within};

#[test]
fn bad_tables_are_refused_in_the_words_that_join_has() {
    let folder = Folder::new();
    for (name, bytes, words) in bad_tables() {
        let path = folder.write(name, bytes);
        let said = refusal(&run(&[&path, "--by", "a", "--by", "b"]));
        assert_eq!(said, format!("error: {path}: {words}"));
    }
    for (name, bytes, words) in [
        ("ragged.csv", &b"a,b\n1,2\n3\n"[..], "line 3: fields: 1, columns in the first line: 2"),
        ("latin.csv", b"a,b\n1,2\n3,\xff\n", "line 3: the column \"b\" is not UTF-8"),
    ] {
        let path = folder.write(name, bytes);
        let said = refusal(&run(&[&path, "--by", "a", "--by", "b", "--strict"]));
        assert_eq!(said, format!("error: {path}: {words}; correct it, or leave out --strict to skip such rows"));
    }
}

#[test]
fn what_is_no_file_is_refused_and_its_cause_told_once() {
    let folder = Folder::new();
    let (device, none) = (folder.path("zero.csv"), folder.path("none.csv"));
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let said = refusal(&run(&[&device, "--by", "a"]));
    assert!(said.contains("zero.csv: is a pipe or a device, and no file; write what it gives to a file"), "{said}");
    let said = refusal(&run(&[&none, "--by", "a"]));
    assert_cause_once(&said);
    assert!(said.ends_with("Parquet file: No such file or directory (os error 2)"), "{said}");
    let said = refusal(&run(&[&folder.write("text.parquet", "no Parquet"), "--by", "a"]));
    assert_cause_once(&said);
}

#[test]
fn old_line_ends_and_quotes_are_read_as_they_are_meant() {
    let folder = Folder::new();
    let expected = "zone,count\n\"a \"\"b\"\"\nc\",2\n\"6\"\" x\",1\n";
    let rows = "zone,n\n\"a \"\"b\"\"\u{1}c\",1\n6\" x,2\n\"a \"\"b\"\"\u{1}c\",3";
    for end in ["\n", "\r", "\r\n"] {
        // A line end within quotes is a part of the value.
        let text = rows.replace('\n', end).replace('\u{1}', "\n");
        let (path, csv) = (folder.write("ends.csv", text), folder.path("out.csv"));
        let output = run(&[&path, "--by", "zone", "--csv", &csv, "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), expected, "{end:?}");
        let path = folder.write("bad.csv", format!("zone,n{end}a,1{end}b,x{end}"));
        let said = refusal(&run(&[&path, "--by", "zone", "--agg", "sum:n", "--strict"]));
        assert!(said.contains("bad.csv: line 3: the column \"n\" is \"x\""), "{said}");
    }
}

#[test]
fn rows_without_an_end_and_of_too_many_fields_are_refused() {
    let folder = Folder::new();
    let within = |path: &str| refusal(&run(&[path, "--by", "a", "--memory", "100M"]));
    let long = "x".repeat(30 << 20);
    let said = within(&folder.write("first.csv", &long));
    assert!(said.contains("first.csv: line 1: a row begins here and has no end within "), "{said}");
    let said = within(&folder.write("row.csv", format!("a\n1\n{long}")));
    assert!(said.contains("row.csv: line 3: a row begins here") && said.contains("--memory"), "{said}");
    let said = within(&folder.write("quote.csv", format!("a\n1\n\"{long}")));
    assert!(said.contains("quote.csv: line 3: a quoted field begins here and nothing closes it within "), "{said}");
    let said = within(&folder.write("fields.csv", format!("a\n1\n{}", ",".repeat(3 << 20))));
    assert!(said.contains("fields.csv: line 3: a row has more than 1048576 fields"), "{said}");
}

fn writer<'b>(schema: &Arc<Type>, bytes: &'b mut Vec<u8>) -> SerializedFileWriter<&'b mut Vec<u8>> {
    SerializedFileWriter::new(bytes, schema.clone(), Arc::new(WriterProperties::builder().build())).unwrap()
}

/// Returns a Parquet file with the columns `a` and `b`, in `groups` row groups. Each has a million
/// rows, all with the same value.
fn one_value(folder: &Folder, groups: usize) -> Vec<u8> {
    let column = |name| {
        let builder = Type::primitive_type_builder(name, Physical::INT64).with_repetition(Repetition::REQUIRED);
        Arc::new(builder.build().unwrap())
    };
    let schema = Type::group_type_builder("schema").with_fields(vec![column("a"), column("b")]).build().unwrap();
    let schema = Arc::new(schema);
    // One row group is encoded, and then copied.
    let mut one = Vec::new();
    let of_column = |column: &ColumnChunkMetaData| ColumnCloseResult {
        bytes_written: column.compressed_size() as u64,
        rows_written: 1_000_000,
        metadata: column.clone(),
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    let mut file = writer(&schema, &mut one);
    let mut group = file.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<Int64Type>().write_batch(&vec![7; 1_000_000], None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    let one = File::open(folder.write("one-group.parquet", one)).unwrap();
    let reader = SerializedFileReader::new(one.try_clone().unwrap()).unwrap();
    let closed: Vec<ColumnCloseResult> = reader.metadata().row_group(0).columns().iter().map(of_column).collect();
    let mut many = Vec::new();
    let mut file = writer(&schema, &mut many);
    for _ in 0..groups {
        let mut group = file.next_row_group().unwrap();
        closed.iter().for_each(|column| group.append_column(&one, column.clone()).unwrap());
        group.close().unwrap();
    }
    file.close().unwrap();
    many
}

#[test]
fn a_small_file_of_very_many_rows_is_refused_where_memory_ends() {
    let folder = Folder::new();
    let bytes = one_value(&folder, 30);
    assert!(bytes.len() < 100_000, "{} bytes", bytes.len());
    let path = folder.write("one.parquet", bytes);
    let said = refusal(&run(&[&path, "--by", "a", "--agg", "sum:b", "--memory", "200M"]));
    assert!(
        said.contains("one.parquet: row ") && said.contains("memory is needed than the program may take"),
        "{said}"
    );
    assert!(said.contains("allow more by --memory, or divide the file"), "{said}");
    // Without the option, the memory that the system has left is the limit.
    let said = refusal(&run_within(600 << 20, &[&path, "--by", "a", "--agg", "sum:b"]));
    assert!(said.contains("one.parquet: row ") && said.contains("allow more by --memory"), "{said}");
}

#[test]
fn what_nobody_can_refuse_ends_the_program_with_a_message() {
    let folder = Folder::new();
    let rows: String = (0..700_000).map(|row| format!("key-{row}\n")).collect();
    let path = folder.write("words.csv", "a\n".to_owned() + &rows);
    let said = refusal(&run(&[&path, "--by", "a", "--memory", "64M"]));
    assert!(said.starts_with(&format!("error: reading {path}: memory ran out when ")), "{said}");
    assert!(said.ends_with("allow more by --memory, or name fewer columns, or divide the file"), "{said}");
    assert!(run(&[&path, "--by", "a", "--memory", "2G", "--device", "cpu"]).status.success());
    for wrong in ["1M", "many", "-4G"] {
        let output = run(&[&path, "--by", "a", &format!("--memory={wrong}")]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("--memory"), "{wrong}");
        assert_eq!(output.status.code(), Some(1), "{wrong}");
    }
}
