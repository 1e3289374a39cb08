#![warn(unreachable_pub)]
#![doc = include_str!("guide/start.md")]
// On docs.rs, the documentation shows which feature an item needs.
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
pub mod error;
pub mod extendible;
pub mod files {
    //! The information that a file of a table gives before the table is loaded, and tables whose
    //! file is mapped. Every table has [`save`](crate::Table::save) and
    //! [`load`](crate::Table::load).

    pub use crate::table::file::{FileInfo, Mapped};
}
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
pub use error::{Error, Result};
pub use extendible::{ExtendibleConfig, ExtendibleMap};
pub use layered::compacting::{CompactingConfig, CompactingTable};
pub use layered::multi::{MultiConfig, MultiMap, Retrieved};
pub use layered::rows::RowMap;
pub use linear::{LinearConfig, LinearMap};
pub use page::{PageConfig, PageMap, PageSet};
pub use primitives::answers::Answers;
pub use runtime::buffer::Buffer;
pub use runtime::device::Device;
pub use runtime::event::Event;
pub use runtime::graph::Graph;
pub use runtime::module::Module;
pub use runtime::stream::Stream;
pub use runtime::view::{BufferSlice, BufferView, BufferViewMut};
pub use sorted::{SortedConfig, SortedMap};
pub use table::combining::Fold;
pub use table::handle::Table;
pub use two_level::{TwoLevelConfig, TwoLevelMap};
pub use types::{Key, Value};

#[doc(hidden)]
pub use warpnest_macros::if_built;

// Names that are used everywhere in this crate, but seldom in programs.
pub(crate) use error::{BuildError, ConfigError, FullError, InputError};
pub(crate) use hash::HashFamily;
pub(crate) use table::config::Config;
pub(crate) use table::map::BulkMap;
pub(crate) use table::set::BulkSet;
