//! The seam on the host: the engines, which run launches and hold memory.
//!
//! With the feature `cpu`, `HostEngine<Cores>` runs kernels as functions on all cores; with the
//! feature `cuda`, the CUDA engine runs PTX on a GPU. The trait is public so that tests can run the
//! same tables on other engines: the checking back end, or an interpreter of the PTX.
//!
//! `host` is the engine of cores, which `share` out blocks, on the memory of `host_allocator`.
//! `cuda` is the engine of GPUs.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cpu")]
mod host;
#[cfg(feature = "cpu")]
mod host_allocator;
#[cfg(feature = "cpu")]
mod host_memory;
#[cfg(feature = "cpu")]
mod share;

pub use crate::runtime::machine::Machine;
#[cfg(feature = "cpu")]
pub use host::{Cores, HostEngine, Runner};

use crate::{Error, Module, Result};
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The bytes of all memory.
    pub total: u64,
    /// The bytes that can be allocated now.
    pub free: u64,
}

/// The sizes of a device's pool, in bytes; all are 0 where there is none.
///
/// A GPU's driver takes long for an allocation and its release. So the memory of buffers that are
/// dropped is kept for other buffers, up to a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolSizes {
    /// The bytes that the driver has given: of buffers, and kept.
    pub held: u64,
    /// The most bytes that were held at a time.
    pub most_held: u64,
    /// The bytes that are kept, without parts of blocks that buffers share.
    pub kept: u64,
    /// The most bytes that are kept: [`Device::set_pool_limit`](crate::Device::set_pool_limit).
    pub limit: u64,
}

/// The last use of memory by a stream.
#[derive(Clone, Debug)]
pub struct LastUse {
    /// The stream's id.
    pub stream: u64,
    /// The event at the end of the use.
    pub event: Arc<dyn QueueEvent>,
}

/// Memory that a buffer may have had before.
#[derive(Debug)]
pub struct Reused {
    /// Its address.
    pub address: usize,
    /// The uses by which it was had before: work of other streams must wait for them.
    pub uses: Vec<LastUse>,
}

/// The engine that a device runs on.
///
/// # Safety
/// Memory that `allocate` returns must be the engine's queues' to read and write until `free`. A
/// queue must do what its methods say, and what the engine says of its memory must be true. Safe
/// code relies on all of it.
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
    /// Allocates as [`Engine::allocate`] does, memory for work of the stream with id `stream`. It
    /// may have uses that have not ended.
    fn take(&self, bytes: usize, _stream: u64) -> Result<Reused> {
        Ok(Reused { address: self.allocate(bytes)?, uses: vec![] })
    }
    /// Frees an allocation when these uses have ended, which may be later.
    ///
    /// # Safety
    /// `address` must come from `allocate(bytes)` or `take(bytes)` of this engine, and no other use
    /// of it may be going on or come.
    unsafe fn give(&self, address: usize, bytes: usize, uses: Vec<LastUse>) {
        // After a driver error the context is lost, and with it the memory: the error cannot be
        // reported from here.
        let _ = uses.iter().try_for_each(|last| last.event.synchronize());
        // SAFETY: as the caller promises; the uses have ended.
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
    /// Returns the sizes of what is kept for allocations to come.
    fn pool(&self) -> PoolSizes {
        PoolSizes::default()
    }
    /// Gives back memory that is kept for allocations to come.
    fn trim_pool(&self) {}
    /// Sets the most bytes that are kept for allocations to come.
    fn set_pool_limit(&self, _bytes: usize) {}
    /// Allocates page-locked memory of the host, `bytes` bytes (not 0) at a multiple of 16. Copies
    /// from and to it are faster than copies of other memory. `None` if it has none, or none left.
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
    /// Returns whether memory that `allocate` returns holds zeros.
    fn allocates_zeros(&self) -> bool {
        false
    }
    /// Returns whether kernels may read a slice of the program in place, at an address that is a
    /// multiple of 16. Then the program may also read the device's memory while no work uses it.
    fn shares_memory_with_host(&self) -> bool {
        false
    }
    /// Makes the kernels of another package than this library's ready to be launched.
    fn load(&self, _module: &Module) -> Result<()> {
        Ok(())
    }
    /// Makes every kernel ready, if that takes time.
    fn load_kernels(&self) -> Result<()> {
        Ok(())
    }
    /// Makes the kernel of this name ready, so that its first launch takes neither time nor memory
    /// for that.
    fn load_kernel(&self, _name: &str) -> Result<()> {
        Ok(())
    }
    /// Returns whether its kernels can load and change words of 128 bits as a whole.
    fn has_wide_atomics(&self) -> bool {
        true
    }
    /// Returns how it runs blocks.
    fn machine(&self) -> Machine {
        Machine::UNKNOWN
    }
    /// Returns the engine as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// A queue of work that runs in order. All operations but the copies from and to the host may
/// return before they are done.
///
/// The `unsafe` methods demand that every address lies, with the bytes named, in allocations of the
/// engine which no other queue uses in conflict. It may also lie in what
/// [`Engine::shares_memory_with_host`] allows. [`Stream`](crate::Stream) ensures this through the
/// buffers' events. A handle of another library is a stream of the device that lives.
#[allow(clippy::missing_safety_doc, reason = "the trait's own text has it")]
pub trait Queue: Debug + Send + Sync {
    /// Copies from the host and waits.
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()>;
    /// Copies to the host and waits.
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()>;
    /// Copies bytes on the device.
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()>;
    /// Fills memory with a byte.
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()>;
    /// Runs `blocks` blocks of a kernel.
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()>;
    /// Records the end of what has been queued; `timed` if the event will be asked for its time.
    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>>;
    /// Makes later work wait for an event.
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()>;
    /// Waits, on the host, until all work is done.
    fn synchronize(&self) -> Result<()>;
    /// Runs `work`, which queues something by other means than these methods, behind what has been
    /// queued. It gets the queue's handle: a `CUstream` whose context is current meanwhile, or null
    /// if the device is the host, where all earlier work is done then.
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()>;
    /// Makes later work wait for what has been queued on a stream of another library, by its
    /// handle. An engine of the host has no such streams, and does nothing; others must override
    /// this.
    unsafe fn wait_for_foreign(&self, _handle: *mut c_void) -> Result<()> {
        Ok(())
    }
    /// Makes what is queued later on a stream of another library wait for what has been queued
    /// here. On an engine of the host the work is done when this returns.
    unsafe fn release_to_foreign(&self, _handle: *mut c_void) -> Result<()> {
        self.synchronize()
    }
    /// Returns the queue as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// A point in a queue.
pub trait QueueEvent: Debug + Send + Sync {
    /// Waits, on the host, until the queue has passed the event.
    fn synchronize(&self) -> Result<()>;
    /// Returns whether the queue has passed the event.
    fn is_done(&self) -> Result<bool>;
    /// Returns the milliseconds from `earlier`, an event of the same engine, to this one, both
    /// timed; waits for both.
    fn milliseconds_since(&self, earlier: &dyn QueueEvent) -> Result<f64>;
    /// Returns the event as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// Fails unless both are the same engine.
pub(crate) fn same_device(what: &'static str, found: &Arc<dyn Engine>, expected: &Arc<dyn Engine>) -> Result<()> {
    if Arc::ptr_eq(found, expected) {
        return Ok(());
    }
    let (found, expected) = (found.name().to_owned(), expected.name().to_owned());
    Err(Error::WrongDevice { what, found, expected })
}
