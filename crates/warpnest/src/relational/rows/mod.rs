//! Keys of any number of columns, words and texts: their hashes, which rows are equal, and joins.
//!
//! `wide_keys` are the columns, `on_device` where they are read. `hash` gives each row one word;
//! `join` joins those, and `pairs` and `presence` leave out what `equal` finds to differ.

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
