//! [`RowMap`]: keys and rows of any size, which come and go.
//!
//! Read `change`: rows come from those that are `free`.

mod change;
mod file;
mod free;

use crate::design::{Changes, Page};
use crate::primitives::{check_row, gather, gather_where};
use crate::runtime::lent::Lent;
use crate::table::config::Config;
use crate::table::lookup::for_each_chunk;
use crate::table::raw::ReadTable;
use crate::types::Plain;
use crate::{Answers, Buffer, BufferSlice, BulkMap, Device, Key, Result, Stream};
use std::fmt;

/// A map whose values are rows of any size: a map of keys to the numbers of rows, and an array of
/// the rows.
///
/// * **Keys** are of any [`Key`](crate::Key) type. **Rows** are of any plain type whose size is a
///   multiple of 4 bytes: a struct of your own ([`plain!`](crate::plain)), or an array such as
///   `[f32; 64]`. All values of these types are legal.
/// * **The map under it** is a [`PageMap`](crate::PageMap) by default. `RowMap<K, R, Linear>` has a
///   [`LinearMap`](crate::LinearMap), which is faster where batches are small beside the map;
///   [`Config::create_rows`] takes a configuration. [`RowMap::map`] lends it.
/// * **Repeated keys** in a batch: the last row of a key counts.
/// * **Complexity.** A lookup is one in the map, and then reads the row. A batch of insertions
///   builds a [`PageMap`](crate::PageMap) of its keys, to find the last row of each, looks them up,
///   inserts those that are new, and copies the rows, each once.
/// * **Rows of removed keys** are used again by the next insertions, the last one first.
///   [`RowMap::shrink_to_fit`] moves the others together.
/// * **Memory.** The map, the rows, and 4 bytes for each row that was ever free. A batch of
///   insertions takes a build of a `PageMap<K, u32>` of its keys besides, and up to seven words of
///   4 bytes and two keys for each of its rows. The array of rows grows by a quarter, and is twice
///   in memory while it does. To find out which rows are free, [`RowMap::load`], and an insertion
///   after a change that failed, take a key and up to five words for each row.
/// * **A change that fails.** If the device lacks memory or the request makes no sense, nothing has
///   been done, or some of the keys are there with their rows, where that is so in the map
///   ([`LinearMap`](crate::LinearMap)). If the device fails, each key of the batch has the row from
///   before, that of the batch or, where the copy did not end, parts of both; or
///   [`Error::Emptied`](crate::Error::Emptied) says that there are no keys any more. No row is ever
///   lost: which are free is found out again by the next insertion.
/// * **Concurrent use.** Any number of streams may look up at the same time. A change takes the map
///   exclusively and waits for running lookups by itself.
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
pub struct RowMap<K: Key, R: Plain, D: Changes = Page> {
    map: BulkMap<K, u32, D>,
    /// The rows. Those whose numbers the map has are in use.
    rows: Buffer<R>,
    /// The numbers of the other rows; none while it is unknown which these are, after a change that
    /// failed partway.
    free: Option<Buffer<u32>>,
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
        const { check_row::<R>() };
        let (rows, free) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(RowMap { map: self.create(device)?, rows, free: Some(free) })
    }
}

impl<K: Key, R: Plain> RowMap<K, R> {
    /// Makes an empty map over a [`PageMap`](crate::PageMap) with the default configuration;
    /// [`Config::create_rows`] takes another.
    ///
    /// # Errors
    /// As for [`Config::create_rows`].
    pub fn new(device: &Device) -> Result<Self> {
        Config::<Page>::default().create_rows(device)
    }

    /// Makes a map of `keys[i]` to `rows[i]`, as [`RowMap::new`] does; the last row of a repeated
    /// key counts.
    ///
    /// # Errors
    /// As for [`Config::create_rows`] and [`RowMap::insert_many`].
    pub fn build(device: &Device, keys: &[K], rows: &[R]) -> Result<Self> {
        let mut map = Self::new(device)?;
        map.insert_many(keys, rows)?;
        Ok(map)
    }
}

impl<K: Key, R: Plain, D: Changes> RowMap<K, R, D> {
    /// Returns the rows of `queries`, in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many(&self, queries: &[K]) -> Result<Vec<Option<R>>> {
        self.map.table.check_usable()?;
        let mut rows = Vec::with_capacity(queries.len());
        let spare = &mut rows.spare_capacity_mut()[..queries.len()];
        for_each_chunk(self.device(), queries, spare, |queries, spare| {
            let stream = self.device().default_stream();
            self.get_many_on(stream, &*Lent::new(self.device(), queries)?)?.write_to(stream, spare)
        })?;
        // SAFETY: the answer to each query has been written.
        unsafe { rows.set_len(queries.len()) };
        Ok(rows)
    }

    /// Queues the lookup of `queries`; waits for nothing, copies nothing to the host. The row of a
    /// query that found nothing is all zeros.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_on`].
    pub fn get_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Answers<R>> {
        let mut answers = Answers::uninitialized(self.device(), queries.len())?;
        self.get_many_into(stream, queries, &mut answers)?;
        Ok(answers)
    }

    /// Queues [`RowMap::get_many_on`] into existing answers. With the first call they take memory
    /// for the number of a row for each query, and keep it; later calls allocate nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), and as for
    /// [`RowMap::get_many_on`].
    pub fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<R>) -> Result<()> {
        crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
        let Answers { values, found, numbers } = answers;
        let numbers = match numbers {
            Some(numbers) => numbers,
            None => numbers.insert(Buffer::uninitialized(self.device(), queries.len())?),
        };
        // SAFETY: there are as many numbers and answers as queries, and the caller has them
        // exclusively.
        unsafe { self.map.table.find(stream, queries.words(), (Some(numbers), found))? };
        gather_where(stream, &self.rows, numbers, found, values)
    }

    /// Returns the row of one key; for a look at a few keys, as [`BulkMap::get`] is.
    ///
    /// # Errors
    /// As for [`RowMap::get_many`].
    pub fn get(&self, key: K) -> Result<Option<R>> {
        Ok(self.get_many(&[key])?[0])
    }

    /// Returns whether one key is in the map; for a look at a few keys.
    ///
    /// # Errors
    /// As for [`BulkMap::contains`].
    pub fn contains(&self, key: K) -> Result<bool> {
        self.map.contains(key)
    }

    /// Returns whether each of `queries` is in the map, in their order.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many`].
    pub fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
        self.map.contains_many(queries)
    }

    /// Queues the lookup whether each of `queries` is in the map.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_on`].
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        self.map.contains_many_on(stream, queries)
    }

    /// Returns the number of keys. After a change that failed, it is that of the map under it
    /// ([`BulkMap::len`]).
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Returns the bytes that the map takes on the device, with the rows for which it has memory,
    /// and without what batches work in.
    pub fn memory_bytes(&self) -> usize {
        let free = self.free.as_ref().map_or(0, Buffer::capacity) * size_of::<u32>();
        self.map.memory_bytes() + self.rows.capacity() * size_of::<R>() + free
    }

    /// Returns the device that the map is on.
    pub fn device(&self) -> &Device {
        self.map.device()
    }

    /// Returns the map of keys to the numbers of their rows in [`RowMap::rows`]. A number is a
    /// key's until the next change of the row map, and may be another key's after it.
    pub fn map(&self) -> &BulkMap<K, u32, D> {
        &self.map
    }

    /// Returns the rows, by their numbers; those that no key has are unspecified.
    pub fn rows(&self) -> &Buffer<R> {
        &self.rows
    }

    /// Returns the rows, to be changed where they are: by a kernel of your own, or by
    /// [`scatter`](crate::primitives::scatter) to numbers that [`RowMap::map`] gave.
    pub fn rows_mut(&mut self) -> &mut BufferSlice<R> {
        &mut self.rows
    }

    /// Writes all keys and, in the same order, their rows to new buffers. They are in no particular
    /// order. May wait until they are written.
    ///
    /// # Errors
    /// As for [`BulkMap::pairs_on`].
    pub fn pairs_on(&self, stream: &Stream) -> Result<(Buffer<K>, Buffer<R>)> {
        let (keys, numbers) = self.map.pairs_on(stream)?;
        let mut rows = Buffer::uninitialized(self.device(), keys.len())?;
        gather(stream, &self.rows, &numbers, &mut rows)?;
        Ok((keys, rows))
    }

    /// Returns all keys and, in the same order, their rows, in no particular order.
    ///
    /// # Errors
    /// As for [`BulkMap::pairs_on`].
    pub fn to_columns(&self) -> Result<(Vec<K>, Vec<R>)> {
        let stream = self.device().default_stream();
        let (keys, rows) = self.pairs_on(stream)?;
        Ok((keys.download(stream)?, rows.download(stream)?))
    }

    /// Returns all keys with their rows, in no particular order.
    ///
    /// # Errors
    /// As for [`BulkMap::pairs_on`].
    pub fn to_pairs(&self) -> Result<Vec<(K, R)>> {
        let (keys, rows) = self.to_columns()?;
        Ok(keys.into_iter().zip(rows).collect())
    }

    /// Iterates over all keys and rows, in no particular order: over a copy on the host, which is
    /// made first.
    ///
    /// # Errors
    /// As for [`RowMap::to_pairs`].
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = (K, R)> + use<K, R, D>> {
        Ok(self.to_pairs()?.into_iter())
    }

    /// Iterates over all keys, in no particular order: over a copy on the host.
    ///
    /// # Errors
    /// As for [`BulkMap::keys`].
    pub fn keys(&self) -> Result<impl ExactSizeIterator<Item = K> + use<K, R, D>> {
        self.map.keys()
    }

    /// Copies the map on the same device.
    ///
    /// # Errors
    /// As for [`RowMap::try_clone_on`].
    pub fn try_clone(&self) -> Result<Self> {
        self.try_clone_on(self.device().default_stream())
    }

    /// Copies the map, as [`RowMap::try_clone`] does, on `stream`.
    ///
    /// # Errors
    /// As for [`BulkMap::try_clone_on`].
    pub fn try_clone_on(&self, stream: &Stream) -> Result<Self> {
        let map = self.map.try_clone_on(stream)?;
        let rows = self.rows.duplicate(stream, self.device())?;
        let free = self.free.as_ref().map(|free| free.duplicate(stream, self.device())).transpose()?;
        Ok(Self { map, rows, free })
    }
}

impl<K: Key, R: Plain, D: Changes> Clone for RowMap<K, R, D> {
    /// Copies the map on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`RowMap::try_clone`] returns an error then.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a map cannot be cloned: {error}"))
    }
}

impl<K: Key, R: Plain, D: Changes> fmt::Debug for RowMap<K, R, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowMap")
            .field("keys", &self.len())
            .field("bytes", &self.memory_bytes())
            .field("device", &self.device().name())
            .finish_non_exhaustive()
    }
}
