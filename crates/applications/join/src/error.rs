//! The reasons why a file cannot be read or written.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a file cannot be read or written.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say what the variants are")]
pub enum FileError {
    #[error("{path}: cannot read the file; give the path of a CSV or Parquet file")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: is a folder; give the path of a CSV or Parquet file")]
    Folder { path: PathBuf },
    #[error("{path}: its name does not say what it is; name it .csv, .tsv, .txt, .parquet or .pq")]
    Extension { path: PathBuf },
    #[error("{path}: the file is empty; its first line must name the columns")]
    NoNames { path: PathBuf },
    #[error("{path}: there is no column {name:?}; there are {there}")]
    NoColumn { path: PathBuf, name: String, there: String },
    #[error("{path}: several columns are named {name:?}; rename all but one of them")]
    SameName { path: PathBuf, name: String },
    #[error("{path}: cannot be read as CSV with the columns {columns}, which count from 0; correct the file")]
    Csv { path: PathBuf, columns: String, source: ArrowError },
    #[error("{path}: cannot be read as Parquet; write the file anew, without compression or with Snappy")]
    Parquet { path: PathBuf, source: ParquetError },
    #[error("{path}: its rows cannot be brought together; if texts of a column have more than 2 GiB, divide the file")]
    Batches { path: PathBuf, source: ArrowError },
    #[error("{path}: its decoding failed ({what}); the file is damaged: write it anew")]
    Damaged { path: PathBuf, what: String },
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
pub type Result<T, E = FileError> = std::result::Result<T, E>;
