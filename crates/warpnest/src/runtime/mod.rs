//! The runtime of tables and primitives: devices, their memory, streams, and the engines behind
//! them.
//!
//! Read `device`, `buffer` and `view` first, then `stream` and the `engine`s that it uses. A launch
//! gets `pointers` to buffers, records which buffers it reads and writes, and `event`s order
//! streams. An engine describes itself as a `machine`, on which plans depend. `transfer`, `staging`
//! and `lent` copy data, and `huge_pages` allocates large host memory. `host_chunks` answers
//! queries in host memory chunk by chunk, on threads that take `units` of work. `module`, `ptx` and
//! `cubins` have the kernels, and `foreign` is for other libraries. An `allocation` has the events
//! of a buffer's last uses. A `graph` has work that was `capture`d, to be launched again.

pub(crate) mod allocation;
pub(crate) mod buffer;
pub(crate) mod capture;
pub(crate) mod chunk_settings;
#[cfg(feature = "cubins")]
pub(crate) mod cubins;
pub(crate) mod device;
pub mod engine;
pub(crate) mod event;
mod foreign;
pub(crate) mod graph;
pub(crate) mod host_chunks;
pub(crate) mod huge_pages;
pub(crate) mod lent;
pub(crate) mod machine;
pub(crate) mod module;
mod pointers;
pub mod ptx;
pub(crate) mod staging;
pub(crate) mod stream;
mod transfer;
pub(crate) mod units;
pub(crate) mod view;
