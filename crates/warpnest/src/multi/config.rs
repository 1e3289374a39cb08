//! What a multimap is to be like.

use super::MultiMap;
use crate::primitives::{sort_scratch_bytes, state_words};
use crate::{Buffer, Device, Key, PageConfig, Result, Stream, Value};

/// The configuration of a [`MultiMap`].
///
/// ```
/// use warpnest::{Device, MultiConfig, MultiMap};
///
/// let device = Device::best()?;
/// let map: MultiMap<u32, u64> = MultiConfig::default().load(0.9).seed(7).build(&device, &[1, 2, 1], &[10, 20, 30])?;
/// assert_eq!(map.count_many(&[1, 2, 3])?, [2, 1, 0]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MultiConfig {
    pub(super) pages: PageConfig,
}

crate::config::page_config_methods! { MultiConfig }

impl MultiConfig {
    /// The most bytes that a map of `pairs` pairs keeps on the device: what it takes if no key is repeated.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], as far as they follow from the configuration and the number of pairs.
    pub fn memory_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        Ok(self.pages.memory_bytes::<K, u32>(pairs)? + pairs * (V::BITS / 8 + 4) as u64)
    }

    /// The most bytes that a build of `pairs` pairs takes on the device besides the map and its input.
    ///
    /// # Errors
    /// As for [`MultiConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key, V: Value>(&self, pairs: u64) -> Result<u64> {
        let keys = pairs * (K::BITS / 8) as u64;
        // Sorted keys and which of them are the last; numbers; different keys and where their runs end.
        let arrays = 2 * keys + 8 * pairs + pairs.div_ceil(32) * 4;
        let compacting = 8 * state_words::<K>(pairs);
        let working = sort_scratch_bytes::<K, V>(pairs)?.max(compacting);
        // The arrays are small at least, and there is an empty table at first.
        Ok(arrays + working + self.pages.scratch_bytes::<K, u32>(pairs)? + 4096)
    }

    /// Builds a map in which every key has all of its values, in the order of the input; returns when it stands.
    ///
    /// # Errors
    /// As for [`PageConfig::build`].
    pub fn build<K: Key, V: Value>(&self, device: &Device, keys: &[K], values: &[V]) -> Result<MultiMap<K, V>> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        self.memory_bytes::<K, V>(keys.len() as u64)?;
        let (keys, values) = (Buffer::from_slice(device, keys)?, Buffer::from_slice(device, values)?);
        self.build_on(device.default_stream(), device, &keys, &values)
    }

    /// [`MultiConfig::build`] from buffers, on `stream`; waits until it is known that the build succeeded.
    ///
    /// # Errors
    /// As for [`MultiConfig::build`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn build_on<K: Key, V: Value>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<MultiMap<K, V>> {
        MultiMap::create(self.clone(), stream, device, keys, values)
    }
}
