//! The checking engine, which runs every block on the seam's checking back end.

use gpu_kernels::seam::Kernel;
use gpu_kernels::seam::checked::Checker;
use std::sync::atomic::{AtomicU64, Ordering};
use warpnest::low_level::engine::Runner;
use warpnest::{Error, Result};

/// A runner that runs blocks one after the other, with threads in shuffled order. A conflict within
/// a phase is an error.
#[derive(Debug)]
pub struct CheckedRunner {
    seed: AtomicU64,
}

impl CheckedRunner {
    /// Returns a runner whose shuffles depend on `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed: AtomicU64::new(seed) }
    }
}

// SAFETY: `run` runs all blocks on the checking back end before it returns.
unsafe impl Runner for CheckedRunner {
    fn name(&self) -> &str {
        "checking engine"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let checker = Checker::new(self.seed.fetch_add(1, Ordering::Relaxed));
        for block in 0..blocks {
            // SAFETY: the caller vouched for the kernel's pointers.
            unsafe { kernel.run_checked(block, blocks, &checker) };
        }
        match checker.conflicts() {
            0 => Ok(()),
            conflicts => Err(Error::Kernel {
                kernel: kernel.name().to_owned(),
                fault: format!("{conflicts} words of shared memory were used in conflict within a phase"),
            }),
        }
    }
}
