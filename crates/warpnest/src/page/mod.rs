//! The table of [`PageMap`] and [`PageSet`]. Pairs are first split, and then whole pages are built
//! on chip. Batches change the table page by page or pair by pair. docs/page-map.md and
//! docs/sets.md describe layout, algorithm, guarantees and figures.
//!
//! Read `design` and `table` first, then `lookup`. `config` has the sizes that follow from the
//! count of pairs. `build` has the protocol of a build, and `change` the protocol of a batch.
//! `file` and `mapped` read and write files. `id_table` has the map under a compacting table or a
//! multimap. The kernels are in `gpu_kernels::page`.

mod build;
mod change;
mod config;
mod design;
mod file;
mod id_table;
mod lookup;
mod mapped;
mod table;

pub use build::report::{PageReport, PageStages};
pub use config::{Page, PageConfig};
pub use design::{PageMap, PageSet};
pub use lookup::{PlainAnswers, find_plain};
pub use table::PageTable;
