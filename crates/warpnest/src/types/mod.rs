//! The types of keys and values, which are all plain types of 4 or 8 bytes. A table stores the word
//! that has the bytes of a key or value, so arrays are cast and not converted.

pub(crate) mod number;
mod traits;
mod words;

pub use traits::{AnyBytes, Bytes, Key, KeyOrder, OrderedKey, Plain, Proof, Value, any_bytes, pod};
pub(crate) use traits::{check_any_bytes, check_size, to_word};
pub use words::{WordKey, WordValue};
