//! The reasons why a file cannot be read or written.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;
use warpnest_applications_shared::table::FileError;

/// The reason why a file cannot be read or written.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub enum JoinFileError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{path}: cannot be read as CSV with the columns {columns}, which count from 0; correct the file")]
    Csv { path: PathBuf, columns: String, source: ArrowError },
    #[error("{path}: its rows cannot be brought together; if texts of a column have more than 2 GiB, divide the file")]
    Batches { path: PathBuf, source: ArrowError },
    #[error("{path}: the column {name:?} of type {of_type} cannot be made text; join without --text")]
    NoText { path: PathBuf, name: String, of_type: String, source: ArrowError },
    #[error("{path}: cannot write the file; give another --out")]
    Write { path: PathBuf, source: io::Error },
    #[error("{path}: columns of these types cannot be written as CSV; give an --out that ends in .parquet")]
    WriteCsv { path: PathBuf, source: ArrowError },
    #[error("{path}: cannot write the rows as Parquet; give an --out that ends in .csv")]
    WriteParquet { path: PathBuf, source: ParquetError },
}

/// The result of reading or writing.
pub type Result<T, E = JoinFileError> = std::result::Result<T, E>;
