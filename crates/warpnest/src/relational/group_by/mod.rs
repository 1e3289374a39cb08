//! Group-by: aggregates of the rows of each key.
//!
//! [`GroupBy`] (`query`) takes the columns and what is `wanted` of them, and chooses a way:
//! `sort`, which any query can take, or `on_chip`, whose groups `hot_and_bins` finds. There a
//! `sample` of the keys decides which rows `hot` aggregates in one pass, and which are split
//! into `bins`, by a `bins_plan` that knows all sizes beforehand. [`GroupsOnHost`] and
//! [`Groups`] are the results. Kernels of the same names are in
//! `gpu_kernels::relational::group_by`.
//!
//! No table is used here, so that tables combine the rows of each key by it (`combined`).

mod bins;
mod bins_plan;
pub(crate) mod combined;
pub(crate) mod exposed;
mod groups;
mod hot;
mod hot_and_bins;
pub(super) mod memory;
mod on_chip;
mod outputs;
pub(super) mod query;
pub(crate) mod sample;
mod sort;
mod wanted;

pub use groups::{GroupReport, Groups, GroupsOnHost, Method};
pub use query::GroupBy;
pub use wanted::{Aggregate, Order};
