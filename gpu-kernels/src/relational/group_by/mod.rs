//! Group-by: aggregates of the rows of each key.
//!
//! Read in the order in which the host may launch:
//!
//! 1. [`sample`] draws rows, and [`hot_build`] makes a table of the keys that came most often.
//! 2. [`hot`] aggregates the rows of these keys in one pass and leaves the others; `hot_write`
//!    writes the groups. Lookups are in [`hot_table`].
//! 3. The others are split into bins. [`bins`](GroupPages) aggregates a bin in a hash table on chip
//!    (`bin_table`, `bins_aggregate`), [`chains`](GroupChains) where nearly every row is a group.
//!    `bins_write` and `chains_write` write the groups.
//! 4. [`sort`] is for queries that no chip holds: it describes runs of equal keys.
//! 5. [`means`] divides sums by counts.
//!
//! `on_chip` is what 2 and 3 aggregate in; files `…_in_turn` are for one thread, as on a CPU.

mod bin;
mod bin_table;
mod bins;
mod bins_aggregate;
mod bins_in_turn;
mod bins_write;
mod chains;
mod chains_thread;
mod chains_write;
pub mod hot;
pub mod hot_build;
mod hot_in_turn;
pub mod hot_table;
mod hot_write;
pub mod means;
mod on_chip;
pub mod sample;
pub mod sort;

pub use bins::{BLOCKS, GroupPages, GroupPagesParams};
pub use chains::{GroupChains, GroupChainsParams};
pub use chains_thread::CHAINED_ROWS;
pub use hot::{HotParams, HotPass, HotPassLarge};
pub use hot_build::{BuildHot, BuildHotParams, SelectHot, SelectHotParams};
pub use hot_write::{HotGroups, HotGroupsParams};
pub use on_chip::Wanted;
pub use sample::{SampleKeys, SampleKeysParams};
