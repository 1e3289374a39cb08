//! The element types, by their names in the Python part.

use pyo3::PyErr;
use pyo3::exceptions::PyTypeError;

/// Returns the exception for an element type that an operation does not support.
pub fn unknown(kind: &str) -> PyErr {
    PyTypeError::new_err(format!("elements of type {kind} are not taken here"))
}

/// Runs an expression in which `$W` is the word type with `$bytes` bytes.
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

/// Runs an expression in which `$K` is the key type of this name: `u4`, `i4`, `u8`, `i8`, or two of
/// the 4-byte names for keys of two columns.
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

// A key of two columns is a pair in memory, in which the first column's element comes first.
const _: () = assert!(std::mem::offset_of!((u32, u32), 0) == 0 && std::mem::offset_of!((i32, i32), 0) == 0);
const _: () = assert!(std::mem::offset_of!((u32, i32), 0) == 0 && std::mem::offset_of!((i32, u32), 0) == 0);
