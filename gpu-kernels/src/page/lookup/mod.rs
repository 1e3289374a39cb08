//! Looking keys up: the search in a [`table`] by kernels, and the lookup of many keys ([`find`]).

pub(super) mod find;
pub(super) mod table;
