//! Group-by, joins and distinct keys: aggregates of the rows of each key, pairs of rows with equal
//! keys from two sides, the ids of keys, and hashes and comparisons of rows of several columns.
//!
//! Each folder is one operation and has the same name on the host: `group_by`, `distinct`, `join`,
//! and `rows`, which is for keys of several columns. They share the comparison of a
//! [`column_values`]'s values, and the words of signed or paired [`keys`].

pub use crate::column_values;
pub mod distinct;
pub mod group_by;
pub mod join;
pub mod keys;
pub mod rows;
