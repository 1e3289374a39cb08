#![doc = include_str!("guide.md")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("warpnest needs a 64-bit host: a table may take more than 4 GiB");

mod answers;
mod buffer;
mod compacting;
mod config;
mod cuckoo;
mod device;
pub mod engine;
mod error;
mod extendible;
mod hash;
mod id_table;
mod input;
mod lent;
mod linear;
mod lookup;
mod multi;
mod page;
mod pairs;
pub mod primitives;
pub mod ptx;
mod set;
mod sorted;
mod stages;
mod stream;
mod two_level;

pub use answers::Answers;
pub use buffer::{Allocation, Buffer, Tracked};
pub use compacting::{CompactingConfig, CompactingTable, Unique};
pub use cuckoo::{CuckooConfig, CuckooMap, CuckooReport, CuckooSet, CuckooSetConfig, EvictionChains};
pub use device::Device;
pub use engine::Memory;
pub use error::{Error, Result};
pub use extendible::{ExtendibleConfig, ExtendibleMap, ExtendibleReport};
pub use gpu_kernels as kernels;
pub use gpu_kernels::types::{Key, Value};
pub use hash::{Arithmetic, HashFamily};
pub use id_table::{IdTable, IdTableConfig};
pub use linear::{LinearConfig, LinearMap, LinearOperation, LinearProbeReport};
pub use multi::{MultiConfig, MultiMap, Retrieved};
pub use page::{PageConfig, PageMap, PageReport, PageStages};
pub use set::{PageSet, PageSetConfig};
pub use sorted::{SortedConfig, SortedMap, SortedReport, SortedStages};
pub use stream::{Event, Stream};
pub use two_level::{TwoLevelConfig, TwoLevelMap, TwoLevelReport, TwoLevelStages};
