//! The sizes of an unordered attempt: the sizes of its sample and of the list of repeated keys.

use gpu_kernels::page::{FILTER_WORDS, ListSizes, REPEAT_WORDS};
use gpu_kernels::types::{KeyWord, Payload};

/// The fewest pairs whose keys are sampled. With fewer pairs, a whole attempt takes hardly longer
/// than the sample and its readback.
const MIN_SAMPLED_PAIRS: u64 = 1 << 24;

/// The count of a page's pairs for which its own part of the list has one entry, and the count of
/// its additional entries.
const PAIRS_AN_ENTRY: u64 = 32;
const MORE_ENTRIES: u64 = 16;

/// The count of all pairs for which the common part of the list has one entry, and the fewest
/// entries of the common part.
const PAIRS_A_COMMON_ENTRY: u64 = 128;
const MIN_COMMON: u64 = 256;

/// The sizes of an unordered attempt.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct UnorderedPlan {
    /// The binary logarithm of the count of sampled keys, if keys are sampled.
    pub sample_bits: Option<u32>,
    /// The bits of a position in the input.
    pub position_bits: u32,
    /// The capacities of the list of repeated keys. They are 0 if there are no values, because then
    /// nothing needs to be resolved.
    pub list: ListSizes,
    key_bytes: u64,
}

impl UnorderedPlan {
    /// Makes the plan for `pairs` keys `K` with payload `V`, in `pages` pages.
    pub(crate) fn new<K: KeyWord, V: Payload>(pairs: u64, pages: u64) -> Self {
        let position_bits = pairs.next_power_of_two().ilog2();
        // If one key in 1024 of 2^27 pairs occurs twice, a sample of this size has eight repeated
        // keys. If more keys are repeated, resolving them takes longer than keeping the order.
        let sample_bits = (pairs >= MIN_SAMPLED_PAIRS).then(|| position_bits * 3 / 4);
        let (own, common) = if V::VALUE_BITS == 0 {
            (0, 0)
        } else {
            let own = pairs / pages / PAIRS_AN_ENTRY + MORE_ENTRIES;
            (own as u32, (pairs / PAIRS_A_COMMON_ENTRY).max(MIN_COMMON) as u32)
        };
        let list = ListSizes { pages: pages as u32, own, common, padding: 0 };
        Self { sample_bits, position_bits, list, key_bytes: K::BITS as u64 / 8 }
    }

    /// Returns the count of 64-bit words of the sample's cells. There are two cells for each
    /// sampled key.
    pub(crate) fn cells_words(&self) -> u64 {
        self.sample_bits.map_or(0, |bits| 1 << bits)
    }

    /// Returns the offset of the mixed keys of the list, in 64-bit words from the start of the
    /// memory for repeated keys.
    pub(crate) fn keys_at(&self) -> u64 {
        self.list.entries() * REPEAT_WORDS + (self.list.pages as u64).div_ceil(2)
    }

    /// Returns the offset of the words that must be 0 before repeated keys are resolved.
    pub(crate) fn zeros_at(&self) -> u64 {
        self.keys_at() + (self.list.entries() * self.key_bytes).div_ceil(8)
    }

    /// Returns the bits of a cell's index in the hash index of `repeats` repeated keys.
    pub(crate) fn index_bits(repeats: u64) -> u32 {
        (2 * repeats).next_power_of_two().ilog2()
    }

    /// Returns the count of 64-bit words that must be 0 before `repeats` repeated keys are
    /// resolved. They are the filter, the last positions, and the hash index, which has two 32-bit
    /// words per cell.
    pub(crate) fn zeros(&self, repeats: u64) -> u64 {
        (FILTER_WORDS as u64 + self.list.entries() + (2 << Self::index_bits(repeats))).div_ceil(2)
    }

    /// Returns the count of 64-bit words of the memory for repeated keys.
    pub(crate) fn repeats_words(&self) -> u64 {
        let entries = self.list.entries();
        if entries == 0 { 0 } else { self.zeros_at() + self.zeros(entries) }
    }
}
