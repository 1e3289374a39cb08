//! A CUDA driver for tests on machines without a GPU. It implements the functions that warpnest and
//! `cudarc` call on the interpreter of PTX.
//!
//! The library is named `libcuda.so.1`. After a test has opened it by [`FakeDriver::open`], the
//! dynamic loader finds it under that name, in this process only. It has four devices
//! ([`CAPABILITIES`]). Every call is checked: the right context must be current, and every handle
//! and address must be valid. A wrong call returns an error of the driver and is recorded as a
//! *violation*. A test can make any call fail, and can defer work until a call waits for it.

// `api` has the driver's functions, which change the `state`. The state has a `context` for each
// device, and `work` does the operations of the context's `stream`s. `control` is for tests.
mod answer;
mod api;
mod context;
mod control;
mod state;
mod stream;
mod work;

pub use control::{FakeDriver, Fault, Held};

/// The compute capability of each device, and the newest PTX version that the driver takes for it.
pub const CAPABILITIES: [((i32, i32), (u32, u32)); 4] =
    [((9, 0), (8, 8)), ((7, 5), (8, 8)), ((7, 0), (8, 8)), ((9, 0), (8, 0))];

/// The size of each device's memory in bytes.
pub const TOTAL_MEMORY: usize = 256 << 20;

/// The default limit on a block's shared memory in bytes, and the limit if its kernel requests
/// more.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 99 << 10;

/// The name for a fault of a kernel that occurs while the kernel runs, not at its launch.
pub const IN_KERNEL: &str = "kernel";

/// The functions that fail only if a fault names them. They are called so often that a fault in any
/// call would seldom hit another function.
pub const ONLY_BY_NAME: [&str; 4] = [IN_KERNEL, "cuCtxGetCurrent", "cuCtxSetCurrent", "cuGetErrorName"];
