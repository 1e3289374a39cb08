//! Code that several kinds of tables share: [`lookup`]s of many keys (by one thread:
//! `lookup_in_turn`), the [`slots`] of cuckoo tables, functions that combine values ([`fold`]), the
//! kernels of tables that cannot combine values in place ([`combine`]), and `rank`s.

pub mod combine;
pub mod fold;
pub mod lookup;
pub(crate) mod lookup_in_turn;
pub(crate) mod rank;
pub mod slots;
