//! Batches of changes. Those that are small beside the table go to their pairs in its own memory:
//! [`direct`] adds and [`remove_directly`] removes, in pages that are [`in_memory`]. Large ones
//! rewrite all pages on chip ([`add`], [`remove`]), which may [`pull_back`] pairs. [`take_out`] is
//! what one pair does there.

pub(super) mod add;
mod add_in_turn;
pub(super) mod direct;
pub(super) mod in_memory;
pub(super) mod pull_back;
pub(super) mod remove;
pub(super) mod remove_directly;
pub(super) mod take_out;
