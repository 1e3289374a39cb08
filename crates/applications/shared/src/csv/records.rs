//! The records of a CSV file, with their line numbers.

use super::text::{CheckedText, Findings};
use crate::table::{self, Cause, FileError, Place, Result, Unreadable, What};
use csv::{ByteRecord, Reader, ReaderBuilder};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// The number of bytes read at once.
const READ_BYTES: usize = 1 << 18;

/// The records of a CSV file whose first line names the columns.
pub struct Records {
    path: PathBuf,
    reader: Reader<Box<dyn Read>>,
    findings: Findings,
    names: Vec<String>,
}

impl Records {
    /// Opens the records, and reads the names of the columns.
    pub fn open(path: &Path, file: File, delimiter: u8) -> Result<Self> {
        let (text, findings) = CheckedText::new(BufReader::with_capacity(READ_BYTES, file), delimiter);
        // The parser accepts rows with more or fewer fields than the first line; the caller
        // decides.
        let builder = &mut ReaderBuilder::new();
        let builder = builder.delimiter(delimiter).flexible(true).buffer_capacity(READ_BYTES);
        let reader = builder.from_reader(Box::new(text.keep_lines()) as Box<dyn Read>);
        let mut records = Self { path: path.to_owned(), reader, findings, names: Vec::new() };
        let names = records
            .reader
            .byte_headers()
            .map(|names| names.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect::<Vec<_>>());
        records.names = names.map_err(|source| records.broken(source))?;
        records.findings.take_line();
        if records.names.is_empty() {
            return Err(FileError::NoNames { path: path.to_owned() });
        }
        Ok(records)
    }

    /// Returns the names of the columns, without white space around them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the column with a name.
    pub fn column(&self, name: &str) -> Result<usize> {
        let hint = if self.names.len() == 1 {
            "; the first line must name the columns, and --delimiter says what is between them"
        } else {
            "; the first line must name the columns"
        };
        table::column(&self.path, &self.names, name, hint)
    }

    /// Reads the next record, and returns the line number where it begins, or `None` at the end.
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<Option<u64>> {
        let read = self.reader.read_byte_record(record).map_err(|source| self.broken(source))?;
        Ok(read.then(|| self.findings.take_line().unwrap_or_default()))
    }

    /// Returns the fault if a record has more or fewer fields than there are names.
    pub fn fields(&self, record: &ByteRecord) -> Option<What> {
        let (there, named) = (record.len(), self.names.len());
        (there != named).then_some(What::Fields { there, named })
    }

    /// Returns the number of bytes of the text that were read.
    pub fn bytes(&self) -> u64 {
        self.reader.position().byte()
    }

    fn broken(&self, source: csv::Error) -> FileError {
        let path = self.path.clone();
        match (self.findings.fault(), source.is_io_error()) {
            (Some(fault), _) => table::in_text(&path, fault),
            (None, true) => match source.into_kind() {
                csv::ErrorKind::Io(source) => FileError::Read { path, source },
                kind => FileError::Damaged { path, what: format!("{kind:?}") },
            },
            (None, false) => FileError::Csv { path, source },
        }
    }
}

/// Fails at the first record whose field count is wrong, or that has a field that is not UTF-8.
pub fn strict(records: &mut Records) -> Result<()> {
    let mut record = ByteRecord::new();
    while let Some(line) = records.next(&mut record)? {
        let is_text = |field: &[u8]| str::from_utf8(field).is_ok();
        let what = records.fields(&record).or_else(|| {
            let column = record.iter().position(|field| !is_text(field))?;
            Some(What::Cell { column: records.names[column].clone(), cause: Cause::NotText })
        });
        if let Some(what) = what {
            let unreadable = Unreadable { place: Place::Line(line), what };
            return Err(FileError::Row { path: records.path.clone(), unreadable, may_skip: false });
        }
    }
    Ok(())
}
