//! The indices of threads and blocks, and the barriers of a block.

use core::arch::nvptx;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    fn barrier_count(barrier: u32, predicate: bool) -> u32;
}

/// Returns the thread's index in its block.
#[inline(always)]
pub fn thread_idx_x() -> u32 {
    // SAFETY: this reads a special register.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

/// Returns the block's index in the grid.
#[inline(always)]
pub fn block_idx_x() -> u32 {
    // SAFETY: this reads a special register.
    unsafe { nvptx::_block_idx_x() as u32 }
}

/// Returns the count of blocks in the grid.
#[inline(always)]
pub fn grid_dim_x() -> u32 {
    // SAFETY: this reads a special register.
    unsafe { nvptx::_grid_dim_x() as u32 }
}

/// Waits for all threads of the block.
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: `Block` keeps barriers out of divergent code.
    unsafe { nvptx::_syncthreads() }
}

/// Waits for all threads of the block. Returns the count of threads whose `predicate` is not 0.
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: `Block` keeps barriers out of divergent code.
    unsafe { barrier_count(0, predicate != 0) }
}
