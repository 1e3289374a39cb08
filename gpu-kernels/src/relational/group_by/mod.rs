//! Group-by: aggregates of the rows of each key.
//!
//! The files in the order in which the host may launch their kernels:
//!
//! 1. [`sample`] draws rows, and [`hot_build`] makes a table of the keys that were drawn most
//!    often.
//! 2. [`hot`] aggregates the rows of these keys in one pass (`hot_rows`) and leaves the other rows;
//!    `hot_write` writes the groups. Lookups are in [`hot_table`].
//! 3. The other rows are split into bins. [`bins`](GroupPages) aggregates a bin in a hash table on
//!    chip (`bin_table`, `bins_aggregate`), or [`chains`](GroupChains) does where nearly every row
//!    is a group. `bins_write` and `chains_write` write the groups.
//! 4. [`sort`] is for queries that do not fit on chip: it describes runs of equal keys.
//! 5. [`means`] divides sums by counts.
//! 6. [`spreads`] and [`quantiles`] compute what takes a second look at the rows.
//!
//! Few rows take none of these steps: [`table`] adds them to one table in the device's memory.
//! `in_memory` contains the aggregates there.
//!
//! `on_chip` contains the aggregates of steps 2 and 3, of which there may be `copies`. Every step
//! takes a column of values, none, or a list of `columns`.

mod aggregates;
mod bin;
mod bin_table;
mod bins;
mod bins_aggregate;
mod bins_write;
mod chains;
mod chains_thread;
mod chains_write;
mod columns;
mod copies;
pub mod hot;
pub mod hot_build;
mod hot_rows;
pub mod hot_table;
mod hot_write;
mod in_memory;
pub mod means;
mod on_chip;
pub mod quantiles;
pub mod sample;
pub mod sort;
pub mod spreads;
pub mod table;

pub use aggregates::Wanted;
pub use bin_table::page_slots;
pub use bins::{BLOCKS, GroupPages, GroupPagesParams};
pub use chains::{GroupChains, GroupChainsParams};
pub use chains_thread::CHAINED_ROWS;
pub use copies::{Copies, SPARE};
pub use hot::{HotParams, HotPass, HotPassLarge, HotPassParts};
pub use hot_build::{BuildHot, BuildHotParams, SelectHot, SelectHotParams};
pub use hot_write::{HotGroups, HotGroupsParams};
pub use sample::{SampleKeys, SampleKeysParams};
