//! The sizes of an attempt without order: its sample, and the list of repeated keys.

use gpu_kernels::page::{FILTER_WORDS, ListSizes, REPEAT_WORDS};
use gpu_kernels::types::{KeyWord, Payload};

/// The fewest pairs whose keys are sampled: an attempt with fewer takes not much longer than the
/// sample and its readback.
const MIN_SAMPLED_PAIRS: u64 = 1 << 24;

/// The share of a page's pairs, one in so many, that its own part of the list takes; and how many
/// more.
const PAIRS_AN_ENTRY: u64 = 32;
const MORE_ENTRIES: u64 = 16;

/// The share of all pairs, one in so many, that the list's common part takes; and how many at
/// least.
const PAIRS_A_COMMON_ENTRY: u64 = 128;
const MIN_COMMON: u64 = 256;

/// The sizes of an attempt without order.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct UnorderedPlan {
    /// The bits of the count of sampled keys, if keys are sampled.
    pub sample_bits: Option<u32>,
    /// The bits of a position in the input.
    pub position_bits: u32,
    /// The capacities of the list of repeated keys. They are 0 without values: then there is
    /// nothing to resolve.
    pub list: ListSizes,
    key_bytes: u64,
}

impl UnorderedPlan {
    /// Makes the plan for `pairs` keys `K` with payload `V`, in so many pages.
    pub(crate) fn new<K: KeyWord, V: Payload>(pairs: u64, pages: u64) -> Self {
        let position_bits = pairs.next_power_of_two().ilog2();
        // Of 2^27 pairs a sample of this size has eight repeated keys if one key in 1024 comes
        // twice. From there on resolving takes longer than keeping the order.
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

    /// Returns the count of 64-bit words of the sample's cells, which are twice as many as it has
    /// keys.
    pub(crate) fn cells_words(&self) -> u64 {
        self.sample_bits.map_or(0, |bits| 1 << bits)
    }

    /// Returns the offset of the mixed keys of the list, in 64-bit words from what repeated keys
    /// take.
    pub(crate) fn keys_at(&self) -> u64 {
        self.list.entries() * REPEAT_WORDS + (self.list.pages as u64).div_ceil(2)
    }

    /// Returns the offset of what is 0 before repeated keys are resolved.
    pub(crate) fn zeros_at(&self) -> u64 {
        self.keys_at() + (self.list.entries() * self.key_bytes).div_ceil(8)
    }

    /// Returns the bits of a cell's position in the index of `repeats` repeated keys.
    pub(crate) fn index_bits(repeats: u64) -> u32 {
        (2 * repeats).next_power_of_two().ilog2()
    }

    /// Returns the count of 64-bit words that are 0 before `repeats` repeated keys are resolved:
    /// the filter, the last positions and the index, which has two words a cell.
    pub(crate) fn zeros(&self, repeats: u64) -> u64 {
        (FILTER_WORDS as u64 + self.list.entries() + (2 << Self::index_bits(repeats))).div_ceil(2)
    }

    /// Returns the count of 64-bit words that repeated keys take.
    pub(crate) fn repeats_words(&self) -> u64 {
        let entries = self.list.entries();
        if entries == 0 { 0 } else { self.zeros_at() + self.zeros(entries) }
    }
}
