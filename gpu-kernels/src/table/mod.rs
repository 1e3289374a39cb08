//! Code that several kinds of tables share: the answers of a lookup, and the slots of cuckoo
//! tables.

pub mod lookup;
pub(crate) mod lookup_in_turn;
pub mod slots;
