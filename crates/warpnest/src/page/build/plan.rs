//! The sizes of a build of a page table, all of which are known before anything is allocated.

use super::unordered_plan::UnorderedPlan;
use crate::runtime::machine::Machine;
use crate::split::{Level, split_bits};
use crate::table::input::Input;
use gpu_kernels::page::{BUCKET_WORDS, header};
use gpu_kernels::primitives::scan::state_words as scan_state_words;
use gpu_kernels::split;
use gpu_kernels::types::{KeyWord, Payload, Scalar};

/// Pairs, and the plan for building a table of them or for adding them to a table.
pub(in crate::page) type Planned<'i, K, V> = (Input<'i, K, V>, &'i Plan);

/// The sizes of a build, and the layout of its scratch. The scratch begins with the header, the
/// counts, and the look-back state of the splits and of a scan. All of these are 0 at first. Behind
/// them are the starts of bins, the storage of every second split from the last one backwards, the
/// storage of the other splits, and the memory for repeated keys.
///
/// The look-back state of the splits also holds the cells of the sampled keys, because the splits
/// of an unordered attempt need no such state.
#[derive(Clone, Debug)]
pub(in crate::page) struct Plan {
    pub pairs: u64,
    /// The count of pairs for which the table has capacity.
    pub capacity: u64,
    /// Whether each key occurs once.
    pub unique: bool,
    pub page_bits: u32,
    pub page_buckets: u32,
    pub levels: Vec<Level>,
    /// The sizes of an unordered attempt, if one is made.
    pub unordered: Option<UnorderedPlan>,
    /// Whether the table has pairs, so that splits cannot use its memory.
    in_use: bool,
    table_words: u64,
    key_bytes: u64,
    value_bytes: u64,
}

impl Plan {
    /// Makes the plan of a table of keys with payload `V`. The splits move the keys with payload
    /// `M`.
    pub(crate) fn new<K: KeyWord, V: Payload, M: Payload>(
        pairs: u64,
        page_bits: u32,
        page_buckets: u32,
        unique: bool,
        machine: Machine,
    ) -> Self {
        let repeats = !unique;
        let tile = split::tile::<K, M>();
        let (mut levels, mut bits_so_far) = (Vec::new(), 0);
        let mut region_capacity = pairs;
        for bits in split_bits(page_bits) {
            let regions = 1u64 << bits_so_far;
            let tiles = region_capacity.div_ceil(tile).max(1);
            bits_so_far += bits;
            let mean = pairs as f64 / (1u64 << bits_so_far) as f64;
            // Unique keys under a random mix hardly ever exceed this slack. Repeated keys get an
            // eighth of the mean more.
            let slack = 8.0 * mean.sqrt() + 64.0 + if repeats { mean / 8.0 } else { 0.0 };
            let bin_capacity = ((mean + slack).ceil() as u64).min(pairs.max(1));
            let mean_of_tile = (tile >> bits) as f64;
            levels.push(Level {
                bits,
                bits_so_far,
                regions,
                tiles,
                region_capacity,
                bin_capacity,
                skew_limit: (mean_of_tile + 5.0 * mean_of_tile.sqrt() + 4.0) as u64,
                state_words: if repeats && M::VALUE_BITS != 0 { split::state_words(regions, tiles, bits) } else { 0 },
            });
            region_capacity = bin_capacity;
        }
        let bucket_words = (BUCKET_WORDS * <K::PackedWord<V> as Scalar>::BITS / 64) as u64;
        let table_words = ((page_buckets as u64) << page_bits) * bucket_words;
        let (key_bytes, value_bytes) = (K::BITS as u64 / 8, M::VALUE_BITS as u64 / 8);
        let unordered = (repeats && M::VALUE_BITS == V::VALUE_BITS && !machine.runs_in_order() && pairs != 0)
            .then(|| UnorderedPlan::new::<K, V>(pairs, 1 << page_bits));
        Self {
            pairs,
            capacity: pairs,
            unique,
            page_bits,
            page_buckets,
            levels,
            unordered,
            in_use: false,
            table_words,
            key_bytes,
            value_bytes,
        }
    }

    /// Returns the same plan with splits that look for repeated keys in every tile. It is for a
    /// batch with so many repeated keys that bins overflowed.
    pub(crate) fn seeking_repeats(&self) -> Self {
        let mut plan = self.clone();
        plan.levels.iter_mut().for_each(|level| level.skew_limit = 0);
        plan
    }

    /// Returns the same plan for a table with capacity for `capacity` pairs.
    pub(crate) fn with_capacity(self, capacity: u64) -> Self {
        Self { capacity, ..self }
    }

    /// Returns the same plan for a batch that changes a table with pairs.
    pub(crate) fn for_change(self) -> Self {
        Self { in_use: true, ..self }
    }

    /// Returns the count of 64-bit words of the table's buckets.
    pub(crate) fn table_words(&self) -> u64 {
        self.table_words
    }

    /// Returns the offset of the counts of level `level`, in 64-bit words.
    pub(crate) fn counts_at(&self, level: usize) -> u64 {
        header::WORDS as u64 + self.levels[..level].iter().map(|level| level.bins().div_ceil(2)).sum::<u64>()
    }

    /// Returns the offset of the look-back state of the split with index `level`.
    pub(crate) fn state_at(&self, level: usize) -> u64 {
        let earlier: u64 = self.levels[..level].iter().map(|level| level.state_words).sum();
        self.counts_at(self.levels.len()) + earlier
    }

    /// Returns the offset of the look-back state of the scan of the last split's counts. The scan
    /// is needed if that split is repeated.
    pub(crate) fn scan_at(&self) -> u64 {
        self.state_at(self.levels.len()).max(self.zeros_unordered())
    }

    /// Returns the offset of the cells of the sampled keys.
    pub(crate) fn cells_at(&self) -> u64 {
        self.counts_at(self.levels.len())
    }

    /// Returns the count of words that an unordered attempt needs to be 0 at first.
    pub(crate) fn zeros_unordered(&self) -> u64 {
        self.cells_at() + self.unordered.map_or(0, |sizes| sizes.cells_words())
    }

    /// Returns the count of words that need to be 0 at first.
    pub(crate) fn zeros(&self) -> u64 {
        self.scan_at() + self.levels.last().map_or(0, |last| scan_state_words::<u32>(last.bins()))
    }

    /// Returns the offset of the starts of the last split's bins, which are needed if it is
    /// repeated. The offset is in 64-bit words, and a multiple of 16 bytes.
    pub(crate) fn starts_at(&self) -> u64 {
        self.zeros().next_multiple_of(2)
    }

    /// Returns the offset of the first storage for pairs, in 64-bit words.
    fn pairs_at(&self) -> u64 {
        let starts = self.levels.last().map_or(0, |last| (last.bins() + 1).div_ceil(2));
        (self.starts_at() + starts).next_multiple_of(2)
    }

    /// Returns the count of 64-bit words for `capacity` pairs: keys, then values, each array
    /// aligned to 16 bytes. Pairs that are side by side fit, too.
    fn pairs_words(&self, capacity: u64) -> u64 {
        self.keys_words(capacity) + (capacity * self.value_bytes).div_ceil(16) * 2
    }

    /// Returns the count of 64-bit words for `capacity` keys.
    pub(crate) fn keys_words(&self, capacity: u64) -> u64 {
        (capacity * self.key_bytes).div_ceil(16) * 2
    }

    /// Returns the count of words for the output of the last split and every second split before it
    /// (`back` 0), or for the output of the other splits (`back` 1).
    fn storage_words(&self, back: usize) -> u64 {
        let capacities = self.levels.iter().rev().skip(back).step_by(2).map(|level| self.pairs_words(level.capacity()));
        capacities.max().unwrap_or(0)
    }

    /// Returns the storage that the split `back` splits before the last one writes to.
    pub(crate) fn storage_at(&self, back: usize) -> PairStorage {
        let last = self.pairs_at();
        match back % 2 {
            0 => PairStorage::Scratch(last),
            // The table is unused until the pages are built, and the pages are not built from this
            // storage.
            _ if !self.in_use && self.storage_words(1) <= self.table_words => PairStorage::Table,
            _ => PairStorage::Scratch(last + self.storage_words(0)),
        }
    }

    /// Returns the offset of the memory for repeated keys, in 64-bit words.
    pub(crate) fn repeats_at(&self) -> u64 {
        let sizes = (0..2).map(|back| match self.storage_at(back) {
            PairStorage::Table => 0,
            PairStorage::Scratch(at) => at + self.storage_words(back),
        });
        sizes.max().unwrap_or(0).max(self.pairs_at())
    }

    /// Returns the count of 64-bit words of the scratch.
    pub(crate) fn scratch_words(&self) -> u64 {
        self.repeats_at() + self.unordered.map_or(0, |sizes| sizes.repeats_words())
    }
}

/// The memory in which a split stores its pairs.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) enum PairStorage {
    /// The memory of the table.
    Table,
    /// The scratch, starting at this 64-bit word.
    Scratch(u64),
}
