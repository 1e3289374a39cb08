//! Record batches to CSV and Parquet files.

use crate::error::{JoinFileError, Result};
use arrow_array::RecordBatch;
use arrow_csv::WriterBuilder;
use arrow_schema::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io::BufWriter;
use std::path::Path;
use warpnest_applications_shared::table::Format;

/// Fails unless a file's name implies the format in which rows are written.
///
/// # Errors
/// [`FileError::Extension`](warpnest_applications_shared::table::FileError::Extension).
pub fn check(path: &Path) -> Result<()> {
    Format::of(path)?;
    Ok(())
}

/// Writes a batch to a file as CSV or Parquet, by the end of its name. Nulls are empty fields in
/// CSV.
///
/// # Errors
/// [`JoinFileError`], which names the file.
pub fn write(path: &Path, batch: &RecordBatch) -> Result<()> {
    let format = Format::of(path)?;
    let io = |source| JoinFileError::Write { path: path.to_owned(), source };
    // The file is new, so that an old one, which may be an input, stays intact if writing fails.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::Builder::new();
    #[cfg(unix)]
    beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let beside = beside.tempfile_in(folder).map_err(io)?;
    let mut file = BufWriter::new(beside);
    match format {
        Format::Csv(delimiter) => {
            let mut writer = WriterBuilder::new().with_header(true).with_delimiter(delimiter).build(&mut file);
            writer.write(batch).map_err(|source| match source {
                ArrowError::IoError(_, source) => io(source),
                source => JoinFileError::WriteCsv { path: path.to_owned(), source },
            })?;
        }
        Format::Parquet => {
            let parquet = |source| match source {
                ParquetError::External(source) if source.is::<std::io::Error>() => io(std::io::Error::other(source)),
                source => JoinFileError::WriteParquet { path: path.to_owned(), source },
            };
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).map_err(parquet)?;
            writer.write(batch).map_err(parquet)?;
            writer.close().map_err(parquet)?;
        }
    }
    let beside = file.into_inner().map_err(|error| io(error.into_error()))?;
    beside.persist(path).map_err(|error| io(error.error)).map(|_| ())
}
