//! What a launch is: which kernel, on how many threads, and how these are interleaved.

/// The interleaving of the threads of a launch. The same schedule gives the same interleaving.
///
/// A warp is picked at random. Lanes of it that are at the same instruction execute some
/// instructions together, in memory one lane after the other, beginning with a random one. Mostly
/// these are all lanes at that instruction, and those that are behind catch up. From one barrier to
/// the next, a quarter of the warps have their lanes on two random sides that move independently.
/// One in 32 has each lane move by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The seed of the random choices.
    pub seed: u64,
    /// The most instructions, at least 1, that the lanes execute before others are picked.
    pub longest_slice: u32,
    /// The number of blocks that are resident at a time; others start, in order, as these end.
    pub concurrent_blocks: u32,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { seed: 0, longest_slice: 60, concurrent_blocks: 4 }
    }
}

/// The instructions a launch may execute unless told otherwise.
pub const DEFAULT_STEP_LIMIT: u64 = 4_000_000_000;

/// The parameters of a launch; see [`Module::launch_with`](crate::Module::launch_with).
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's name.
    pub entry: &'a str,
    /// The number of blocks.
    pub grid: u32,
    /// The threads of a block.
    pub threads: u32,
    /// The bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The instructions that all threads together may execute.
    pub step_limit: u64,
    /// The interleaving.
    pub schedule: Schedule,
}

impl<'a> Launch<'a> {
    /// Returns a launch without dynamic shared memory, with the default bound and schedule.
    pub fn new(entry: &'a str, grid: u32, threads: u32) -> Self {
        let schedule = Schedule::default();
        Launch { entry, grid, threads, dynamic_shared: 0, step_limit: DEFAULT_STEP_LIMIT, schedule }
    }
}
