//! The operations of tables whose keys can be inserted and removed, batch by batch.

use super::config::Config;
use super::design::{Changes, Design};
use super::handle::Table;
use super::input::{check_keys, keys_on, pairs_on};
use super::kind::{Erases, HasValues, Inserts, Kind};
use super::retaining::dropped;
use crate::error::same_length;
use crate::relational::IntoColumn;
use crate::{Answers, Buffer, BulkMap, Device, Key, Result, Stream, Value};

/// Makes empty page, linear and extendible maps.
impl<D: Design> Config<D> {
    /// Makes an empty map, which [`Table::insert_many`] can fill.
    ///
    /// # Errors
    /// A setting that makes no sense, or an error of the device:
    /// [`Error::NoWideAtomics`](crate::Error::NoWideAtomics) for a [`LinearMap`](crate::LinearMap)
    /// of 64-bit keys or values on an old GPU, [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn create<K: Key, V: Value>(&self, device: &Device) -> Result<BulkMap<K, V, D>>
    where
        D: Changes,
    {
        Ok(BulkMap::of(D::create::<K::Word, V::Word>(self.clone(), device)?))
    }
}

impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    /// Makes an empty map with the default configuration; [`Config::create`] takes another
    /// configuration.
    ///
    /// # Errors
    /// As for [`Config::create`].
    pub fn new(device: &Device) -> Result<Self>
    where
        D: Changes,
    {
        Config::<D>::default().create(device)
    }
}

/// Insertions and removals in batches, for a [`PageMap`](crate::PageMap), a
/// [`LinearMap`](crate::LinearMap), an [`ExtendibleMap`](crate::ExtendibleMap) and a
/// [`RowMap`](crate::RowMap).
impl<T: HasValues> Table<T> {
    /// Sets the value of each key; returns how many of the keys were new. Keys and values are
    /// slices or buffers. The documentation of each map says which of several pairs of one key
    /// wins, and what an error leaves.
    ///
    /// # Errors
    /// * [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer)(then nothing was done).
    /// * A [`LinearMap`](crate::LinearMap) that may not or cannot grow:
    ///   [`FullError::NoSlots`](crate::FullError::NoSlots),
    ///   [`InputError::TooManyKeys`](crate::InputError::TooManyKeys).
    /// * A [`PageMap`](crate::PageMap) that must grow:
    ///   [`InputError::TooManyPairs`](crate::InputError::TooManyPairs),
    ///   [`BuildError::Page`](crate::BuildError::Page)(then the map is unchanged),
    ///   [`Error::Emptied`](crate::Error::Emptied).
    /// * An [`ExtendibleMap`](crate::ExtendibleMap):
    ///   [`InputError::TooManyItems`](crate::InputError::TooManyItems),
    ///   [`FullError::TooDeep`](crate::FullError::TooDeep),
    ///   [`Error::Emptied`](crate::Error::Emptied).
    /// * A [`RowMap`](crate::RowMap): the errors of the map under it. Nothing was done after
    ///   [`InputError::TooManyItems`](crate::InputError::TooManyItems) for 2^32 rows or more, and
    ///   [`InputError::TooManyPairs`](crate::InputError::TooManyPairs) if the map would have more
    ///   than 2^32 - 1 rows.
    /// * An error of the device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn insert_many<'c>(
        &mut self,
        keys: impl IntoColumn<'c, T::Key>,
        values: impl IntoColumn<'c, T::Value>,
    ) -> Result<usize>
    where
        T: Inserts,
    {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        T::insert(self.changed()?, device.default_stream(), &keys, &values)
    }

    /// Sets the value of one key; returns whether the key was new. Meant for changes of a few keys.
    ///
    /// # Errors
    /// As for [`Table::insert_many`].
    pub fn insert(&mut self, key: T::Key, value: T::Value) -> Result<bool>
    where
        T: Inserts,
    {
        Ok(self.insert_many(&[key], &[value])? == 1)
    }

    /// Removes the keys; returns the values that they had. If a key is repeated, only one of the
    /// copies gets the value.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver):
    /// [`Table::len`] tells whether the keys are still in the table. If memory was lacking, nothing
    /// was done. After [`Error::Emptied`](crate::Error::Emptied) the map is empty.
    pub fn remove_many<'c>(&mut self, keys: impl IntoColumn<'c, T::Key>) -> Result<Vec<Option<T::Value>>>
    where
        T: Inserts,
    {
        let device = self.device().clone();
        let stream = device.default_stream();
        self.remove_many_on(stream, &*keys_on(&device, keys)?)?.download(stream)
    }

    /// Does [`Table::remove_many`] from a buffer; waits for the count of removed keys.
    ///
    /// # Errors
    /// As for [`Table::remove_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<T::Key>) -> Result<Answers<T::Value>>
    where
        T: Inserts,
    {
        let mut answers = Answers::uninitialized(self.device(), keys.len())?;
        self.remove_many_into(stream, keys, &mut answers)?;
        Ok(answers)
    }

    /// Does [`Table::remove_many_on`] into existing answers. Returns how many keys were in the
    /// table.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) (then nothing was done), and
    /// the errors of [`Table::remove_many_on`].
    pub fn remove_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<T::Key>,
        answers: &mut Answers<T::Value>,
    ) -> Result<usize>
    where
        T: Inserts,
    {
        same_length(("the keys", keys.len()), ("the answers", answers.len()))?;
        check_keys(self.device(), stream, keys)?;
        answers.values.check_argument("the buffer of answers", self.device())?;
        answers.found.check_argument("the buffer of answers", self.device())?;
        T::remove(self.changed()?, stream, keys, answers)
    }

    /// Removes one key; returns the value that it had. Meant for changes of a few keys.
    ///
    /// # Errors
    /// As for [`Table::remove_many`].
    pub fn remove(&mut self, key: T::Key) -> Result<Option<T::Value>>
    where
        T: Inserts,
    {
        Ok(self.remove_many(&[key])?.remove(0))
    }
}

/// Removals and reservations, for the maps that change in batches and for a
/// [`PageSet`](crate::PageSet).
impl<T: Kind> Table<T> {
    /// Removes the keys without returning their values; returns how many were in the table.
    ///
    /// # Errors
    /// As for [`Table::remove_many`].
    pub fn erase_many<'c>(&mut self, keys: impl IntoColumn<'c, T::Key>) -> Result<usize>
    where
        T: Erases,
    {
        let device = self.device().clone();
        T::erase(self.changed()?, device.default_stream(), &*keys_on(&device, keys)?)
    }

    /// Removes the keys whose flag in `keep` is false; returns how many of them were in the table.
    ///
    /// Keys of the table that are not among `keys` stay. [`Table::to_columns`] returns all keys and
    /// their values, from which the flags can be computed:
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
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) (then nothing was done), and
    /// the errors of [`Table::erase_many`].
    #[doc(alias("retain", "filter"))]
    pub fn retain_many(&mut self, keys: &[T::Key], keep: &[bool]) -> Result<usize>
    where
        T: Erases,
    {
        same_length(("the keys", keys.len()), ("the flags", keep.len()))?;
        let dropped: Vec<T::Key> = keys.iter().zip(keep).filter(|(_, keep)| !**keep).map(|(key, _)| *key).collect();
        self.erase_many(&dropped)
    }

    /// Does [`Table::retain_many`] from buffers: bit `i % 32` of word `i / 32` of `keep` is the
    /// flag of key `i`, as in [`Answers::found`]. Waits for the count of removed keys.
    ///
    /// Use it with a mask over the pairs that [`BulkMap::pairs_on`] writes. It takes memory for as
    /// many keys as `keys` has, besides the memory of a removal.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `keep` has a word for
    /// each 32 keys, [`InputError::TooManyItems`](crate::InputError::TooManyItems) (after both,
    /// nothing was done), and the errors of [`Table::erase_many`].
    pub fn retain_many_on(&mut self, stream: &Stream, keys: &Buffer<T::Key>, keep: &Buffer<u32>) -> Result<usize>
    where
        T: Erases,
    {
        check_keys(self.device(), stream, keys)?;
        let dropped = dropped(self.device(), stream, keys.words(), keep)?;
        // SAFETY: the words are keys.
        T::erase(self.changed()?, stream, &unsafe { dropped.reinterpreted::<T::Key>() })
    }

    /// Reserves capacity for `additional` more keys, so that the table need not grow when these
    /// keys are inserted. An [`ExtendibleMap`](crate::ExtendibleMap) still grows with its keys, and
    /// a [`RowMap`](crate::RowMap) reserves memory for the rows of the keys, too.
    ///
    /// If the capacity is too small, makes a larger table beside the old one. Meanwhile it takes
    /// memory for all pairs and for a build of them.
    ///
    /// # Errors
    /// [`InputError::TooManyPairs`](crate::InputError::TooManyPairs),
    /// [`InputError::TooManyKeys`](crate::InputError::TooManyKeys),
    /// [`BuildError::Page`](crate::BuildError::Page),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    /// After an error the table is unchanged.
    pub fn reserve(&mut self, additional: usize) -> Result<()>
    where
        T: Erases,
    {
        let device = self.device().clone();
        T::reserve(self.changed()?, device.default_stream(), additional)
    }

    /// Removes all keys. An [`ExtendibleMap`](crate::ExtendibleMap) frees the memory that it did
    /// not have at the beginning. Other tables keep their size, and a [`RowMap`](crate::RowMap)
    /// keeps the memory of its rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    /// After an error the table is either empty, or unusable until a change succeeds; an unusable
    /// table returns errors.
    pub fn clear(&mut self) -> Result<()>
    where
        T: Erases,
    {
        let device = self.device().clone();
        T::clear(self.changed()?, device.default_stream())
    }
}
