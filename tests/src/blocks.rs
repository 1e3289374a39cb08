//! The CPU engine's block runner without its count of cores, so plans are the same as for a GPU.

use gpu_kernels::seam::Kernel;
use warpnest::Result;
use warpnest::low_level::engine::{Cores, Runner};

/// The CPU engine's block runner without its count of cores. A page map then has the same count of
/// pages as on a GPU, so tests know which pages overflow.
#[derive(Debug)]
pub struct Blocks;

// SAFETY: `Cores` keeps the contract.
unsafe impl Runner for Blocks {
    fn name(&self) -> &str {
        Cores.name()
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}
