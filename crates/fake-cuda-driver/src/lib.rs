//! A CUDA driver for tests on machines without one: the functions that warpnest and `cudarc` call,
//! over the interpreter of PTX.
//!
//! The library is named `libcuda.so.1`. A test opens it by [`FakeDriver::open`]; from then on the
//! loader finds it under that name, in this process and nowhere else. It has four devices
//! ([`CAPABILITIES`]). Every call is checked: the right context must be current, and every handle
//! and address must be alive. A wrong call becomes an error of the driver and is recorded as a
//! *violation*. A test can let any call fail, and can put work off until it is waited for.

// `api` has the driver's functions, which change the `state`: of each device a `context`, with
// `stream`s whose operations `work` does. `control` is for tests.
mod answer;
mod api;
mod context;
mod control;
mod state;
mod stream;
mod work;

pub use control::{FakeDriver, Fault, Held};

/// The devices: compute capability, and the newest version of PTX that the driver takes for them.
pub const CAPABILITIES: [((i32, i32), (u32, u32)); 4] =
    [((9, 0), (8, 8)), ((7, 5), (8, 8)), ((7, 0), (8, 8)), ((9, 0), (8, 0))];

/// The bytes of each device's memory.
pub const TOTAL_MEMORY: usize = 256 << 20;

/// The shared memory of a block in bytes, and the most if its kernel asks for it.
const SHARED: u32 = 48 << 10;
const MOST_SHARED: u32 = 99 << 10;

/// The name under which a fault is planted that a kernel has while it runs, and not when it is
/// launched.
pub const IN_KERNEL: &str = "kernel";

/// The calls that fail only if a fault names them. There are so many of these that the others would
/// hardly be tried.
pub const ONLY_BY_NAME: [&str; 4] = [IN_KERNEL, "cuCtxGetCurrent", "cuCtxSetCurrent", "cuGetErrorName"];
