//! [`BulkSet`]: a set of any design that has sets. The operations that sets share with maps are in
//! [`handle`](super::handle) and [`changing`](super::changing).

use super::config::Config;
use super::design::{Changes, Design, Sets};
use super::handle::Table;
use super::input::{Input, check_keys, keys_on};
use super::kind::{Erases, KeyWordOf, Kind, Loads, OfDesign};
use super::raw::{RawTable, ReadTable, sealed::Sealed};
use crate::error::{TableKind, same_length};
use crate::primitives::answers::bit;
use crate::relational::IntoColumn;
use crate::table::file::kind_of;
use crate::types::{check_any_bytes, check_size};
use crate::{Buffer, BufferSlice, Device, Key, Result, Stream};
use gpu_kernels::types::{Nothing, WordOf};
use std::marker::PhantomData;

/// The kind of a [`BulkSet`].
pub struct Set<K, D>(PhantomData<(K, D)>);

/// A set in the memory of a device, for arrays of keys and queries: a table without values.
/// [`PageSet`](crate::PageSet) and [`CuckooSet`](crate::CuckooSet) are names for sets of one design
/// `D`, which each of them describes.
#[doc(alias("HashSet"))]
pub type BulkSet<K, D> = Table<Set<K, D>>;

impl<K: Key, D: Sets> Sealed for Set<K, D> {}
impl<K: Key, D: Sets> Kind for Set<K, D> {
    type Key = K;
    type Item = K;
    type Word = WordOf<Nothing>;
    type Table = D::Table<K::Word, Nothing>;

    const CHECK: () = check_size::<K>();

    fn file_kind() -> TableKind {
        kind_of::<K, Nothing>(D::NAME)
    }

    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, Self::Word> {
        table
    }

    fn keys(table: &Self::Table) -> Result<Vec<K>> {
        let (device, length) = (table.device(), table.len() as usize);
        let mut keys = Buffer::uninitialized(device, length)?;
        let written = write(table, device.default_stream(), &mut keys)? as usize;
        keys.download_front(device.default_stream(), written)
    }

    fn items(table: &Self::Table) -> Result<Vec<K>> {
        Self::keys(table)
    }

    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table> {
        table.try_clone(stream)
    }

    fn shrink_to_fit(table: &mut Self::Table) -> Result<()> {
        table.shrink_to_fit()
    }
}

impl<K: Key, D: Sets> Loads for Set<K, D> {
    const ANY_BYTES: () = check_any_bytes::<K>();
}

impl<K: Key, D: Sets> OfDesign for Set<K, D> {
    type Design = D;
    type Payload = Nothing;
}

impl<K: Key, D: Changes + Sets> Erases for Set<K, D> {
    fn erase(table: &mut Self::Table, stream: &Stream, keys: &Buffer<K>) -> Result<usize> {
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, Nothing>(table, stream, keys.words(), None) };
        removed.map(|keys| keys as usize)
    }

    fn reserve(table: &mut Self::Table, stream: &Stream, additional: usize) -> Result<()> {
        D::reserve::<K::Word, Nothing>(table, stream, additional as u64)
    }

    fn clear(table: &mut Self::Table, stream: &Stream) -> Result<()> {
        D::clear::<K::Word, Nothing>(table, stream)
    }
}

/// Builds of sets, for designs that have sets.
impl<D: Design> Config<D> {
    /// Builds a set of the distinct keys among `keys`; returns when the build is complete.
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn build_set<'c, K: Key>(&self, device: &Device, keys: impl IntoColumn<'c, K>) -> Result<BulkSet<K, D>>
    where
        D: Sets,
    {
        let keys = keys.into_column();
        D::sizes::<K::Word, Nothing>(self, keys.rows() as u64)?;
        let keys = keys_on(device, keys)?;
        let input = Input::of_keys(keys.words());
        Ok(BulkSet::of(D::build(self.clone(), device.default_stream(), device, input)?))
    }

    /// Makes an empty set, which [`BulkSet::insert_many`] can fill.
    ///
    /// # Errors
    /// As for [`Config::create`].
    pub fn create_set<K: Key>(&self, device: &Device) -> Result<BulkSet<K, D>>
    where
        D: Changes + Sets,
    {
        Ok(BulkSet::of(D::create::<K::Word, Nothing>(self.clone(), device)?))
    }

    /// Returns the bytes that a set of `keys` keys takes on the device.
    ///
    /// # Errors
    /// The errors of [`Config::build_set`] that depend on the configuration and the count alone.
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

/// Builds, keys and changes of sets, which have no values.
impl<K: Key, D: Sets> BulkSet<K, D> {
    /// Builds a set of the distinct keys among `keys` with the default configuration;
    /// [`Config::build_set`] takes another configuration.
    ///
    /// # Errors
    /// As for [`Config::build_set`].
    pub fn build<'c>(device: &Device, keys: impl IntoColumn<'c, K>) -> Result<Self> {
        Config::<D>::default().build_set(device, keys)
    }

    /// Builds a set of the distinct keys of an iterator with the default configuration.
    ///
    /// It replaces `collect`, which cannot know on which device to build:
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

    /// Makes an empty set with the default configuration; [`Config::create_set`] takes another
    /// configuration.
    ///
    /// ```
    /// use warpnest::{Device, PageSet};
    ///
    /// let mut set: PageSet<u32> = PageSet::new(&Device::best()?)?;
    /// assert_eq!(set.insert_many(&[7, 8, 7])?, 2);
    /// assert_eq!(set.remove_many(&[8, 9])?, [true, false]);
    /// assert_eq!(set.contains_many(&[7, 8])?, [true, false]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Config::create`].
    pub fn new(device: &Device) -> Result<Self>
    where
        D: Changes,
    {
        Config::<D>::default().create_set(device)
    }

    /// Rebuilds the set from other keys, as [`BulkMap::rebuild`](crate::BulkMap::rebuild) does for
    /// a map; returns when the build is complete.
    ///
    /// # Errors
    /// As for [`BulkMap::rebuild`](crate::BulkMap::rebuild).
    pub fn rebuild<'c>(&mut self, keys: impl IntoColumn<'c, K>) -> Result<()> {
        let device = self.device().clone();
        let keys = keys_on(&device, keys)?;
        D::rebuild(self.changed()?, device.default_stream(), Input::of_keys(keys.words()))
    }

    /// Returns all keys, in no particular order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn to_keys(&self) -> Result<Vec<K>> {
        Set::<K, D>::keys(&self.table)
    }

    /// Writes all keys to a buffer, in no particular order; returns when the keys are written.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_on(&self, stream: &Stream) -> Result<Buffer<K>> {
        let mut keys = Buffer::uninitialized(self.device(), self.len())?;
        let written = write(&self.table, stream, &mut keys)? as usize;
        if written < keys.len() { keys.duplicate_front(stream, self.device(), written) } else { Ok(keys) }
    }

    /// Writes all keys, in no particular order, to `keys`; returns when the keys are written.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `keys` has
    /// [`Table::len`] elements, [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn keys_into(&self, stream: &Stream, keys: &mut BufferSlice<K>) -> Result<()> {
        write(&self.table, stream, keys).map(drop)
    }

    /// Inserts keys; returns how many of them were new.
    ///
    /// # Errors
    /// As for [`Table::insert_many`].
    pub fn insert_many<'c>(&mut self, keys: impl IntoColumn<'c, K>) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let (keys, stream) = (keys_on(&device, keys)?, device.default_stream());
        let new = D::insert::<K::Word, Nothing>(self.changed()?, stream, Input::of_keys(keys.words()))?;
        Ok(new as usize)
    }

    /// Removes keys; returns for each key whether it was in the set. If a key is repeated, only one
    /// of the copies gets `true`.
    ///
    /// # Errors
    /// As for [`Table::remove_many`].
    pub fn remove_many<'c>(&mut self, keys: impl IntoColumn<'c, K>) -> Result<Vec<bool>>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let keys = keys_on(&device, keys)?;
        let words = self.remove_many_on(device.default_stream(), &keys)?;
        let words = words.download(device.default_stream())?;
        Ok((0..keys.len()).map(|i| bit(&words, i)).collect())
    }

    /// Does [`BulkSet::remove_many`] from a buffer; waits for the count of removed keys. Bit
    /// `i % 32` of word `i / 32` of the result tells whether key `i` was in the set.
    ///
    /// # Errors
    /// As for [`Table::remove_many_on`].
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<Buffer<u32>>
    where
        D: Changes,
    {
        let mut found = Buffer::uninitialized(self.device(), keys.len().div_ceil(32))?;
        self.remove_many_into(stream, keys, &mut found)?;
        Ok(found)
    }

    /// Does [`BulkSet::remove_many_on`] into existing words. Returns how many keys were in the set.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `found` has a word
    /// for each 32 keys (then nothing was done), and the errors of [`Table::remove_many_on`].
    pub fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<usize>
    where
        D: Changes,
    {
        same_length(("the keys, in words of 32,", keys.len().div_ceil(32)), ("the found-words", found.len()))?;
        check_keys(self.device(), stream, keys)?;
        found.check_argument("the buffer of found-words", self.device())?;
        // SAFETY: there is a found-word for every 32 keys, and the caller borrows the words
        // mutably.
        let removed =
            unsafe { D::remove::<K::Word, Nothing>(self.changed()?, stream, keys.words(), Some((None, found))) };
        removed.map(|keys| keys as usize)
    }

    /// Inserts one key; returns whether it was new. Meant for changes of a few keys.
    ///
    /// # Errors
    /// As for [`BulkSet::insert_many`].
    pub fn insert(&mut self, key: K) -> Result<bool>
    where
        D: Changes,
    {
        Ok(self.insert_many(&[key])? == 1)
    }

    /// Removes one key; returns whether it was in the set. Meant for changes of a few keys.
    ///
    /// # Errors
    /// As for [`Table::erase_many`].
    pub fn remove(&mut self, key: K) -> Result<bool>
    where
        D: Changes,
    {
        Ok(self.erase_many(&[key])? == 1)
    }
}

/// Writes the keys of a set to the front of an array that is as long as the set; returns the count
/// of keys.
fn write<K: Key>(
    table: &dyn ReadTable<K::Word, WordOf<Nothing>>,
    stream: &Stream,
    keys: &mut BufferSlice<K>,
) -> Result<u64> {
    same_length(("the set", table.len() as usize), ("the keys", keys.len()))?;
    // SAFETY: the array has an element for each key, and a set has no values.
    unsafe { table.write(stream, keys.words(), None) }
}
