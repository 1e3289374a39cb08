//! The sizes of splits.

use gpu_kernels::split::{self, MAX_SPLIT_BITS, header};
use gpu_kernels::types::{KeyWord, Payload};

/// The most rows of a split, because offsets of rows in bins have 32 bits.
pub(crate) const MAX_ROWS: u64 = 1 << 31;

/// The count of standard deviations by which a bin may exceed its mean size. It is large because
/// there may be only half as many groups as expected.
const DEVIATIONS: f64 = 8.0;

/// The limit of the rows for which the bins of a split have capacity. Larger offsets mark rows that
/// are not written.
const MAX_CAPACITY: u64 = 0xffff_0000;

/// The regions of rows that are not side by side. All have the same capacity, and rows are at the
/// beginning of their region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Regions {
    pub number: u64,
    pub capacity: u64,
    /// The count of rows in the fullest region.
    pub most: u64,
}

/// The sizes of one split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub bits: u32,
    /// The bits of all levels up to this one. There are 2^`bits_so_far` bins.
    pub bits_so_far: u32,
    /// The count of regions of the input. `tiles` is the count of tiles of each.
    pub regions: u64,
    pub tiles: u64,
    pub region_capacity: u64,
    pub bin_capacity: u64,
    /// The most rows of a tile that are likely to be in one bin unless keys are repeated.
    pub skew_limit: u64,
    /// The count of 64-bit words of the split's look-back state, or 0 if it does not keep the
    /// order.
    pub state_words: u64,
}

impl Level {
    pub(crate) fn bins(&self) -> u64 {
        1 << self.bits_so_far
    }

    /// Returns the count of rows for which the split's output has capacity.
    pub(crate) fn capacity(&self) -> u64 {
        self.bins() * self.bin_capacity
    }

    /// Returns the count of 64-bit words that the counts of rows in the bins take.
    pub(crate) fn counts_words(&self) -> u64 {
        self.bins().div_ceil(2).next_multiple_of(2)
    }
}

/// Returns the bits of each split, which are `page_bits` in all. The first splits may have one bit
/// less, so that a tile has more rows for each of their bins.
pub(crate) fn split_bits(page_bits: u32) -> Vec<u32> {
    let splits = page_bits.div_ceil(MAX_SPLIT_BITS);
    (0..splits).map(|split| (page_bits + split) / splits).collect()
}

/// Returns the sizes of splits with `bits` bits each. The rows are in regions or side by side. The
/// bins of split `i` have enough capacity if the rows have at least `groups(i)` distinct keys. The
/// bins of the last split have capacity for `besides` more rows.
pub(crate) fn levels<K: KeyWord, V: Payload>(
    (rows, regions): (u64, Option<Regions>),
    groups: impl Fn(usize) -> u64,
    besides: u64,
    bits: &[u32],
) -> Vec<Level> {
    let (mut levels, mut bits_so_far) = (Vec::new(), 0);
    let mut from = regions.unwrap_or(Regions { number: 1, capacity: rows, most: rows });
    for (number, &bits_here) in bits.iter().enumerate() {
        let Regions { number: regions, capacity: region_capacity, most } = from;
        let tiles = most.div_ceil(split::tile::<K, V>()).max(1);
        bits_so_far += bits_here;
        let mean = rows as f64 / (1u64 << bits_so_far) as f64;
        // The size of a bin varies by whole groups, because all rows of a group are in the same
        // bin.
        let groups_of_bin = groups(number) as f64 / (1u64 << bits_so_far) as f64;
        let slack = DEVIATIONS * mean / groups_of_bin.sqrt() + 64.0;
        // Later splits have tiles for the whole capacity of a bin, so only the last split adds
        // `besides`.
        let besides = if number + 1 == bits.len() { besides } else { 0 };
        let bin_capacity = ((mean + slack).ceil() as u64 + besides).min(rows).max(1);
        levels.push(Level {
            bits: bits_here,
            bits_so_far,
            regions,
            tiles,
            region_capacity,
            bin_capacity,
            // Rows with repeated keys are not dropped.
            skew_limit: u32::MAX.into(),
            state_words: 0,
        });
        from = Regions { number: 1 << bits_so_far, capacity: bin_capacity, most: bin_capacity };
    }
    levels
}

/// Returns whether splits of these sizes can be made.
pub(crate) fn are_valid(levels: &[Level]) -> bool {
    let valid = |level: &Level| (1..=MAX_SPLIT_BITS).contains(&level.bits) && level.capacity() < MAX_CAPACITY;
    levels.len() <= header::LEVELS as usize && levels.iter().all(valid)
}
