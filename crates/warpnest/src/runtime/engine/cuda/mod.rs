//! The CUDA engine, which runs kernels as PTX through the driver.
//!
//! `driver` has the functions that are found when the program runs, `context` the state of a
//! device. `module` compiles kernels, `queue` launches them, in `event`s' order, of which
//! `free_events` has those to be used again; `graph` launches many at once, and
//! `joined` adds them to graphs of others. `pool` has the memory of buffers; `readback`, `staged`
//! and `page_locked` are memory of the host, for copies.

mod context;
mod driver;
mod event;
mod free_events;
mod graph;
#[cfg(any(feature = "cust", feature = "cudarc"))]
mod interop;
mod joined;
mod module;
mod modules;
mod page_locked;
mod pool;
mod queue;
mod readback;
mod shared;
mod staged;

use super::{Engine, EngineGraph, LastUse, Machine, Memory, PoolSizes, Queue, Reused, Step};
use crate::{Error, Module, Result};
use context::Primary;
use graph::CudaGraph;
use modules::Modules;
use pool::Pool;
use queue::CudaQueue;
use shared::Shared;
pub use staged::LargeCopies;
use staged::StagedCopies;
use std::any::Any;
use std::fmt;
use std::ptr;
use std::sync::Arc;

pub(crate) struct CudaEngine {
    shared: Arc<Shared>,
    pool: Pool,
}

impl CudaEngine {
    /// Creates the engine of the device with this ordinal, in its primary context, with its
    /// kernels.
    pub(crate) fn new(ordinal: u32) -> Result<Self> {
        joined::drop_gone();
        let primary = Arc::new(Primary::retain(ordinal)?);
        let modules = Modules::new(&primary)?;
        let pool = Pool::new(&primary);
        Ok(Self { shared: Arc::new(Shared { modules, staged: StagedCopies::default(), primary }), pool })
    }

    /// Removes memory from the pool, so that another library can free it through the driver.
    /// Returns whether that is possible, which it is not for a part of a segment.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(super) fn disown(&self, address: usize) -> bool {
        self.pool.disown(address)
    }

    /// Changes how large copies are made from now on.
    pub(crate) fn set_large_copies(&self, settings: LargeCopies) {
        self.shared.staged.set(settings);
    }

    /// Returns whether an error has destroyed the engine's context, as far as calls of the driver
    /// have shown.
    pub(crate) fn is_lost(&self) -> bool {
        self.shared.primary.is_lost()
    }
}

impl Drop for CudaEngine {
    fn drop(&mut self) {
        self.pool.close(&self.shared.primary);
    }
}

impl fmt::Debug for CudaEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEngine({})", self.name())
    }
}

/// Returns the error of a device that could not be created. For a lost context, the error says what
/// to do.
pub(crate) fn explained(ordinal: u32, error: Error) -> Error {
    match error {
        Error::Driver { call, code, name } if driver::code::LOST.contains(&code) => Error::NoDevice {
            ordinal,
            reason: format!(
                "its context was lost, and what uses it keeps it from being made anew ({call}: {name}, {code}); drop all that is \
                 on the device, or start the program again"
            ),
        },
        error => error,
    }
}

// SAFETY: the driver allocates the memory, and the queue's methods are the driver's operations on
// one stream.
unsafe impl Engine for CudaEngine {
    fn name(&self) -> &str {
        self.shared.primary.name()
    }

    fn memory(&self) -> Result<Memory> {
        let Memory { total, free } = self.shared.primary.memory()?;
        Ok(Memory { total, free: free + self.pool.sizes().kept })
    }

    fn allocate(&self, bytes: usize) -> Result<usize> {
        pool::allocate(&self.shared.primary, bytes)
    }

    unsafe fn free(&self, address: usize, _bytes: usize) {
        pool::free(&self.shared.primary, address);
    }

    fn take(&self, bytes: usize, stream: u64) -> Result<Reused> {
        joined::drop_gone();
        self.pool.take(&self.shared.primary, bytes, stream)
    }

    unsafe fn give(&self, address: usize, _bytes: usize, uses: Vec<LastUse>) {
        self.pool.give(&self.shared.primary, address, uses);
    }

    unsafe fn give_known(&self, address: usize, _bytes: usize, uses: Vec<LastUse>) {
        self.pool.give_known(&self.shared.primary, address, uses);
    }

    fn pool(&self) -> PoolSizes {
        self.pool.sizes()
    }

    fn trim_pool(&self) {
        joined::drop_gone();
        self.pool.trim(&self.shared.primary);
        self.shared.primary.clear_events();
    }

    fn set_pool_limit(&self, bytes: usize) {
        self.pool.set_limit(&self.shared.primary, bytes);
    }

    fn allocate_page_locked(&self, bytes: usize) -> Option<usize> {
        let entered = self.shared.primary.enter().ok()?;
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the driver writes to a live variable.
        let allocated = unsafe { entered.driver.cuMemAllocHost_v2(&mut pointer, bytes) };
        // The caller can work without it, so the failure is not an error.
        allocated.ok().map(|()| pointer.expose_provenance())
    }

    unsafe fn free_page_locked(&self, address: usize, _bytes: usize) {
        if let Ok(entered) = self.shared.primary.enter() {
            let pointer = std::ptr::with_exposed_provenance_mut(address);
            // SAFETY: `allocate_page_locked` allocated the memory, and nothing uses it. An error
            // means that the context is lost.
            let _ = entered.check(unsafe { entered.driver.cuMemFreeHost(pointer) });
        }
    }

    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(CudaQueue::new(self.shared.clone())?))
    }

    fn legacy_queue(&self) -> Result<Box<dyn Queue>> {
        // SAFETY: null is the legacy stream of every context, which lives as long as the context.
        Ok(Box::new(unsafe { CudaQueue::of_other(self.shared.clone(), ptr::null_mut(), Box::new(())) }))
    }

    fn graph(&self, steps: &[Step]) -> Result<Option<Box<dyn EngineGraph>>> {
        Ok(Some(Box::new(CudaGraph::new(&self.shared, steps)?)))
    }

    fn load(&self, module: &Module) -> Result<()> {
        self.shared.modules.load(module)
    }

    fn load_kernels(&self) -> Result<()> {
        self.shared.modules.own().load_all()
    }

    fn load_kernel(&self, name: &str) -> Result<()> {
        self.shared.modules.own().function(name, None).map(drop)
    }

    fn has_wide_atomics(&self) -> bool {
        self.shared.modules.have_wide_atomics()
    }

    fn machine(&self) -> Machine {
        Machine::gpu(self.shared.primary.multiprocessors, self.shared.primary.block_memory)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
