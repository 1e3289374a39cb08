//! [`Table`]: the handle of every table, with the operations that all tables have.

use super::kind::{Finds, HasValues, Kind, OfDesign};
use super::lookup;
use super::raw::StoredTable;
use crate::relational::IntoColumn;
use crate::relational::columns::Source;
use crate::types::Plain;
use crate::{Answers, Buffer, BufferSlice, Device, Result, Stream};
use std::fmt;
use std::marker::PhantomData;

/// A table in the memory of a device, for arrays of keys and queries. Each [`Kind`] `T` of table
/// has names of its own.
///
/// * [`BulkMap`](crate::BulkMap), a [`Map`](crate::design::Map), whose names tell its design:
///   [`PageMap`](crate::PageMap), [`CuckooMap`](crate::CuckooMap),
///   [`TwoLevelMap`](crate::TwoLevelMap), [`SortedMap`](crate::SortedMap),
///   [`LinearMap`](crate::LinearMap), [`ExtendibleMap`](crate::ExtendibleMap);
/// * [`BulkSet`](crate::BulkSet), a [`Set`](crate::design::Set): [`PageSet`](crate::PageSet),
///   [`CuckooSet`](crate::CuckooSet);
/// * [`MultiMap`](crate::MultiMap), [`RowMap`](crate::RowMap) and
///   [`CompactingTable`](crate::CompactingTable), which are built on one of these tables.
///
/// Lookups change nothing, so any number of streams may look up at the same time. A change borrows
/// the table mutably, and waits for running lookups by itself.
///
/// Functions can be generic over the kind:
///
/// ```
/// use warpnest::design::Kind;
/// use warpnest::{Device, MultiMap, PageSet, Table};
///
/// fn bytes_of_a_key<T: Kind>(table: &Table<T>) -> usize {
///     table.memory_bytes() / table.len().max(1)
/// }
///
/// let device = Device::best()?;
/// assert!(bytes_of_a_key(&PageSet::from_keys(&device, 0..10_000u32)?) < 8);
/// let pairs = (0..10_000u32).map(|i| (i / 2, i));
/// assert!(bytes_of_a_key(&MultiMap::from_pairs(&device, pairs)?) < 20);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub struct Table<T: Kind> {
    pub(crate) table: T::Table,
    // The last field has a size for every `T`, so that a wrong key type gives only one compiler
    // error.
    kind: PhantomData<fn() -> T>,
}

/// Operations that every table has.
impl<T: Kind> Table<T> {
    pub(crate) fn of(table: T::Table) -> Self {
        const { T::CHECK };
        Self { table, kind: PhantomData }
    }

    /// Returns whether one key is in the table. Meant for a few keys: each call is a launch and a
    /// copy and takes tens of microseconds on a GPU, while [`Table::contains_many`] answers a
    /// million queries in that time.
    ///
    /// # Errors
    /// As for [`Table::contains_many`].
    pub fn contains(&self, key: T::Key) -> Result<bool> {
        Ok(self.contains_many(&[key])?[0])
    }

    /// Returns whether each of `queries` is in the table, in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    #[doc(alias("isin", "in1d"))]
    pub fn contains_many<'c>(&self, queries: impl IntoColumn<'c, T::Key>) -> Result<Vec<bool>> {
        lookup::contains_many(T::keyed(&self.table), queries.into_column())
    }

    /// Queues a lookup that tells whether each of `queries` is in the table. It does not wait and
    /// copies nothing to the host. Bit `i % 32` of word `i / 32` of the result answers query `i`.
    ///
    /// # Errors
    /// As for [`Table::contains_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<T::Key>) -> Result<Buffer<u32>> {
        lookup::contains_many_on(T::keyed(&self.table), stream, queries)
    }

    /// Queues [`Table::contains_many_on`] into existing words; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `found` has a word
    /// for each 32 queries, [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn contains_many_into(
        &self,
        stream: &Stream,
        queries: &Buffer<T::Key>,
        found: &mut BufferSlice<u32>,
    ) -> Result<()> {
        lookup::contains_many_into(T::keyed(&self.table), stream, queries, found)
    }

    /// Iterates over all pairs of a map, or all keys of a set. The items are first copied to the
    /// host. `for item in &table` does the same, and panics if the copy fails.
    ///
    /// A [`SortedMap`](crate::SortedMap) returns the items in the order of their keys, and a
    /// [`CompactingTable`](crate::CompactingTable) in the order of their ids. A
    /// [`MultiMap`](crate::MultiMap) returns them key by key, in the order of
    /// [`value_buffer`](crate::MultiMap::value_buffer). Other tables have no particular order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = T::Item> + use<T>> {
        Ok(T::items(&self.table)?.into_iter())
    }

    /// Iterates over the distinct keys, in the same way as [`Table::iter`] over the items.
    ///
    /// # Errors
    /// As for [`Table::iter`].
    pub fn keys(&self) -> Result<impl ExactSizeIterator<Item = T::Key> + use<T>> {
        Ok(T::keys(&self.table)?.into_iter())
    }

    /// Returns the count of keys, or the count of pairs of a [`MultiMap`](crate::MultiMap). The
    /// documentation of each table says what is counted after a broken promise
    /// ([`Config::assume_unique`](crate::Config::assume_unique)) or a failed change.
    pub fn len(&self) -> usize {
        T::len(&self.table) as usize
    }

    /// Returns whether the table has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the table takes on the device, without the scratch that rebuilds and
    /// batches may have left.
    pub fn memory_bytes(&self) -> usize {
        T::memory_bytes(&self.table) as usize
    }

    /// Returns the device that the table is on; its default stream is the table's stream.
    pub fn device(&self) -> &Device {
        T::keyed(&self.table).device()
    }

    /// Frees the scratch of rebuilds and batches, which the next rebuild or batch allocates again,
    /// and memory that the table no longer needs.
    ///
    /// A table that was rebuilt from fewer pairs is copied to a smaller allocation; for a moment
    /// both exist. If a [`PageMap`](crate::PageMap) has capacity for more keys than it has, it is
    /// built again beside the old table. This takes memory for all pairs and their build. A
    /// [`CuckooMap`](crate::CuckooMap) keeps its slots. If a [`RowMap`](crate::RowMap) has rows
    /// that no key refers to, it is copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver),
    /// [`BuildError::Page`](crate::BuildError::Page). After an error the table is unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        T::shrink_to_fit(self.changed()?)
    }

    /// Copies the table on the same device; the copy has no scratch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self::of(T::try_clone(&self.table, self.device().default_stream())?))
    }

    /// Puts the table on `stream`. From now on all calls that name no stream queue their work
    /// there: changes, copies, and lookups of arrays in host memory. Before this call, they use the
    /// default stream of the device with which the table was built.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let device = Device::best()?;
    /// let mut map = PageMap::build(&device, &[1u32, 2], &[10u32, 20])?;
    /// let stream = device.stream()?;
    /// map.on(&stream)?.insert_many(&[3], &[30])?;
    /// assert_eq!(map.remove_many(&[1])?, [Some(10)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn on(&mut self, stream: &Stream) -> Result<&mut Self> {
        stream.check_device(self.device())?;
        self.table.set_device(&stream.device());
        Ok(self)
    }
}

/// Operations on the pairs of every table that has values.
impl<T: Kind> Table<T> {
    /// Returns all pairs, in the order of [`Table::iter`].
    ///
    /// # Errors
    /// As for [`Table::iter`].
    pub fn to_pairs(&self) -> Result<Vec<(T::Key, T::Value)>>
    where
        T: HasValues,
    {
        T::items(&self.table)
    }

    /// Returns all keys, and in the same order their values. The order is the order of
    /// [`Table::iter`].
    ///
    /// # Errors
    /// As for [`Table::iter`].
    #[expect(clippy::type_complexity, reason = "two vectors are what is read here")]
    pub fn to_columns(&self) -> Result<(Vec<T::Key>, Vec<T::Value>)>
    where
        T: HasValues,
    {
        T::columns(&self.table)
    }

    /// Iterates over all values, in the same way as [`Table::iter`] over the pairs.
    ///
    /// # Errors
    /// As for [`Table::iter`].
    pub fn values(&self) -> Result<impl ExactSizeIterator<Item = T::Value> + use<T>>
    where
        T: HasValues,
    {
        Ok(T::values(&self.table)?.into_iter())
    }
}

/// Lookups in every table that has one value for a key. The value is an id in a
/// [`CompactingTable`](crate::CompactingTable), and a row in a [`RowMap`](crate::RowMap).
impl<T: Kind> Table<T> {
    /// Returns the values of `queries`, in their order.
    ///
    /// On a GPU, more than 128 MiB of queries or values are processed in chunks, so that copies to
    /// the device and back overlap. (A [`RowMap`](crate::RowMap) processes them at once.)
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many<'c>(&self, queries: impl IntoColumn<'c, T::Key>) -> Result<Vec<Option<T::Value>>>
    where
        T: Finds,
    {
        match queries.into_column().0 {
            Source::Slice(queries) => T::find(&self.table, queries),
            Source::Buffer(queries) => {
                let stream = self.device().default_stream();
                self.get_many_on(stream, queries)?.download(stream)
            }
        }
    }

    /// Queues the lookup of `queries`; does not wait, and copies nothing to the host. The value of
    /// a query whose key is not in the table is all zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many_on(&self, stream: &Stream, queries: &Buffer<T::Key>) -> Result<Answers<T::Value>>
    where
        T: Finds,
    {
        let mut answers = Answers::uninitialized(self.device(), queries.len())?;
        self.get_many_into(stream, queries, &mut answers)?;
        Ok(answers)
    }

    /// Queues the lookup of `queries` into existing answers; allocates nothing. (The first call of
    /// a [`RowMap`](crate::RowMap) with these answers allocates 4 bytes per query, which the
    /// answers keep.)
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many_into(
        &self,
        stream: &Stream,
        queries: &Buffer<T::Key>,
        answers: &mut Answers<T::Value>,
    ) -> Result<()>
    where
        T: Finds,
    {
        crate::error::same_length(("the queries", queries.len()), ("the answers", answers.len()))?;
        T::find_into(&self.table, stream, queries, answers)
    }
}

/// The lookup of one key. A [`MultiMap`](crate::MultiMap) has its own.
impl<T: Finds> Table<T> {
    /// Returns the value of one key. Meant for a few keys, like [`Table::contains`].
    ///
    /// # Errors
    /// As for [`Table::get_many`].
    pub fn get(&self, key: T::Key) -> Result<Option<T::Value>> {
        Ok(self.get_many(&[key])?.remove(0))
    }
}

/// Access to the stored table of a map or a set.
impl<T: OfDesign> Table<T> {
    /// Returns the stored table: its words and its layout, for a kernel of your own, and the
    /// methods that only this design has.
    pub fn table(&self) -> &T::Table {
        &self.table
    }
}

impl<T: Kind> Table<T> {
    /// Returns the stored table for a change. A graph cannot do one again, because the host takes
    /// part in it.
    pub(crate) fn changed(&mut self) -> Result<&mut T::Table> {
        crate::runtime::capture::refuse("changes a table")?;
        Ok(&mut self.table)
    }
}

/// Zips the keys and values of a table into pairs.
pub(crate) fn pairs<K, V: Plain>((keys, values): (Vec<K>, Vec<V>)) -> Vec<(K, V)> {
    keys.into_iter().zip(values).collect()
}

impl<T: Kind> Clone for Table<T> {
    /// Copies the table on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`Table::try_clone`] returns an error instead.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a table cannot be cloned: {error}"))
    }
}

impl<T: Kind> IntoIterator for &Table<T> {
    type Item = T::Item;
    type IntoIter = std::vec::IntoIter<T::Item>;

    /// Iterates over a copy of all items on the host, as [`Table::iter`] does.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let map = PageMap::build(&Device::best()?, &[7u64, 8], &[41u32, 37])?;
    /// let mut sum = 0;
    /// for (key, value) in &map {
    ///     sum += key * u64::from(value);
    /// }
    /// assert_eq!(sum, 7 * 41 + 8 * 37);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`Table::iter`] returns an error instead.
    fn into_iter(self) -> Self::IntoIter {
        T::items(&self.table).unwrap_or_else(|error| panic!("a table cannot be copied: {error}")).into_iter()
    }
}

impl<T: Kind> fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, items) = (T::keyed(&self.table).len(), T::len(&self.table));
        let kind = T::file_kind();
        let is_of_design = matches!(kind.form, "Map" | "Set");
        let mut fields = f.debug_struct(&format!("{}{}", if is_of_design { kind.design } else { "" }, kind.form));
        fields.field("keys", &keys);
        if items != keys {
            fields.field("pairs", &items);
        }
        fields.field("bytes", &self.memory_bytes()).field("device", &self.device().name()).finish_non_exhaustive()
    }
}
