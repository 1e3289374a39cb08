//! What maps have that change in place, batch by batch.

use super::config::Config;
use super::design::{Changes, Design};
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, BulkMap, Device, Key, Result, Stream, Value};

/// Empty maps: of linear and extendible maps.
impl<D: Design> Config<D> {
    /// Makes an empty map that changes in place.
    ///
    /// # Errors
    /// A setting that makes no sense, or the device:
    /// [`Error::NoWideAtomics`](crate::Error::NoWideAtomics) for a
    /// [`LinearMap`](crate::LinearMap) of 64-bit keys or values on an old GPU,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn create<K: Key, V: Value>(&self, device: &Device) -> Result<BulkMap<K, V, D>>
    where
        D: Changes,
    {
        Ok(BulkMap::of(D::create(self.clone(), device)?))
    }
}

/// Changes batch by batch: of a [`LinearMap`](crate::LinearMap) and an
/// [`ExtendibleMap`](crate::ExtendibleMap).
impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    /// Makes an empty map with the default configuration; [`Config::create`] takes another.
    ///
    /// # Errors
    /// As for [`Config::create`].
    pub fn new(device: &Device) -> Result<Self>
    where
        D: Changes,
    {
        Config::<D>::default().create(device)
    }

    /// Gives every key its value; returns how many of the keys were new. Which of several pairs of
    /// a key wins, and what an error leaves, is said at each map.
    ///
    /// # Errors
    /// * [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer): nothing was done.
    /// * A [`LinearMap`](crate::LinearMap) that may not or cannot grow:
    ///   [`FullError::NoSlots`](crate::FullError::NoSlots),
    ///   [`InputError::TooManyKeys`](crate::InputError::TooManyKeys).
    /// * An [`ExtendibleMap`](crate::ExtendibleMap):
    ///   [`InputError::TooManyItems`](crate::InputError::TooManyItems),
    ///   [`FullError::TooDeep`](crate::FullError::TooDeep),
    ///   [`Error::Emptied`](crate::Error::Emptied).
    /// * The device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn insert_many(&mut self, keys: &[K], values: &[V]) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let (keys, values) = Lent::pairs(&device, keys, values)?;
        self.insert_many_on(device.default_stream(), &keys, &values)
    }

    /// Does [`BulkMap::insert_many`] from buffers; waits until it is known how many keys were new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<usize>
    where
        D: Changes,
    {
        D::insert(&mut self.table, stream, keys.words(), values.words()).map(|keys| keys as usize)
    }

    /// Removes the keys; returns the values that they had. Of several equal keys one gets the
    /// value, and the others are no longer there.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver):
    /// [`BulkMap::len`] tells whether the keys are still there. If memory was lacking, nothing was
    /// done. [`Error::Emptied`](crate::Error::Emptied): the map is empty now.
    pub fn remove_many(&mut self, keys: &[K]) -> Result<Vec<Option<V>>>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let keys = Lent::new(&device, keys)?;
        let mut answers = Answers::uninitialized(&device, keys.len())?;
        self.remove_many_into(device.default_stream(), &keys, &mut answers)?;
        answers.download(device.default_stream())
    }

    /// Does [`BulkMap::remove_many`] from a buffer; waits until it is known how many keys were
    /// there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<Answers<V>>
    where
        D: Changes,
    {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.remove_many_into(stream, keys, &mut answers)?;
        Ok(answers)
    }

    /// Does [`BulkMap::remove_many_on`] into existing answers. Returns how many keys were there.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer): nothing was done; and as
    /// for [`BulkMap::remove_many_on`].
    pub fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, answers: &mut Answers<V>) -> Result<usize>
    where
        D: Changes,
    {
        D::remove(&mut self.table, stream, keys.words(), Some(answers.words_mut())).map(|keys| keys as usize)
    }

    /// Removes the keys without a look at their values; returns how many were there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`].
    pub fn erase_many(&mut self, keys: &[K]) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        self.erase_many_on(device.default_stream(), &*Lent::new(&device, keys)?)
    }

    /// Does [`BulkMap::erase_many`] from a buffer; waits until it is known how many keys were
    /// there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many_on`].
    pub fn erase_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<usize>
    where
        D: Changes,
    {
        D::remove(&mut self.table, stream, keys.words(), None).map(|keys| keys as usize)
    }

    /// Gives one key its value; returns whether the key was new. It is for a change of a few keys,
    /// as [`BulkMap::get`] is for a look at them.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`].
    pub fn insert(&mut self, key: K, value: V) -> Result<bool>
    where
        D: Changes,
    {
        Ok(self.insert_many(&[key], &[value])? == 1)
    }

    /// Removes one key; returns the value that it had. It is for a change of a few keys.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`].
    pub fn remove(&mut self, key: K) -> Result<Option<V>>
    where
        D: Changes,
    {
        Ok(self.remove_many(&[key])?[0])
    }

    /// Removes all keys.
    ///
    /// # Errors
    /// As for [`BulkMap::clear_on`].
    pub fn clear(&mut self) -> Result<()>
    where
        D: Changes,
    {
        let device = self.device().clone();
        self.clear_on(device.default_stream())
    }

    /// Removes all keys, on `stream`. A [`LinearMap`](crate::LinearMap) keeps its size, and an
    /// [`ExtendibleMap`](crate::ExtendibleMap) gives back the memory that it did not have at the
    /// beginning.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice): nothing was done.
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver):
    /// the map is empty, or cannot be used until a change succeeds, and returns errors that say so.
    pub fn clear_on(&mut self, stream: &Stream) -> Result<()>
    where
        D: Changes,
    {
        D::clear(&mut self.table, stream)
    }
}
