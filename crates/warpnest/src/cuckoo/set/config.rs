//! The configuration of a cuckoo set.

use super::CuckooSet;
use crate::{CuckooConfig, HashFamily, Key, Result};
use gpu_kernels::types::Nothing;

/// The configuration of a [`CuckooSet`].
///
/// ```
/// use warpnest::{CuckooSet, CuckooSetConfig, Device};
///
/// let device = Device::cpu();
/// let config = CuckooSetConfig::default().functions(3).slots_per_key(1.5).seed(42);
/// let keys: Vec<u32> = (0..1000).collect();
/// assert_eq!(config.memory_bytes::<u32>(1000)?, 4 * 1500 + 72);
/// let set: CuckooSet<u32> = config.build(&device, &keys)?;
/// assert_eq!((set.len(), set.slots()), (1000, 1500));
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuckooSetConfig {
    pub(super) table: CuckooConfig,
}

crate::table::config::build_keys_methods! {
    [] CuckooSetConfig, "CuckooSetConfig" builds CuckooSet<K>;
    /// As for [`CuckooConfig::build`](crate::CuckooConfig::build).
}

impl CuckooSetConfig {
    /// Sets the number of hash functions: 2 to 5. More functions allow a larger load factor and a
    /// faster build; fewer make lookups faster.
    #[must_use]
    pub fn functions(mut self, functions: u32) -> Self {
        self.table = self.table.functions(functions);
        self
    }

    /// Sets the number of slots for each key of the input, repeated or not; 1.25 by default. It is
    /// at least 2.1, 1.1, 1.03 or 1.02 for 2, 3, 4 or 5 functions. A table has at least 8 slots.
    #[must_use]
    pub fn slots_per_key(mut self, slots: f64) -> Self {
        self.table = self.table.slots_per_pair(slots);
        self
    }

    /// Sets the number of slots, whatever the number of keys.
    #[must_use]
    pub fn slots(mut self, slots: u64) -> Self {
        self.table = self.table.slots(slots);
        self
    }

    /// Sets the hash family.
    #[must_use]
    pub fn hash(mut self, family: HashFamily) -> Self {
        self.table = self.table.hash(family);
        self
    }

    /// Sets the most exchanges that storing one key may take before the build restarts:
    /// [`CuckooConfig::chain_limit`].
    #[must_use]
    pub fn chain_limit(mut self, exchanges: u32) -> Self {
        self.table = self.table.chain_limit(exchanges);
        self
    }

    /// Sets how often a failed build may start again with fresh constants.
    #[must_use]
    pub fn restarts(mut self, restarts: u32) -> Self {
        self.table = self.table.restarts(restarts);
        self
    }

    /// Sets the seed of the random constants, so that a build can be repeated.
    /// [`CuckooReport`](crate::CuckooReport) names it.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.table = self.table.seed(seed);
        self
    }

    /// Promises that no key is repeated, and saves the pass that looks for copies and erases them.
    /// If a key is repeated all the same, it is found. If a copy of any key met another one during
    /// its eviction chain, that pass follows. Otherwise [`CuckooSet::len`] counts every copy, and
    /// [`CuckooSet::to_keys`] names it.
    #[must_use]
    pub fn assume_unique(mut self) -> Self {
        self.table = self.table.assume_unique();
        self
    }

    /// Counts eviction chains during the build.
    #[must_use]
    pub fn statistics(mut self) -> Self {
        self.table = self.table.statistics();
        self
    }

    /// Returns the bytes that a set of `keys` keys takes on the device.
    ///
    /// # Errors
    /// As for [`CuckooSetConfig::build`], as far as they follow from the configuration and the
    /// number of keys.
    pub fn memory_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
        self.table.bytes::<K, Nothing>(keys)
    }

    /// Returns the bytes that a build takes on the device besides the set and its input: none, also
    /// if keys are repeated.
    ///
    /// # Errors
    /// As for [`CuckooSetConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
        self.memory_bytes::<K>(keys).map(|_| 0)
    }
}
