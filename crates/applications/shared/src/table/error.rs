//! The reasons why a file cannot be read as a table.

use super::{Place, Unreadable};
use crate::csv::CsvFault;
use crate::memory::OutOfMemory;
use ::parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a file cannot be read as a table.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("{path}: cannot read the file; give the path of a CSV or Parquet file")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: is a folder; give the path of a CSV or Parquet file")]
    Folder { path: PathBuf },
    #[error("{path}: is a pipe or a device, and no file; write what it gives to a file, and give that")]
    NoRegularFile { path: PathBuf },
    #[error("{path}: its name does not say what it is; name it .csv, .tsv, .txt, .parquet or .pq")]
    Extension { path: PathBuf },
    #[error("{path}: the file is empty; its first line must name the columns")]
    NoNames { path: PathBuf },
    #[error("{path}: there is no column {name:?}; there are {there}{hint}")]
    NoColumn { path: PathBuf, name: String, there: String, hint: &'static str },
    #[error("{path}: the columns {first} and {second} are both named {name:?}; rename one of them")]
    SameName { path: PathBuf, name: String, first: usize, second: usize },
    #[error("{path}: {fault}")]
    Text { path: PathBuf, fault: CsvFault },
    #[error("{path}: cannot be read as CSV; write the file anew")]
    Csv { path: PathBuf, source: csv::Error },
    #[error("{path}: {unreadable}; correct it{}", if *may_skip { ", or leave out --strict to skip such rows" } else { "" })]
    Row { path: PathBuf, unreadable: Unreadable, may_skip: bool },
    #[error("{path}: cannot be read as Parquet; write the file anew")]
    Parquet { path: PathBuf, source: ParquetError },
    #[error("{path}: {what}; the file is damaged: write it anew")]
    Damaged { path: PathBuf, what: String },
    #[error("{path}: the column {column:?} is {is}, which cannot be read; write the file anew with {instead}")]
    Unsupported { path: PathBuf, column: String, is: String, instead: &'static str },
    #[error("{path}: {place}: {no_memory}")]
    NoMemory { path: PathBuf, place: Place, no_memory: OutOfMemory },
}

pub type Result<T, E = FileError> = std::result::Result<T, E>;
