//! Building a table. [`pages`] has the page of a block from beginning to end, whose steps are in
//! `one_page`: where its pairs come from ([`source`]), the [`lists`] of those that have no slot
//! yet, what one pair does in the page ([`probe`], [`evict`]), and loops of that over the block
//! ([`fill`]), or by one thread of a CPU ([`fill_in_turn`]). [`copy`] brings a page to the table.
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
pub(super) mod pages;
pub(super) mod probe;
pub(super) mod repeat_list;
pub(super) mod resolve;
pub(super) mod sample;
pub(super) mod source;
pub(super) mod starts;
