#![doc = include_str!("guide.md")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("warpnest needs a 64-bit host: a table may take more than 4 GiB");

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

pub use cuckoo::{CuckooConfig, CuckooMap, CuckooReport, CuckooSet, CuckooSetConfig, EvictionChains};
pub use error::{Error, Result};
pub use extendible::{ExtendibleConfig, ExtendibleMap, ExtendibleReport};
pub use gpu_kernels as kernels;
pub use gpu_kernels::types::{Key, Value};
pub use layered::compacting::{CompactingConfig, CompactingTable, Unique};
pub use layered::id_table::{IdTable, IdTableConfig};
pub use layered::multi::{MultiConfig, MultiMap, Retrieved};
pub use linear::{LinearConfig, LinearMap, LinearOperation, LinearProbeReport};
pub use page::set::{PageSet, PageSetConfig};
pub use page::{PageConfig, PageMap, PageReport, PageStages};
pub use runtime::buffer::{Allocation, Buffer, Tracked};
pub use runtime::device::Device;
pub use runtime::engine::Memory;
pub use runtime::stream::{Event, Stream};
pub use runtime::{engine, ptx};
pub use sorted::{SortedConfig, SortedMap, SortedReport, SortedStages};
pub use table::answers::Answers;
pub use table::hash::{Arithmetic, HashFamily};
pub use two_level::{TwoLevelConfig, TwoLevelMap, TwoLevelReport, TwoLevelStages};
