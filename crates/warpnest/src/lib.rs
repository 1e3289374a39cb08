#![doc = include_str!("guide.md")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("warpnest needs a 64-bit host: a table may take more than 4 GiB");

mod buffer;
mod cuckoo;
mod device;
pub mod engine;
mod error;
pub mod primitives;
mod stream;

pub use buffer::{Allocation, Buffer, Tracked};
pub use cuckoo::{Answers, Arithmetic, BuildReport, Chains, CuckooConfig, CuckooMap, HashFamily};
pub use device::Device;
pub use engine::Memory;
pub use error::{Error, Result};
pub use gpu_kernels as kernels;
pub use gpu_kernels::types::{Key, Value};
pub use stream::{Event, Stream};
