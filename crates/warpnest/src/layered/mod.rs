//! Tables that are built on another table of the library, which gives their keys dense ids.
//!
//! `compacting` gives the ids, `multi` adds values sorted by them, `rows` row indices that become
//! free again; `refs` lends the first two to kernels.

pub(crate) mod compacting;
pub(crate) mod multi;
mod refs;
pub(crate) mod rows;
