//! A map from k-mers to their counts, for more k-mers than can be sorted at once.

use warpnest::types::WordKey;
use warpnest::{Buffer, Device, Error, LinearConfig, LinearMap, PageMap, Result};

/// The load factor of the map, also on a CPU. A lower load factor would be faster there, but slots
/// are most of the memory.
const LOAD: f64 = 0.8;

/// A map from k-mers to their counts of 64 bits, which no file's counts exceed.
#[derive(Debug)]
pub enum CountMap<K: WordKey> {
    Linear(LinearMap<K, u64>),
    /// A page map, for GPUs without atomic operations on 128 bits.
    Page(PageMap<K, u64>),
}

impl<K: WordKey> CountMap<K> {
    /// Returns an empty map with capacity for some k-mers. Each k-mer takes 20 to 40 bytes, and 60
    /// bytes while the map grows.
    ///
    /// # Errors
    /// As for [`BulkMap::new`](warpnest::design::BulkMap::new).
    pub fn new(device: &Device, capacity: usize) -> Result<Self> {
        match LinearConfig::default().load(LOAD).pairs(capacity).create(device) {
            Ok(map) => Ok(Self::Linear(map)),
            Err(Error::NoWideAtomics { .. }) => Ok(Self::Page(PageMap::new(device)?)),
            Err(error) => Err(error),
        }
    }

    /// Adds 1 to the count of each key.
    ///
    /// # Errors
    /// As for [`BulkMap::count_many`](warpnest::design::BulkMap::count_many).
    pub fn count(&mut self, keys: &Buffer<K>) -> Result<()> {
        match self {
            Self::Linear(map) => map.count_many(keys)?,
            Self::Page(map) => map.count_many(keys)?,
        };
        Ok(())
    }

    /// Returns the keys and their counts, in any order.
    ///
    /// # Errors
    /// As for [`BulkMap::pairs_on`](warpnest::design::BulkMap::pairs_on).
    pub fn pairs(&self, device: &Device) -> Result<(Buffer<K>, Buffer<u64>)> {
        let stream = device.default_stream();
        match self {
            Self::Linear(map) => map.pairs_on(stream),
            Self::Page(map) => map.pairs_on(stream),
        }
    }
}
