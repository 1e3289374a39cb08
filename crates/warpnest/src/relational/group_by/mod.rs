//! Group-by: aggregates of the rows of each key.
//!
//! [`GroupBy`] (`query`) takes the columns and the `wanted` aggregates (`requests`). `compute`
//! chooses between `sort`, which works for every query, and `on_chip`, whose groups `hot_and_bins`
//! computes. There a `sample` of the keys decides which rows `hot` aggregates in one pass, and
//! which are split into `bins`, whose sizes `bins_plan` computes beforehand. On a CPU `on_cores`
//! does all of this. Few rows on a GPU need no sample: all of them are added to one `table` in the
//! device's memory. So are any rows if the result is [`Bounded`], since nothing else does without a
//! wait. `derived` aggregates follow when the groups are known; then only the `top` groups are
//! kept, if that is wanted.
//!
//! Few know of the masks of a `filter`: `input` leaves rows out of a query, and `unfiltered` makes
//! a query without masks of folded aggregates from one with masks.
//!
//! [`GroupsOnHost`] and [`Groups`] are the results. `merge` combines the groups of parts of the
//! rows, by the `recipe` of their queries.
//! The kernels are in modules of the same names in `gpu_kernels::relational::group_by`.
//!
//! This module uses no map or set, because maps use it to merge the rows of each key (`combined`).

mod bins;
mod bins_plan;
pub(super) mod bounded;
pub(crate) mod combined;
mod compute;
mod derived;
pub(crate) mod exposed;
mod filter;
mod folds;
mod groups;
mod hot;
mod hot_and_bins;
mod input;
mod listed;
pub(super) mod memory;
mod merge;
mod on_chip;
pub(super) mod on_cores;
pub(super) mod outputs;
pub(super) mod query;
mod recipe;
mod requests;
pub(crate) mod sample;
mod sort;
pub(super) mod table;
mod top;
mod unfiltered;
mod wanted;

pub use bounded::Bounded;
pub use groups::{GroupReport, Groups, GroupsOnHost, Method};
pub use query::GroupBy;
pub use wanted::{Aggregate, Order};
