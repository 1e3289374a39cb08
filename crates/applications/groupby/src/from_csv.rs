//! Tables from CSV.

use super::column::Cell;
use super::query::Need;
use super::reading::{Options, ReadError, Result, found, stopped};
use super::table::{Place, Rows, Table, What};
use csv::{ByteRecord, ReaderBuilder};
use std::fs::File;
use std::path::Path;

/// The number of rows after which progress is told.
const STEP: u64 = 1 << 14;

/// Reads the columns that are needed of a file of `bytes` bytes.
pub fn read(
    path: &Path,
    file: File,
    bytes: u64,
    delimiter: u8,
    needs: &[Need],
    options: Options,
    progress: &mut dyn FnMut(f64),
) -> Result<Table> {
    let broken = |source| ReadError::Csv { path: path.to_owned(), source };
    // Rows with more or fewer fields than the first line are for us to count.
    let builder = &mut ReaderBuilder::new();
    let mut reader = builder.delimiter(delimiter).flexible(true).buffer_capacity(1 << 18).from_reader(file);
    let names = reader.byte_headers().map_err(broken)?;
    let names: Vec<String> = names.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
    if names.is_empty() {
        return Err(ReadError::NoNames { path: path.to_owned() });
    }
    let hint = if names.len() == 1 {
        "; the first line must name the columns, and --delimiter says what is between them"
    } else {
        "; the first line must name the columns"
    };
    let columns = found(path, &names, needs, hint)?;

    let mut rows = Rows::new(needs, options.strict);
    let mut record = ByteRecord::new();
    let mut until_step = STEP;
    while reader.read_byte_record(&mut record).map_err(broken)? {
        let line = record.position().map_or(0, csv::Position::line);
        let taken = if record.len() == names.len() {
            let cell = |column: &usize| record.get(*column).map_or(Cell::Missing, cell);
            rows.push(Place::Line(line), &mut columns.iter().map(cell).collect::<Vec<_>>())
        } else {
            rows.skip(Place::Line(line), What::Fields { there: record.len(), named: names.len() })
        };
        taken.map_err(|stop| stopped(path, stop))?;
        until_step -= 1;
        if until_step == 0 {
            until_step = STEP;
            progress(reader.position().byte() as f64 / bytes.max(1) as f64);
        }
    }
    Ok(rows.finish())
}

fn cell(field: &[u8]) -> Cell<'_> {
    str::from_utf8(field).map_or(Cell::NotText, Cell::Text)
}
