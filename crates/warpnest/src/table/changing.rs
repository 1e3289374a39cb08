//! What maps have that change batch by batch.

use super::config::Config;
use super::design::{Changes, Design};
use super::input::{Input, check_keys};
use super::retaining::dropped;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, BulkMap, Device, Key, Result, Stream, Value};

/// Empty maps: of page, linear and extendible maps.
impl<D: Design> Config<D> {
    /// Makes an empty map, to be filled by [`BulkMap::insert_many`].
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
        Ok(BulkMap::of(D::create::<K::Word, V::Word>(self.clone(), device)?))
    }
}

/// Changes batch by batch: of a [`PageMap`](crate::PageMap), a [`LinearMap`](crate::LinearMap) and
/// an [`ExtendibleMap`](crate::ExtendibleMap).
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
    /// * A [`PageMap`](crate::PageMap) that must grow:
    ///   [`InputError::TooManyPairs`](crate::InputError::TooManyPairs),
    ///   [`BuildError::Page`](crate::BuildError::Page), and the map is unchanged;
    ///   [`Error::Emptied`](crate::Error::Emptied).
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
        let input = Input::of(self.device(), stream, keys.words(), values.words())?;
        D::insert::<K::Word, V::Word>(&mut self.table, stream, input).map(|new| new as usize)
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
        crate::error::same_length(("the keys", keys.len()), ("the answers", answers.len()))?;
        let (keys, Answers { values, found, .. }) = (keys.words(), &*answers.words_mut());
        check_keys(self.device(), stream, keys)?;
        values.check_device("the buffer of answers", self.device())?;
        found.check_device("the buffer of answers", self.device())?;
        let outputs = Some((Some(values), found));
        // SAFETY: there are as many answers as keys, and the caller has them exclusively.
        let removed = unsafe { D::remove::<K::Word, V::Word>(&mut self.table, stream, keys, outputs) };
        removed.map(|keys| keys as usize)
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
        check_keys(self.device(), stream, keys.words())?;
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, V::Word>(&mut self.table, stream, keys.words(), None) };
        removed.map(|keys| keys as usize)
    }

    /// Removes those keys whose flag in `keep` is false; returns how many of them were there.
    ///
    /// Keys of the map that are not among `keys` stay. [`BulkMap::to_columns`] gives all keys and
    /// their values, in the same order, to decide by:
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let device = Device::best()?;
    /// let mut map: PageMap<u32, u32> = PageMap::build(&device, &[1, 2, 3], &[10, 20, 30])?;
    /// let (keys, values) = map.to_columns()?;
    /// let large: Vec<bool> = values.iter().map(|&value| value >= 20).collect();
    /// assert_eq!(map.retain_many(&keys, &large)?, 1);
    /// assert_eq!(map.get_many(&[1, 2, 3])?, [None, Some(20), Some(30)]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer): nothing was done; and as
    /// for [`BulkMap::remove_many`].
    #[doc(alias("retain", "filter"))]
    pub fn retain_many(&mut self, keys: &[K], keep: &[bool]) -> Result<usize>
    where
        D: Changes,
    {
        crate::error::same_length(("the keys", keys.len()), ("the flags", keep.len()))?;
        let dropped: Vec<K> = keys.iter().zip(keep).filter(|(_, keep)| !**keep).map(|(key, _)| *key).collect();
        self.erase_many(&dropped)
    }

    /// Does [`BulkMap::retain_many`] from buffers: bit `i % 32` of word `i / 32` of `keep` is the
    /// flag of key `i`, as in [`Answers::found`]. Waits until it is known how many keys were there.
    ///
    /// A mask over the pairs that [`BulkMap::pairs_on`] writes out thins the map in place. Takes
    /// memory for as many keys besides what a removal takes.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `keep` has a word for
    /// each 32 keys, and [`InputError::TooManyItems`](crate::InputError::TooManyItems): nothing was
    /// done; and as for [`BulkMap::remove_many_on`].
    pub fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, keep: &Buffer<u32>) -> Result<usize>
    where
        D: Changes,
    {
        check_keys(self.device(), stream, keys)?;
        let dropped = dropped(self.device(), stream, keys.words(), keep)?;
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, V::Word>(&mut self.table, stream, &dropped, None) };
        removed.map(|keys| keys as usize)
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

    /// Removes all keys, on `stream`. A [`PageMap`](crate::PageMap) and a
    /// [`LinearMap`](crate::LinearMap) keep their size. An
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
        stream.check_device(self.device())?;
        D::clear::<K::Word, V::Word>(&mut self.table, stream)
    }
}
