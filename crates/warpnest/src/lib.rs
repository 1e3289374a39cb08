#![doc = include_str!("guide/start.md")]
// The documentation of a release says which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("warpnest needs a 64-bit host: a table may take more than 4 GiB");

#[cfg(not(target_endian = "little"))]
compile_error!("warpnest needs a little-endian host: its files have the words of a table as they are in memory");

#[cfg(feature = "arrow")]
pub mod arrow;
#[cfg(any(doc, doctest))]
#[doc = include_str!("cookbook.md")]
pub mod cookbook {}
pub mod cuckoo;
pub mod design;
mod error;
pub mod extendible;
#[cfg(any(doc, doctest))]
pub mod guide;
mod hash;
mod layered;
pub mod linear;
pub mod low_level;
pub mod page;
pub mod primitives;
pub mod relational;
mod runtime;
pub mod sorted;
pub(crate) mod split;
pub mod strings;
mod table;
pub mod two_level;
pub mod types;

pub use cuckoo::{CuckooConfig, CuckooMap, CuckooSet};
pub use error::{BuildError, ConfigError, Error, FileError, FullError, InputError, IoError, Result, TableKind};
pub use extendible::{ExtendibleConfig, ExtendibleMap};
pub use hash::{Arithmetic, HashFamily};
pub use layered::compacting::{CompactingConfig, CompactingTable};
pub use layered::multi::{MultiConfig, MultiMap, Retrieved};
pub use layered::rows::RowMap;
pub use linear::{LinearConfig, LinearKind, LinearMap, LinearOperation};
pub use page::{PageConfig, PageMap, PageSet};
pub use primitives::answers::Answers;
pub use relational::{factorize, isin, mode, top_k, unique, value_counts};
pub use runtime::buffer::Buffer;
pub use runtime::device::Device;
pub use runtime::event::Event;
pub use runtime::module::Module;
pub use runtime::stream::Stream;
pub use runtime::view::{BufferSlice, BufferView, BufferViewMut};
pub use sorted::{SortedConfig, SortedMap};
pub use table::combining::Fold;
pub use table::config::Config;
pub use table::file::{FileInfo, Mapped};
pub use table::handle::Table;
pub use table::map::BulkMap;
pub use table::probes::ProbeLengths;
pub use table::set::BulkSet;
pub use two_level::{TwoLevelConfig, TwoLevelMap};
pub use types::{Key, Value};

#[doc(hidden)]
pub use warpnest_macros::if_built;
