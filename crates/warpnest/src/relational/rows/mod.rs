//! Keys of any number of columns, which are words or texts: hashes of rows, tests for equality, and
//! joins.
//!
//! `wide_keys` has the columns, and `on_device` their device memory. `hash` computes a word for
//! each row, and `join` joins these words. `pairs` and `presence` remove the pairs that are not
//! `equal`.

mod equal;
mod hash;
mod join;
mod on_device;
mod outcomes;
mod pairs;
mod presence;
mod text_column;
mod wide_keys;

pub use equal::{flag_equal_rows, retain_equal_rows};
pub use hash::{hash_rows, hash_rows_into, hash_rows_on};
pub use join::WideJoin;
pub use text_column::{TextColumn, TextOffset};
pub use wide_keys::WideKeys;
