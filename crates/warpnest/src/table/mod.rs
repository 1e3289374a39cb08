//! The code that all tables share: maps and sets of any design, their configuration, input, lookups
//! and answers, set operations, and files.

pub(crate) mod answers;
mod built;
mod changing;
mod changing_set;
mod combine_found;
pub(crate) mod combining;
pub(crate) mod config;
pub mod design;
pub(crate) mod file;
pub(crate) mod hash;
pub(crate) mod host_lookup;
pub(crate) mod input;
pub(crate) mod lookup;
pub(crate) mod map;
pub(crate) mod map_on_host;
pub(crate) mod probes;
pub(crate) mod raw;
pub(crate) mod refs;
pub(crate) mod retaining;
pub(crate) mod set;
mod set_operations;
mod settings;
pub(crate) mod stages;
pub mod types;
pub mod word_types;
