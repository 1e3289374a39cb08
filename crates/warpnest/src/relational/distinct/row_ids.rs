//! [`RowIds`]: a dense id for each distinct row of several columns, over any number of batches.

use super::row_columns::{ColumnType, on_device};
use super::row_steps::Steps;
use super::rows::Rows;
use crate::primitives::{Scratch, check_items};
use crate::relational::columns::WordsOf;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, Device, Error, InputError, Key, Result, Stream};
use std::fmt;

/// A dense id for each distinct row of several columns, over any number of batches. The ids can be
/// keys of any map, in place of wider keys.
///
/// Ids are in the order of first appearance, and never change. A map from ids acts as a map from
/// rows:
///
/// ```
/// use warpnest::relational::{RowIds, Rows};
/// use warpnest::{Device, LinearMap};
///
/// let device = Device::best()?;
/// let (mut ids, mut visits) = (RowIds::new(&device), LinearMap::<u32, u32>::new(&device)?);
/// for (users, pages) in [([7u64, 8, 7], [1u64, 1, 1]), ([7, 9, 7], [1, 1, 2])] {
///     visits.count_many(&ids.get_or_insert_many(&Rows::of(&users).and(&pages))?)?;
/// }
/// assert_eq!(ids.get_many(&Rows::of(&[7u64, 9]).and(&[1u64, 3]))?, [Some(0), None]);
/// assert_eq!(visits.get_many(&[0, 1, 2, 3])?, [Some(3), Some(1), Some(1), Some(1)]);
/// // The columns of each id:
/// assert_eq!(ids.column::<u64>(0, &[0, 1, 2, 3])?, [7, 8, 9, 7]);
/// assert_eq!(ids.column::<u64>(1, &[0, 1, 2, 3])?, [1, 1, 1, 2]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// * **No hash replaces a row**, so nothing must be verified, and an id is never wrong. Columns are
///   joined as in [`Rows`], with a map from words to ids for each step.
/// * **The first rows set the columns**: their count and types. Rows with other columns are
///   refused.
/// * **Complexity.** `c` columns, of which `w` have 64 bits, take `c + w - 1` steps, and at least
///   one step. Each step looks up all rows of a batch. If some rows have no id in the step, these
///   rows are deduplicated and inserted, and all rows are looked up once more.
/// * **Memory.** Each step takes a [`PageMap`](crate::PageMap) of its distinct words, and another 8
///   to 10 bytes per word.
///
/// A change that fails leaves all ids unchanged, or removes them all with [`Error::Emptied`].
#[doc(alias("composite_key", "multi_column", "wide_key", "tuple", "struct"))]
pub struct RowIds {
    device: Device,
    steps: Option<Steps>,
    scratch: Scratch,
}

impl RowIds {
    /// Returns an instance without ids.
    pub fn new(device: &Device) -> Self {
        Self { device: device.clone(), steps: None, scratch: Scratch::new(device) }
    }

    /// Returns the id of each row. New rows get the next ids.
    ///
    /// # Errors
    /// As for [`RowIds::get_or_insert_many_on`].
    pub fn get_or_insert_many(&mut self, rows: &Rows<'_>) -> Result<Vec<u32>> {
        let device = self.device.clone();
        let stream = device.default_stream();
        let ids = self.get_or_insert_many_on(stream, rows)?;
        let on_host = ids.download(stream);
        self.scratch.give_back(ids);
        on_host
    }

    /// Returns the result of [`RowIds::get_or_insert_many`] on the device; waits for the count of
    /// new rows.
    ///
    /// # Errors
    /// After [`InputError::LengthsDiffer`] (columns of different lengths),
    /// [`InputError::OtherColumns`], [`InputError::TooManyItems`] (2^32 rows or more) and
    /// [`Error::WrongDevice`], nothing was done. After [`InputError::TooManyPairs`] (there would be
    /// 2^32 distinct rows), [`Error::BuildFailed`], [`Error::OutOfMemory`] and [`Error::Driver`],
    /// no id has changed. After [`Error::Emptied`], there are no ids any more.
    pub fn get_or_insert_many_on(&mut self, stream: &Stream, rows: &Rows<'_>) -> Result<Buffer<u32>> {
        let columns = self.columns_of(stream, rows)?;
        let Self { steps, scratch, device } = self;
        let steps = match steps {
            Some(steps) => steps,
            None => steps.insert(Steps::new(stream, device, rows.types().collect())?),
        };
        let ids = steps.get_or_insert(stream, scratch, &columns);
        let (is_whole, is_empty) = (steps.is_whole(), steps.len() == 0);
        if !is_whole || is_empty {
            // A step that has lost ids would give them again. Without rows, no columns are set.
            self.steps = None;
        }
        if is_whole {
            return ids;
        }
        ids.map_err(|error| match error {
            Error::Emptied { .. } => error,
            error => Error::Emptied { source: Box::new(error) },
        })
    }

    /// Returns the id of each row, or `None` for a row without an id.
    ///
    /// # Errors
    /// As for [`RowIds::get_many_on`].
    pub fn get_many(&self, rows: &Rows<'_>) -> Result<Vec<Option<u32>>> {
        let stream = self.device.default_stream();
        self.get_many_on(stream, &mut Scratch::new(&self.device), rows)?.download(stream)
    }

    /// Returns the result of [`RowIds::get_many`] on the device; does not wait.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`], [`InputError::OtherColumns`], [`InputError::TooManyItems`],
    /// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn get_many_on(&self, stream: &Stream, scratch: &mut Scratch, rows: &Rows<'_>) -> Result<Answers<u32>> {
        let columns = self.columns_of(stream, rows)?;
        match &self.steps {
            Some(steps) => steps.get(stream, scratch, &columns),
            None => Answers::new(&self.device, rows.len()),
        }
    }

    /// Returns a column of the rows with these ids. An id that no row has gives 0.
    ///
    /// # Errors
    /// As for [`RowIds::column_on`].
    pub fn column<K: Key>(&self, number: usize, ids: &[u32]) -> Result<Vec<K>> {
        let stream = self.device.default_stream();
        let ids = Lent::new(&self.device, ids)?;
        self.column_on(stream, &mut Scratch::new(&self.device), number, &ids)?.download(stream)
    }

    /// Returns the result of [`RowIds::column`] on the device; does not wait.
    ///
    /// # Errors
    /// [`InputError::NoColumn`] unless the rows have a column `number`, counted from 0, of type `K`
    /// (there is none before the first row); [`InputError::TooManyItems`], [`Error::OutOfMemory`],
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn column_on<K: Key>(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        number: usize,
        ids: &Buffer<u32>,
    ) -> Result<Buffer<K>> {
        stream.check_device(&self.device)?;
        ids.check_device("the buffer of ids", &self.device)?;
        check_items(ids.len())?;
        let asked = ColumnType::of::<K>();
        match &self.steps {
            Some(steps) if steps.types().nth(number) == Some(asked) => {
                let words = steps.column(stream, scratch, number, ids)?.into_buffer::<K::Word>();
                // SAFETY: the words of the column are keys of type `K`, or 0, which is a valid
                // value of every plain type.
                Ok(unsafe { words.reinterpreted() })
            }
            _ => Err(InputError::NoColumn { number, asked: asked.name, held: self.names() }.into()),
        }
    }

    /// Returns the count of distinct rows.
    pub fn len(&self) -> usize {
        self.steps.as_ref().map_or(0, Steps::len)
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes on the device, without the scratch of batches.
    pub fn memory_bytes(&self) -> usize {
        self.steps.as_ref().map_or(0, Steps::memory_bytes)
    }

    /// Returns the device that the ids are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    fn names(&self) -> Vec<&'static str> {
        self.steps.iter().flat_map(Steps::types).map(|column| column.name).collect()
    }

    /// Returns the columns of rows on the device.
    fn columns_of<'q>(&self, stream: &Stream, rows: &Rows<'q>) -> Result<Vec<WordsOf<'q>>> {
        stream.check_device(&self.device)?;
        if self.steps.as_ref().is_some_and(|steps| !steps.types().eq(rows.types())) {
            let given = rows.types().map(|column| column.name).collect();
            return Err(InputError::OtherColumns { given, held: self.names() }.into());
        }
        on_device(&self.device, rows.columns())
    }
}

impl fmt::Debug for RowIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowIds").field("columns", &self.names()).field("len", &self.len()).finish_non_exhaustive()
    }
}
