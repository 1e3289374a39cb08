//! What a plan may ask of the device that it runs on.
//!
//! An engine says only this of how it runs blocks. A plan that differs between a GPU and the cores
//! of a CPU picks a value, or asks what the difference depends on.

/// The bytes of dynamic shared memory that a block has on every device: a GPU's 48 KiB, less the
/// arrays of constant length.
const BLOCK_MEMORY: usize = 47 << 10;

/// A value for a GPU, or for each of its multiprocessors, and the one for a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerMachine<T> {
    pub gpu: T,
    pub core: T,
}

/// The way in which a device runs blocks. Only speed depends on it, and on a GPU that blocks have
/// the memory that they ask for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    cores: Option<usize>,
    multiprocessors: u32,
    block_words: u32,
}

impl Machine {
    /// A GPU of which nothing is known. Plans for others take no more memory.
    pub const UNKNOWN: Self = Self::gpu(4, BLOCK_MEMORY);

    /// Returns a machine with so many cores, each of which runs a block from beginning to end, with
    /// a cache of its own.
    pub const fn cpu(cores: usize) -> Self {
        Self { cores: Some(cores), ..Self::UNKNOWN }
    }

    /// Returns a machine that runs many small blocks. Each of its multiprocessors runs some at a
    /// time, and a block may have so many bytes of dynamic shared memory.
    pub const fn gpu(multiprocessors: u32, block_memory: usize) -> Self {
        Self { cores: None, multiprocessors, block_words: (block_memory / 4) as u32 }
    }

    /// Returns the value for this machine.
    pub(crate) fn pick<T>(self, of: PerMachine<T>) -> T {
        if self.runs_in_order() { of.core } else { of.gpu }
    }

    /// Returns whether a core runs each block. It takes the items of the block in order and keeps
    /// them in its cache, and few blocks run at a time.
    pub(crate) fn runs_in_order(self) -> bool {
        self.cores.is_some()
    }

    /// Returns the count of cores, if they run the blocks.
    pub(crate) fn cores(self) -> Option<usize> {
        self.cores
    }

    /// Returns the count of blocks of a launch that has so many for each multiprocessor, or core.
    pub(crate) fn blocks(self, each: PerMachine<u64>) -> u64 {
        self.cores.map_or(self.multiprocessors.into(), |cores| cores as u64) * self.pick(each)
    }

    /// Returns the 32-bit words of dynamic shared memory that a block may have.
    pub(crate) fn block_words(self) -> u32 {
        self.block_words
    }
}
