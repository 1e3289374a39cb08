//! The options and errors of reading, which do not depend on the format.

use super::table::Stop;
use std::path::{Path, PathBuf};
use thiserror::Error;
use warpnest::primitives::MAX_ITEMS;
use warpnest_applications_shared::table::{FileError, Unreadable};

/// The reason why a table cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{path}: none of {rows} rows can be read; the first is {unreadable}; give other columns or correct the file"
    )]
    NoRows { path: PathBuf, rows: u64, unreadable: Unreadable },
    #[error("{path}: more than {MAX_ITEMS} rows, which is the most that can be grouped; divide the file")]
    TooManyRows { path: PathBuf },
}

pub(super) type Result<T, E = ReadError> = std::result::Result<T, E>;

/// The options for reading a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether a row that cannot be read is an error. Otherwise it is skipped.
    pub strict: bool,
    /// The delimiter of CSV fields. The default is a tab in files named `.tsv`, and a comma in
    /// others.
    pub delimiter: Option<u8>,
}

/// Returns the error for the reason that ended the reading.
pub(super) fn stopped(path: &Path, stop: Stop) -> ReadError {
    let path = path.to_owned();
    match stop {
        Stop::Strict(unreadable) => FileError::Row { path, unreadable, may_skip: true }.into(),
        Stop::TooManyRows => ReadError::TooManyRows { path },
        Stop::NoMemory(place, no_memory) => FileError::NoMemory { path, place, no_memory }.into(),
    }
}
