//! Tables that are built on another table of the library, which maps their keys to dense ids.
//!
//! `compacting` has the table of keys and ids. `multi` has the multimap, whose values are sorted by
//! the ids of their keys. `rows` has the row map, whose ids are row indices that are reused after
//! removals. `refs` lends the first two to kernels.

pub(crate) mod compacting;
pub(crate) mod multi;
mod refs;
pub(crate) mod rows;
