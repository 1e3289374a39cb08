//! Tables from files.

use super::query::Need;
use super::reading::{Options, ReadError, Result};
use super::table::Table;
use super::{from_csv, from_parquet};
use std::path::Path;
use warpnest_applications_shared::table::{FileError, Format, open};

/// Reads the required columns. `progress` is called with the share that is done, from 0 to 1.
pub fn read(path: &Path, needs: &[Need], options: Options, progress: &mut dyn FnMut(f64)) -> Result<Table> {
    let (format, file) = open(path)?;
    let table = match format.with_delimiter(options.delimiter) {
        Format::Csv(delimiter) => {
            let metadata = file.metadata();
            let bytes = metadata.map_err(|source| FileError::Read { path: path.to_owned(), source })?.len();
            from_csv::read(path, file, bytes, delimiter, needs, options, progress)?
        }
        Format::Parquet => from_parquet::read(path, file, needs, options, progress)?,
    };
    match table.first_skipped {
        Some(unreadable) if table.rows == 0 => {
            Err(ReadError::NoRows { path: path.to_owned(), rows: table.skipped, unreadable })
        }
        first_skipped => Ok(Table { first_skipped, ..table }),
    }
}

#[cfg(test)]
mod tests;
