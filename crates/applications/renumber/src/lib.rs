//! The nodes of a graph, whose ids are any numbers of 64 bits, get ids from 0 on without gaps.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod graph;
pub mod renumber;
