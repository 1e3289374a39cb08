//! The native part of the Python package `warpnest`: hash tables and relational operations on
//! arrays that the package's Python part describes by address, length and device.
//!
//! The Python part (`python/warpnest`) handles the libraries of the arrays and their element types.
//! In this part, elements are words of 4 or 8 bytes.

// Each class has a file (`map`, `set`, `multi_map`), and so has each operation (`relational`,
// `group_by`, `join`). All begin as a `call`, whose arrays have one of the `kinds` and may be
// `imported` or columns of `arrow`; results are an `array`, which `numpy` has a view of, or `flags`
// for Arrow.
mod array;
mod arrow;
mod call;
mod error;
mod flags;
mod forked;
mod group_by;
mod imported;
mod join;
mod kinds;
mod map;
mod multi_map;
mod numpy;
mod relational;
mod set;
mod streams;

use pyo3::prelude::*;

/// The native part of warpnest. Only this package uses it.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::array::{Array, empty};
    #[pymodule_export]
    use super::arrow::{ArrowColumn, import_arrow};
    #[pymodule_export]
    use super::call::{device_name, gpu_error, release_memory};
    #[pymodule_export]
    use super::flags::Flags;
    #[pymodule_export]
    use super::group_by::group_by;
    #[pymodule_export]
    use super::imported::{Imported, import_dlpack};
    #[pymodule_export]
    use super::join::join;
    #[pymodule_export]
    use super::map::{Map, build_map, create_map, load_map};
    #[pymodule_export]
    use super::multi_map::{MultiMap, build_multi_map, load_multi_map};
    #[pymodule_export]
    use super::numpy::{address, plain};
    #[pymodule_export]
    use super::relational::{factorize, isin, unique, value_counts};
    #[pymodule_export]
    use super::set::{Set, build_set, create_set, load_set};
}
