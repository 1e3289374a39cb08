//! Ranks among flagged values.

use crate::seam::Global;

/// Returns the count of values below `value` whose bit in `bits` is set. `before[i]` is the count
/// of set bits in the words before `bits[i]`.
#[inline(always)]
pub(crate) fn rank(value: u32, bits: Global<u32>, before: Global<u32>) -> u32 {
    let word = (value / 32) as u64;
    let smaller = bits.load_read_only(word) & !(u32::MAX << (value % 32));
    before.load_read_only(word) + smaller.count_ones()
}
