//! The runtime of tables and primitives: devices, their memory, streams, and the engines behind
//! them.

pub(crate) mod allocation;
pub(crate) mod buffer;
pub(crate) mod chunk_settings;
pub(crate) mod device;
pub mod engine;
pub(crate) mod event;
mod foreign;
pub(crate) mod host_chunks;
pub(crate) mod huge_pages;
pub(crate) mod lent;
pub(crate) mod module;
pub mod ptx;
pub(crate) mod staging;
pub(crate) mod stream;
mod transfer;
mod uses;
pub(crate) mod view;
