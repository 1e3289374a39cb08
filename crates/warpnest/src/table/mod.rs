//! The code that all tables share: configuration, input, lookups and answers, pairs written out,
//! and set operations.

pub(crate) mod answers;
pub(crate) mod config;
pub(crate) mod hash;
pub(crate) mod input;
pub(crate) mod lookup;
pub(crate) mod pairs;
pub(crate) mod set_methods;
pub(crate) mod set_operations;
pub(crate) mod stages;
