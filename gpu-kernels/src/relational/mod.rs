//! Group-by: aggregates of the rows of each key.

pub mod column;
pub mod groups;
pub mod keys;
