//! Splits of rows into bins by their mixed keys: their sizes, which are known before anything is
//! allocated, and their launches.

use super::by_hot::Regions;
use crate::Result;
use crate::primitives::Pairs;
use crate::runtime::stream::Batch;
use gpu_kernels::page::{MAX_SPLIT_BITS, Split, SplitParams, header, split_tile};
use gpu_kernels::primitives::scan::{Scan, ScanParams, state_words, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload};

/// The most rows that are split: offsets of rows in bins have 32 bits.
pub(super) const MAX_ROWS: u64 = 1 << 31;

/// The standard deviations by which a bin may exceed the mean, if the number of groups is what is
/// expected. It may be half of that.
const DEVIATIONS: f64 = 8.0;

/// The most rows that the bins of a split have capacity for: from here on offsets stand for no row.
const MAX_CAPACITY: u64 = 0xffff_0000;

/// The sizes of one split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub bits: u32,
    /// The bits of the levels up to this one: there are 2^`bits_so_far` bins.
    pub bits_so_far: u32,
    pub regions: u64,
    pub tiles: u64,
    pub region_capacity: u64,
    pub bin_capacity: u64,
}

impl Level {
    pub fn bins(&self) -> u64 {
        1 << self.bits_so_far
    }

    /// Returns the number of rows that the split's output has capacity for.
    pub fn capacity(&self) -> u64 {
        self.bins() * self.bin_capacity
    }

    /// Returns the number of 64-bit words for the bins' numbers of rows.
    pub fn counts_words(&self) -> u64 {
        self.bins().div_ceil(2).next_multiple_of(2)
    }
}

/// Returns the bits of the splits that make so many. The first ones may have fewer: their tiles are
/// then larger shares of their bins.
pub(super) fn split_bits(page_bits: u32) -> Vec<u32> {
    let splits = page_bits.div_ceil(MAX_SPLIT_BITS);
    (0..splits).map(|split| (page_bits + split) / splits).collect()
}

/// Returns the sizes of splits with so many bits each, of rows that are in regions or side by side.
/// Bins have capacity for the rows of as many keys as `groups` says for a split, at least, and
/// those of the last split for `besides` more.
pub(super) fn levels<K: KeyWord, V: Payload>(
    (rows, regions): (u64, Option<Regions>),
    groups: impl Fn(usize) -> u64,
    besides: u64,
    bits: &[u32],
) -> Vec<Level> {
    let (mut levels, mut bits_so_far) = (Vec::new(), 0);
    let mut from = regions.unwrap_or(Regions { number: 1, capacity: rows, most: rows });
    for (number, &bits_here) in bits.iter().enumerate() {
        let Regions { number: regions, capacity: region_capacity, most } = from;
        let tiles = most.div_ceil(split_tile::<K, V>()).max(1);
        bits_so_far += bits_here;
        let mean = rows as f64 / (1u64 << bits_so_far) as f64;
        // A bin varies by whole groups, and each of these has all of its rows.
        let groups_of_bin = groups(number) as f64 / (1u64 << bits_so_far) as f64;
        let slack = DEVIATIONS * mean / groups_of_bin.sqrt() + 64.0;
        // Later splits have a tile for every part of a bin's capacity, full or not.
        let besides = if number + 1 == bits.len() { besides } else { 0 };
        let bin_capacity = ((mean + slack).ceil() as u64 + besides).min(rows).max(1);
        levels.push(Level { bits: bits_here, bits_so_far, regions, tiles, region_capacity, bin_capacity });
        from = Regions { number: 1 << bits_so_far, capacity: bin_capacity, most: bin_capacity };
    }
    levels
}

/// Returns whether splits of these sizes can be made.
pub(super) fn are_valid(levels: &[Level]) -> bool {
    let valid = |level: &Level| (1..=MAX_SPLIT_BITS).contains(&level.bits) && level.capacity() < MAX_CAPACITY;
    levels.len() <= header::LEVELS as usize && levels.iter().all(valid)
}

/// The arrays of a split.
pub(super) struct SplitArrays<K, V: Payload> {
    pub from: Pairs<K, V>,
    pub to: Pairs<K, V>,
    /// The numbers of rows of the input's regions, unless it is one region.
    pub counts_in: Option<Global<u32>>,
    /// The starts of the bins, and the end of the last, unless bins have a capacity.
    pub starts: Option<Global<u32>>,
    /// The numbers of rows of the bins, which are 0.
    pub counts: Global<u32>,
    pub header: Global<u64>,
}

/// Queues split `number` of `rows` rows, with the constants of the mix.
///
/// # Safety
/// The batch gave all arrays, those that are written to write. They are as large as the level says,
/// or as the starts do, and the input is that of the level before.
pub(super) unsafe fn queue_split<K: KeyWord, V: Payload>(
    batch: &Batch<'_>,
    (number, level): (usize, &Level),
    rows: u64,
    [a, b]: [u64; 2],
    arrays: SplitArrays<K, V>,
) -> Result<()> {
    let SplitArrays { from, to, counts_in, starts, counts, header } = arrays;
    let split = Split::<K, V, false> {
        keys: from.keys,
        values: from.values,
        keys_out: to.keys,
        values_out: to.values,
        counts_in: or_null(counts_in),
        starts_out: or_null(starts),
        counts_out: counts,
        state: or_null(None),
        header,
        plan: SplitParams {
            a,
            b,
            region_capacity: level.region_capacity,
            pairs: rows,
            bin_capacity: level.bin_capacity as u32,
            tiles: level.tiles as u32,
            shift: K::BITS - level.bits_so_far,
            bits: level.bits,
            skew_limit: u32::MAX,
            level: number as u32,
        },
    };
    // SAFETY: as the caller promises. A split that keeps no order takes no state.
    unsafe { batch.launch_blocks(&split, level.regions * level.tiles) }
}

/// Queues adding up the numbers of rows of the bins to their starts, and the end of the last.
///
/// # Safety
/// The batch gave all arrays, the last two to write. There is a count for each bin, one start more,
/// and [`starts_state_words`] for what the scan publishes, which are 0.
pub(super) unsafe fn queue_starts(
    batch: &Batch<'_>,
    bins: u64,
    counts: Global<u32>,
    starts: Global<u32>,
    state: Global<u64>,
) -> Result<()> {
    let add_up = Scan::<u32> {
        input: counts,
        output: starts,
        total: starts.offset(bins),
        state,
        plan: ScanParams { items: bins },
    };
    // SAFETY: as the caller promises.
    unsafe { batch.launch_blocks(&add_up, bins.div_ceil(tile::<u32>())) }
}

/// Returns the number of words that [`queue_starts`] publishes in.
pub(super) fn starts_state_words(bins: u64) -> u64 {
    state_words::<u32>(bins)
}

/// Returns the array, or null for an argument that may be left out.
pub(super) fn or_null<T>(array: Option<Global<T>>) -> Global<T> {
    // SAFETY: the kernels' documentation allows null for these arguments.
    array.unwrap_or_else(|| unsafe { Global::null() })
}
