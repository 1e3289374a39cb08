//! Building a table. [`pages`] contains the kernels, and `one_page` the whole work of a block. The
//! block reads its pairs ([`source`]) and keeps [`lists`] of the pairs without a slot. [`probe`]
//! and [`evict`] insert one pair into the page, and [`fill`] loops over the pairs of the block.
//! [`copy`] writes the page to the table. [`one_page_in_turn`] builds a page with one CPU thread,
//! which inserts most pairs by [`fill_in_turn`].
//!
//! A build without order first takes a [`sample`] of the keys. Pages then list the keys that occur
//! again ([`repeat_list`]), and [`resolve`] finds the last value of each listed key. [`starts`] is
//! for pairs that are in the order of their pages.

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
