//! The blocks of a launch on more threads than there are cores, in any order.

use gpu_kernels::types::KeyWord as _;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use warpnest::Result;
use warpnest::low_level::engine::{Machine, Runner};
use warpnest::low_level::kernels::seam::Kernel;

/// Eight threads that take the blocks of a launch one by one, in an order that is different for
/// each launch.
#[derive(Debug)]
pub struct ShuffledThreads {
    seed: AtomicU64,
    machine: Machine,
}

impl ShuffledThreads {
    /// Returns a runner whose orders follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed: AtomicU64::new(seed), machine: Machine::UNKNOWN }
    }

    /// Makes the engine plan for so many cores, as the CPU engine does, and not as for a GPU.
    // `tests/tests/all` has no use for it.
    #[allow(dead_code)]
    pub fn with_cores(self, cores: usize) -> Self {
        Self { machine: Machine::cpu(cores), ..self }
    }
}

// SAFETY: it runs each block once, in any order, before it returns.
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
                    // Each has one at least, also where the first thread could do all before
                    // another has begun.
                    let mut place = first;
                    while let Some(&block) = order.get(place) {
                        // SAFETY: the caller's; blocks of one launch may run at the same time and
                        // in any order.
                        unsafe { kernel.run_on_cpu(block..block + 1, blocks) };
                        place = next.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        Ok(())
    }
}
