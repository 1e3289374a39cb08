//! The CPU engine's cores, for plans that do not know of them.

use gpu_kernels::seam::Kernel;
use warpnest::Result;
use warpnest::engine::{Cores, Runner};

/// Runs blocks as the CPU engine does, but says nothing of cores: so a page map has as many pages as on a GPU, and tests may
/// count on which of them overflow.
#[derive(Debug)]
pub struct Blocks;

// SAFETY: `Cores` keeps the contract.
unsafe impl Runner for Blocks {
    fn name(&self) -> &str {
        Cores.name()
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { Cores.run(kernel, blocks) }
    }
}
