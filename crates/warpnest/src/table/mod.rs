//! The code that all tables share: maps and sets of any design, their configuration, input, lookups
//! and answers, set operations, and files.
//!
//! Read `raw` first, which has the operations of every table, and `design`, the traits of designs.
//! `built` builds tables from `config`, `settings` and `input`. `handle` has the
//! [`Table`](handle::Table) that users hold, which is generic over its [`Kind`](kind::Kind).
//! [`map`] and [`set`] are two kinds; the others are in `crate::layered`. `lookup` runs lookups,
//! and `host_lookup` and `map_on_host` send the answers to the host. `changing`, `combining` and
//! `retaining` change tables.
//!
//! Only some designs use `slots` (cuckoo tables), `combine_found` (tables that cannot combine in
//! place), `id_table` (tables under a compacting table or a multimap), `stages` (the times of a
//! build) and `probes`. `refs` passes tables to kernels.

mod built;
mod changing;
mod combine_found;
pub(crate) mod combining;
pub(crate) mod config;
pub(crate) mod design;
pub(crate) mod file;
pub(crate) mod handle;
pub(crate) mod host_lookup;
pub(crate) mod id_table;
pub(crate) mod input;
pub(crate) mod kind;
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
pub(crate) mod slots;
pub(crate) mod stages;
