//! Rows of several columns, and their ids.

use super::compute::compute;
use super::parts::{Parts, Wanted};
use super::query::Distinct;
use super::row_columns::{ColumnType, RowColumn, joined, on_device};
use crate::primitives::Scratch;
use crate::relational::Order;
use crate::relational::columns::{IntoColumn, WordsOf};
use crate::{Buffer, Device, Key, Result, Stream};
use std::fmt;

/// The rows of several columns, for keys of more than one column. Rows are equal if they are equal
/// in every column.
///
/// ```
/// use warpnest::Device;
/// use warpnest::relational::Rows;
///
/// let (years, cities) = ([2024u32, 2023, 2024, 2024], ['a', 'b', 'a', 'b']);
/// let readings = [7u64, 7, 7, 7];
/// let rows = Rows::of(&years).and(&cities).and(&readings).in_order_of_appearance();
/// let found = rows.distinct(&Device::best()?)?;
/// assert_eq!(found.ids, [0, 1, 0, 2]);
/// assert_eq!(found.counts, [2, 1, 1]);
/// assert_eq!(found.first_rows, [0, 1, 3]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// The columns may have different types. The ids are one key column for any other operation, such
/// as group-by and joins. [`gather`](crate::primitives::gather) by the first rows returns the
/// columns of the distinct rows. [`RowIds`](super::super::RowIds) keeps the ids for later rows.
/// Columns of types with less than 32 bits must be widened by the caller.
///
/// * **No hash replaces a row**, so nothing must be verified, and no input is slow. Two columns of
///   32 bits are joined to one word of 64 bits. Further columns are joined with the ids of the
///   columns before them. A column of 64 bits is first replaced by the ids of its words.
/// * **Complexity.** `c` columns, of which `w` have 64 bits, take `c + w - 1` queries for ids
///   ([`Unique::ids`](super::super::Unique::ids)). Only the last query also computes first rows and
///   counts.
#[doc(alias("composite_key", "multi_column", "group_ids", "drop_duplicates", "struct"))]
pub struct Rows<'q> {
    columns: Vec<RowColumn<'q>>,
    order: Order,
    seed: Option<u64>,
}

/// The distinct rows of several columns: the id of each row, and for each id the count of its rows
/// and its first row.
type DistinctRows<Numbers> = Distinct<(), Numbers, Numbers, Numbers>;

impl<'q> Rows<'q> {
    /// Returns the rows of one column.
    pub fn of<K: Key>(first: impl IntoColumn<'q, K>) -> Self {
        Self { columns: vec![RowColumn::new(first.into_column())], order: Order::Any, seed: None }
    }

    /// Adds another column, which must have as many rows.
    #[must_use]
    pub fn and<K: Key>(mut self, column: impl IntoColumn<'q, K>) -> Self {
        self.columns.push(RowColumn::new(column.into_column()));
        self
    }

    /// Gives ids in the order of first appearance, so that they are the same in every run.
    #[must_use]
    pub fn in_order_of_appearance(mut self) -> Self {
        self.order = Order::FirstSeen;
        self
    }

    /// Sets the seed of samples and hash constants, which are random by default. Do not set it if
    /// untrusted people choose the rows.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Returns on the host the id of each row, and for each id the count of its rows and its first
    /// row.
    ///
    /// # Errors
    /// As for [`Rows::distinct_on`].
    pub fn distinct(&self, device: &Device) -> Result<DistinctRows<Vec<u32>>> {
        let stream = device.default_stream();
        let Distinct { ids, counts, first_rows, .. } = self.distinct_on(stream, &mut Scratch::new(device))?;
        let host = |numbers: Buffer<u32>| numbers.download(stream);
        Ok(Distinct { keys: (), ids: host(ids)?, counts: host(counts)?, first_rows: host(first_rows)? })
    }

    /// Returns the result of [`Rows::distinct`] on the device, computed on `stream`; waits for the
    /// count of distinct rows.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns have
    /// equally many rows, and the errors of [`Unique::run_on`](super::super::Unique::run_on).
    pub fn distinct_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<DistinctRows<Buffer<u32>>> {
        let device = scratch.device().clone();
        stream.check_device(&device)?;
        let columns = on_device(&device, &self.columns)?;
        let [first, middle @ .., last] = &columns[..] else {
            return match &columns[..] {
                [WordsOf::Narrow(words)] => self.finished::<u32>(stream, scratch, words),
                [WordsOf::Wide(words)] => self.finished::<u64>(stream, scratch, words),
                _ => nothing(&device),
            };
        };
        let mut ids_of = |scratch: &mut Scratch, _, words: &Buffer<u64>| self.ids(stream, scratch, words);
        let words = joined(stream, scratch, (first, middle, last), &mut ids_of)?;
        let found = self.finished::<u64>(stream, scratch, &words);
        scratch.give_back(words);
        found
    }

    /// Returns the count of rows of the first column, which all columns should have.
    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.rows)
    }

    /// Returns the types of the columns.
    pub(super) fn types(&self) -> impl Iterator<Item = ColumnType> {
        self.columns.iter().map(|column| column.of_type)
    }

    /// Returns the columns.
    pub(super) fn columns(&self) -> &[RowColumn<'q>] {
        &self.columns
    }

    /// Returns the ids of the words of a column, in arbitrary order.
    fn ids(&self, stream: &Stream, scratch: &mut Scratch, keys: &Buffer<u64>) -> Result<Buffer<u32>> {
        let wanted = Wanted { ids: true, counts: false, first_rows: false, order: Order::Any, seed: self.seed };
        let (keys_out, ids) = (scratch.lend(keys.len())?, Some(scratch.lend(keys.len())?));
        let memory = Parts { keys: keys_out, ids, counts: None, first_rows: None };
        let Parts { keys, ids, .. } = compute(stream, scratch, keys, &wanted, memory)?;
        scratch.give_back(keys);
        ids.map_or_else(|| Buffer::uninitialized(scratch.device(), 0), Ok)
    }

    /// Returns the result, computed from the last words of the rows.
    fn finished<K: Key>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        keys: &Buffer<K>,
    ) -> Result<DistinctRows<Buffer<u32>>> {
        let wanted = Wanted { ids: true, counts: true, first_rows: true, order: self.order, seed: self.seed };
        let memory = Parts { keys: scratch.lend(keys.len())?, ..Parts::new(scratch.device(), &wanted)? };
        let Parts { keys, ids, counts, first_rows } = compute(stream, scratch, keys, &wanted, memory)?;
        scratch.give_back(keys);
        match (ids, counts, first_rows) {
            (Some(ids), Some(counts), Some(first_rows)) => Ok(Distinct { keys: (), ids, counts, first_rows }),
            _ => nothing(scratch.device()),
        }
    }
}

/// Returns the result for no rows.
fn nothing(device: &Device) -> Result<DistinctRows<Buffer<u32>>> {
    let none = || Buffer::uninitialized(device, 0);
    Ok(Distinct { keys: (), ids: none()?, counts: none()?, first_rows: none()? })
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} columns, {:?})", self.columns.len(), self.order)
    }
}
