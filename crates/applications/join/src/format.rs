//! What a file's name says of its contents.

use crate::error::{FileError, Result};
use std::path::Path;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV with this character between fields.
    Csv(u8),
    Parquet,
}

impl Format {
    /// Returns the format that the end of a file's name says.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("csv" | "txt") => Ok(Self::Csv(b',')),
            Some("tsv") => Ok(Self::Csv(b'\t')),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            _ => Err(FileError::Extension { path: path.to_owned() }),
        }
    }
}
