//! Dense ids, starting at 0, for the nodes of a graph whose own ids are any numbers of 64 bits.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod graph;
pub mod renumber;
