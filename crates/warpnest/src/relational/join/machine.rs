//! What the plan of a join depends on of a device.

use crate::Stream;
use gpu_kernels::relational::join::{MAX_PAGE_ROWS, on_chip_words};
use gpu_kernels::types::KeyWord;

/// The words of a block beside those of its page.
const WORDS_BESIDE: u32 = 128;

/// The multiprocessors of a device that does not say how many it has.
const MULTIPROCESSORS: u32 = 4;

/// What a plan depends on of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Its cores, if it is a CPU.
    pub cores: Option<usize>,
    /// The blocks that are resident at a time, if each takes all memory of a multiprocessor.
    pub resident: u64,
    /// The 32-bit words of a block's page.
    pub page_words: u32,
}

impl Machine {
    pub fn of(stream: &Stream) -> Self {
        let engine = stream.engine();
        Self {
            cores: stream.cores(),
            resident: engine.multiprocessors().unwrap_or(MULTIPROCESSORS) as u64,
            page_words: (engine.block_memory() / 4) as u32 - WORDS_BESIDE,
        }
    }

    /// Returns the binary logarithm of the number of buckets of a page for so many rows, or `None`
    /// if a block has not memory for it.
    pub fn bucket_bits<K: KeyWord>(&self, rows: u64) -> Option<u32> {
        let bits = bits_for(rows).max(1);
        if rows > MAX_PAGE_ROWS as u64 {
            return None;
        }
        if self.cores.is_some() {
            return Some(bits);
        }
        // A few rows more in a bucket cost less than the second-level cache.
        let fits = |bits: &u32| *bits != 0 && on_chip_words::<K>(rows as u32, *bits) <= self.page_words;
        [bits + 1, bits, bits - 1].into_iter().find(fits)
    }
}

/// Returns the binary logarithm of the least power of two that is not less.
pub(super) fn bits_for(number: u64) -> u32 {
    number.max(1).next_power_of_two().ilog2()
}
