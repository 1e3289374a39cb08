//! Group-by and joins: aggregates of the rows of each key, the rows of two sides with equal keys,
//! and hashes and comparisons of rows of several columns.

mod bin;
mod chained;
mod chains;
mod chains_write;
pub mod column;
pub mod dictionary;
mod group_page;
pub mod groups;
pub mod hot;
pub mod hot_build;
mod hot_groups;
mod hot_in_turn;
pub mod hot_table;
pub mod ids;
pub mod join;
pub mod keys;
pub mod means;
mod on_chip;
mod page_groups;
mod pages;
mod pages_in_turn;
pub mod rows;
pub mod sample;

pub use chained::CHAINED_ROWS;
pub use chains::{GroupChains, GroupChainsParams};
pub use hot::{HotParams, HotPass, HotPassLarge};
pub use hot_build::{BuildHot, BuildHotParams, SelectHot, SelectHotParams};
pub use hot_groups::{HotGroups, HotGroupsParams};
pub use on_chip::Wanted;
pub use pages::{BLOCKS, GroupPages, GroupPagesParams};
pub use sample::{SampleKeys, SampleKeysParams};
