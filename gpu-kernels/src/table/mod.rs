//! Code that several kinds of tables share: [`lookup`]s of many keys and their answers
//! (`lookup_in_turn` by one thread), the [`slots`] of cuckoo tables, functions that combine values
//! ([`fold`]) and what tables that cannot do so in place do instead ([`combine`]), `rank`s.

pub mod combine;
pub mod fold;
pub mod lookup;
pub(crate) mod lookup_in_turn;
pub(crate) mod rank;
pub mod slots;
