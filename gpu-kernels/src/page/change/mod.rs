//! Batches of changes. Small batches change single pairs in the table's own memory: [`direct`] adds
//! and [`remove_directly`] removes, in pages that are [`in_memory`]. Large batches rewrite all
//! pages on chip ([`add`], [`remove`]), and may [`pull_back`] pairs to earlier candidates.
//! [`take_out`] finds, removes and moves single pairs.

pub(super) mod add;
mod add_in_turn;
pub(super) mod direct;
pub(super) mod in_memory;
pub(super) mod pull_back;
pub(super) mod remove;
pub(super) mod remove_directly;
pub(super) mod take_out;
