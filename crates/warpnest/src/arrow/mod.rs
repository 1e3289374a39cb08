//! Apache Arrow: arrays as keys and answers of lookups, joins and group-bys of record batches
//! (feature `arrow`).
//!
//! ```
//! use arrow_array::record_batch;
//! use warpnest::Device;
//! use warpnest::arrow::{ArrowGroupBy, ArrowJoin};
//!
//! let trips = record_batch!(
//!     ("zone", Int32, [Some(7), Some(3), None, Some(7)]),
//!     ("fare", Float64, [Some(2.5), Some(4.0), Some(1.0), None])
//! )?;
//! let zones = record_batch!(("zone", Int32, [3, 7]), ("borough", Utf8, ["Queens", "Bronx"]))?;
//!
//! let device = Device::best()?;
//! let joined = ArrowJoin::new(&trips, &zones).on(["zone"]).run(&device)?;
//! let query = ArrowGroupBy::new(&joined).by(["borough"]).count_rows("trips").sum("fare", "fares");
//! let groups = query.run(&device)?;
//! assert_eq!((joined.num_rows(), groups.num_rows(), groups.num_columns()), (3, 2, 3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Lookups.** `array.values()` is a column of keys or values wherever this library takes one,
//!   and `&array.values()[..]` a slice of queries. [`lookup`] minds nulls, and [`from_answers`]
//!   makes an array of [`Answers`].
//! - **[`ArrowJoin`]** joins record batches by columns of any types, with the nulls of SQL.
//! - **[`ArrowGroupBy`]** aggregates the rows of a record batch by columns of any types.
//! - **Versions.** The types are from the crates `arrow-array` and so on, version 60; the crate
//!   `arrow` has them, too.
//!
//! [`Answers`]: crate::Answers

// `memory` and `lookup` are without copies. `columns` finds columns by name, `keys` and `texts`
// make them what rows are compared by. `join` chooses the join that takes the keys, `result` has
// its columns. `group_by` gives keys that are no word ids first (`ids`); `numbers` are what
// `aggregates` are computed from.
mod aggregates;
mod columns;
mod group_by;
mod ids;
mod join;
mod keys;
mod lookup;
mod memory;
mod numbers;
mod result;
mod texts;

pub use group_by::ArrowGroupBy;
pub use join::ArrowJoin;
pub use lookup::{from_answers, lookup};
pub use memory::from_buffer;
pub use result::JoinedRows;
