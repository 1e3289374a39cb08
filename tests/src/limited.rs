//! A device with little memory.

use std::any::Any;
use warpnest::low_level::engine::{Engine, HostEngine, Machine, Memory, Queue, Runner};
use warpnest::{Device, Error, Result};

/// A host engine with little memory, whatever the memory of the machine is.
#[derive(Debug)]
struct Limited<R> {
    inner: HostEngine<R>,
    most: usize,
}

// SAFETY: the inner engine does all the work; this engine only refuses some allocations.
unsafe impl<R: Runner> Engine for Limited<R> {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn memory(&self) -> Result<Memory> {
        self.inner.memory()
    }
    fn allocate(&self, bytes: usize) -> Result<usize> {
        if bytes > self.most {
            let (asked, free) = (bytes as u64, self.most as u64);
            return Err(Error::OutOfMemory { asked, free, total: free, device: self.name().to_owned() });
        }
        self.inner.allocate(bytes)
    }
    unsafe fn free(&self, address: usize, bytes: usize) {
        // SAFETY: the caller upholds the contract.
        unsafe { self.inner.free(address, bytes) }
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        self.inner.queue()
    }
    fn has_wide_atomics(&self) -> bool {
        self.inner.has_wide_atomics()
    }
    fn machine(&self) -> Machine {
        self.inner.machine()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns a device on which no allocation of more than `most` bytes succeeds.
pub fn limited(runner: impl Runner, most: usize) -> Device {
    let engine = Limited { inner: HostEngine::new(runner), most };
    Device::from_engine(engine).expect("a host engine always has a queue")
}
