//! The CUDA driver's symbols, found when the program runs and not when it is linked.
//!
//! # The problem
//!
//! The crate `cust` declares the functions of the CUDA driver (`cuInit`, `cuMemAlloc_v2`, ...) and asks the linker for
//! `libcuda`. A binary built so needs `libcuda.so.1` to start at all: on a machine without an NVIDIA driver the loader
//! ends it before `main`, so it cannot fall back to the CPU. And without a CUDA installation it does not even link.
//!
//! # How it works
//!
//! This crate defines every function which `cust_raw` declares, so the linker needs no `libcuda`. Each is one jump
//! through a slot that holds an address. The jump leaves the arguments where they are, so the crate need not know what
//! they are. At first every slot points to a stub which returns [`NO_DEVICE`], the driver's own answer on a machine
//! without a GPU. (Only the stub of `cuGetErrorString` gives a text instead: `cust` prints its errors with it, and
//! would panic.) [`load`] opens `libcuda.so.1` and points the slots to the functions in it. A function which that
//! driver lacks keeps its stub.
//!
//! ```
//! match cuda_lazy::load() {
//!     Ok(()) => println!("a driver is here: ask it for its devices"),
//!     Err(error) => println!("using the CPU: {error}"),
//! }
//! ```
//!
//! `cust`'s build script still looks for a CUDA installation. The folder `cuda-stub` of this crate passes for one: set
//! `CUDA_LIBRARY_PATH` to it (in this workspace `.cargo/config.toml` does). Its `libcuda.so` is a linker script of one
//! line which adds nothing to the binary. On a machine with a CUDA toolkit nothing changes: the linker has resolved the
//! symbols before it comes to `libcuda`.
//!
//! # Rules and limits
//!
//! * Call [`load`] before any call into `cust`. Until then each of those calls fails with [`NO_DEVICE`].
//! * A dependency that no source file names is not linked. [`load`] names this crate; a program which leaves that call
//!   to another crate needs nothing more, one without any such call writes `use cuda_lazy as _;`.
//! * The symbols are hidden: they serve the executable or shared library into which this crate is linked statically (as
//!   Cargo does by default) and cannot take the place of the driver's own in the rest of the process.
//! * Linux on `x86_64` and `aarch64` with a dynamic C library. Elsewhere the crate defines no symbol, and [`load`]
//!   returns [`LoadError::UnsupportedTarget`].
//! * Only the functions which `cust_raw` 0.11.3 declares are here, those of CUDA 11.4. A driver keeps its old functions
//!   when it gains new ones, so newer drivers serve them.

// One condition, twice: where the symbols are defined, and where `load` can only say that they are not.
#[cfg(all(target_os = "linux", target_pointer_width = "64", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod driver;
#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "unsupported.rs"]
mod driver;
mod error;

pub use error::LoadError;

/// What a driver function returns while no driver is behind it: `CUDA_ERROR_NO_DEVICE`.
pub const NO_DEVICE: u32 = 100;

/// Opens the NVIDIA driver and makes its functions answer the calls through the `cu*` symbols.
///
/// The first call does the work; each later one returns the same answer. The driver stays open until the process ends.
///
/// # Errors
///
/// When the driver cannot be opened, the opened library is not a driver, or the target has no symbols here
/// ([`LoadError`] says which). Every `cu*` function defined here then keeps its stub.
pub fn load() -> Result<(), LoadError> {
    driver::load()
}
