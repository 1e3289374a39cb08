//! Engines whose device memory is host memory: the CPU engine, and engines for tests.

use super::host_allocator::HostAllocator;
use super::share::share;
use super::{Engine, Machine, Memory, Queue, QueueEvent, host_memory};
use crate::{Error, Module, Result};
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

/// A runner, which runs the kernel launches of an engine on host memory.
///
/// # Safety
/// `run` must do what the kernel's documentation says, and touch only the memory that the kernel's
/// arguments name. When it returns, even with an error, it must no longer use that memory, because
/// safe code then reads and frees it. `has_wide_atomics` must not promise more than `run` does.
pub unsafe trait Runner: Debug + Send + Sync + 'static {
    /// Returns the device's name.
    fn name(&self) -> &str;
    /// Runs `blocks` blocks of `kernel`, and returns when they have ended.
    ///
    /// # Safety
    /// The kernel's pointers must be valid for the kernel's accesses, and no conflicting access to
    /// that memory may happen meanwhile.
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()>;
    /// Makes the kernels of another package ready, as [`Engine::load`] does.
    fn load(&self, _module: &Module) -> Result<()> {
        Ok(())
    }
    /// Returns the answer of [`Engine::machine`].
    fn machine(&self) -> Machine {
        Machine::UNKNOWN
    }
    /// Returns whether this runner's kernels can load and change 128-bit words atomically.
    fn has_wide_atomics(&self) -> bool {
        true
    }
    /// Returns the answer of [`Engine::shares_memory_with_host`].
    fn shares_memory_with_host(&self) -> bool {
        false
    }
    /// Informs the runner of memory that kernels may use from now on.
    fn allocated(&self, _address: usize, _bytes: usize) {}
    /// Informs the runner of memory that kernels may no longer use.
    fn freed(&self, _address: usize) {}
}

/// The CPU engine's runner, which distributes the blocks of a launch over all cores.
#[derive(Debug)]
pub struct Cores;

/// The most blocks that one task runs, enough to hide the cost of a task.
const MAX_BLOCKS_PER_TASK: u32 = 64;
/// The count of tasks for each core, if there are enough blocks. It balances the work.
const TASKS_A_CORE: u32 = 8;
/// The count of threads below which a launch runs on the calling thread, because it is complete
/// before other cores have woken up.
const FEW_THREADS: u32 = 1 << 14;
/// The bytes of shared memory of a large block, which processes about as many bytes of data.
const LARGE_BLOCK: usize = 1 << 14;

// SAFETY: `run` runs every block of the grid once, and returns when all blocks have run.
unsafe impl Runner for Cores {
    fn name(&self) -> &str {
        "CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let cores = rayon::current_num_threads() as u32;
        let small = kernel.entry().shared_bytes + kernel.dynamic_bytes() < LARGE_BLOCK;
        let few = small && blocks.saturating_mul(kernel.threads()) < FEW_THREADS;
        if cores == 1 || blocks == 1 || few {
            // SAFETY: the caller vouches for the kernel's pointers.
            unsafe { kernel.run_on_cpu(0..blocks, blocks) };
            return Ok(());
        }
        let blocks_a_task = blocks.div_ceil(cores.saturating_mul(TASKS_A_CORE)).min(MAX_BLOCKS_PER_TASK);
        share(blocks.div_ceil(blocks_a_task), &|task| {
            let first = task * blocks_a_task;
            // SAFETY: the caller vouches for the kernel's pointers, and blocks of one launch may
            // run at the same time.
            unsafe { kernel.run_on_cpu(first..first.saturating_add(blocks_a_task).min(blocks), blocks) };
        });
        Ok(())
    }
    fn machine(&self) -> Machine {
        Machine::cpu(rayon::current_num_threads())
    }
    fn shares_memory_with_host(&self) -> bool {
        true
    }
}

/// An engine on host memory. Each of its operations is complete when its call returns.
#[derive(Debug)]
pub struct HostEngine<R> {
    runner: Arc<R>,
    memory: HostAllocator,
}

impl<R: Runner> HostEngine<R> {
    /// Returns the engine that runs launches with `runner`.
    pub fn new(runner: R) -> Self {
        Self { runner: Arc::new(runner), memory: HostAllocator::default() }
    }
}

/// The size in bytes at which an allocation is compared with the free memory. A larger request than
/// the free memory is refused, so that it does not fail on use. For smaller allocations, reading
/// the free memory would take longer than the allocation.
const ASKED_FOR: usize = 1 << 26;
// SAFETY: the allocator provides the memory, and the queue's methods complete before they return.
unsafe impl<R: Runner> Engine for HostEngine<R> {
    fn name(&self) -> &str {
        self.runner.name()
    }

    fn memory(&self) -> Result<Memory> {
        Ok(host_memory::memory())
    }

    fn allocate(&self, bytes: usize) -> Result<usize> {
        let fits = bytes > 0 && (bytes < ASKED_FOR || bytes as u64 <= self.memory()?.free);
        let address = fits.then(|| self.memory.allocate(bytes)).flatten().ok_or_else(|| {
            let Memory { total, free } = host_memory::memory();
            Error::OutOfMemory { asked: bytes as u64, free, total, device: self.name().to_owned() }
        })?;
        self.runner.allocated(address, bytes);
        Ok(address)
    }

    unsafe fn free(&self, address: usize, bytes: usize) {
        self.runner.freed(address);
        // SAFETY: the caller upholds the contract.
        unsafe { self.memory.free(address, bytes) }
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(HostQueue { runner: self.runner.clone(), done: Arc::new(HostEvent(Instant::now())) }))
    }

    fn load(&self, module: &Module) -> Result<()> {
        self.runner.load(module)
    }

    fn has_wide_atomics(&self) -> bool {
        self.runner.has_wide_atomics()
    }

    fn machine(&self) -> Machine {
        self.runner.machine()
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn shares_memory_with_host(&self) -> bool {
        self.runner.shares_memory_with_host()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct HostQueue<R> {
    runner: Arc<R>,
    /// The event of all work whose time nobody asks for, which is done.
    done: Arc<HostEvent>,
}

impl<R: Runner> Queue for HostQueue<R> {
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        // SAFETY: the target is an allocation of at least `from.len()` bytes, and a borrowed slice
        // cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to as *mut u8, from.len()) };
        Ok(())
    }
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: as in `upload`. Allocations start as zeros, so all bytes are initialized.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.as_mut_ptr(), to.len()) };
        Ok(())
    }
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: both ranges lie in allocations.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        const CHUNK: usize = 1 << 22;
        if bytes <= CHUNK {
            // SAFETY: the range lies in an allocation.
            unsafe { std::ptr::write_bytes(at as *mut u8, byte, bytes) };
            return Ok(());
        }
        share(bytes.div_ceil(CHUNK) as u32, &|chunk| {
            let first = chunk as usize * CHUNK;
            // SAFETY: the range lies in an allocation, and chunks do not overlap.
            unsafe { std::ptr::write_bytes((at + first) as *mut u8, byte, CHUNK.min(bytes - first)) };
        });
        Ok(())
    }
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller vouches for the kernel's pointers.
        unsafe { self.runner.run(kernel, blocks) }
    }
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        work(std::ptr::null_mut());
        Ok(())
    }
    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>> {
        Ok(if timed { Arc::new(HostEvent(Instant::now())) } else { self.done.clone() })
    }
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        queue_event.synchronize()
    }
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct HostEvent(Instant);

impl QueueEvent for HostEvent {
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
    fn is_done(&self) -> Result<bool> {
        Ok(true)
    }
    fn milliseconds_since(&self, earlier: &dyn QueueEvent) -> Result<f64> {
        let earlier = earlier.as_any().downcast_ref::<Self>().ok_or_else(|| Error::WrongDevice {
            what: "an event",
            found: "another device".to_owned(),
            expected: "an engine on host memory".to_owned(),
        })?;
        let (forth, back) = (self.0.saturating_duration_since(earlier.0), earlier.0.saturating_duration_since(self.0));
        Ok((forth.as_secs_f64() - back.as_secs_f64()) * 1e3)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
