//! [`BulkMap`]: a map of any design.

use super::design::Design;
use super::lookup;
use super::raw::{RawTable, ReadTable};
use crate::types::check_size;
use crate::{Answers, Buffer, BufferSlice, Device, Key, Result, Stream, Value};
use gpu_kernels::types as words;
use std::fmt;
use std::marker::PhantomData;

/// A map in the memory of a device, for arrays of keys and queries. [`PageMap`](crate::PageMap),
/// [`CuckooMap`](crate::CuckooMap), [`TwoLevelMap`](crate::TwoLevelMap),
/// [`SortedMap`](crate::SortedMap), [`LinearMap`](crate::LinearMap) and
/// [`ExtendibleMap`](crate::ExtendibleMap) are names for maps of one design `D`; what each does is
/// described there.
///
/// Lookups change nothing, so any number of streams may look up at the same time. What changes a
/// map takes it exclusively, and waits for running lookups by itself.
///
/// Functions can be generic over the design:
///
/// ```
/// use warpnest::{BulkMap, Config, CuckooConfig, Device, PageConfig};
/// use warpnest::design::Builds;
///
/// fn squares<D: Builds>(config: Config<D>) -> warpnest::Result<BulkMap<u32, u64, D>> {
///     let keys: Vec<u32> = (0..1000).collect();
///     let values: Vec<u64> = (0..1000).map(|key| key * key).collect();
///     config.build(&Device::best()?, &keys, &values)
/// }
///
/// assert_eq!(squares(PageConfig::default())?.get_many(&[30])?, [Some(900)]);
/// assert_eq!(squares(CuckooConfig::default())?.get_many(&[31])?, [Some(961)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashMap", "hash table"))]
pub struct BulkMap<K: Key, V: Value, D: Design> {
    pub(crate) table: D::Table<K::Word, V::Word>,
    types: PhantomData<fn() -> (K, V)>,
}

/// Lookups, and what else every map has.
impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    pub(crate) fn of(table: D::Table<K::Word, V::Word>) -> Self {
        const {
            check_size::<K>();
            check_size::<V>();
        }
        Self { table, types: PhantomData }
    }

    /// Returns the values of `queries`, in their order.
    ///
    /// More than 128 MiB of them, or of values, go to a GPU in chunks, while the answers of others
    /// come back.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many(&self, queries: &[K]) -> Result<Vec<Option<V>>> {
        lookup::get_many(&self.table, queries)
    }

    /// Queues the lookup of `queries`; waits for nothing, copies nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Answers<V>> {
        let mut answers = Answers::uninitialized(self.device(), queries.len())?;
        self.get_many_into(stream, queries, &mut answers)?;
        Ok(answers)
    }

    /// Queues the lookup of `queries` into existing answers; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<V>) -> Result<()> {
        lookup::get_many_into(&self.table, stream, queries, answers)
    }

    /// Returns the value of one key.
    ///
    /// It is for a look at a few keys: each call is a launch and a copy, tens of microseconds on a
    /// GPU, in which [`BulkMap::get_many`] answers a million.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many`].
    pub fn get(&self, key: K) -> Result<Option<V>> {
        Ok(self.get_many(&[key])?[0])
    }

    /// Returns whether one key is in the map; for a look at a few keys, as [`BulkMap::get`] is.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many`].
    pub fn contains(&self, key: K) -> Result<bool> {
        Ok(self.contains_many(&[key])?[0])
    }

    /// Returns whether each of `queries` is in the map, in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
        lookup::contains_many(&self.table, queries)
    }

    /// Queues the lookup whether each of `queries` is in the map; waits for nothing, copies
    /// nothing. Bit `i % 32` of word `i / 32` of the result answers query `i`.
    ///
    /// # Errors
    /// As for [`BulkMap::get_many_on`].
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        lookup::contains_many_on(&self.table, stream, queries)
    }

    /// Queues [`BulkMap::contains_many_on`] into existing words; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `found` has a word
    /// for each 32 queries, [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<()> {
        lookup::contains_many_into(&self.table, stream, queries, found)
    }

    /// Writes all pairs to buffers of keys and values, in the order of [`BulkMap::pairs_into`]. May
    /// wait until they are written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn pairs_on(&self, stream: &Stream) -> Result<(Buffer<K>, Buffer<V>)> {
        let (device, length) = (self.device(), self.len());
        let (mut keys, mut values) = (Buffer::uninitialized(device, length)?, Buffer::uninitialized(device, length)?);
        let written = self.write(stream, &mut keys, &mut values)? as usize;
        if written < length {
            return Ok((
                keys.duplicate_front(stream, device, written)?,
                values.duplicate_front(stream, device, written)?,
            ));
        }
        Ok((keys, values))
    }

    /// Writes all pairs to `keys` and `values`: in the order of the keys in a
    /// [`SortedMap`](crate::SortedMap), and in no particular order in any other map. May wait until
    /// they are written.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless both have
    /// [`BulkMap::len`] elements, [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn pairs_into(&self, stream: &Stream, keys: &mut BufferSlice<K>, values: &mut BufferSlice<V>) -> Result<()> {
        self.write(stream, keys, values).map(drop)
    }

    /// Returns all pairs, in the order of [`BulkMap::pairs_into`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, V)>> {
        let (keys, values) = self.to_columns()?;
        Ok(keys.into_iter().zip(values).collect())
    }

    /// Returns all keys and, in the same order, their values: that of [`BulkMap::pairs_into`].
    ///
    /// # Errors
    /// As for [`BulkMap::to_pairs`].
    pub fn to_columns(&self) -> Result<(Vec<K>, Vec<V>)> {
        let (device, length) = (self.device(), self.len());
        let stream = device.default_stream();
        let (mut keys, mut values) = (Buffer::uninitialized(device, length)?, Buffer::uninitialized(device, length)?);
        let written = self.write(stream, &mut keys, &mut values)? as usize;
        Ok((keys.download_front(stream, written)?, values.download_front(stream, written)?))
    }

    /// Iterates over all pairs, in the order of [`BulkMap::pairs_into`]: over a copy on the host,
    /// which is made first. `for (key, value) in &map` does the same, and panics if that fails.
    ///
    /// # Errors
    /// As for [`BulkMap::to_pairs`].
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = (K, V)> + use<K, V, D>> {
        Ok(self.to_pairs()?.into_iter())
    }

    /// Iterates over all keys, as [`BulkMap::iter`] does over the pairs.
    ///
    /// # Errors
    /// As for [`BulkMap::to_pairs`].
    pub fn keys(&self) -> Result<impl ExactSizeIterator<Item = K> + use<K, V, D>> {
        Ok(self.to_columns()?.0.into_iter())
    }

    /// Iterates over all values, as [`BulkMap::iter`] does over the pairs.
    ///
    /// # Errors
    /// As for [`BulkMap::to_pairs`].
    pub fn values(&self) -> Result<impl ExactSizeIterator<Item = V> + use<K, V, D>> {
        Ok(self.to_columns()?.1.into_iter())
    }

    fn write(&self, stream: &Stream, keys: &mut BufferSlice<K>, values: &mut BufferSlice<V>) -> Result<u64> {
        crate::error::same_length(("the map", self.len()), ("the keys", keys.len()))?;
        crate::error::same_length(("the map", self.len()), ("the values", values.len()))?;
        // SAFETY: both have an element for each key.
        unsafe { self.table.write(stream, keys.words(), Some(values.words())) }
    }

    /// Returns the number of keys. What it counts after a broken promise
    /// ([`Config::assume_unique`](crate::Config::assume_unique)) or a failed change is said at each
    /// map.
    pub fn len(&self) -> usize {
        self.table.len() as usize
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the map takes on the device, without the scratch that rebuilds and
    /// batches may have left.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() as usize
    }

    /// Returns the device that the map is on.
    pub fn device(&self) -> &Device {
        self.table.device()
    }

    /// Gives back the scratch of rebuilds and batches, which the next one allocates again, and
    /// memory that the map no longer needs.
    ///
    /// A map that was rebuilt from fewer pairs is copied to memory of the size for these, so for a
    /// moment there are both. A [`PageMap`](crate::PageMap) with capacity for more keys than it has
    /// is built again beside the old table, which takes memory for all pairs and for a build of
    /// them. A [`CuckooMap`](crate::CuckooMap) keeps its slots.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver),
    /// [`BuildError::Page`](crate::BuildError::Page): the map is unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.table.shrink_to_fit()
    }

    /// Copies the map on the same device; the copy has no scratch.
    ///
    /// # Errors
    /// As for [`BulkMap::try_clone_on`].
    pub fn try_clone(&self) -> Result<Self> {
        self.try_clone_on(self.device().default_stream())
    }

    /// Copies the map, as [`BulkMap::try_clone`] does, on `stream`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone_on(&self, stream: &Stream) -> Result<Self> {
        stream.check_device(self.device())?;
        Ok(Self::of(self.table.try_clone(stream)?))
    }

    /// Returns the table: its words and its layout, for a kernel of your own, and what only this
    /// design can tell.
    pub fn table(&self) -> &D::Table<K::Word, V::Word> {
        &self.table
    }
}

impl<K: Key, V: Value, D: Design> Clone for BulkMap<K, V, D> {
    /// Copies the map on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`BulkMap::try_clone`] returns an error then.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a map cannot be cloned: {error}"))
    }
}

impl<K: Key, V: Value, D: Design> IntoIterator for &BulkMap<K, V, D> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    /// Iterates over all pairs, as [`BulkMap::iter`] does: over a copy on the host.
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
    /// If the device lacks the memory, or fails; [`BulkMap::iter`] returns an error then.
    fn into_iter(self) -> Self::IntoIter {
        self.to_pairs().unwrap_or_else(|error| panic!("the pairs of a map cannot be copied: {error}")).into_iter()
    }
}

impl<K: Key, V: Value, D: Design> fmt::Debug for BulkMap<K, V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &format!("{}Map", D::NAME), &self.table)
    }
}

/// Writes what a person wants to know of a map or a set.
pub(super) fn describe<K: words::KeyWord, V: words::ValueWord>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    table: &dyn ReadTable<K, V>,
) -> fmt::Result {
    f.debug_struct(name)
        .field("keys", &table.len())
        .field("bytes", &table.memory_bytes())
        .field("device", &table.device().name())
        .finish_non_exhaustive()
}
