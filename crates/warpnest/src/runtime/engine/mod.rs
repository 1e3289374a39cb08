//! The host side of the engine interface: engines, which run launches and hold memory.
//!
//! With the feature `cpu`, `HostEngine<Cores>` runs kernels as functions on all cores. With the
//! feature `cuda`, the CUDA engine runs PTX on a GPU. The trait is public so that tests can run the
//! same tables on other engines: the checking back end, or an interpreter of the PTX.
//!
//! `host` is the CPU engine. It distributes blocks by `share`, and allocates memory by
//! `host_allocator`. `cuda` is the engine of GPUs.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cpu")]
mod host;
#[cfg(feature = "cpu")]
mod host_allocator;
#[cfg(feature = "cpu")]
mod host_memory;
mod last_use;
mod queue;
mod recorded;
mod share;

pub use crate::runtime::machine::Machine;
#[cfg(feature = "cpu")]
pub use host::{Cores, HostEngine, Runner};
pub use last_use::LastUse;
pub(crate) use last_use::{Pending, WorkEnd};
pub use queue::{EngineGraph, Kept, Queue, QueueEvent, Step};
pub use recorded::Recorded;
pub(crate) use share::share;

use crate::{Error, Module, Result};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The bytes of all memory.
    pub total: u64,
    /// The bytes that can be allocated now.
    pub free: u64,
}

/// The sizes of a device's memory pool, in bytes. All sizes are 0 for a device without a pool.
///
/// A GPU's driver takes long to allocate and release memory. So the memory of buffers that are
/// dropped is kept for other buffers, up to a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolSizes {
    /// The bytes that the driver has allocated: the memory of buffers, and kept memory.
    pub held: u64,
    /// The most bytes that were held at any time.
    pub most_held: u64,
    /// The kept bytes, without the parts of blocks that buffers share.
    pub kept: u64,
    /// The most bytes that may be kept, as set by
    /// [`Device::set_pool_limit`](crate::Device::set_pool_limit).
    pub limit: u64,
}

/// Allocated memory that an earlier buffer may have used.
#[derive(Debug)]
pub struct Reused {
    /// The address of the memory.
    pub address: usize,
    /// The earlier uses of the memory. Work on other streams must wait for them.
    pub uses: Vec<LastUse>,
}

/// The engine of a device.
///
/// # Safety
/// Only the engine's queues may read and write memory that `allocate` returns, until `free` is
/// called. A queue must do what its methods' documentation says, and what the engine says about its
/// memory must be true.
pub unsafe trait Engine: Debug + Send + Sync + Any {
    /// Returns the device's name.
    fn name(&self) -> &str;
    /// Returns the device's memory.
    fn memory(&self) -> Result<Memory>;
    /// Allocates `bytes` bytes (not 0), aligned to 256.
    fn allocate(&self, bytes: usize) -> Result<usize>;
    /// Frees an allocation.
    ///
    /// # Safety
    /// `address` must come from `allocate(bytes)` of this engine, and nothing may use it any more.
    unsafe fn free(&self, address: usize, bytes: usize);
    /// Allocates memory, like [`Engine::allocate`], for work of the stream with id `stream`.
    /// Earlier uses of the memory may not have ended.
    fn take(&self, bytes: usize, _stream: u64) -> Result<Reused> {
        Ok(Reused { address: self.allocate(bytes)?, uses: vec![] })
    }
    /// Frees an allocation once the given uses have ended, which may be after this returns.
    ///
    /// # Safety
    /// `address` must come from `allocate(bytes)` or `take(bytes)` of this engine. No other use of
    /// the memory may be in progress or begin later.
    unsafe fn give(&self, address: usize, bytes: usize, uses: Vec<LastUse>) {
        // After a driver error the context is lost, and the memory with it. This function cannot
        // return the error, so it is ignored.
        let _ = LastUse::synchronize_all(&uses);
        // SAFETY: as the caller promises, and the uses have ended.
        unsafe { self.free(address, bytes) }
    }
    /// Frees an allocation as [`Engine::give`] does, when all work has ended that was queued on the
    /// device until now, also of other libraries.
    ///
    /// # Safety
    /// As for [`Engine::give`], except that such uses may be going on.
    unsafe fn give_known(&self, address: usize, bytes: usize, uses: Vec<LastUse>) {
        // SAFETY: as the caller promises. On an engine of the host other libraries' work is done.
        unsafe { self.give(address, bytes, uses) }
    }
    /// Returns the sizes of the memory pool.
    fn pool(&self) -> PoolSizes {
        PoolSizes::default()
    }
    /// Releases the memory that is kept for later allocations.
    fn trim_pool(&self) {}
    /// Sets the most bytes that are kept for later allocations.
    fn set_pool_limit(&self, _bytes: usize) {}
    /// Allocates `bytes` bytes (not 0) of page-locked host memory, at a multiple of 16. Copies from
    /// and to it are faster than copies of other memory. Returns `None` if the engine has no such
    /// memory, or not enough.
    fn allocate_page_locked(&self, _bytes: usize) -> Option<usize> {
        None
    }
    /// Frees page-locked memory.
    ///
    /// # Safety
    /// `address` must come from `allocate_page_locked(bytes)` of this engine, and nothing may use
    /// it any more.
    unsafe fn free_page_locked(&self, _address: usize, _bytes: usize) {}
    /// Returns a new queue.
    fn queue(&self) -> Result<Box<dyn Queue>>;
    /// Returns a queue on the stream that other libraries use by default, which is never destroyed:
    /// a new one if they use none.
    fn legacy_queue(&self) -> Result<Box<dyn Queue>> {
        self.queue()
    }
    /// Returns whether memory that `allocate` returns holds zeros.
    fn allocates_zeros(&self) -> bool {
        false
    }
    /// Returns whether kernels may read a slice of the program in place, if its address is a
    /// multiple of 16. If so, the program may also read the device's memory while no work uses it.
    fn shares_memory_with_host(&self) -> bool {
        false
    }
    /// Makes steps ready to be queued together. Returns `None` if they are queued one after the
    /// other.
    fn graph(&self, _steps: &[Step]) -> Result<Option<Box<dyn EngineGraph>>> {
        Ok(None)
    }
    /// Makes the kernels of a package, other than this library's own, ready to be launched.
    fn load(&self, _module: &Module) -> Result<()> {
        Ok(())
    }
    /// Makes every kernel ready, if that takes time.
    fn load_kernels(&self) -> Result<()> {
        Ok(())
    }
    /// Makes the kernel of this name ready, so that its first launch spends no time or memory on
    /// loading.
    fn load_kernel(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// Returns whether the engine's kernels can load and change 128-bit words atomically.
    fn has_wide_atomics(&self) -> bool {
        true
    }
    /// Returns how the engine runs blocks.
    fn machine(&self) -> Machine {
        Machine::UNKNOWN
    }
    /// Returns the engine as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// Fails unless `found` and `expected` are the same engine.
pub(crate) fn same_device(what: &'static str, found: &Arc<dyn Engine>, expected: &Arc<dyn Engine>) -> Result<()> {
    if Arc::ptr_eq(found, expected) {
        return Ok(());
    }
    let (found, expected) = (found.name().to_owned(), expected.name().to_owned());
    Err(Error::WrongDevice { what, found, expected })
}
