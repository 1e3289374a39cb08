//! What the programs share: files that are read within a limit of memory.
#![allow(missing_docs, reason = "this crate is for the programs, and is not published; fields say what they are")]

pub mod allocator;
#[cfg(feature = "tables")]
pub mod csv;
pub mod lines;
pub mod memory;
pub mod message;
#[cfg(feature = "tables")]
pub mod parquet;
pub mod size;
#[cfg(feature = "tables")]
pub mod table;
pub mod testing;
pub mod text;
