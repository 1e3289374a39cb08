//! The shared parts of the programs: running a program, reading files within a limit of memory,
//! charts, and running the programs in tests.
#![allow(missing_docs, reason = "this crate is for the programs, and is not published; fields say what they are")]

pub mod allocator;
#[cfg(feature = "charts")]
pub mod chart;
#[cfg(feature = "tables")]
pub mod csv;
pub mod lines;
pub mod memory;
pub mod message;
#[cfg(feature = "tables")]
pub mod parquet;
#[cfg(feature = "programs")]
pub mod program;
pub mod shown;
pub mod size;
#[cfg(feature = "tables")]
pub mod table;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
