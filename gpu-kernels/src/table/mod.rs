//! Code that several kinds of tables share: the answers of a lookup, the slots of cuckoo
//! tables, and functions that combine values.

pub mod combine;
pub mod fold;
pub mod lookup;
pub(crate) mod lookup_in_turn;
pub(crate) mod rank;
pub mod slots;
