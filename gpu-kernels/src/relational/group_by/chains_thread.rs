//! The state of a thread whose block keeps all rows of its bin in registers.

/// The count of threads of a block.
pub(super) const THREADS: u32 = 384;

/// The count of rows of a thread. They fit 56 registers, so that a multiprocessor runs three
/// blocks.
pub(super) const HELD: usize = 7;

/// The most rows of a bin that [`GroupChains`](super::GroupChains) aggregates.
pub const CHAINED_ROWS: u32 = THREADS * HELD as u32;

/// The state of a row's group: the index of the first row with its key, if that is another row, or
/// one of these values. For a first row it is the index of its group with the bit `GROUP` set.
pub(super) const FIRST: u32 = u32::MAX;
pub(super) const ABSENT: u32 = 1 << 30;
pub(super) const GROUP: u32 = 1 << 31;

/// The rows of a thread.
pub(super) struct Thread<K, W> {
    pub keys: [K; HELD],
    pub values: [W; HELD],
    /// The entry before each row in its chain, and later the state of its group.
    pub groups: [u32; HELD],
    /// The index of the first group of the thread's warp.
    pub first_group: u32,
}

/// Returns the index in the bin of a thread's row `i`.
#[inline(always)]
pub(super) fn row(thread: u32, i: usize) -> u32 {
    thread + i as u32 * THREADS
}
