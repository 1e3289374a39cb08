//! The launches of splits.

use super::plan::Level;
use crate::Result;
use crate::primitives::Pairs;
use crate::runtime::stream::Batch;
use gpu_kernels::primitives::scan::{Scan, ScanParams, state_words, tile};
use gpu_kernels::seam::{Global, Kernel};
use gpu_kernels::split::{Split, SplitParams};
use gpu_kernels::types::{KeyWord, Payload};

/// The input, output and working arrays of a split.
pub(crate) struct SplitArrays<K, V: Payload> {
    pub from: Pairs<K, V>,
    pub to: Pairs<K, V>,
    /// The list of columns, if the payload is one.
    pub columns: Option<Global<u64>>,
    /// The count of rows in each region of the input, or `None` if the input is one region.
    pub counts_in: Option<Global<u32>>,
    /// The starts of the bins, and the end of the last bin, unless bins have a capacity.
    pub starts: Option<Global<u32>>,
    /// The counts of rows in the bins, which are 0 before the split.
    pub counts: Global<u32>,
    /// The look-back state, which is 0 before the split, if the order of rows is kept.
    pub state: Option<Global<u64>>,
    pub header: Global<u64>,
}

/// Queues the split with index `number`, of `rows` rows. `a` and `b` are the constants of the mix.
///
/// # Safety
/// The batch gave all arrays, the outputs for writing. They are as large as the level or the starts
/// require. The input is the output of the split before, if any.
pub(crate) unsafe fn queue_split<K: KeyWord, V: Payload>(
    batch: &Batch<'_>,
    (number, level): (usize, &Level),
    rows: u64,
    [a, b]: [u64; 2],
    arrays: SplitArrays<K, V>,
) -> Result<()> {
    let SplitArrays { from, to, columns, counts_in, starts, counts, state, header } = arrays;
    let in_any_order = state.is_none();
    let split = Split::<K, V, false> {
        keys: from.keys,
        values: from.values,
        keys_out: to.keys,
        values_out: to.values,
        columns: or_null(columns),
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
    // SAFETY: the caller guarantees it. A split that does not keep the order uses no state.
    unsafe { launch_one_of(batch, in_any_order, &split, &split.variant::<true>(), level.regions * level.tiles) }
}

/// Queues a scan of the bins' counts of rows, which results in their starts and the last bin's end.
///
/// # Safety
/// The batch gave all arrays, `starts` and `state` for writing. There is a count for each bin, and
/// one start more. `state` has [`starts_state_words`] words, which are 0.
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
    // SAFETY: the caller guarantees it.
    unsafe { batch.launch_blocks(&add_up, bins.div_ceil(tile::<u32>())) }
}

/// Returns the count of 64-bit words of the look-back state of [`queue_starts`].
pub(crate) fn starts_state_words(bins: u64) -> u64 {
    state_words::<u32>(bins)
}

/// Launches the kernel that may change the order of pairs if keys are unique, and otherwise the
/// kernel that keeps the order.
///
/// # Safety
/// As for [`Batch::launch_blocks`], for both kernels.
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

/// Returns the array, or null if this optional argument is absent.
pub(crate) fn or_null<T>(array: Option<Global<T>>) -> Global<T> {
    // SAFETY: the kernels' documentation allows null for these arguments.
    array.unwrap_or_else(|| unsafe { Global::null() })
}
