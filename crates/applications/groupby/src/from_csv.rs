//! Tables from CSV files.

use super::column::Cell;
use super::query::Need;
use super::reading::{Options, Result, stopped};
use super::table::{Rows, Stop, Table};
use csv::ByteRecord;
use std::fs::File;
use std::path::Path;
use warpnest_applications_shared::csv::Records;
use warpnest_applications_shared::table::Place;

/// The number of rows between two reports of progress.
const STEP: u64 = 1 << 14;
/// The number of rows for which memory is reserved at once.
const RESERVED: u64 = 1 << 10;

/// Reads the required columns of a file of `bytes` bytes.
pub fn read(
    path: &Path,
    file: File,
    bytes: u64,
    delimiter: u8,
    needs: &[Need],
    options: Options,
    progress: &mut dyn FnMut(f64),
) -> Result<Table> {
    let mut records = Records::open(path, file, delimiter)?;
    let columns = needs.iter().map(|need| records.column(&need.name)).collect::<Result<Vec<_>, _>>()?;
    let stopped = |stop: Stop| stopped(path, stop);
    let mut rows = Rows::new(needs, options.strict);
    let mut record = ByteRecord::new();
    let mut read = 0u64;
    while let Some(line) = records.next(&mut record)? {
        let place = Place::Line(line);
        if read.is_multiple_of(RESERVED) {
            rows.reserve(place, RESERVED as usize).map_err(stopped)?;
        }
        let taken = match records.fields(&record) {
            None => {
                let cell = |column: &usize| record.get(*column).map_or(Cell::Missing, cell);
                rows.push(place, &mut columns.iter().map(cell).collect::<Vec<_>>())
            }
            Some(what) => rows.skip(place, what),
        };
        taken.map_err(stopped)?;
        read += 1;
        if read.is_multiple_of(STEP) {
            progress(records.bytes() as f64 / bytes.max(1) as f64);
        }
    }
    Ok(rows.finish())
}

fn cell(field: &[u8]) -> Cell<'_> {
    str::from_utf8(field).map_or(Cell::NotText, Cell::Text)
}
