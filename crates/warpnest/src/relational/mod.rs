//! Group-by, joins, and different keys with their ids.
//!
//! [`Join`] gives the rows of two tables whose keys are equal, and [`WideJoin`] does so for keys of
//! any columns, texts among them. [`GroupBy`] names the key column and what is wanted of the
//! others; [`GroupBy::run`] gives the groups on the host, and [`GroupBy::run_on`] on the device.
//!
//! ```
//! use warpnest::Device;
//! use warpnest::relational::{GroupBy, Order};
//!
//! let device = Device::best()?;
//! let zones = [7u32, 3, 7, 7];
//! let fares = [2.5f32, 4.0, 1.0, 1.5];
//!
//! let mut query = GroupBy::new(&zones);
//! let trips = query.count();
//! let total = query.sum(&fares);
//! let highest = query.max(&fares);
//! let groups = query.order(Order::ByKey).run(&device)?;
//! assert_eq!(groups.keys, [3, 7]);
//! assert_eq!(groups.column(trips)?, [1, 3]);
//! assert_eq!(groups.column(total)?, [4.0, 5.0]);
//! assert_eq!(groups.column(highest)?, [4.0, 2.5]);
//! # Ok::<(), warpnest::Error>(())
//! ```

// Read `columns` first, which all operations take. `group_by` needs no table, `join` and
// `distinct` build some, and `rows` has keys of several columns for both.
pub(crate) mod columns;
mod distinct;
pub(crate) mod group_by;
mod join;
mod rows;

pub use columns::{Column, IntoColumn};
pub use distinct::{Distinct, OnDevice, OnHost, Part, RowIds, Rows, Unique};
pub use distinct::{factorize, factorize_on, isin, isin_into, isin_on, isin_on_host, unique, unique_on};
pub use distinct::{mode, mode_on, top_k, top_k_on, value_counts, value_counts_on};
pub use group_by::{Aggregate, GroupBy, GroupReport, Groups, GroupsOnHost, Method, Order};
#[cfg(feature = "arrow")]
pub(crate) use join::JoinsRows;
pub use join::{Join, JoinKind, JoinMethod, JoinQuery, JoinReport, JoinWithValues, Joined, JoinedValues};
pub use join::{KeptSide, NO_ROW};
pub use rows::{TextColumn, TextOffset, WideJoin, WideKeys};
pub use rows::{flag_equal_rows, hash_rows, hash_rows_into, hash_rows_on, retain_equal_rows};
