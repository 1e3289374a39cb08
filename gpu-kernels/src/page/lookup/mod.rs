//! Looking keys up: the search in a [`table`] as kernels hold it, and many keys at once ([`find`]).

pub(super) mod find;
pub(super) mod table;
