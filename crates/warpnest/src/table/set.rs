//! [`BulkSet`]: a set of any design that has sets.

use super::design::{Design, Sets};
use super::input::Input;
use super::raw::{RawTable, ReadTable};
use super::{config::Config, lookup};
use crate::runtime::lent::Lent;
use crate::types::check_size;
use crate::{Buffer, BufferSlice, Device, Key, Result, Stream};
use gpu_kernels::types::Nothing;
use std::fmt;
use std::marker::PhantomData;

/// A set in the memory of a device, for arrays of keys and queries: a table without values.
/// [`PageSet`](crate::PageSet) and [`CuckooSet`](crate::CuckooSet) are names for sets of one design
/// `D`; what each does is described there.
///
/// Any number of streams may query a set at the same time, and combine it with others. What changes
/// a set takes it exclusively, and waits for running queries by itself.
#[doc(alias("HashSet"))]
pub struct BulkSet<K: Key, D: Sets> {
    pub(crate) table: D::Table<K::Word, Nothing>,
    types: PhantomData<fn() -> K>,
}

/// Builds of sets: of designs that have them.
impl<D: Design> Config<D> {
    /// Builds a set of the different keys among `keys`; returns when it is built.
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn build_set<K: Key>(&self, device: &Device, keys: &[K]) -> Result<BulkSet<K, D>>
    where
        D: Sets,
    {
        D::sizes::<K::Word, Nothing>(self, keys.len() as u64)?;
        let keys = Lent::new(device, keys)?;
        self.build_set_on(device.default_stream(), device, &keys)
    }

    /// Builds a set from a buffer, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`Config::build_on`].
    pub fn build_set_on<K: Key>(&self, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<BulkSet<K, D>>
    where
        D: Sets,
    {
        let input = Input::of_keys(device, stream, keys.words())?;
        Ok(BulkSet::of(D::build(self.clone(), stream, device, input)?))
    }

    /// Returns the bytes that a set of `keys` keys takes on the device.
    ///
    /// # Errors
    /// As for [`Config::build_set`], as far as they follow from the configuration and the number.
    pub fn set_memory_bytes<K: Key>(&self, keys: usize) -> Result<usize>
    where
        D: Sets,
    {
        Ok(D::sizes::<K::Word, Nothing>(self, keys as u64)?.0 as usize)
    }

    /// Returns the bytes that a build of a set of `keys` keys takes on the device besides the set
    /// and its input, as [`Config::scratch_bytes`] does for a map.
    ///
    /// # Errors
    /// As for [`Config::set_memory_bytes`].
    pub fn set_scratch_bytes<K: Key>(&self, keys: usize) -> Result<usize>
    where
        D: Sets,
    {
        Ok(D::sizes::<K::Word, Nothing>(self, keys as u64)?.1 as usize)
    }
}

impl<K: Key, D: Sets> BulkSet<K, D> {
    pub(crate) fn of(table: D::Table<K::Word, Nothing>) -> Self {
        const { check_size::<K>() };
        Self { table, types: PhantomData }
    }

    /// Returns whether each of `queries` is in the set, in their order.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many`](crate::BulkMap::contains_many).
    #[doc(alias("isin", "in1d"))]
    pub fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
        lookup::contains_many(&self.table, queries)
    }

    /// Queues the lookup whether each of `queries` is in the set, as
    /// [`BulkMap::contains_many_on`](crate::BulkMap::contains_many_on) does.
    ///
    /// # Errors
    /// As there.
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        lookup::contains_many_on(&self.table, stream, queries)
    }

    /// Queues [`BulkSet::contains_many_on`] into existing words; allocates nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_into`](crate::BulkMap::contains_many_into).
    pub fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<()> {
        lookup::contains_many_into(&self.table, stream, queries, found)
    }

    /// Writes all keys, in no particular order, to `keys`; returns when they are written.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless there are
    /// [`BulkSet::len`] elements, [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_into(&self, stream: &Stream, keys: &mut BufferSlice<K>) -> Result<()> {
        self.write(stream, keys).map(drop)
    }

    /// Writes all keys to a buffer, in no particular order; returns when they are written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_on(&self, stream: &Stream) -> Result<Buffer<K>> {
        let mut keys = Buffer::uninitialized(self.device(), self.len())?;
        let written = self.write(stream, &mut keys)? as usize;
        if written < keys.len() { keys.duplicate_front(stream, self.device(), written) } else { Ok(keys) }
    }

    /// Returns all keys, in no particular order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn to_keys(&self) -> Result<Vec<K>> {
        let stream = self.device().default_stream();
        let mut keys = Buffer::uninitialized(self.device(), self.len())?;
        let written = self.write(stream, &mut keys)? as usize;
        keys.download_front(stream, written)
    }

    fn write(&self, stream: &Stream, keys: &mut BufferSlice<K>) -> Result<u64> {
        crate::error::same_length(("the set", self.len()), ("the keys", keys.len()))?;
        // SAFETY: there is an element for each key, and a set has no values.
        unsafe { self.table.write(stream, keys.words(), None) }
    }

    /// Returns whether one key is in the set; slow, as [`BulkMap::get`](crate::BulkMap::get) is.
    ///
    /// # Errors
    /// As for [`BulkSet::contains_many`].
    pub fn contains(&self, key: K) -> Result<bool> {
        Ok(self.contains_many(&[key])?[0])
    }

    /// Iterates over all keys, in no particular order: over a copy on the host, which is made
    /// first. `for key in &set` does the same, and panics if that fails.
    ///
    /// # Errors
    /// As for [`BulkSet::to_keys`].
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = K> + use<K, D>> {
        Ok(self.to_keys()?.into_iter())
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.table.len() as usize
    }

    /// Returns whether the set has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the set takes on the device, without the scratch of rebuilds.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes() as usize
    }

    /// Returns the device that the set is on.
    pub fn device(&self) -> &Device {
        self.table.device()
    }

    /// Gives back the scratch of rebuilds, and memory that the set no longer needs, as
    /// [`BulkMap::shrink_to_fit`](crate::BulkMap::shrink_to_fit) does.
    ///
    /// # Errors
    /// As there.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.table.shrink_to_fit()
    }

    /// Copies the set on the same device; the copy has no scratch.
    ///
    /// # Errors
    /// As for [`BulkMap::try_clone_on`](crate::BulkMap::try_clone_on).
    pub fn try_clone(&self) -> Result<Self> {
        self.try_clone_on(self.device().default_stream())
    }

    /// Copies the set, as [`BulkSet::try_clone`] does, on `stream`.
    ///
    /// # Errors
    /// As for [`BulkMap::try_clone_on`](crate::BulkMap::try_clone_on).
    pub fn try_clone_on(&self, stream: &Stream) -> Result<Self> {
        stream.check_device(self.device())?;
        Ok(Self::of(self.table.try_clone(stream)?))
    }

    /// Returns the table, as [`BulkMap::table`](crate::BulkMap::table) does.
    pub fn table(&self) -> &D::Table<K::Word, Nothing> {
        &self.table
    }
}

impl<K: Key, D: Sets> BulkSet<K, D> {
    /// Builds a set of the different keys among `keys` with the default configuration;
    /// [`Config::build_set`] takes another.
    ///
    /// # Errors
    /// As for [`Config::build_set`].
    pub fn build(device: &Device, keys: &[K]) -> Result<Self> {
        Config::<D>::default().build_set(device, keys)
    }

    /// Builds a set from a buffer, on `stream`, with the default configuration; waits until it is
    /// known that the build succeeded. [`Config::build_set_on`] takes another configuration.
    ///
    /// # Errors
    /// As for [`Config::build_set_on`].
    pub fn build_on(stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
        Config::<D>::default().build_set_on(stream, device, keys)
    }

    /// Builds a set of the different keys of an iterator with the default configuration.
    ///
    /// It stands for `collect`, which cannot know on which device to build:
    ///
    /// ```
    /// use warpnest::{Device, PageSet};
    ///
    /// let squares = PageSet::from_keys(&Device::best()?, (0..100u32).map(|i| i * i))?;
    /// assert_eq!(squares.contains_many(&[81, 82])?, [true, false]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Config::build_set`].
    pub fn from_keys(device: &Device, keys: impl IntoIterator<Item = K>) -> Result<Self> {
        Self::build(device, &keys.into_iter().collect::<Vec<K>>())
    }

    /// Rebuilds the set from other keys; returns when it is built.
    ///
    /// # Errors
    /// As for [`BulkSet::rebuild_on`]; if the slice cannot be copied, the set is unchanged.
    pub fn rebuild(&mut self, keys: &[K]) -> Result<()> {
        let device = self.device().clone();
        self.rebuild_on(device.default_stream(), &*Lent::new(&device, keys)?)
    }

    /// Rebuilds the set from a buffer, on `stream`; waits until it is known that the build
    /// succeeded. Memory and scratch are those of
    /// [`BulkMap::rebuild_on`](crate::BulkMap::rebuild_on).
    ///
    /// # Errors
    /// As for [`Config::build_set_on`]. If the request makes no sense, the set is unchanged. After
    /// another error it is empty, and [`BulkSet::report`] still describes the last build that
    /// succeeded.
    pub fn rebuild_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let input = Input::of_keys(self.device(), stream, keys.words())?;
        D::rebuild(&mut self.table, stream, input)
    }

    /// Returns the report of the last build that succeeded.
    pub fn report(&self) -> &D::Report {
        D::report(&self.table)
    }
}

impl<K: Key, D: Sets> Clone for BulkSet<K, D> {
    /// Copies the set on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`BulkSet::try_clone`] returns an error then.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a set cannot be cloned: {error}"))
    }
}

impl<K: Key, D: Sets> IntoIterator for &BulkSet<K, D> {
    type Item = K;
    type IntoIter = std::vec::IntoIter<K>;

    /// Iterates over all keys, as [`BulkSet::iter`] does: over a copy on the host.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`BulkSet::iter`] returns an error then.
    fn into_iter(self) -> Self::IntoIter {
        self.to_keys().unwrap_or_else(|error| panic!("the keys of a set cannot be copied: {error}")).into_iter()
    }
}

impl<K: Key, D: Sets> fmt::Debug for BulkSet<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::map::describe(f, &format!("{}Set", D::NAME), &self.table)
    }
}
