//! What sets have that change batch by batch.

use super::config::Config;
use super::design::{Changes, Design, Sets};
use super::input::{Input, check_keys};
use super::retaining::dropped;
use crate::primitives::answers::bit;
use crate::runtime::lent::Lent;
use crate::{Buffer, BufferSlice, BulkSet, Device, Key, Result, Stream};
use gpu_kernels::types::Nothing;

/// Empty sets: of page sets.
impl<D: Design> Config<D> {
    /// Makes an empty set, to be filled by [`BulkSet::insert_many`].
    ///
    /// # Errors
    /// As for [`Config::create`].
    pub fn create_set<K: Key>(&self, device: &Device) -> Result<BulkSet<K, D>>
    where
        D: Changes + Sets,
    {
        Ok(BulkSet::of(D::create::<K::Word, Nothing>(self.clone(), device)?))
    }
}

/// Changes batch by batch: of a [`PageSet`](crate::PageSet).
impl<K: Key, D: Sets> BulkSet<K, D> {
    /// Makes an empty set with the default configuration; [`Config::create_set`] takes another.
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

    /// Inserts keys; returns how many of them were new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn insert_many(&mut self, keys: &[K]) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        self.insert_many_on(device.default_stream(), &*Lent::new(&device, keys)?)
    }

    /// Does [`BulkSet::insert_many`] from a buffer; waits until it is known how many keys were new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many_on`](crate::BulkMap::insert_many_on).
    pub fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<usize>
    where
        D: Changes,
    {
        let input = Input::of_keys(self.device(), stream, keys.words())?;
        D::insert::<K::Word, Nothing>(&mut self.table, stream, input).map(|new| new as usize)
    }

    /// Removes keys; returns which of them were there. Of several equal keys one was, and the
    /// others are no longer there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`](crate::BulkMap::remove_many).
    pub fn remove_many(&mut self, keys: &[K]) -> Result<Vec<bool>>
    where
        D: Changes,
    {
        let device = self.device().clone();
        let words = self.remove_many_on(device.default_stream(), &*Lent::new(&device, keys)?)?;
        let words = words.download(device.default_stream())?;
        Ok((0..keys.len()).map(|i| bit(&words, i)).collect())
    }

    /// Does [`BulkSet::remove_many`] from a buffer; waits until it is known how many keys were
    /// there. Bit `i % 32` of word `i / 32` of the result answers key `i`.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many_on`](crate::BulkMap::remove_many_on).
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<Buffer<u32>>
    where
        D: Changes,
    {
        let mut found = Buffer::uninitialized(self.device(), keys.len().div_ceil(32))?;
        self.remove_many_into(stream, keys, &mut found)?;
        Ok(found)
    }

    /// Does [`BulkSet::remove_many_on`] into existing words. Returns how many keys were there.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `found` has a word
    /// for each 32 keys: nothing was done; and as for
    /// [`BulkMap::remove_many_on`](crate::BulkMap::remove_many_on).
    pub fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<usize>
    where
        D: Changes,
    {
        let words = keys.len().div_ceil(32);
        crate::error::same_length(("the keys, in words of 32,", words), ("the found-words", found.len()))?;
        check_keys(self.device(), stream, keys)?;
        found.check_device("the buffer of found-words", self.device())?;
        // SAFETY: there is a found-word for every 32 keys, and the caller has them exclusively.
        let removed =
            unsafe { D::remove::<K::Word, Nothing>(&mut self.table, stream, keys.words(), Some((None, found))) };
        removed.map(|keys| keys as usize)
    }

    /// Removes keys; returns how many were there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many`](crate::BulkMap::remove_many).
    pub fn erase_many(&mut self, keys: &[K]) -> Result<usize>
    where
        D: Changes,
    {
        let device = self.device().clone();
        self.erase_many_on(device.default_stream(), &*Lent::new(&device, keys)?)
    }

    /// Does [`BulkSet::erase_many`] from a buffer; waits until it is known how many keys were
    /// there.
    ///
    /// # Errors
    /// As for [`BulkMap::remove_many_on`](crate::BulkMap::remove_many_on).
    pub fn erase_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<usize>
    where
        D: Changes,
    {
        check_keys(self.device(), stream, keys)?;
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, Nothing>(&mut self.table, stream, keys.words(), None) };
        removed.map(|keys| keys as usize)
    }

    /// Removes those keys whose flag in `keep` is false, as
    /// [`BulkMap::retain_many`](crate::BulkMap::retain_many) does; returns how many of them were
    /// there.
    ///
    /// # Errors
    /// As there.
    #[doc(alias("retain", "filter"))]
    pub fn retain_many(&mut self, keys: &[K], keep: &[bool]) -> Result<usize>
    where
        D: Changes,
    {
        crate::error::same_length(("the keys", keys.len()), ("the flags", keep.len()))?;
        let dropped: Vec<K> = keys.iter().zip(keep).filter(|(_, keep)| !**keep).map(|(key, _)| *key).collect();
        self.erase_many(&dropped)
    }

    /// Does [`BulkSet::retain_many`] from buffers, as
    /// [`BulkMap::retain_many_on`](crate::BulkMap::retain_many_on) does.
    ///
    /// # Errors
    /// As there.
    pub fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, keep: &Buffer<u32>) -> Result<usize>
    where
        D: Changes,
    {
        check_keys(self.device(), stream, keys)?;
        let dropped = dropped(self.device(), stream, keys.words(), keep)?;
        // SAFETY: there are no outputs.
        let removed = unsafe { D::remove::<K::Word, Nothing>(&mut self.table, stream, &dropped, None) };
        removed.map(|keys| keys as usize)
    }

    /// Inserts one key; returns whether it was new. It is for a change of a few keys.
    ///
    /// # Errors
    /// As for [`BulkSet::insert_many`].
    pub fn insert(&mut self, key: K) -> Result<bool>
    where
        D: Changes,
    {
        Ok(self.insert_many(&[key])? == 1)
    }

    /// Removes one key; returns whether it was there. It is for a change of a few keys.
    ///
    /// # Errors
    /// As for [`BulkSet::erase_many`].
    pub fn remove(&mut self, key: K) -> Result<bool>
    where
        D: Changes,
    {
        Ok(self.erase_many(&[key])? == 1)
    }

    /// Removes all keys.
    ///
    /// # Errors
    /// As for [`BulkSet::clear_on`].
    pub fn clear(&mut self) -> Result<()>
    where
        D: Changes,
    {
        let device = self.device().clone();
        self.clear_on(device.default_stream())
    }

    /// Removes all keys, on `stream`; the set keeps its size.
    ///
    /// # Errors
    /// As for [`BulkMap::clear_on`](crate::BulkMap::clear_on).
    pub fn clear_on(&mut self, stream: &Stream) -> Result<()>
    where
        D: Changes,
    {
        stream.check_device(self.device())?;
        D::clear::<K::Word, Nothing>(&mut self.table, stream)
    }
}
