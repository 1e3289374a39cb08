//! The configuration of a page set.

use super::PageSet;
use crate::{Key, PageConfig, Result};
use gpu_kernels::types::Nothing;

/// The configuration of a [`PageSet`].
///
/// ```
/// use warpnest::{Device, PageSet, PageSetConfig};
///
/// let device = Device::cpu();
/// let config = PageSetConfig::default().load(0.85).assume_unique().seed(42);
/// let keys: Vec<u32> = (0..100_000).collect();
/// let set: PageSet<u32> = config.build(&device, &keys)?;
/// assert_eq!(set.len(), 100_000);
/// assert_eq!(set.memory_bytes(), config.memory_bytes::<u32>(100_000)?);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageSetConfig {
    pub(super) pages: PageConfig,
}

crate::table::config::page_chance_methods! { PageSetConfig, pages }
crate::table::config::build_keys_methods! {
    [] PageSetConfig, "PageSetConfig" builds PageSet<K>;
    /// As for [`PageConfig::build`](crate::PageConfig::build).
}

impl PageSetConfig {
    /// Sets the load factor: the share of the slots that is taken if no key is repeated. It is
    /// above 0 and at most 1; .8 by default.
    ///
    /// It is an upper limit: at most nine tenths of the slots are taken. Buckets with more slots
    /// need a minimum number of buckets, whose numbers tell more of a key. Where that minimum makes
    /// the smaller table, fewer slots are taken. [`PageSet::memory_bytes`] says what a table takes.
    #[must_use]
    pub fn load(mut self, load: f64) -> Self {
        self.pages = self.pages.load(load);
        self
    }

    /// Promises that no key is repeated: the build is faster. If a key is repeated all the same, it
    /// is found, but [`PageSet::len`] and [`PageSet::to_keys`] may have it several times. Many
    /// copies of a key may make the build fail.
    #[must_use]
    pub fn assume_unique(mut self) -> Self {
        self.pages = self.pages.assume_unique();
        self
    }

    /// Measures the stages of the build, as [`PageConfig::timings`] does.
    #[must_use]
    pub fn timings(mut self) -> Self {
        self.pages = self.pages.timings();
        self
    }

    /// Returns the bytes that a set of `keys` keys takes on the device.
    ///
    /// # Errors
    /// As for [`PageSetConfig::build`], as far as they follow from the configuration and the number
    /// of keys.
    pub fn memory_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
        Ok(self.pages.bytes::<K, Nothing>(keys)?.0)
    }

    /// Returns the bytes that a build from `keys` keys takes on the device besides the set and its
    /// input. A build takes a little more if copies of some keys overflow a bin of a split before
    /// the last one: docs/page-map.md.
    ///
    /// # Errors
    /// As for [`PageSetConfig::memory_bytes`].
    pub fn scratch_bytes<K: Key>(&self, keys: u64) -> Result<u64> {
        Ok(self.pages.bytes::<K, Nothing>(keys)?.1)
    }
}
