//! Rows that cannot be read.

use std::fmt;

/// The position of a row in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The line number, starting at 1.
    Line(u64),
    /// The row number, starting at 1.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Row(number) => write!(f, "row {number}"),
        }
    }
}

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub place: Place,
    pub what: What,
}

/// The reason why a row cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Cell { column: String, cause: Cause },
    Fields { there: usize, named: usize },
}

/// The reason why a cell cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Missing,
    NotText,
    NotNumber(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match &self.what {
            What::Cell { column, cause } => write!(f, "the column {column:?} {cause}"),
            What::Fields { there, named } => write!(f, "fields: {there}, columns in the first line: {named}"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is empty"),
            Self::NotText => f.write_str("is not UTF-8"),
            Self::NotNumber(text) => write!(f, "is {text:?}, which is no finite number"),
        }
    }
}
