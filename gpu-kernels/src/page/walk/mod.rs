//! Walking over all pairs of a table, a thread per bucket ([`buckets`]) or by one thread of a CPU
//! ([`in_turn`]): to write them out ([`unpack`]), to give keys dense ids ([`number`]), or to
//! [`check`] the tags of a file.

pub(super) mod buckets;
pub(super) mod check;
pub(super) mod in_turn;
pub(super) mod number;
pub(super) mod unpack;
