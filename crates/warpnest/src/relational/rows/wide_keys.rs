//! Keys of several columns, which are words or texts.

use super::on_device::{ColumnOn, KeysOn};
use super::text_column::TextColumn;
use crate::primitives::check_items;
use crate::relational::columns::{IntoColumn, Lend, WordsOf};
use crate::{Device, InputError, Key, Result};
use std::any::{TypeId, type_name};
use std::fmt;

/// Keys of any number of columns, for keys that do not fit into a 64-bit word. Two keys are equal
/// if they are equal in every column.
///
/// A column contains keys of 4 or 8 bytes ([`Column`](crate::relational::Column)), or texts
/// ([`TextColumn`]):
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::{TextColumn, WideKeys, hash_rows};
///
/// let device = Device::best()?;
/// let (years, numbers) = ([2024u32, 2023, 2024], [7u64, 7, 7]);
/// let cities = TextColumn::new(&device, &["Ulm", "Ulm", "Ulm"])?;
/// let keys = WideKeys::of(&years).and(&numbers).and_text(&cities);
/// let hashes = hash_rows(&device, &keys, 3)?;
/// assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// [`WideJoin`](super::WideJoin) joins two tables by such keys. [`hash_rows`](super::hash_rows)
/// returns one 64-bit word for each row, and [`retain_equal_rows`](super::retain_equal_rows) keeps
/// only the pairs of rows that are equal. With both functions, any operation on 64-bit keys can
/// process wide keys; the hash alone is not enough. If all columns are words,
/// [`Rows`](super::super::Rows) returns ids without hashes.
#[doc(alias("composite_key", "multi_column", "wide_key", "string_key"))]
pub struct WideKeys<'q> {
    columns: Vec<KeyColumn<'q>>,
}

/// A column of keys.
struct KeyColumn<'q> {
    rows: usize,
    /// The type of the elements; `None` for texts.
    of_type: Option<TypeId>,
    name: &'static str,
    source: Source<'q>,
}

enum Source<'q> {
    Words(Lend<'q>),
    Texts(&'q TextColumn),
}

impl<'q> WideKeys<'q> {
    /// Returns keys of one column.
    pub fn of<K: Key>(first: impl IntoColumn<'q, K>) -> Self {
        Self { columns: Vec::new() }.and(first)
    }

    /// Returns keys of one column of texts.
    pub fn of_text(first: &'q TextColumn) -> Self {
        Self { columns: Vec::new() }.and_text(first)
    }

    /// Adds another column, which must have equally many rows.
    #[must_use]
    pub fn and<K: Key>(mut self, column: impl IntoColumn<'q, K>) -> Self {
        let column = column.into_column();
        self.columns.push(KeyColumn {
            rows: column.rows(),
            of_type: Some(TypeId::of::<K>()),
            name: type_name::<K>(),
            source: Source::Words(Box::new(move |device| Ok(WordsOf::new::<K>(column.on_device(device)?)))),
        });
        self
    }

    /// Adds another column of texts, which must have equally many rows.
    #[must_use]
    pub fn and_text(mut self, column: &'q TextColumn) -> Self {
        let source = Source::Texts(column);
        self.columns.push(KeyColumn { rows: column.len(), of_type: None, name: "texts", source });
        self
    }

    /// Returns the count of rows of the first column.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.rows)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the columns on `device`.
    ///
    /// # Errors
    /// [`InputError::ColumnLength`] unless all columns have equally many rows;
    /// [`InputError::TooManyItems`]; errors of a copy.
    pub(super) fn on_device(&self, device: &Device) -> Result<KeysOn<'_>> {
        let first = self.len();
        if let Some(number) = self.columns.iter().position(|column| column.rows != first) {
            let rows = self.columns[number].rows as u64;
            return Err(InputError::ColumnLength { number, rows, first: first as u64 }.into());
        }
        let rows = check_items(first)?;
        let columns = self.columns.iter().map(|column| match &column.source {
            Source::Words(lend) => lend(device).map(ColumnOn::Words),
            Source::Texts(texts) => texts.parts(device).map(|(offsets, bytes)| ColumnOn::Texts { offsets, bytes }),
        });
        Ok(KeysOn { rows, columns: columns.collect::<Result<_>>()? })
    }

    /// Fails unless `right` has columns of the same types.
    pub(super) fn check_types(&self, right: &WideKeys<'_>) -> Result<()> {
        let types = |keys: &WideKeys<'_>| keys.columns.iter().map(|column| column.of_type).collect::<Vec<_>>();
        let (ours, theirs) = (types(self), types(right));
        if ours == theirs {
            return Ok(());
        }
        let agree = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs);
        let (number, left, right) = (agree.count(), self.names(), right.names());
        Err(InputError::KeysDiffer { number, left, right }.into())
    }

    fn names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name).collect()
    }
}

impl fmt::Debug for WideKeys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WideKeys").field("columns", &self.names()).field("len", &self.len()).finish()
    }
}
