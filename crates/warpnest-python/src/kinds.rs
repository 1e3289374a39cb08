//! The types of elements, by the names that the Python part gives them.

use pyo3::PyErr;
use pyo3::exceptions::PyTypeError;

/// Returns the exception for a type of elements that an operation does not take.
pub fn unknown(kind: &str) -> PyErr {
    PyTypeError::new_err(format!("elements of type {kind} are not taken here"))
}

/// Runs an expression with the word of as many bytes as type `$W`.
macro_rules! with_word {
    ($bytes:expr, $W:ident => $body:expr) => {
        match $bytes {
            4 => {
                type $W = u32;
                $body
            }
            8 => {
                type $W = u64;
                $body
            }
            bytes => Err($crate::kinds::unknown(&format!("of {bytes} bytes"))),
        }
    };
}

/// Runs an expression with the type of keys that a name stands for as type `$K`: `u4`, `i4`, `u8`,
/// `i8`, or two of the first two for keys of two columns.
macro_rules! with_key {
    ($kind:expr, $K:ident => $body:expr) => {
        with_key!(@ $kind, $K, $body,
            "u4" = u32, "i4" = i32, "u8" = u64, "i8" = i64,
            "u4u4" = (u32, u32), "i4i4" = (i32, i32), "u4i4" = (u32, i32), "i4u4" = (i32, u32))
    };
    (@ $kind:expr, $K:ident, $body:expr, $($name:literal = $type:ty),+) => {
        match $kind {
            $($name => {
                type $K = $type;
                $body
            })+
            kind => Err($crate::kinds::unknown(kind)),
        }
    };
}

pub(crate) use {with_key, with_word};

// Keys of two columns are pairs in memory: the first column's element, then the second one's.
const _: () = assert!(std::mem::offset_of!((u32, u32), 0) == 0 && std::mem::offset_of!((i32, i32), 0) == 0);
const _: () = assert!(std::mem::offset_of!((u32, i32), 0) == 0 && std::mem::offset_of!((i32, u32), 0) == 0);
