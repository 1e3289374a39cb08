//! Group-by: aggregates of the rows of each key.

pub mod column;
pub mod hot;
pub mod hot_build;
mod hot_groups;
pub mod hot_table;
pub mod sample;

pub use hot::{HotParams, HotPass, HotPassLarge};
pub use hot_build::{BuildHot, BuildHotParams, SelectHot, SelectHotParams};
pub use hot_groups::{HotGroups, HotGroupsParams};
pub use sample::{SampleKeys, SampleKeysParams};
