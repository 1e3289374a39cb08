//! The launches of splits.

use super::plan::Level;
use crate::Result;
use crate::primitives::Pairs;
use crate::runtime::stream::Batch;
use gpu_kernels::primitives::scan::{Scan, ScanParams, state_words, tile};
use gpu_kernels::seam::{Global, Kernel};
use gpu_kernels::split::{Split, SplitParams};
use gpu_kernels::types::{KeyWord, Payload};

/// The arrays of a split.
pub(crate) struct SplitArrays<K, V: Payload> {
    pub from: Pairs<K, V>,
    pub to: Pairs<K, V>,
    /// The counts of rows of the input's regions, unless it is one region.
    pub counts_in: Option<Global<u32>>,
    /// The starts of the bins, and the end of the last, unless bins have a capacity.
    pub starts: Option<Global<u32>>,
    /// The counts of rows of the bins, which are 0.
    pub counts: Global<u32>,
    /// What the split publishes in, which is 0, if the order is to be kept.
    pub state: Option<Global<u64>>,
    pub header: Global<u64>,
}

/// Queues split `number` of `rows` rows, with the constants of the mix.
///
/// # Safety
/// The batch gave all arrays, those that are written to write. They are as large as the level says,
/// or as the starts do, and the input is the output of the level before.
pub(crate) unsafe fn queue_split<K: KeyWord, V: Payload>(
    batch: &Batch<'_>,
    (number, level): (usize, &Level),
    rows: u64,
    [a, b]: [u64; 2],
    arrays: SplitArrays<K, V>,
) -> Result<()> {
    let SplitArrays { from, to, counts_in, starts, counts, state, header } = arrays;
    let in_any_order = state.is_none();
    let split = Split::<K, V, false> {
        keys: from.keys,
        values: from.values,
        keys_out: to.keys,
        values_out: to.values,
        counts_in: or_null(counts_in),
        starts_out: or_null(starts),
        counts_out: counts,
        state: or_null(state),
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
            skew_limit: level.skew_limit as u32,
            level: number as u32,
        },
    };
    // SAFETY: as the caller promises. A split that keeps no order takes no state.
    unsafe { launch_one_of(batch, in_any_order, &split, &split.variant::<true>(), level.regions * level.tiles) }
}

/// Queues adding up the counts of rows of the bins to their starts, and the end of the last.
///
/// # Safety
/// The batch gave all arrays, the last two to write. There is a count for each bin, one start more,
/// and [`starts_state_words`] for what the scan publishes, which are 0.
pub(crate) unsafe fn queue_starts(
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

/// Returns the count of words that [`queue_starts`] publishes in.
pub(crate) fn starts_state_words(bins: u64) -> u64 {
    state_words::<u32>(bins)
}

/// Runs the kernel that may change the order of pairs if keys are unique, and otherwise the one
/// that keeps it.
///
/// # Safety
/// As for [`Batch::launch_blocks`], for both.
pub(crate) unsafe fn launch_one_of(
    batch: &Batch<'_>,
    unique: bool,
    in_any_order: &dyn Kernel,
    in_order: &dyn Kernel,
    blocks: u64,
) -> Result<()> {
    // SAFETY: the caller guarantees it for both kernels.
    unsafe { batch.launch_blocks(if unique { in_any_order } else { in_order }, blocks) }
}

/// Returns the array, or null for an argument that may be left out.
pub(crate) fn or_null<T>(array: Option<Global<T>>) -> Global<T> {
    // SAFETY: the kernels' documentation allows null for these arguments.
    array.unwrap_or_else(|| unsafe { Global::null() })
}
