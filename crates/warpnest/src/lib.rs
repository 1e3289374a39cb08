#![doc = include_str!("guide.md")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("warpnest needs a 64-bit host: a table may take more than 4 GiB");

/// The examples of the cookbook, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cookbook.md")]
mod cookbook {}
mod cuckoo;
mod error;
mod extendible;
mod layered;
mod linear;
mod page;
pub mod primitives;
mod runtime;
mod sorted;
mod table;
mod two_level;

pub use cuckoo::{Cuckoo, CuckooConfig, CuckooMap, CuckooReport, CuckooSet, CuckooTable, EvictionChains};
pub use error::{BuildError, ConfigError, Error, FullError, InputError, Result};
pub use extendible::{Extendible, ExtendibleConfig, ExtendibleMap, ExtendibleReport, ExtendibleTable};
pub use gpu_kernels as kernels;
pub use gpu_kernels::plain::{Plain, Proof};
pub use layered::compacting::{CompactingConfig, CompactingTable, Unique};
pub use layered::id_table::Numbers;
pub use layered::multi::{MultiConfig, MultiMap, Retrieved};
pub use linear::{Linear, LinearConfig, LinearMap, LinearOperation, LinearProbeReport, LinearTable};
pub use page::{Page, PageConfig, PageMap, PageReport, PageSet, PageStages, PageTable};
pub use runtime::buffer::{Allocation, Buffer, Tracked};
pub use runtime::device::Device;
pub use runtime::engine::Memory;
pub use runtime::stream::{Event, Stream};
pub use runtime::{engine, ptx};
pub use sorted::{Sorted, SortedConfig, SortedMap, SortedReport, SortedStages, SortedTable};
pub use table::answers::Answers;
pub use table::config::Config;
pub use table::design::{Builds, Built, Changes, Counted, Design, Seeded, Staged, Stores};
pub use table::element::{Key, KeyWord, OrderedKey, Payload, Value, ValueWord, pod};
pub use table::hash::{Arithmetic, HashFamily};
pub use table::map::BulkMap;
pub use table::set::BulkSet;
pub use two_level::{TwoLevel, TwoLevelConfig, TwoLevelMap, TwoLevelReport, TwoLevelStages, TwoLevelTable};
