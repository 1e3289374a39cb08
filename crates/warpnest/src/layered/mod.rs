//! Tables that are built on another table of the library, which maps their keys to dense ids.
//!
//! `compacting` has the table of keys and ids, `multi` the multimap, and `rows` the row map, whose
//! row indices are reused. `refs` lends the first two to kernels.

pub(crate) mod compacting;
pub(crate) mod multi;
mod refs;
pub(crate) mod rows;
