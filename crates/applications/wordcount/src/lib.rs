//! Counts of the words of text files, which are read part by part.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod counter;
pub mod parts;
pub mod words;
