//! What reading needs whatever the format: options, errors, and the columns by their names.

use super::query::Need;
use super::table::{Stop, Unreadable};
use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use warpnest::primitives::MAX_ITEMS;

/// The reason why there is no table.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{path}: cannot read the file; give the path of a CSV or Parquet file")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: is a folder; give the path of a CSV or Parquet file")]
    Folder { path: PathBuf },
    #[error("{path}: its name does not say what it is; name it .csv, .tsv, .txt, .parquet or .pq")]
    Extension { path: PathBuf },
    #[error("{path}: the file is empty; its first line must name the columns")]
    NoNames { path: PathBuf },
    #[error("{path}: there is no column {name:?}; there are {there}{hint}")]
    NoColumn { path: PathBuf, name: String, there: String, hint: &'static str },
    #[error("{path}: the columns {first} and {second} are both named {name:?}; rename one of them")]
    SameName { path: PathBuf, name: String, first: usize, second: usize },
    #[error("{path}: {unreadable}; correct it, or leave out --strict to skip such rows")]
    Strict { path: PathBuf, unreadable: Unreadable },
    #[error(
        "{path}: none of {rows} rows can be read; the first is {unreadable}; give other columns or correct the file"
    )]
    NoRows { path: PathBuf, rows: u64, unreadable: Unreadable },
    #[error("{path}: more than {MAX_ITEMS} rows, which is the most that can be grouped; divide the file")]
    TooManyRows { path: PathBuf },
    #[error("{path}: cannot be read as CSV; write the file anew")]
    Csv { path: PathBuf, source: csv::Error },
    #[error("{path}: cannot be read as Parquet; write the file anew")]
    Parquet { path: PathBuf, source: ParquetError },
    #[error("{path}: {what}; the file is damaged: write it anew")]
    Damaged { path: PathBuf, what: String },
    #[error("{path}: the column {column:?} is {is}, which cannot be read; write the file anew with {instead}")]
    Unsupported { path: PathBuf, column: String, is: String, instead: &'static str },
}

pub(super) type Result<T> = std::result::Result<T, ReadError>;

/// How a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether a row that cannot be read is an error. Otherwise it is skipped.
    pub strict: bool,
    /// What is between the fields of CSV: a tab in files named `.tsv` and a comma in others, unless
    /// it is given.
    pub delimiter: Option<u8>,
}

/// Returns the number of the column of each need.
pub(super) fn found(path: &Path, names: &[String], needs: &[Need], hint: &'static str) -> Result<Vec<usize>> {
    let number = |Need { name, .. }: &Need| {
        let mut found = names.iter().enumerate().filter(|(_, other)| *other == name).map(|(number, _)| number);
        let (path, name) = (path.to_owned(), name.clone());
        match (found.next(), found.next()) {
            (Some(number), None) => Ok(number),
            (Some(first), Some(second)) => {
                Err(ReadError::SameName { path, name, first: first + 1, second: second + 1 })
            }
            (None, _) => Err(ReadError::NoColumn { path, name, there: listed(names), hint }),
        }
    };
    needs.iter().map(number).collect()
}

/// Returns names, as far as a message holds them.
fn listed(names: &[String]) -> String {
    const MOST: usize = 30;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| super::column::shortened(name)).collect();
    let more = names.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// Returns the error of a row that ended the reading.
pub(super) fn stopped(path: &Path, stop: Stop) -> ReadError {
    let path = path.to_owned();
    match stop {
        Stop::Strict(unreadable) => ReadError::Strict { path, unreadable },
        Stop::TooManyRows => ReadError::TooManyRows { path },
    }
}
