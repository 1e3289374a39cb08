//! Tables from files.

use super::query::Need;
use super::reading::{Options, ReadError, Result};
use super::table::Table;
use super::{from_csv, from_parquet};
use std::fs::File;
use std::path::Path;

/// Reads the columns that are needed. `progress` is told the share that is done, from 0 to 1.
pub fn read(path: &Path, needs: &[Need], options: Options, progress: &mut dyn FnMut(f64)) -> Result<Table> {
    let cannot = |source| ReadError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(ReadError::Folder { path: path.to_owned() });
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let read = |delimiter: u8, progress| {
        let delimiter = options.delimiter.unwrap_or(delimiter);
        from_csv::read(path, file.try_clone().map_err(cannot)?, metadata.len(), delimiter, needs, options, progress)
    };
    let table = match extension.as_deref() {
        Some("csv" | "txt") => read(b',', progress)?,
        Some("tsv") => read(b'\t', progress)?,
        Some("parquet" | "pq") => from_parquet::read(path, file, needs, options, progress)?,
        _ => return Err(ReadError::Extension { path: path.to_owned() }),
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
