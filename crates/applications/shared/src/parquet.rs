//! Protection against Parquet files with wrong metadata, and against panics of their decoder.

use crate::shown::shortened;
use crate::table::{FileError, Result};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

/// Reads a file by `read`, and turns its panics into errors.
///
/// The crate `parquet` panics at some damaged files (60.1.0 at a truncated dictionary).
pub fn caught<T, E: From<FileError>>(path: &Path, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    // Unwinding drops everything that a panic leaves incomplete, and nothing outside refers to it.
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
        let what = format!("its decoding failed ({text})");
        Err(FileError::Damaged { path: path.to_owned(), what }.into())
    })
}

/// Reads without printing the messages of panics, which [`caught`] turns into errors.
pub fn without_panic_messages<T>(read: impl FnOnce() -> T) -> T {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let done = read();
    panic::set_hook(hook);
    done
}

/// Checks the metadata of the columns with these indices: they can be decompressed, and have as
/// many rows as the file. Readers trust the metadata.
pub fn check(path: &Path, metadata: &ParquetMetaData, columns: &[usize]) -> Result<()> {
    let damaged = |what| Err(FileError::Damaged { path: path.to_owned(), what });
    let of_file = metadata.file_metadata().num_rows();
    let mut of_groups = 0i64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = group.num_rows();
        if rows < 0 {
            return damaged(format!("a group of {rows} rows"));
        }
        of_groups = of_groups.saturating_add(rows);
        for &index in columns {
            let Some(column) = group.columns().get(index) else {
                return damaged(format!("group {} of rows lacks column {}", number + 1, index + 1));
            };
            let name = shortened(&column.column_path().string());
            let compression = column.compression();
            if !matches!(compression, Compression::UNCOMPRESSED | Compression::SNAPPY) {
                let (path, is) = (path.to_owned(), format!("compressed by {compression}"));
                let instead = "Snappy, or without compression";
                return Err(FileError::Unsupported { path, column: name, is, instead });
            }
            // A row of a flat column counts as a value, even if the value is missing.
            let (values, is_flat) = (column.num_values(), column.column_descr().max_rep_level() == 0);
            if is_flat && values != rows {
                let group = number + 1;
                return damaged(format!("group {group} has {rows} rows, and {values} values in the column {name:?}"));
            }
        }
    }
    if of_groups != of_file {
        return damaged(format!("the file has {of_file} rows, and its groups have {of_groups}"));
    }
    Ok(())
}
