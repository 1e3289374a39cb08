//! The columns of keys on a device.

use super::text_column::Eight;
use crate::Buffer;
use crate::relational::columns::{Words, WordsOf};

/// Keys on a device.
pub(super) struct KeysOn<'q> {
    pub rows: u64,
    /// The columns, each with `rows` rows.
    pub columns: Vec<ColumnOn<'q>>,
}

/// A column of keys on a device.
pub(super) enum ColumnOn<'q> {
    Words(WordsOf<'q>),
    Texts { offsets: &'q Words, bytes: &'q Buffer<Eight> },
}
