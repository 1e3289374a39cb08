//! Group-by: aggregates of the rows of each key.

mod aggregates;
mod by_hash;
mod hash_plan;

pub use by_hash::group_by_hash;
