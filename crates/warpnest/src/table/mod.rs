//! The code that all tables share: maps and sets of any design, their configuration, input, lookups
//! and answers, and set operations.

pub(crate) mod answers;
mod built;
mod changing;
pub(crate) mod config;
pub mod design;
pub(crate) mod hash;
pub(crate) mod input;
pub(crate) mod lookup;
pub(crate) mod map;
pub(crate) mod raw;
pub(crate) mod set;
mod set_operations;
pub(crate) mod stages;
pub mod types;
