//! The distinct keys of a column, with ids, counts and first rows, and keys sorted by their counts.
//!
//! `functions` and `query` request `parts`. `compute` chooses between `on_device` and `on_cores`,
//! which uses the dictionaries of `dictionary` and `by_parts`. `rows` are rows of several columns.
//! `row_ids` gives them ids over many batches, by the steps of `row_steps`; `key_ids` does so for
//! keys.

mod by_count;
mod by_parts;
mod compute;
mod dictionary;
mod functions;
mod key_ids;
mod on_cores;
mod on_device;
mod parts;
mod query;
mod ranks;
mod row_columns;
mod row_ids;
mod row_steps;
mod rows;

pub use by_count::{mode, mode_on, top_k, top_k_on, value_counts, value_counts_on};
pub use functions::{
    factorize, factorize_on, isin, isin_flags_into, isin_into, isin_on, isin_on_host, unique, unique_on,
};
pub use parts::Part;
pub use query::{Distinct, OnDevice, OnHost, Unique};
pub use row_ids::RowIds;
pub use rows::Rows;
