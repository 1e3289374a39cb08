//! [`RowMap`]: keys and rows of any size, which can be inserted and removed.
//!
//! Read `change` first. It takes rows from `free` for new keys.

mod change;
mod file;
mod free;

use crate::design::{Changes, Page};
use crate::error::TableKind;
use crate::primitives::{check_row, gather, gather_where};
use crate::relational::IntoColumn;
use crate::runtime::lent::Lent;
use crate::table::config::Config;
use crate::table::file::ROW_MAP;
use crate::table::handle::{Table, pairs};
use crate::table::kind::{Finds, HasValues, KeyWordOf, Kind, Loads};
use crate::table::lookup::for_each_chunk;
use crate::table::map::Map;
use crate::table::raw::{ReadTable, sealed::Sealed};
use crate::types::{Plain, check_any_bytes};
use crate::{Answers, Buffer, BufferSlice, BulkMap, Device, Key, Result, Stream};
use bytemuck::AnyBitPattern;
use std::marker::PhantomData;

/// A map whose values are rows of any size. It has a map of keys to the indices of rows, and an
/// array of the rows.
///
/// * **Keys** are of any [`Key`](crate::Key) type. **Rows** are of any plain type whose size is a
///   multiple of 4 bytes. That can be a struct of your own ([`plain!`](crate::plain)), or an array
///   such as `[f32; 64]`. All values of these types are legal.
/// * **The map of keys** is a [`PageMap`](crate::PageMap) by default. `RowMap<K, R, Linear>` has a
///   [`LinearMap`](crate::LinearMap), which is faster if batches are small compared to the map.
///   [`Config::create_rows`] takes a configuration, and [`RowMap::map`] returns the map of keys.
/// * **Repeated keys** in a batch: the last row of a key wins.
/// * **Complexity.** A lookup makes one lookup in the map of keys, and then reads the row. A batch
///   of insertions builds a [`PageMap`](crate::PageMap) of its keys, to find the last row of each
///   key. Then it looks the keys up, inserts the new keys, and copies each row once.
/// * **Rows of removed keys** are reused by the next insertions, the most recently freed row first.
///   [`RowMap::shrink_to_fit`] moves the remaining rows together.
/// * **Memory.** The map keeps the map of keys, the rows, and 4 bytes for each row that was ever
///   free. A batch of insertions also takes a build of a `PageMap<K, u32>` of its keys. For each of
///   its rows it takes up to seven words of 4 bytes and two keys. [`RowMap::load`], and an
///   insertion after a failed change, must find out which rows are free. That takes a key and up to
///   five words for each row.
/// * **Growth** copies all rows to an array a quarter larger, and moves the keys to a larger table.
///   Meanwhile both are in memory twice. With many small batches each row is copied four to five
///   times on average. [`RowMap::reserve`] beforehand avoids this.
/// * **A change that fails.** If the device lacks memory or the request is invalid, nothing has
///   changed. With a map of keys that can fail partway ([`LinearMap`](crate::LinearMap)), some of
///   the keys may be in the map with their rows. If the device fails, each key of the batch has its
///   old row, its new row or, if the copy was interrupted, parts of both. If the map has lost all
///   keys instead, the error is [`Error::Emptied`](crate::Error::Emptied). Rows are never leaked,
///   because the next insertion finds out again which rows are free.
/// * **Concurrent use.** Any number of streams may look up keys at the same time. A change needs
///   exclusive access to the map, and waits for running lookups.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use warpnest::{Device, RowMap};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Customer {
///     name: [u8; 16],
///     credit: f32,
///     country: u32,
/// }
/// warpnest::plain!(Customer);
///
/// let ada = Customer { name: *b"Ada             ", credit: 12.5, country: 44 };
/// let edsger = Customer { name: *b"Edsger          ", credit: 0.0, country: 31 };
/// let mut customers: RowMap<u64, Customer> = RowMap::new(&Device::best()?)?;
/// assert_eq!(customers.insert_many(&[1815, 1930], &[ada, edsger])?, 2);
/// assert_eq!(customers.remove_many(&[1930])?, [Some(edsger)]);
/// assert_eq!(customers.get_many(&[1815, 1930])?, [Some(ada), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// Rows whose size is not a multiple of 4 bytes do not compile:
///
/// ```compile_fail,E0080
/// # use bytemuck::{Pod, Zeroable};
/// # use warpnest::{Device, RowMap};
/// #[repr(C)]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// struct Colour([u8; 3]);
/// warpnest::plain!(Colour);
/// RowMap::<u32, Colour>::new(&Device::cpu()).unwrap();
/// ```
#[doc(alias("HashMap", "struct", "embedding", "record", "free list"))]
pub type RowMap<K, R, D = Page> = Table<Rows<K, R, D>>;

/// The kind of a [`RowMap`].
pub struct Rows<K, R, D>(PhantomData<(K, R, D)>);

/// The table of a [`RowMap`].
pub struct RowTable<K: Key, R: Plain, D: Changes> {
    map: BulkMap<K, u32, D>,
    /// The rows. A row is in use if the map of keys has its index.
    rows: Buffer<R>,
    /// The indices of the free rows, or `None` after a change that failed partway, because it is
    /// then unknown which rows are free.
    free: Option<Buffer<u32>>,
}

impl<K: Key, R: Plain, D: Changes> Sealed for Rows<K, R, D> {}
impl<K: Key, R: Plain, D: Changes> Kind for Rows<K, R, D> {
    type Key = K;
    type Item = (K, R);
    type Word = u32;
    type Table = RowTable<K, R, D>;

    const CHECK: () = check_row::<R>();

    fn file_kind() -> TableKind {
        let (key_bytes, value_bytes) = (size_of::<K>() as u8, size_of::<R>() as u32);
        TableKind { design: D::NAME, form: ROW_MAP, key_bytes, value_bytes }
    }

    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, u32> {
        &table.map.table
    }

    fn memory_bytes(table: &Self::Table) -> u64 {
        let free = table.free.as_ref().map_or(0, Buffer::capacity) * size_of::<u32>();
        (table.map.memory_bytes() + table.rows.capacity() * size_of::<R>() + free) as u64
    }

    fn keys(table: &Self::Table) -> Result<Vec<K>> {
        Map::<K, u32, D>::keys(&table.map.table)
    }

    fn items(table: &Self::Table) -> Result<Vec<(K, R)>> {
        Self::columns(table).map(pairs)
    }

    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table> {
        let (RowTable { map, rows, free }, device) = (table, table.map.device());
        let (map, rows) = (map.try_clone()?, rows.duplicate(stream, device)?);
        let free = free.as_ref().map(|free| free.duplicate(stream, device)).transpose()?;
        Ok(RowTable { map, rows, free })
    }

    fn shrink_to_fit(table: &mut Self::Table) -> Result<()> {
        table.shrink_to_fit()
    }
}

impl<K: Key, R: Plain + AnyBitPattern, D: Changes> Loads for Rows<K, R, D> {
    const ANY_BYTES: () = check_any_bytes::<K>();
}

impl<K: Key, R: Plain, D: Changes> HasValues for Rows<K, R, D> {
    type Value = R;

    fn columns(table: &Self::Table) -> Result<(Vec<K>, Vec<R>)> {
        let stream = table.map.device().default_stream();
        let (keys, rows) = table.pairs(stream)?;
        Ok((keys.download(stream)?, rows.download(stream)?))
    }
}

impl<K: Key, R: Plain, D: Changes> Finds for Rows<K, R, D> {
    fn find(table: &Self::Table, queries: &[K]) -> Result<Vec<Option<R>>> {
        table.map.table.check_usable()?;
        let device = table.map.device();
        let mut rows = Vec::with_capacity(queries.len());
        let spare = &mut rows.spare_capacity_mut()[..queries.len()];
        for_each_chunk(device, queries, spare, |queries, spare| {
            let (stream, queries) = (device.default_stream(), Lent::new(device, queries)?);
            let mut answers = Answers::uninitialized(device, queries.len())?;
            Self::find_into(table, stream, &queries, &mut answers)?;
            answers.write_to(stream, spare)
        })?;
        // SAFETY: the answer to each query has been written.
        unsafe { rows.set_len(queries.len()) };
        Ok(rows)
    }

    fn find_into(table: &Self::Table, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<R>) -> Result<()> {
        let Answers { values, found, numbers } = answers;
        let numbers = match numbers {
            Some(numbers) => numbers,
            None => numbers.insert(Buffer::uninitialized(table.map.device(), queries.len())?),
        };
        // SAFETY: there are an index and an answer for each query, and the caller has exclusive
        // access to them.
        unsafe { table.map.table.find(stream, queries.words(), (Some(numbers), found))? };
        gather_where(stream, &table.rows, numbers, found, values)
    }
}

impl<D: Changes> Config<D> {
    /// Makes an empty map of keys to rows of any size, whose map of keys has this configuration.
    ///
    /// ```
    /// use warpnest::{Device, LinearConfig};
    ///
    /// let mut places = LinearConfig::default().pairs(1000).create_rows(&Device::best()?)?;
    /// places.insert(7u32, [0.5f32, 1.0, 2.5])?;
    /// assert_eq!(places.get(7)?, Some([0.5, 1.0, 2.5]));
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Config::create`].
    #[doc(alias("with_capacity"))]
    pub fn create_rows<K: Key, R: Plain>(&self, device: &Device) -> Result<RowMap<K, R, D>> {
        let (rows, free) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(RowMap::of(RowTable { map: self.create(device)?, rows, free: Some(free) }))
    }
}

impl<K: Key, R: Plain> RowMap<K, R> {
    /// Makes an empty map over a [`PageMap`](crate::PageMap) with the default configuration.
    /// [`Config::create_rows`] takes another configuration.
    ///
    /// # Errors
    /// As for [`Config::create_rows`].
    pub fn new(device: &Device) -> Result<Self> {
        Config::<Page>::default().create_rows(device)
    }

    /// Makes a map of `keys[i]` to `rows[i]`, with the default configuration. If a key is repeated,
    /// its last row wins.
    ///
    /// # Errors
    /// As for [`Config::create_rows`] and [`RowMap::insert_many`].
    pub fn build<'c>(device: &Device, keys: impl IntoColumn<'c, K>, rows: impl IntoColumn<'c, R>) -> Result<Self> {
        let mut map = Self::new(device)?;
        map.insert_many(keys, rows)?;
        Ok(map)
    }
}

/// The parts of a map, and the output of all pairs on the device.
impl<K: Key, R: Plain, D: Changes> RowMap<K, R, D> {
    /// Returns the map of keys to the indices of their rows in [`RowMap::rows`]. An index is valid
    /// until the next change of the row map. After that change it may belong to another key.
    pub fn map(&self) -> &BulkMap<K, u32, D> {
        &self.table.map
    }

    /// Returns the rows in the order of their indices. The contents of free rows are unspecified.
    pub fn rows(&self) -> &Buffer<R> {
        &self.table.rows
    }

    /// Returns the rows for changes in place, by a kernel of your own, or by
    /// [`scatter`](crate::primitives::scatter) to indices that [`RowMap::map`] contains.
    pub fn rows_mut(&mut self) -> &mut BufferSlice<R> {
        &mut self.table.rows
    }

    /// Writes all keys to a new buffer and, in the same order, their rows to another one. The order
    /// is unspecified. May wait until the pairs are written.
    ///
    /// # Errors
    /// As for [`BulkMap::pairs_on`].
    pub fn pairs_on(&self, stream: &Stream) -> Result<(Buffer<K>, Buffer<R>)> {
        self.table.pairs(stream)
    }
}

impl<K: Key, R: Plain, D: Changes> RowTable<K, R, D> {
    fn pairs(&self, stream: &Stream) -> Result<(Buffer<K>, Buffer<R>)> {
        let (keys, numbers) = self.map.pairs_on(stream)?;
        let mut rows = Buffer::uninitialized(self.map.device(), keys.len())?;
        gather(stream, &self.rows, &numbers, &mut rows)?;
        Ok((keys, rows))
    }
}
