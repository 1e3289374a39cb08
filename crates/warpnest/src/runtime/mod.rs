//! The runtime of tables and primitives: devices, their memory, streams, and the engines behind
//! them.
//!
//! Read `device`, `buffer` and `view` first, then `stream` with the `engine`s behind it: a launch
//! records what it reads and writes by the `pointers` that its kernel gets, and `event`s order
//! streams. An engine says what `machine` it is, and plans ask that alone. `transfer`, `staging`
//! and `lent` copy; large new memory of the host is in `huge_pages`. `host_chunks` answers queries
//! in the host's memory chunk by chunk, by threads that take `units` of work. `module`, `ptx` and
//! `cubins` are the kernels, `foreign` is for other libraries. An `allocation` has the events of a
//! buffer's last uses.

pub(crate) mod allocation;
pub(crate) mod buffer;
pub(crate) mod chunk_settings;
#[cfg(feature = "cubins")]
pub(crate) mod cubins;
pub(crate) mod device;
pub mod engine;
pub(crate) mod event;
mod foreign;
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
