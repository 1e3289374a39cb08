//! The table on which a compacting table or a multimap stands: the chapter's "basic hash table", a map from keys to numbers, which may be any
//! of three.

mod slots;
mod steps;

pub(crate) use slots::SlotTable;
pub(crate) use steps::{Numbers, RunsQuery, Settings, Steps};

use crate::{Buffer, Device, Key, Result, Stream};
use std::fmt::Debug;

/// The configuration of a [`IdTable`]: [`PageConfig`](crate::PageConfig), [`CuckooConfig`](crate::CuckooConfig) or
/// [`TwoLevelConfig`](crate::TwoLevelConfig). Nobody else can implement it.
pub trait IdTableConfig: Settings + Clone + Debug + PartialEq {
    /// The map that it builds.
    type Map<K: Key>: IdTable<K, Config = Self>;

    /// Builds the map of `keys[i]` to `values[i]`, as the method of the same name does.
    ///
    /// # Errors
    /// Those of that method.
    fn build_on<K: Key>(
        &self,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<u32>,
    ) -> Result<Self::Map<K>>;

    /// Bytes that a map of `pairs` pairs will keep on the device.
    ///
    /// # Errors
    /// Those of the method of the same name.
    fn memory_bytes<K: Key>(&self, pairs: u64) -> Result<u64>;

    /// Promises that no key is repeated, as the method of the same name does.
    #[must_use]
    fn assume_unique(self) -> Self;
}

/// A map from keys to numbers on which a [`CompactingTable`](crate::CompactingTable) or a [`MultiMap`](crate::MultiMap) can stand:
/// [`PageMap`](crate::PageMap), [`CuckooMap`](crate::CuckooMap) or [`TwoLevelMap`](crate::TwoLevelMap). Nobody else can implement it.
pub trait IdTable<K: Key>: Steps<K> + Debug {
    /// Its configuration.
    type Config: IdTableConfig<Map<K> = Self>;
    /// What tells how a build went.
    type Report: Clone + Debug + PartialEq;

    /// How the build went.
    fn report(&self) -> &Self::Report;

    /// Bytes that the map keeps on the device.
    fn memory_bytes(&self) -> u64;
}

/// Makes a map of any keys and values, and its configuration, basic ones. What they differ in: the bytes that a build takes beside the map, whether its values
/// matter or not; and the steps that are a table's own.
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
                // SAFETY: the caller's.
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
