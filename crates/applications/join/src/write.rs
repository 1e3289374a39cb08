//! Record batches to CSV and Parquet files.

use crate::error::{FileError, Result};
use crate::format::Format;
use arrow_array::RecordBatch;
use arrow_csv::WriterBuilder;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Fails unless a file's name says in which format rows are written there.
///
/// # Errors
/// [`FileError::Extension`].
pub fn check(path: &Path) -> Result<()> {
    Format::of(path).map(|_| ())
}

/// Writes a batch to a file: as CSV or as Parquet, by the end of its name. Nulls of CSV are empty
/// fields.
///
/// # Errors
/// [`FileError`], which names the file.
pub fn write(path: &Path, batch: &RecordBatch) -> Result<()> {
    let format = Format::of(path)?;
    let io = |source| FileError::Write { path: path.to_owned(), source };
    let mut file = BufWriter::new(File::create(path).map_err(io)?);
    match format {
        Format::Csv(delimiter) => {
            let mut writer = WriterBuilder::new().with_header(true).with_delimiter(delimiter).build(&mut file);
            writer.write(batch).map_err(|source| FileError::WriteCsv { path: path.to_owned(), source })?;
        }
        Format::Parquet => {
            let parquet = |source| FileError::WriteParquet { path: path.to_owned(), source };
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).map_err(parquet)?;
            writer.write(batch).map_err(parquet)?;
            writer.close().map_err(parquet)?;
        }
    }
    file.flush().map_err(io)
}
