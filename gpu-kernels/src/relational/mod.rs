//! Group-by: aggregates of the rows of each key.

mod bin;
pub mod column;
mod group_page;
mod pages;
mod pages_in_turn;

pub use group_page::Wanted;
pub use pages::{GroupPages, GroupPagesParams};
