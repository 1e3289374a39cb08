//! Group-by: aggregates of the rows of each key.

pub mod column;
mod group_page;
pub mod groups;
pub mod keys;
mod pages;

pub use group_page::Wanted;
pub use pages::{GroupPages, GroupPagesParams};
