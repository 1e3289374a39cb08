//! Group-by: aggregates of the rows of each key.

pub(crate) mod aggregates;
pub(crate) mod by_hot;
pub(crate) mod exposed;
pub(crate) mod sample;
