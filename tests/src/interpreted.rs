//! The committed PTX, executed by the interpreter on host memory.

use gpu_kernels::seam::Kernel;
use ptx_tools::{Launch, Module, Regions, Schedule};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock};
use warpnest::low_level::engine::{Cores, Runner};
use warpnest::{Error, Result};

/// The PTX for every device, parsed once for all tests, so that their common coverage is known.
pub static BASELINE: LazyLock<Module> = LazyLock::new(|| parse(warpnest::low_level::ptx::baseline()));
/// The PTX for Hopper and later.
pub static HOPPER: LazyLock<Module> = LazyLock::new(|| parse(warpnest::low_level::ptx::hopper()));

fn parse(ptx: &str) -> Module {
    crate::coverage::report_at_exit();
    Module::parse(ptx).unwrap_or_else(|error| panic!("the committed PTX cannot be read: {error}"))
}

/// An interpreter of the entry points of a PTX module. Accesses outside the buffers, divergent
/// barriers and traps are errors.
#[derive(Debug)]
pub struct PtxRunner {
    name: &'static str,
    module: &'static Module,
    /// A module whose entries need no second execution. Where its code is the same, the kernel's
    /// functions for the CPU run instead.
    executed_elsewhere: Option<&'static Module>,
    regions: RwLock<Regions>,
    seed: AtomicU64,
}

impl PtxRunner {
    /// Returns a runner of the PTX for every device.
    pub fn baseline(seed: u64) -> Self {
        Self::new("PTX for sm_75", &BASELINE, seed)
    }

    /// Returns a runner of the PTX for Hopper and later.
    pub fn hopper(seed: u64) -> Self {
        Self::new("PTX for sm_90", &HOPPER, seed)
    }

    /// Returns a runner of the PTX for every device that interprets only the kernels whose code for
    /// Hopper differs.
    pub fn baseline_where_it_differs(seed: u64) -> Self {
        Self { executed_elsewhere: Some(&HOPPER), ..Self::baseline(seed) }
    }

    fn new(name: &'static str, module: &'static Module, seed: u64) -> Self {
        Self {
            name,
            module,
            executed_elsewhere: None,
            regions: RwLock::new(Regions::new()),
            seed: AtomicU64::new(seed),
        }
    }

    fn is_executed_elsewhere(&self, entry: &str) -> bool {
        let Some(other) = self.executed_elsewhere.and_then(|module| module.entry(entry)) else { return false };
        self.module.entry(entry).is_some_and(|ours| ours.has_same_code(other))
    }
}

// SAFETY: the interpreter executes the PTX of all blocks, within the memory that it was told of,
// before it returns.
unsafe impl Runner for PtxRunner {
    fn name(&self) -> &str {
        self.name
    }

    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        if self.is_executed_elsewhere(kernel.name()) {
            // SAFETY: the caller upholds the contract.
            return unsafe { Cores.run(kernel, blocks) };
        }
        let mut arguments: Vec<&[u8]> = Vec::new();
        kernel.arguments(&mut |argument, bytes| {
            // SAFETY: the kernel shows its own arguments, which have no padding.
            arguments.push(unsafe { std::slice::from_raw_parts(argument.cast(), bytes) });
        });
        let schedule =
            Schedule { seed: self.seed.fetch_add(1, Ordering::Relaxed), longest_slice: 40, concurrent_blocks: 3 };
        // Several launches may run at a time; no memory is given back meanwhile.
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let launch = Launch {
            schedule,
            dynamic_shared: kernel.dynamic_bytes() as u32,
            ..Launch::new(kernel.name(), blocks, kernel.threads())
        };
        let done = self.module.launch_with(&launch, &arguments, &regions).map(drop);
        done.map_err(|fault| Error::Kernel { kernel: kernel.name().to_owned(), fault: fault.to_string() })
    }

    fn has_wide_atomics(&self) -> bool {
        // GPUs that need the baseline have none.
        self.module.target != "sm_75"
    }

    fn allocated(&self, address: usize, bytes: usize) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the engine allocated it, and says when it is freed.
        unsafe { regions.insert(address, bytes) };
    }

    fn freed(&self, address: usize) {
        self.regions.write().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}
