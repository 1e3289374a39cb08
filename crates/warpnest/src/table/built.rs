//! Builds of tables in one go, from a given or the default configuration, and rebuilds.

use super::config::Config;
use super::design::{Builds, Design};
use super::handle::Table;
use super::input::{Input, pairs_on};
use super::kind::OfDesign;
use crate::relational::IntoColumn;
use crate::{BulkMap, Device, Key, Result, Value};

/// Builds, for designs that are built in one go.
impl<D: Design> Config<D> {
    /// Builds a map of `keys[i]` to `values[i]`, which are slices or buffers, on the default stream
    /// of `device`; returns when the build is complete. Later work of the map is on this stream,
    /// too, until [`Table::on`] names another stream.
    ///
    /// # Errors
    /// * [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), or a setting that makes
    ///   no sense for this count of pairs.
    /// * The build did not succeed: [`BuildError::Page`](crate::BuildError::Page),
    ///   [`BuildError::Cuckoo`](crate::BuildError::Cuckoo),
    ///   [`BuildError::TwoLevel`](crate::BuildError::TwoLevel). No function can place
    ///   the keys: [`BuildError::KeysAgreeModuloPrime`](crate::BuildError::KeysAgreeModuloPrime).
    /// * An error of the device: [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    ///   [`Error::Driver`](crate::Error::Driver).
    pub fn build<'c, K: Key, V: Value>(
        &self,
        device: &Device,
        keys: impl IntoColumn<'c, K>,
        values: impl IntoColumn<'c, V>,
    ) -> Result<BulkMap<K, V, D>>
    where
        D: Builds,
    {
        let (keys, values) = (keys.into_column(), values.into_column());
        // The check comes before the copies: a request that cannot work should not cost them.
        D::sizes::<K::Word, V::Word>(self, keys.rows() as u64)?;
        let (keys, values) = pairs_on(device, keys, values)?;
        let input = Input::of(keys.words(), values.words());
        Ok(BulkMap::of(D::build(self.clone(), device.default_stream(), device, input)?))
    }

    /// Returns the bytes that a map of `pairs` pairs takes on the device.
    ///
    /// # Errors
    /// The errors of [`Config::build`] that depend on the configuration and the count alone.
    pub fn memory_bytes<K: Key, V: Value>(&self, pairs: usize) -> Result<usize>
    where
        D: Builds,
    {
        Ok(D::sizes::<K::Word, V::Word>(self, pairs as u64)?.0 as usize)
    }

    /// Returns the bytes that a build of `pairs` pairs takes on the device besides the map and its
    /// input. If a key has many copies, a build may take more; the documentation of each map says
    /// when.
    ///
    /// # Errors
    /// As for [`Config::memory_bytes`].
    pub fn scratch_bytes<K: Key, V: Value>(&self, pairs: usize) -> Result<usize>
    where
        D: Builds,
    {
        Ok(D::sizes::<K::Word, V::Word>(self, pairs as u64)?.1 as usize)
    }
}

/// Builds of a [`PageMap`](crate::PageMap), a [`CuckooMap`](crate::CuckooMap), a
/// [`TwoLevelMap`](crate::TwoLevelMap) and a [`SortedMap`](crate::SortedMap).
impl<K: Key, V: Value, D: Design> BulkMap<K, V, D> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration; [`Config::build`]
    /// takes another configuration.
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn build<'c>(device: &Device, keys: impl IntoColumn<'c, K>, values: impl IntoColumn<'c, V>) -> Result<Self>
    where
        D: Builds,
    {
        Config::<D>::default().build(device, keys, values)
    }

    /// Builds a map of the pairs of an iterator with the default configuration.
    ///
    /// It replaces `HashMap::from_iter` and `collect`, which cannot know on which device to build,
    /// and cannot fail:
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use warpnest::{Device, PageMap};
    ///
    /// let ages = HashMap::from([(7u64, 41u32), (8, 37)]);
    /// let map = PageMap::from_pairs(&Device::best()?, ages)?;
    /// assert_eq!(map.get(8)?, Some(37));
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn from_pairs(device: &Device, pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self>
    where
        D: Builds,
    {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.into_iter().unzip();
        Self::build(device, &keys, &values)
    }

    /// Rebuilds the map from other pairs; returns when the build is complete.
    ///
    /// Meant for data that changes as a whole, frame after frame. The memory of the map is reused
    /// if it is large enough. The scratch of the build is kept for the next rebuild;
    /// [`Table::shrink_to_fit`] frees it.
    ///
    /// # Errors
    /// As for [`Config::build`]. If the request makes no sense, or if slices cannot be copied, the
    /// map is unchanged. After another error it is empty, and [`Table::report`] still describes the
    /// last build that succeeded.
    pub fn rebuild<'c>(&mut self, keys: impl IntoColumn<'c, K>, values: impl IntoColumn<'c, V>) -> Result<()>
    where
        D: Builds,
    {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        D::rebuild(self.changed()?, device.default_stream(), Input::of(keys.words(), values.words()))
    }
}

/// Reports of the maps and sets that are built in one go.
impl<T: OfDesign> Table<T> {
    /// Returns the report of the last build that succeeded. A [`PageMap`](crate::PageMap) is also
    /// built again when it grows or shrinks.
    pub fn report(&self) -> &<T::Design as Builds>::Report
    where
        T::Design: Builds,
    {
        T::Design::report(&self.table)
    }
}
