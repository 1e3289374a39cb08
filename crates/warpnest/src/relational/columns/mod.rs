//! Columns as the inputs of group-by, joins and distinct keys. They are on the host or a device
//! ([`column`]), and have [`words`] of either size. One or two are the [`keys`]. [`cast`] and
//! [`append`] make new columns.

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
pub(super) use keys::{KeyColumns, KeysOnDevice, Recoding, RowKeys, one_column, recode, typed};
pub(super) use words::{Lend, Words, WordsOf, WordsRef, WordsView};
