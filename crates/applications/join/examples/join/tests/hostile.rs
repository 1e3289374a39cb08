//! Tests with malformed files, and small files that expand beyond the memory.

use super::CUSTOMERS;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::sync::Arc;
use warpnest_applications_shared::testing::{Folder, assert_cause_once, bad_tables, refusal, run, run_within};

#[test]
fn bad_tables_are_refused_in_the_words_that_groupby_has() {
    let folder = Folder::new();
    let good = folder.write("good.csv", "a,b\n1,2\n");
    for (name, bytes, words) in bad_tables() {
        let path = folder.write(name, bytes);
        for files in [[&path, &good], [&good, &path]] {
            let said = refusal(&run(&[files[0], files[1], "--on", "a", "--on", "b"]));
            assert_eq!(said, format!("error: {path}: {words}"));
        }
    }
    for (name, bytes, words) in [
        ("ragged.csv", &b"a,b\n1,2\n3\n"[..], "line 3: fields: 1, columns in the first line: 2"),
        ("latin.csv", b"a,b\n1,2\n3,\xff\n", "line 3: the column \"b\" is not UTF-8"),
    ] {
        let path = folder.write(name, bytes);
        let said = refusal(&run(&[&path, &good, "--on", "a"]));
        assert_eq!(said, format!("error: {path}: {words}; correct it"));
    }
}

#[test]
fn what_is_no_file_is_refused_and_its_cause_told_once() {
    let folder = Folder::new();
    let (device, none) = (folder.path("zero.csv"), folder.path("none.csv"));
    let customers = folder.write("customers.csv", CUSTOMERS);
    std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
    let said = refusal(&run(&[&customers, &device, "--on", "id"]));
    assert!(said.contains("zero.csv: is a pipe or a device, and no file; write what it gives to a file"), "{said}");
    let said = refusal(&run(&[&none, &customers, "--on", "id"]));
    assert_cause_once(&said);
    assert!(said.ends_with("Parquet file: No such file or directory (os error 2)"), "{said}");
    let said = refusal(&run(&[&folder.write("text.parquet", "no Parquet"), &customers, "--on", "id"]));
    assert_cause_once(&said);
    assert!(said.contains("text.parquet: cannot be read as Parquet; write the file anew: Parquet error: "), "{said}");
}

#[test]
fn old_line_ends_and_another_delimiter_are_read() {
    let folder = Folder::new();
    let good = folder.write("good.csv", "a;b\n2;x\n");
    for end in ["\n", "\r", "\r\n"] {
        let text = "a; c \n1;\"p\u{1}q\"\n2;\"r\u{1}s\"".replace('\n', end).replace('\u{1}', "\n");
        let (path, out) = (folder.write("ends.csv", text), folder.path("out.csv"));
        let output = run(&[&path, &good, "--on", "a", "--delimiter", ";", "--out", &out, "--device", "cpu"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "a,c,b\n2,\"r\ns\",x\n", "{end:?}");
    }
}

#[test]
fn rows_without_an_end_are_refused() {
    let folder = Folder::new();
    let customers = folder.write("customers.csv", CUSTOMERS);
    let within = |path: &str| refusal(&run(&[&customers, path, "--on", "id", "--memory", "100M"]));
    let long = "x".repeat(30 << 20);
    let said = within(&folder.write("first.csv", &long));
    assert!(said.contains("first.csv: line 1: a row begins here and has no end within "), "{said}");
    let said = within(&folder.write("quote.csv", format!("id\n1\n\"{long}")));
    assert!(said.contains("quote.csv: line 3: a quoted field begins here and nothing closes it within "), "{said}");
    let said = within(&folder.write("fields.csv", format!("id\n1\n{}", ",".repeat(3 << 20))));
    assert!(said.contains("fields.csv: line 3: a row has more than 1048576 fields"), "{said}");
}

#[test]
fn a_small_file_of_very_many_rows_is_refused_where_memory_ends() {
    let folder = Folder::new();
    let customers = folder.write("customers.csv", CUSTOMERS);
    let path = folder.path("one.parquet");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![7; 1 << 20]));
    let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    (0..20).for_each(|_| writer.write(&batch).unwrap());
    writer.close().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 100_000);
    let arguments = [&path[..], &customers, "--on", "id", "--memory", "200M"];
    for said in [refusal(&run(&arguments)), refusal(&run_within(350 << 20, &arguments[..4]))] {
        assert!(said.contains("one.parquet: row ") && said.contains("is needed than the program may take"), "{said}");
        assert!(said.contains("allow more by --memory, or divide the file"), "{said}");
    }
    assert!(run(&[&path, &customers, "--on", "id", "--kind", "anti", "--device", "cpu"]).status.success());
}
