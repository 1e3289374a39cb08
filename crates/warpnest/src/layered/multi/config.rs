//! The configuration of a multimap.

use super::MultiMap;
use crate::primitives::{sort_scratch_bytes, state_words};
use crate::runtime::lent::Lent;
use crate::{Buffer, Device, IdTableConfig, Key, PageConfig, Result, Stream, Value};

/// The configuration of a [`MultiMap`].
///
/// ```
/// use warpnest::{Device, MultiConfig, MultiMap};
///
/// let device = Device::best()?;
/// let config = MultiConfig::default().load(0.9).seed(7);
/// let map: MultiMap<u32, u64> = config.build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// By default the map is built on a [`PageMap`](crate::PageMap) of its keys. [`MultiConfig::on`]
/// builds it on a [`CuckooMap`](crate::CuckooMap) or a [`TwoLevelMap`](crate::TwoLevelMap):
///
/// ```
/// use warpnest::{Device, MultiConfig, MultiMap, TwoLevelConfig, TwoLevelMap};
///
/// let config = MultiConfig::on(TwoLevelConfig::default());
/// let device = Device::best()?;
/// let map: MultiMap<u32, u64, TwoLevelMap<u32, u32>> =
///     config.build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiConfig<C = PageConfig> {
    pub(super) id_table: C,
}

// There is no default for any other `C`: it could then not be inferred which one
// `MultiConfig::default()` means.
impl Default for MultiConfig {
    /// The configuration on a page map with the default configuration.
    fn default() -> Self {
        Self::on(PageConfig::default())
    }
}

crate::table::config::page_config_methods! { MultiConfig, id_table }

impl<C: IdTableConfig> MultiConfig<C> {
    /// The configuration of a map whose keys are in such a table: a [`PageConfig`], a
    /// [`CuckooConfig`](crate::CuckooConfig) or a [`TwoLevelConfig`](crate::TwoLevelConfig). Its
    /// keys are different, so it does not matter whether it assumes that.
    pub fn on(id_table: C) -> Self {
        Self { id_table }
    }

    /// The most bytes that a map of `pairs` pairs keeps on the device: what it takes if no key is
    /// repeated.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], as far as they follow from the configuration and the number
    /// of pairs.
    pub fn memory_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        Ok(self.id_table.memory_bytes::<K>(pairs)? + pairs * (V::BITS / 8 + 4) as u64)
    }

    /// The most bytes that a build of `pairs` pairs takes on the device besides the map and its
    /// input.
    ///
    /// # Errors
    /// As for [`MultiConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        // This refuses numbers of pairs for which the sums below would overflow.
        self.memory_bytes::<K, V>(pairs)?;
        let keys = pairs * (K::BITS / 8) as u64;
        // The arrays are the sorted keys and the bits that flag the last ones; the numbers; the
        // different keys and the ends of their runs.
        let arrays = 2 * keys + 8 * pairs + pairs.div_ceil(32) * 4;
        let compacting = 8 * state_words::<K>(pairs);
        let working = sort_scratch_bytes::<K, V>(pairs)?.max(compacting);
        // The constant is for the minimum sizes of the arrays, and for the empty table at first.
        Ok(arrays + working + self.id_table.clone().assume_unique().scratch_bytes::<K>(pairs, false)? + 4096)
    }

    /// Builds a map in which every key has all of its values, in the order of the input; returns
    /// when it is built.
    ///
    /// # Errors
    /// The errors of the build of the table of keys: [`PageConfig::build`],
    /// [`CuckooConfig::build`](crate::CuckooConfig::build),
    /// [`TwoLevelConfig::build`](crate::TwoLevelConfig::build).
    pub fn build<K: Key, V: Value>(
        &self,
        device: &Device,
        keys: &[K],
        values: &[V],
    ) -> Result<MultiMap<K, V, C::Map<K>>> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        self.memory_bytes::<K, V>(keys.len() as u64)?;
        let (keys, values) = (Lent::new(device, keys)?, Lent::new(device, values)?);
        self.build_on(device.default_stream(), device, &keys, &values)
    }

    /// Builds a map from buffers, on `stream`, as [`MultiConfig::build`] does; waits until it is
    /// known that the build succeeded.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn build_on<K: Key, V: Value>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<MultiMap<K, V, C::Map<K>>> {
        MultiMap::create(self.clone(), stream, device, keys, values)
    }
}
