//! A runner that runs the blocks of a launch on several threads in random order.

use gpu_kernels::types::KeyWord as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use warpnest::Result;
use warpnest::low_level::engine::{Machine, Runner};
use warpnest::low_level::kernels::seam::Kernel;

/// Eight threads that take the blocks of a launch one by one, in an order that differs between
/// launches.
#[derive(Debug)]
pub struct ShuffledThreads {
    seed: AtomicU64,
    machine: Machine,
}

impl ShuffledThreads {
    /// Returns a runner whose block orders depend on `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed: AtomicU64::new(seed), machine: Machine::UNKNOWN }
    }

    /// Makes plans for `cores` cores, like the plans for the CPU engine, instead of plans for a
    /// GPU.
    // `tests/tests/all` does not use this function.
    #[allow(dead_code)]
    pub fn with_cores(self, cores: usize) -> Self {
        Self { machine: Machine::cpu(cores), ..self }
    }
}

// SAFETY: `run` runs each block once, in any order, before it returns.
unsafe impl Runner for ShuffledThreads {
    fn name(&self) -> &str {
        "crowd"
    }
    fn machine(&self) -> Machine {
        self.machine
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let seed = self.seed.fetch_add(1, Relaxed);
        let mut order: Vec<u32> = (0..blocks).collect();
        order.sort_by_cached_key(|&block| block.mix(seed, 0x9e37_79b9));
        let threads = order.len().min(8);
        let next = AtomicUsize::new(threads);
        std::thread::scope(|scope| {
            for first in 0..threads {
                let (order, next) = (&order, &next);
                scope.spawn(move || {
                    // Each thread gets at least one block, even if the first thread could run all
                    // blocks before another thread has started.
                    let mut place = first;
                    while let Some(&block) = order.get(place) {
                        // SAFETY: the caller vouches for the pointers, and blocks may run at the
                        // same time and in any order.
                        unsafe { kernel.run_on_cpu(block..block + 1, blocks) };
                        place = next.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        Ok(())
    }
}
