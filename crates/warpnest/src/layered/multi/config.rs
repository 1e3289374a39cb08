//! The configuration of a multimap.

use crate::page::Page;
use crate::primitives::{sort_scratch_bytes, state_words};
use crate::table::id_table::Ids;
use crate::table::input::Known;
use crate::{Config, Key, Result, Value};

/// The configuration of a [`MultiMap`](crate::MultiMap).
///
/// ```
/// use warpnest::{Device, MultiConfig, MultiMap, PageConfig};
///
/// let device = Device::best()?;
/// let config = MultiConfig::on(PageConfig::default().load(0.9).seed(7));
/// let map: MultiMap<u32, u64> = config.build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// By default the map is built on a [`PageMap`](crate::PageMap) of its keys. [`MultiConfig::on`]
/// builds it with another configuration, or on a [`CuckooMap`](crate::CuckooMap):
///
/// ```
/// use warpnest::{CuckooConfig, Device, MultiConfig, MultiMap};
/// use warpnest::design::Cuckoo;
///
/// let config = MultiConfig::on(CuckooConfig::default());
/// let device = Device::best()?;
/// let map: MultiMap<u32, u64, Cuckoo> = config.build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiConfig<D = Page> {
    pub(super) keys: Config<D>,
}

// No other `D` has a default, because rustc could then not infer which type
// `MultiConfig::default()` has.
impl Default for MultiConfig {
    /// Returns the configuration on a page map with the default configuration.
    fn default() -> Self {
        Self::on(Config::default())
    }
}

impl<D: Ids> MultiConfig<D> {
    /// Returns the configuration of a map whose table of keys has the configuration `keys`. This is
    /// a [`PageConfig`](crate::PageConfig) or a [`CuckooConfig`](crate::CuckooConfig). That table
    /// has each key once, so `keys` need not assume unique keys.
    pub fn on(keys: Config<D>) -> Self {
        Self { keys }
    }

    /// Returns the most bytes that a map of `pairs` pairs keeps on the device, which is the size
    /// without repeated keys.
    ///
    /// # Errors
    /// The errors of [`MultiConfig::build`] that depend only on the configuration and the count of
    /// pairs.
    pub fn memory_bytes<K: Key, V: Value>(&self, pairs: usize) -> Result<usize> {
        Ok(self.keys.memory_bytes::<K, u32>(pairs)? + pairs * (size_of::<V>() + 4))
    }

    /// Returns the most bytes that a build of `pairs` pairs takes on the device besides the map and
    /// its input.
    ///
    /// # Errors
    /// As for [`MultiConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key, V: Value>(&self, pairs: usize) -> Result<usize> {
        // This call refuses counts of pairs with which the sums below would overflow.
        self.memory_bytes::<K, V>(pairs)?;
        let pairs = pairs as u64;
        let keys = pairs * size_of::<K>() as u64;
        // The arrays are the sorted keys, the bits that flag the last pair of each key, the indices
        // of runs, the distinct keys, and the ends of their runs.
        let arrays = 2 * keys + 8 * pairs + pairs.div_ceil(32) * 4;
        let compacting = 8 * state_words::<K::Word>(pairs);
        let working = sort_scratch_bytes::<K::Word, V::Word>(pairs)?.max(compacting);
        // The constant covers the minimum sizes of the arrays, and the initial empty table.
        let of_keys = D::scratch_bytes::<K::Word>(&self.keys, pairs, Known::Unique)?;
        Ok((arrays + working + of_keys + 4096) as usize)
    }
}
