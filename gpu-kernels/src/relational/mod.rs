//! Group-by, joins and different keys: aggregates of the rows of each key, the rows of two sides
//! with equal keys, the ids of keys, and hashes and comparisons of rows of several columns.
//!
//! Each folder is one operation, with the host's folder of the same name: `group_by`, `distinct`,
//! `join`, and `rows`, which is for keys of several columns. What they share is how a
//! [`mod@column`]'s values are compared, and the words of signed or paired [`keys`].

pub use crate::column;
pub mod distinct;
pub mod group_by;
pub mod join;
pub mod keys;
pub mod rows;
