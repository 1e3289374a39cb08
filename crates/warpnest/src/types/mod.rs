//! The types of keys and values: any plain type of 4 or 8 bytes. A table holds the word that a key
//! or value is made of, so arrays are cast and not converted.

pub(crate) mod number;
mod traits;
mod words;

pub use traits::{AnyBytes, Bytes, Key, KeyOrder, OrderedKey, Plain, Proof, Value, any_bytes, pod};
pub(crate) use traits::{check_any_bytes, check_size, to_word};
pub use words::{WordKey, WordValue};
