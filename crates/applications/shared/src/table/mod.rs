//! Files with tables, CSV or Parquet: their formats, their errors, and their columns by name.

mod error;
mod row;

pub use error::{FileError, Result};
pub use row::{Cause, Place, Unreadable, What};

use crate::csv::CsvFault;
use crate::shown::shortened;
use std::fs::File;
use std::path::Path;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV with this character as its delimiter.
    Csv(u8),
    Parquet,
}

impl Format {
    /// Returns the format that the extension of a file's name implies.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("csv" | "txt") => Ok(Self::Csv(b',')),
            Some("tsv") => Ok(Self::Csv(b'\t')),
            Some("parquet" | "pq") => Ok(Self::Parquet),
            _ => Err(FileError::Extension { path: path.to_owned() }),
        }
    }

    /// Returns the format with another delimiter of CSV, if one is given.
    pub fn with_delimiter(self, delimiter: Option<u8>) -> Self {
        match (self, delimiter) {
            (Self::Csv(_), Some(delimiter)) => Self::Csv(delimiter),
            _ => self,
        }
    }
}

/// Parses the delimiter that is given on a command line.
pub fn delimiter(text: &str) -> std::result::Result<u8, String> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n\0".contains(byte) => Ok(*byte),
        _ if text == "\\t" => Ok(b'\t'),
        _ => Err("give one ASCII character that is no quote, such as ';', or \\t for a tab".to_owned()),
    }
}

/// Opens a file unless its name implies no format, or it is a folder, a pipe or a device. A table
/// must be a file, because a file has an end and can be read twice.
pub fn open(path: &Path) -> Result<(Format, File)> {
    let in_path = |source| FileError::Read { path: path.to_owned(), source };
    // The kind is checked first, because opening a pipe would wait for a writer.
    let kind = std::fs::metadata(path).map_err(in_path)?.file_type();
    if kind.is_dir() {
        return Err(FileError::Folder { path: path.to_owned() });
    }
    let format = Format::of(path)?;
    if !kind.is_file() {
        return Err(FileError::NoRegularFile { path: path.to_owned() });
    }
    Ok((format, File::open(path).map_err(in_path)?))
}

/// Returns the index of the column with a name. In an error, `hint` follows the existing names.
pub fn column(path: &Path, names: &[String], name: &str, hint: &'static str) -> Result<usize> {
    let mut found = names.iter().enumerate().filter(|(_, other)| *other == name).map(|(index, _)| index);
    let (path, name) = (path.to_owned(), name.to_owned());
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(first), Some(second)) => Err(FileError::SameName { path, name, first: first + 1, second: second + 1 }),
        (None, _) => Err(FileError::NoColumn { path, name, there: listed(names), hint }),
    }
}

/// Returns a list of names, cut to a length that fits a message.
pub fn listed(names: &[String]) -> String {
    const MOST: usize = 30;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| shortened(name)).collect();
    let more = names.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// Returns the error for a fault in the text of a file.
pub(crate) fn in_text(path: &Path, fault: CsvFault) -> FileError {
    FileError::Text { path: path.to_owned(), fault }
}

#[cfg(test)]
mod tests;
