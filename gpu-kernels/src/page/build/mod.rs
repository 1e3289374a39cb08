//! Building a table. [`pages`] has the kernels, and `one_page` what a block does from beginning to
//! end: where its pairs come from ([`source`]), the [`lists`] of those that have no slot yet, what
//! one pair does in the page ([`probe`], [`evict`]), and loops of that over the block ([`fill`]).
//! [`copy`] brings a page to the table. [`one_page_in_turn`] is a page by one thread of a CPU, with
//! [`fill_in_turn`] for most pairs.
//!
//! A build without order first takes a [`sample`] of the keys. Pages then list the keys that they
//! met again ([`repeat_list`]), and [`resolve`] finds their last values. [`starts`] is for pairs
//! that are in the order of their pages.

pub(super) mod copy;
pub(super) mod evict;
pub(super) mod fill;
pub(super) mod fill_in_turn;
pub(super) mod lists;
mod one_page;
pub(super) mod one_page_in_turn;
pub(super) mod pages;
pub(super) mod probe;
pub(super) mod repeat_list;
pub(super) mod resolve;
pub(super) mod sample;
pub(super) mod source;
pub(super) mod starts;
