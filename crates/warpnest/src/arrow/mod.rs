//! Apache Arrow (feature `arrow`): arrays as keys and answers of lookups, and joins and group-bys
//! of record batches.
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
//! - **Lookups.** `array.values()` is a column of keys or values wherever this library takes a
//!   column, and `&array.values()[..]` is a slice of queries. [`lookup`] handles nulls, and
//!   [`from_answers`] makes an array of [`Answers`].
//! - **[`ArrowJoin`]** joins record batches by columns of any types, and treats nulls as SQL does.
//! - **[`ArrowGroupBy`]** aggregates the rows of a record batch by columns of any types.
//! - **Versions.** The types are from version 60 of the crates `arrow-array` and so on. The crate
//!   `arrow` exports the same types.
//!
//! [`Answers`]: crate::Answers

// `memory` and `lookup` convert buffers without copies. `columns` finds columns by name, and `keys`
// and `texts` convert them for comparisons. `join` chooses the join that supports the keys, and
// `result` has its columns. `group_by` first maps keys that are no words to ids (`ids`). `numbers`
// has the columns from which `aggregates` are computed.
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
