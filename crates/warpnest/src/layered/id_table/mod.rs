//! The table on which a compacting table or a multimap is built: a map from keys to numbers, which
//! may be any of three. It is the "basic hash table" of (Alcantara 2011, §4.4).

mod slots;
mod steps;

pub(crate) use slots::SlotTable;
pub(crate) use steps::{Numbers, RunsQuery, Settings, Steps};

use crate::{Buffer, Device, Key, Result, Stream};
use std::fmt::Debug;

/// The configuration of an [`IdTable`]: [`PageConfig`](crate::PageConfig),
/// [`CuckooConfig`](crate::CuckooConfig) or [`TwoLevelConfig`](crate::TwoLevelConfig). The trait is
/// sealed.
pub trait IdTableConfig: Settings + Clone + Debug + PartialEq {
    /// The map that the configuration builds.
    type Map<K: Key>: IdTable<K, Config = Self>;

    /// Builds the map of `keys[i]` to `values[i]`, as the method of the same name does.
    ///
    /// # Errors
    /// The errors of that method.
    fn build_on<K: Key>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<u32>,
    ) -> Result<Self::Map<K>>;

    /// The bytes that a map of `pairs` pairs will keep on the device.
    ///
    /// # Errors
    /// The errors of the method of the same name.
    fn memory_bytes<K: Key>(&self, pairs: u64) -> Result<u64>;

    /// Promises that no key is repeated, as the method of the same name does.
    #[must_use]
    fn assume_unique(self) -> Self;
}

/// A map from keys to numbers on which a [`CompactingTable`](crate::CompactingTable) or a
/// [`MultiMap`](crate::MultiMap) can be built. It is a [`PageMap`](crate::PageMap), a
/// [`CuckooMap`](crate::CuckooMap) or a [`TwoLevelMap`](crate::TwoLevelMap); the trait is sealed.
pub trait IdTable<K: Key>: Steps<K> + Debug {
    /// The configuration of the map.
    type Config: IdTableConfig<Map<K> = Self>;
    /// The type of the report of a build.
    type Report: Clone + Debug + PartialEq;

    /// The report of the build.
    fn report(&self) -> &Self::Report;

    /// The bytes that the map keeps on the device.
    fn memory_bytes(&self) -> u64;
}

/// Implements the traits of id tables for a map of any keys and values, and for its configuration.
/// The maps differ in the bytes that a build takes besides the map, whether its values matter or
/// not, and in the steps that are a table's own.
macro_rules! impl_id_table {
    (
        $config:ident builds $map:ident, $report:ident tells of it;
        scratch |$this:ident, $pairs:ident, $any_values:ident| $scratch:expr;
        $($steps:item)*
    ) => {
        impl crate::layered::id_table::Settings for $config {
            fn seed_or_random(&self) -> u64 {
                self.seed.unwrap_or_else(crate::table::hash::random_seed)
            }
            fn scratch_bytes<K: crate::Key>(&self, $pairs: u64, $any_values: bool) -> crate::Result<u64> {
                let $this = self;
                $scratch
            }
        }

        impl crate::IdTableConfig for $config {
            type Map<K: crate::Key> = $map<K, u32>;
            fn build_on<K: crate::Key>(
                &self,
                stream: &crate::Stream,
                device: &crate::Device,
                keys: &crate::Buffer<K>,
                values: &crate::Buffer<u32>,
            ) -> crate::Result<$map<K, u32>> {
                self.build_on(stream, device, keys, values)
            }
            fn memory_bytes<K: crate::Key>(&self, pairs: u64) -> crate::Result<u64> {
                self.memory_bytes::<K, u32>(pairs)
            }
            fn assume_unique(self) -> Self {
                self.assume_unique()
            }
        }

        impl<K: crate::Key> crate::IdTable<K> for $map<K, u32> {
            type Config = $config;
            type Report = $report;
            fn report(&self) -> &$report {
                self.report()
            }
            fn memory_bytes(&self) -> u64 {
                self.memory_bytes()
            }
        }

        impl<K: crate::Key> crate::layered::id_table::Steps<K> for $map<K, u32> {
            unsafe fn find(
                &self,
                stream: &crate::Stream,
                queries: &crate::Buffer<K>,
                values: gpu_kernels::seam::Global<u32>,
                found: &crate::Buffer<u32>,
                writes: &[&dyn crate::Tracked],
            ) -> crate::Result<()> {
                // SAFETY: the caller keeps the contract of this method, which is the same.
                unsafe { self.find(stream, queries, values, found, writes) }
            }
            fn forget(&mut self, stream: &crate::Stream) {
                self.forget(stream);
            }
            fn len(&self) -> u64 {
                self.len()
            }
            fn try_clone(&self, stream: &crate::Stream) -> crate::Result<Self> {
                self.try_clone(stream)
            }
            fn to_pairs(&self) -> crate::Result<Vec<(K, u32)>> {
                self.to_pairs()
            }
            $($steps)*
        }
    };
}
pub(crate) use impl_id_table;
