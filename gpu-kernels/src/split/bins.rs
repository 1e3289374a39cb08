//! The positions of a bin's rows after a split or a sort.

use crate::seam::Global;

/// Returns the position of a bin's first row and the count of its rows, for bins with equal
/// capacities. `counts` has the count of rows of each bin.
#[inline(always)]
pub(crate) fn with_capacity(counts: Global<u32>, capacity: u64, bin: u64) -> (u64, u32) {
    (bin * capacity, counts.load_read_only(bin))
}

/// Returns the same for bins without gaps. `starts` has the positions of their first rows, and the
/// end of the last bin.
#[inline(always)]
pub(crate) fn side_by_side(starts: Global<u32>, bin: u64) -> (u64, u32) {
    let start = starts.load_read_only(bin);
    (start as u64, starts.load_read_only(bin + 1) - start)
}

/// Returns the same for bins with the given capacity, or for bins without gaps if it is 0.
#[inline(always)]
pub(crate) fn place(counts_or_starts: Global<u32>, capacity: u64, bin: u64) -> (u64, u32) {
    if capacity == 0 { side_by_side(counts_or_starts, bin) } else { with_capacity(counts_or_starts, capacity, bin) }
}
