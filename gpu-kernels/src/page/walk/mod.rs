//! Reading all pairs of a table, with a thread per bucket ([`buckets`]) or by one thread of a CPU
//! ([`in_turn`]). The kernels write the pairs out ([`unpack`]), give keys dense ids ([`number`]),
//! or [`check`] the tags of a file.

pub(super) mod buckets;
pub(super) mod check;
pub(super) mod in_turn;
pub(super) mod number;
pub(super) mod unpack;
