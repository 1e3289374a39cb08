//! Rows of several columns, and which of them are equal.

use super::super::column::Column;
use super::super::keys::join;
use super::super::query::{Lend, Order, WordsOf};
use super::compute::compute;
use super::parts::{Parts, Wanted};
use super::query::Distinct;
use crate::primitives::{Scratch, check_items};
use crate::{Buffer, Device, Key, Result, Stream};
use std::fmt;

/// The rows of several columns, which are equal if they are in every column: for keys that no
/// single column has.
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
/// The columns may have different types. The ids are one column of keys for everything else: group
/// by them, join by them, count them. [`gather`](crate::primitives::gather) gets the columns of the
/// first rows, and so the different keys.
///
/// * **No hash stands for a row**, so there is nothing to verify, and no input is unlucky. Two
///   columns of 32 bits are one word of 64. More are joined one after the other: the ids of the
///   columns so far with the next one. A column of 64 bits is replaced by its ids first.
/// * **Complexity.** `c` columns, `w` of which have 64 bits, take `c + w - 1` queries for ids
///   ([`Unique::ids`](super::super::Unique::ids)), all but the last without first rows and counts.
#[doc(alias("composite_key", "multi_column", "group_ids", "drop_duplicates", "struct"))]
pub struct Rows<'q> {
    columns: Vec<RowColumn<'q>>,
    order: Order,
    seed: Option<u64>,
}

/// A column of any type.
struct RowColumn<'q> {
    rows: usize,
    lend: Lend<'q>,
}

impl<'q> RowColumn<'q> {
    fn new<K: Key>(column: Column<'q, K>) -> Self {
        let rows = column.rows();
        Self { rows, lend: Box::new(move |device| Ok(WordsOf::new::<K>(column.on_device(device)?))) }
    }
}

/// The different rows of several columns: the id of each row, the number of rows with each id, and
/// the first of them.
type DistinctRows<Numbers> = Distinct<(), Numbers, Numbers, Numbers>;

impl<'q> Rows<'q> {
    /// Returns the rows of one column.
    pub fn of<K: Key>(first: impl Into<Column<'q, K>>) -> Self {
        Self { columns: vec![RowColumn::new(first.into())], order: Order::Any, seed: None }
    }

    /// Adds another column, which must have as many rows.
    #[must_use]
    pub fn and<K: Key>(mut self, column: impl Into<Column<'q, K>>) -> Self {
        self.columns.push(RowColumn::new(column.into()));
        self
    }

    /// Gives ids in the order in which rows appear first, so that they are the same in every run.
    #[must_use]
    pub fn in_order_of_appearance(mut self) -> Self {
        self.order = Order::FirstSeen;
        self
    }

    /// Sets the seed of samples and hash constants, which are random if this is not called. Do not
    /// set it where others choose the rows.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Returns the id of each row, and of each id the number of rows and the first one, on the
    /// host.
    ///
    /// # Errors
    /// As for [`Rows::distinct_on`].
    pub fn distinct(&self, device: &Device) -> Result<DistinctRows<Vec<u32>>> {
        let stream = device.default_stream();
        let Distinct { ids, counts, first_rows, .. } = self.distinct_on(stream, &mut Scratch::new(device))?;
        let host = |numbers: Buffer<u32>| numbers.download(stream);
        Ok(Distinct { keys: (), ids: host(ids)?, counts: host(counts)?, first_rows: host(first_rows)? })
    }

    /// Returns the result of [`Rows::distinct`] on the device, computed on `stream`; waits until
    /// the number of different rows is known.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless all columns have as
    /// many rows, and as for [`Unique::run_on`](super::super::Unique::run_on).
    pub fn distinct_on(&self, stream: &Stream, scratch: &mut Scratch) -> Result<DistinctRows<Buffer<u32>>> {
        let device = scratch.device().clone();
        let [first, others @ ..] = &self.columns[..] else { return nothing(&device) };
        for column in others {
            crate::error::same_length(("the first column", first.rows), ("another column", column.rows))?;
        }
        check_items(first.rows)?;
        stream.check_device(&device)?;
        let columns = self.columns.iter().map(|column| (column.lend)(&device)).collect::<Result<Vec<_>>>()?;
        let [first, middle @ .., last] = &columns[..] else {
            return match &columns[..] {
                [WordsOf::Narrow(words)] => self.finished::<u32>(stream, scratch, words),
                [WordsOf::Wide(words)] => self.finished::<u64>(stream, scratch, words),
                _ => nothing(&device),
            };
        };
        let mut so_far = self.narrowed(stream, scratch, first)?;
        for column in middle {
            let joined = self.joined(stream, scratch, so_far, column)?;
            so_far = Narrow::Ids(self.ids(stream, scratch, &joined)?);
            scratch.give_back(joined);
        }
        let joined = self.joined(stream, scratch, so_far, last)?;
        let found = self.finished::<u64>(stream, scratch, &joined);
        scratch.give_back(joined);
        found
    }

    /// Returns a column of 32 bits that tells the same rows apart.
    fn narrowed<'w>(&self, stream: &Stream, scratch: &mut Scratch, column: &'w WordsOf<'_>) -> Result<Narrow<'w>> {
        Ok(match column {
            WordsOf::Narrow(words) => Narrow::Words(words),
            WordsOf::Wide(words) => Narrow::Ids(self.ids::<u64>(stream, scratch, words)?),
        })
    }

    /// Returns a column of words that tell rows apart by both columns.
    fn joined(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        so_far: Narrow<'_>,
        column: &WordsOf<'_>,
    ) -> Result<Buffer<u64>> {
        let column = self.narrowed(stream, scratch, column)?;
        let joined = scratch.lend::<u64>(column.words().len())?;
        stream.batch(|batch| {
            let halves = [batch.read(so_far.words()), batch.read(column.words())];
            // SAFETY: all three have as many elements.
            unsafe { join(batch, joined.len() as u64, halves, batch.write(&joined)) }
        })?;
        for narrow in [so_far, column] {
            if let Narrow::Ids(ids) = narrow {
                scratch.give_back(ids);
            }
        }
        Ok(joined)
    }

    /// Returns the ids of a column, in any order.
    fn ids<K: Key>(&self, stream: &Stream, scratch: &mut Scratch, keys: &Buffer<K>) -> Result<Buffer<u32>> {
        let wanted = Wanted { ids: true, counts: false, first_rows: false, order: Order::Any, seed: self.seed };
        let (keys_out, ids) = (scratch.lend(keys.len())?, Some(scratch.lend(keys.len())?));
        let memory = Parts { keys: keys_out, ids, counts: None, first_rows: None };
        let Parts { keys, ids, .. } = compute(stream, scratch, keys, &wanted, memory)?;
        scratch.give_back(keys);
        ids.map_or_else(|| Buffer::uninitialized(scratch.device(), 0), Ok)
    }

    /// Returns the result for the last column.
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

/// A column of 32 bits: words of the input, or ids in memory of the scratch.
enum Narrow<'w> {
    Words(&'w Buffer<u32>),
    Ids(Buffer<u32>),
}

impl Narrow<'_> {
    fn words(&self) -> &Buffer<u32> {
        match self {
            Self::Words(words) => words,
            Self::Ids(ids) => ids,
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
