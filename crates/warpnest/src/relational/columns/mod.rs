//! Columns as group-by, joins and different keys take them: on the host or a device ([`column`]),
//! as [`words`] of either size, as [`keys`], which may be two columns. [`cast`] and [`append`] make
//! new ones.

mod append;
mod cast;
mod column;
mod keys;
mod words;

pub(super) use append::{Chosen, append};
pub(super) use cast::{Cast, cast_words};
pub(crate) use column::OnDevice;
pub(crate) use column::Source;
pub use column::{Column, IntoColumn};
pub(super) use keys::{KeyColumns, KeysOnDevice, Recoding, join, recode, typed};
pub(super) use words::{Lend, Words, WordsOf};
