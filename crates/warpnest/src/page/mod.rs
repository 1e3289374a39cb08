//! The page table, of [`PageMap`] and [`PageSet`], which is split first and then built in whole
//! pages on chip. Batches change it page by page or pair by pair. docs/page-map.md and docs/sets.md
//! describe layout, algorithm, guarantees and figures.
//!
//! Read `design` and `table` first, then `lookup`. `config` has the sizes that follow from the
//! count of pairs, `build` the protocol of a build, `change` the protocol of a batch, `file` and
//! `mapped` what is in a file, and `id_table` the map under a compacting table or a multimap. The
//! kernels are in `gpu_kernels::page`.

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
pub use table::PageTable;
