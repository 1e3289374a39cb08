//! The runner that executes PTX in the interpreter on host memory: the library's PTX and the PTX of
//! modules.

use gpu_kernels::seam::Kernel;
use ptx_tools::{Launch, Module, Regions, Schedule};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use warpnest::low_level::engine::{Cores, Runner};
use warpnest::low_level::ptx;
use warpnest::{Error, Result};

/// The library's PTX for every device. It is parsed once for all runners, so that they share the
/// record of executed statements.
pub static BASELINE: LazyLock<Module> = LazyLock::new(|| parse(ptx::baseline()));
/// The library's PTX for Hopper and later.
pub static HOPPER: LazyLock<Module> = LazyLock::new(|| parse(ptx::hopper()));

fn parse(ptx: &str) -> Module {
    Module::parse(ptx).unwrap_or_else(|error| panic!("the committed PTX cannot be read: {error}"))
}

/// A module of another package.
#[derive(Debug)]
struct Other {
    package: &'static str,
    ptx: &'static str,
    module: Arc<Module>,
}

/// A runner that interprets the entry points of a PTX module. Accesses outside of buffers,
/// divergent barriers and traps are errors.
#[derive(Debug)]
pub struct PtxRunner {
    name: &'static str,
    module: &'static Module,
    /// A module whose kernels other tests interpret. If a kernel's code is the same in both
    /// modules, its function for the CPU runs instead.
    executed_elsewhere: Option<&'static Module>,
    /// The modules of other packages with their texts. The newest module is last.
    others: RwLock<Vec<Other>>,
    regions: RwLock<Regions>,
    seed: AtomicU64,
}

impl PtxRunner {
    /// Returns a runner of the library's PTX for every device.
    pub fn baseline(seed: u64) -> Self {
        Self::new("PTX for sm_75", &BASELINE, seed)
    }

    /// Returns a runner of the library's PTX for Hopper and later.
    pub fn hopper(seed: u64) -> Self {
        Self::new("PTX for sm_90", &HOPPER, seed)
    }

    /// Returns a runner of the library's PTX for every device. It interprets only the kernels whose
    /// code for Hopper differs.
    pub fn baseline_where_it_differs(seed: u64) -> Self {
        Self { executed_elsewhere: Some(&HOPPER), ..Self::baseline(seed) }
    }

    fn new(name: &'static str, module: &'static Module, seed: u64) -> Self {
        Self {
            name,
            module,
            executed_elsewhere: None,
            others: RwLock::default(),
            regions: RwLock::new(Regions::new()),
            seed: AtomicU64::new(seed),
        }
    }

    /// Returns the newest module of another package, and its text.
    fn other(&self, package: &str) -> Result<(Arc<Module>, &'static str), String> {
        let others = self.others.read().unwrap_or_else(PoisonError::into_inner);
        let found = others.iter().rev().find(|other| other.package == package);
        let found = found.map(|other| (other.module.clone(), other.ptx));
        found.ok_or_else(|| {
            format!("no module of {package}, which declares it, is loaded: give its PTX to `Device::load`")
        })
    }

    fn is_executed_elsewhere(&self, entry: &str) -> bool {
        let Some(other) = self.executed_elsewhere.and_then(|module| module.entry(entry)) else { return false };
        self.module.entry(entry).is_some_and(|ours| ours.has_same_code(other))
    }
}

// SAFETY: `run` executes the PTX of all blocks before it returns, and accesses only the allocated
// regions.
unsafe impl Runner for PtxRunner {
    fn name(&self) -> &str {
        self.name
    }

    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let own = kernel.entry().package == gpu_kernels::PACKAGE;
        if own && self.is_executed_elsewhere(kernel.name()) {
            // SAFETY: the caller upholds the contract.
            return unsafe { Cores.run(kernel, blocks) };
        }
        let mut arguments: Vec<&[u8]> = Vec::new();
        kernel.arguments(&mut |argument, bytes| {
            // SAFETY: the kernel passes its own arguments, which have no padding.
            arguments.push(unsafe { std::slice::from_raw_parts(argument.cast(), bytes) });
        });
        let schedule =
            Schedule { seed: self.seed.fetch_add(1, Ordering::Relaxed), longest_slice: 40, concurrent_blocks: 3 };
        // Several launches may run at the same time. No memory is freed meanwhile.
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let launch = Launch {
            schedule,
            dynamic_shared: kernel.dynamic_bytes() as u32,
            ..Launch::new(kernel.name(), blocks, kernel.threads())
        };
        let failed = |fault: String| Error::Kernel { kernel: kernel.name().to_owned(), fault };
        let other = if own { None } else { Some(self.other(kernel.entry().package).map_err(failed)?) };
        let (module, text) = other.as_ref().map_or((self.module, ptx::BASELINE), |(module, text)| (&**module, *text));
        let entry = module.entry(kernel.name());
        let taken = entry.map(|entry| entry.params.iter().map(|param| param.size).collect::<Vec<_>>());
        let given: Vec<usize> = arguments.iter().map(|argument| argument.len()).collect();
        if taken.as_ref() != Some(&given) {
            return Err(failed(ptx::outdated(text, taken.as_deref(), &given)));
        }
        module.launch_with(&launch, &arguments, &regions).map(drop).map_err(|fault| failed(fault.to_string()))
    }

    fn load(&self, module: &warpnest::Module) -> Result<()> {
        let package = module.package()?;
        let refused = |reason: String| Error::Module { package: package.to_owned(), reason };
        let digits = self.module.target.trim_start_matches("sm_");
        let number: i32 = digits.parse().map_err(|_| refused(format!("{digits} is no target")))?;
        let ptx = module.targets_for((number / 10, number % 10));
        let ptx = ptx.first().ok_or_else(|| refused(format!("none of its PTX is for {}", self.module.target)))?;
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        if others.iter().rev().find(|other| other.package == package).is_some_and(|other| other.ptx == *ptx) {
            return Ok(());
        }
        let module = Arc::new(Module::parse(ptx).map_err(|fault| refused(fault.to_string()))?);
        others.push(Other { package, ptx, module });
        Ok(())
    }

    fn has_wide_atomics(&self) -> bool {
        // GPUs that run the baseline PTX have no 128-bit atomics.
        self.module.target != "sm_75"
    }

    fn allocated(&self, address: usize, bytes: usize) {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the engine allocated the memory, and calls `freed` when it is freed.
        unsafe { regions.insert(address, bytes) };
    }

    fn freed(&self, address: usize) {
        self.regions.write().unwrap_or_else(PoisonError::into_inner).remove(address);
    }
}
