//! The properties of a device that a plan may depend on.
//!
//! An engine describes how it runs blocks only by these properties. A plan that differs between a
//! GPU and the cores of a CPU either picks one of two values, or reads the property that matters.

/// The bytes of dynamic shared memory that a block has on every device. A GPU has 48 KiB, less the
/// arrays of constant length.
const BLOCK_MEMORY: usize = 47 << 10;

/// A pair of values: one for a GPU or each of its multiprocessors, the other for a CPU core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerMachine<T> {
    pub gpu: T,
    pub core: T,
}

/// How a device runs blocks. On a CPU only speed depends on it. On a GPU it also says how much
/// shared memory a block may use.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    cores: Option<usize>,
    multiprocessors: u32,
    block_words: u32,
}

impl Machine {
    /// A GPU with unknown properties. Plans for any other device use no more memory.
    pub const UNKNOWN: Self = Self::gpu(4, BLOCK_MEMORY);

    /// Returns a machine with `cores` cores, each of which runs a whole block and has its own
    /// cache.
    pub const fn cpu(cores: usize) -> Self {
        Self { cores: Some(cores), ..Self::UNKNOWN }
    }

    /// Returns a machine that runs many small blocks, several at a time on each multiprocessor. A
    /// block may have `block_memory` bytes of dynamic shared memory.
    pub const fn gpu(multiprocessors: u32, block_memory: usize) -> Self {
        Self { cores: None, multiprocessors, block_words: (block_memory / 4) as u32 }
    }

    /// Returns the value for this machine.
    pub(crate) fn pick<T>(self, of: PerMachine<T>) -> T {
        if self.runs_in_order() { of.core } else { of.gpu }
    }

    /// Returns whether each block runs on one CPU core. The core takes the block's items in order
    /// and caches them, and few blocks run at once.
    pub(crate) fn runs_in_order(self) -> bool {
        self.cores.is_some()
    }

    /// Returns the count of CPU cores, or `None` for a GPU.
    pub(crate) fn cores(self) -> Option<usize> {
        self.cores
    }

    /// Returns the count of blocks of a launch, given the blocks for each multiprocessor or core.
    pub(crate) fn blocks(self, each: PerMachine<u64>) -> u64 {
        self.cores.map_or(self.multiprocessors.into(), |cores| cores as u64) * self.pick(each)
    }

    /// Returns the most 32-bit words of dynamic shared memory of a block.
    pub(crate) fn block_words(self) -> u32 {
        self.block_words
    }
}
