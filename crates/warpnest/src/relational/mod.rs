//! Group-by, joins, and distinct keys with ids.
//!
//! [`Join`] returns the pairs of rows of two tables whose keys are equal. [`WideJoin`] does the
//! same for keys of any number of columns, which may contain texts. [`GroupBy`] aggregates other
//! columns for each key; [`GroupBy::run`] returns the groups on the host, and [`GroupBy::run_on`]
//! on the device. With a capacity for the result, [`GroupBy::run_bounded`],
//! [`Unique::run_bounded`] and [`KeptSide::join_bounded`] leave its count there ([`Bounded`]).
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

// Read `columns` first, because all operations use it. `group_by` needs no map or set, `join` and
// `distinct` build hash tables, and `rows` implements keys of several columns.
pub(crate) mod columns;
mod distinct;
pub(crate) mod group_by;
mod join;
mod rows;

pub use columns::{Column, IntoColumn};
pub use distinct::{Distinct, OnDevice, OnHost, Part, RowIds, Rows, Unique};
pub use distinct::{
    factorize, factorize_on, isin, isin_flags_into, isin_into, isin_on, isin_on_host, unique, unique_on,
};
pub use distinct::{mode, mode_on, top_k, top_k_on, value_counts, value_counts_on};
pub use group_by::{Aggregate, Bounded, GroupBy, GroupReport, Groups, GroupsOnHost, Method, Order};
#[cfg(feature = "arrow")]
pub(crate) use join::JoinsRows;
pub use join::{Join, JoinKind, JoinMethod, JoinQuery, JoinReport, JoinWithValues, Joined, JoinedValues};
pub use join::{KeptSide, NO_ROW};
pub use rows::{TextColumn, TextOffset, WideJoin, WideKeys};
pub use rows::{flag_equal_rows, hash_rows, hash_rows_into, hash_rows_on, retain_equal_rows};
