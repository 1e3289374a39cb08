//! The layout of a side of a join: how its rows are arranged, and its offsets in memory.

use crate::primitives::Pairs;
use crate::split::{Level, levels, split_bits, starts_state_words};
use gpu_kernels::relational::join::SECTOR_WORDS;
use gpu_kernels::types::KeyWord;

/// Bins of the last split have capacity for the case that each key has this many rows, and bins of
/// earlier splits for the case that a bin has only `KEYS_OF_EARLY_BIN` keys. If bins of the last
/// split get more rows, the split is repeated.
const ROWS_A_KEY: u64 = 4;
const KEYS_OF_EARLY_BIN: u64 = 1 << 10;
/// The fewest keys that are assumed for the capacity of a bin of the last split. With fewer, the
/// capacity would be several times the mean size.
const MIN_KEYS_OF_BIN: u64 = 1 << 8;

/// How the rows of a side are arranged by their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// The rows are not moved. Each block reads all rows, or a part of them.
    Whole,
    /// The rows are split into bins.
    Split,
    /// The rows are sorted by bin, or by bucket.
    Sorted,
    /// The rows are in a hash table; their keys must be distinct.
    Table,
}

/// The layout of a side in the scratch, in 64-bit words.
#[derive(Clone, Debug)]
pub(super) struct SideLayout {
    pub rows: u64,
    pub arrangement: Arrangement,
    pub levels: Vec<Level>,
    /// The offset of the counts of the bins of all levels, and of the state of a scan of the last
    /// counts.
    pub counts_at: u64,
    /// The end of the counts and of the state, which are 0 at first.
    pub counts_end: u64,
    /// The offset of the starts of the bins, if they have no fixed capacity.
    pub starts_at: u64,
    /// The offset of the pairs of mixed keys and row indices, in the order of bins.
    pub pairs_at: u64,
    /// The end of the side's words.
    pub end: u64,
}

impl SideLayout {
    /// Returns the layout of `rows` rows that are not moved.
    pub(super) fn whole(rows: u64) -> Self {
        let (arrangement, levels) = (Arrangement::Whole, Vec::new());
        Self { rows, arrangement, levels, counts_at: 0, counts_end: 0, starts_at: 0, pairs_at: 0, end: 0 }
    }

    /// Returns the layout of a side whose memory begins at word `at`. Bin indices have `page_bits`
    /// bits.
    pub(super) fn placed_at<K: KeyWord>(self, at: u64, page_bits: u32) -> Self {
        let mut side = Self { counts_at: at, ..self };
        let of_scan = side.levels.last().map_or(0, |_| starts_state_words(1 << page_bits));
        side.counts_end = (side.counts_of(side.levels.len()) + of_scan).next_multiple_of(2);
        let has_starts = matches!(side.arrangement, Arrangement::Split | Arrangement::Sorted);
        let starts = if has_starts { ((1u64 << page_bits) + 1).div_ceil(2) } else { 0 };
        side.starts_at = side.counts_end;
        side.pairs_at = side.starts_at + starts.next_multiple_of(2);
        let pairs = match side.arrangement {
            Arrangement::Whole => 0,
            Arrangement::Sorted => Pairs::<K, u32>::words(side.rows),
            Arrangement::Table => SECTOR_WORDS << page_bits,
            // The last split writes to the side's own memory. Earlier splits alternate between this
            // memory and the scratch.
            Arrangement::Split => side.levels.iter().rev().step_by(2).map(pairs_words::<K>).max().unwrap_or(0),
        };
        side.end = side.pairs_at + pairs.next_multiple_of(2);
        side
    }

    /// Returns the offset of the counts of a level's bins, or the end of all counts.
    pub(super) fn counts_of(&self, level: usize) -> u64 {
        self.counts_at + self.levels[..level].iter().map(Level::counts_words).sum::<u64>()
    }
}

/// Returns the count of words of the pairs of all bins of a split.
pub(super) fn pairs_words<K: KeyWord>(level: &Level) -> u64 {
    Pairs::<K, u32>::words(level.capacity())
}

/// Returns the sizes of the splits of a side.
pub(super) fn levels_of<K: KeyWord>(rows: [u64; 2], side: usize, page_bits: u32) -> Vec<Level> {
    let bits = split_bits(page_bits);
    // If the other side has fewer rows, each of its keys likely has many rows on this side.
    let keys = (rows[side] / ROWS_A_KEY).min(rows[1 - side]).max(MIN_KEYS_OF_BIN << page_bits);
    let least = |level: usize| {
        let bins: u32 = bits[..=level].iter().sum();
        if level + 1 < bits.len() { KEYS_OF_EARLY_BIN << bins } else { keys }
    };
    levels::<K, u32>((rows[side], None), least, 0, &bits)
}
