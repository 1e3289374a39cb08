//! Tables that are built on another table of the library, which gives their keys dense ids.

pub(crate) mod compacting;
pub(crate) mod id_table;
pub(crate) mod multi;
pub(crate) mod rows;
