//! The parameters of a launch: the kernel, the count of threads, and their interleaving.

/// The interleaving of the threads of a launch. Equal schedules give equal interleavings.
///
/// The interpreter picks a warp at random. Lanes of the warp that are at the same instruction
/// execute some instructions together. They access memory one after the other, beginning with a
/// random lane. Usually all lanes at that instruction execute it, and lanes that are behind catch
/// up. From one barrier to the next, a quarter of the warps have their lanes in two random sets
/// that move independently. In one warp of 32, each lane moves independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The seed of the random choices.
    pub seed: u64,
    /// The most instructions (at least 1) that the lanes execute before other lanes are picked.
    pub longest_slice: u32,
    /// The count of blocks that are resident at a time. When a block ends, the next block starts.
    pub concurrent_blocks: u32,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { seed: 0, longest_slice: 60, concurrent_blocks: 4 }
    }
}

/// The default limit on the instructions that a launch may execute.
pub const DEFAULT_STEP_LIMIT: u64 = 4_000_000_000;

/// The parameters of a launch, for [`Module::launch_with`](crate::Module::launch_with).
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub entry: &'a str,
    /// The count of blocks.
    pub grid: u32,
    /// The count of threads of a block.
    pub threads: u32,
    /// The bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The most instructions that all threads together may execute.
    pub step_limit: u64,
    /// The interleaving of the threads.
    pub schedule: Schedule,
}

impl<'a> Launch<'a> {
    /// Returns a launch without dynamic shared memory, with the default limit and schedule.
    pub fn new(entry: &'a str, grid: u32, threads: u32) -> Self {
        let schedule = Schedule::default();
        Launch { entry, grid, threads, dynamic_shared: 0, step_limit: DEFAULT_STEP_LIMIT, schedule }
    }
}
