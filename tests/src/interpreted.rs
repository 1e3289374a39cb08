//! The committed PTX, executed by the interpreter on host memory.

use gpu_kernels::seam::Kernel;
use ptx_tools::{Module, Regions, Schedule};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use warpnest::engine::Runner;
use warpnest::{Error, Result};

/// Runs the entry points of a PTX module; accesses outside the buffers, divergent barriers and traps are errors.
#[derive(Debug)]
pub struct PtxRunner {
    name: &'static str,
    module: Module,
    regions: Mutex<Regions>,
    seed: AtomicU64,
}

impl PtxRunner {
    /// The PTX for every device.
    pub fn baseline(seed: u64) -> Self {
        Self::new("PTX for sm_75", warpnest::ptx::BASELINE, seed)
    }

    /// The PTX for Hopper and later.
    pub fn hopper(seed: u64) -> Self {
        Self::new("PTX for sm_90", warpnest::ptx::HOPPER, seed)
    }

    fn new(name: &'static str, ptx: &str, seed: u64) -> Self {
        let module = Module::parse(ptx).unwrap_or_else(|error| panic!("the committed {name} cannot be read: {error}"));
        Self { name, module, regions: Mutex::new(Regions::new()), seed: AtomicU64::new(seed) }
    }
}

// SAFETY: the interpreter executes the PTX of all blocks, within the memory that it was told of, before it returns.
unsafe impl Runner for PtxRunner {
    fn name(&self) -> &str {
        self.name
    }

    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let mut arguments: Vec<&[u8]> = Vec::new();
        kernel.arguments(&mut |argument, bytes| {
            // SAFETY: the kernel shows its own arguments, which have no padding.
            arguments.push(unsafe { std::slice::from_raw_parts(argument.cast(), bytes) });
        });
        let schedule =
            Schedule { seed: self.seed.fetch_add(1, Ordering::Relaxed), longest_slice: 40, concurrent_blocks: 3 };
        let regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.module.launch(kernel.name(), blocks, kernel.threads(), &arguments, &regions, schedule);
        done.map_err(|fault| Error::Kernel { kernel: kernel.name().to_owned(), fault: fault.to_string() })
    }

    fn has_wide_atomics(&self) -> bool {
        // GPUs that need the baseline have none.
        self.module.target != "sm_75"
    }

    fn allocated(&self, address: usize, bytes: usize) {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the engine allocated it, and says when it is freed.
        unsafe { regions.insert(address, bytes) };
    }

    fn freed(&self, address: usize) {
        self.regions.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}
