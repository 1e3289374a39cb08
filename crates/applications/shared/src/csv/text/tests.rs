//! Tests of texts with every fault, read with buffers of many sizes.

use super::*;
use crate::csv::{Records, strict};
use crate::table::FileError;
use csv::ByteRecord;
use std::io::{BufReader, Write};

/// Returns the text that the parser gets, or the fault.
fn checked(text: &[u8], capacity: usize, limit: u64) -> Result<Vec<u8>, CsvFault> {
    let (mut reader, findings) = CheckedText::within(BufReader::with_capacity(capacity, text), b',', limit);
    let (mut all, mut bytes) = (Vec::new(), [0; 5]);
    loop {
        match reader.read(&mut bytes) {
            Ok(0) => return Ok(all),
            Ok(read) => all.extend_from_slice(&bytes[..read]),
            Err(error) => {
                let fault = findings.fault().unwrap();
                assert_eq!(error.to_string(), fault.to_string());
                assert!(reader.read(&mut bytes).is_err(), "a fault is the end");
                return Err(fault);
            }
        }
    }
}

#[test]
fn whole_texts_pass_with_line_feeds_at_their_ends() {
    for (text, expected) in [
        (&b"a,b\n1,2\n"[..], &b"a,b\n1,2\n"[..]),
        (b"a,b\r1,2\r\r3,4", b"a,b\n1,2\n\n3,4"),
        (b"a,b\r\n1,2\r\n", b"a,b\r\n1,2\r\n"),
        (b"\"a\rb\",\"c\r\nd\"\r\"\"\"e\"\"\",\"\"\r", b"\"a\rb\",\"c\r\nd\"\n\"\"\"e\"\"\",\"\"\n"),
        // Quotes inside a field that does not begin with a quote are ordinary characters.
        (b"6\" pipe,\"x\"\t ,y\n a \"b\",\n", b"6\" pipe,\"x\"\t ,y\n a \"b\",\n"),
        (b"", b""),
        (b"\n\n\"x\"", b"\n\n\"x\""),
    ] {
        for capacity in 1..20 {
            assert_eq!(checked(text, capacity, 100).as_deref(), Ok(expected), "{capacity}");
        }
    }
    assert_eq!(checked(b"\xef\xbb\xbf\"a\"\n", 100, 100).unwrap(), b"\"a\"\n");
}

#[test]
fn every_fault_is_told_with_its_line() {
    let limit = Size(20);
    for (text, fault) in [
        (&b"a,b\n1,\"2\n3,4\n"[..], CsvFault::Unclosed { line: 2 }),
        (b"a,b\r\"x\ry\",\r\"2\"\"\r", CsvFault::Unclosed { line: 4 }),
        (b"\"", CsvFault::Unclosed { line: 1 }),
        // The quote before `y` was meant to open a field, but closes the unclosed one.
        (b"a\n1\n\"x\n2\n\"y\"\n", CsvFault::BehindQuote { line: 5, begins: 3 }),
        (b"a\n\"x\" y\n", CsvFault::BehindQuote { line: 2, begins: 2 }),
        (b"a\nabcdefghi,klmnopqrstuv,xyz\n", CsvFault::Long { line: 2, limit }),
        (b"a\nx,\"\nbcdefghi\nklmnopqrstuvxyz\n", CsvFault::UnclosedLong { line: 2, limit }),
        (b"a\nb\n\0\n", CsvFault::Zero { line: 3 }),
        (b"a\n\"\0\"\n", CsvFault::Zero { line: 2 }),
    ] {
        for capacity in 1..20 {
            assert_eq!(checked(text, capacity, 20), Err(fault.clone()), "{capacity}");
        }
    }
    for (text, fault) in [
        (&b"\xff\xfea\0"[..], CsvFault::Utf16),
        (b"\xfe\xff\0a", CsvFault::Utf16),
        (b"\x1f\x8b\x08", CsvFault::Gzip),
        (b"PAR1\x15\x04", CsvFault::Parquet),
    ] {
        assert_eq!(checked(text, 100, 20), Err(fault));
    }
    let wide = |fields: usize| b"a\n".iter().copied().chain(vec![b','; fields - 1]).chain(*b"\n").collect::<Vec<_>>();
    assert!(checked(&wide(MAX_FIELDS as usize), 1 << 16, 1 << 30).is_ok());
    let fault = CsvFault::Fields { line: 2 };
    assert_eq!(checked(&wide(MAX_FIELDS as usize + 1), 1 << 16, 1 << 30), Err(fault));
}

#[test]
fn records_have_their_lines_and_the_faults_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let records = |bytes: &[u8]| {
        let path = folder.path().join("file.csv");
        std::fs::File::create(&path).unwrap().write_all(bytes).unwrap();
        Records::open(&path, std::fs::File::open(&path).unwrap(), b',')
    };
    let mut all = records(b"\xef\xbb\xbfa, b\r1,2\r\r\r\n3,4\r\n\"5\r\n6\r7\n\",8\r\n9,10").unwrap();
    assert_eq!(all.names(), ["a", "b"]);
    let (mut record, mut lines) = (ByteRecord::new(), Vec::new());
    while let Some(line) = all.next(&mut record).unwrap() {
        lines.push((line, record.iter().map(<[u8]>::to_vec).collect::<Vec<_>>()));
    }
    let expected = [(2, ["1", "2"]), (5, ["3", "4"]), (6, ["5\r\n6\r7\n", "8"]), (10, ["9", "10"])];
    assert_eq!(lines, expected.map(|(line, fields)| (line, fields.map(|field| field.as_bytes().to_vec()).to_vec())));
    for (bytes, words) in [
        (&b"a,b\n1,2\n3\n"[..], "line 3: fields: 1, columns in the first line: 2; correct it"),
        (b"a,b\n1,\xff\n", "line 2: the column \"b\" is not UTF-8; correct it"),
        (b"a,b\n1,2\n3,\"4\n", "line 3: a quoted field begins here and nothing closes it"),
    ] {
        let error = strict(&mut records(bytes).unwrap()).unwrap_err().to_string();
        assert!(error.contains("file.csv: ") && error.contains(words), "{error}");
    }
    assert!(matches!(records(b"\n\r\n"), Err(FileError::NoNames { .. })));
    assert!(matches!(records(b"a,\"b\n"), Err(FileError::Text { .. })));
}
