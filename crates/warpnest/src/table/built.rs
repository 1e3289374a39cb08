//! What maps have that are built in one go.

use super::config::Config;
use super::design::{Builds, Stores};
use super::input::Input;
use super::raw::BuiltTable;
use crate::runtime::lent::Lent;
use crate::{Buffer, BulkMap, Device, Key, Result, Stream, Value};

/// Builds: of a [`PageMap`](crate::PageMap), a [`CuckooMap`](crate::CuckooMap), a
/// [`TwoLevelMap`](crate::TwoLevelMap) and a [`SortedMap`](crate::SortedMap).
impl<K: Key, V: Value, D: Stores<K::Word, V::Word>> BulkMap<K, V, D> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration; [`Config::build`]
    /// takes another.
    ///
    /// # Errors
    /// As for [`Config::build`].
    pub fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self>
    where
        D: Builds<K::Word, V::Word>,
    {
        Config::<D>::default().build(device, keys, values)
    }

    /// Builds a map of the pairs of an iterator with the default configuration, like
    /// `HashMap::from_iter`, but on a device, and with an error if that fails.
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
        D: Builds<K::Word, V::Word>,
    {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.into_iter().unzip();
        Self::build(device, &keys, &values)
    }

    /// Rebuilds the map from other pairs; returns when it is built.
    ///
    /// # Errors
    /// As for [`BulkMap::rebuild_on`]; if the slices cannot be copied, the map is unchanged.
    pub fn rebuild(&mut self, keys: &[K], values: &[V]) -> Result<()>
    where
        D: Builds<K::Word, V::Word>,
    {
        let device = self.device().clone();
        let (keys, values) = Lent::pairs(&device, keys, values)?;
        self.rebuild_on(device.default_stream(), &keys, &values)
    }

    /// Rebuilds the map from buffers, on `stream`; waits until it is known that the build
    /// succeeded.
    ///
    /// It is for data that changes as a whole, frame after frame. The memory of the map is used
    /// again if it is large enough. The scratch stays for the next rebuild
    /// ([`BulkMap::shrink_to_fit`] gives it back).
    ///
    /// # Errors
    /// As for [`Config::build_on`]. If the request makes no sense, the map is unchanged. After
    /// another error it is empty, and [`BulkMap::report`] still describes the last build that
    /// succeeded.
    pub fn rebuild_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()>
    where
        D: Builds<K::Word, V::Word>,
    {
        let input = Input::of(self.device(), stream, keys.words(), values.words())?;
        self.table.rebuild(stream, input)
    }

    /// Returns the report of the last build that succeeded.
    pub fn report(&self) -> &D::Report
    where
        D: Builds<K::Word, V::Word>,
    {
        self.table.report()
    }
}
