//! Outcomes: what became of the pairs of each row.

use crate::seam::{Block, Global};

/// The outcome of a row: what became of its pairs. It is the greatest outcome of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// The row is in no pair.
    None = 0,
    /// All pairs of the row were pairs of different rows.
    Lost = 1,
    /// The row is in a pair of equal rows.
    Matched = 2,
}

impl Outcome {
    /// Returns the bit of the outcome among those that are wanted.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The scalar arguments of [`RaiseOutcomes`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RaiseOutcomesParams {
    /// The count of pairs.
    pub pairs: u64,
    /// The count of rows of the table.
    pub rows: u64,
}

kernel! {
    /// Raises the outcome of the row of each pair: to [`Outcome::Matched`] if bit `i mod 32` of
    /// `keep[i / 32]` is set for pair `i`, and to [`Outcome::Lost`] if it is not. A row that the
    /// table lacks has none. One thread a pair.
    RaiseOutcomes<>, "raise_outcomes", threads 256;
    { rows: Global<u32>, keep: Global<u32>, outcomes: Global<u32>, plan: RaiseOutcomesParams }
}

impl RaiseOutcomes {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let RaiseOutcomesParams { pairs, rows } = args.plan;
        block.each_item(pairs, |pair| {
            let row = args.rows.load_streaming(pair) as u64;
            if row >= rows {
                return;
            }
            let is_kept = args.keep.load_read_only(pair / 32) >> (pair % 32) & 1 != 0;
            let outcome = if is_kept { Outcome::Matched } else { Outcome::Lost } as u32;
            // Rows in many pairs are changed once or twice, and read otherwise.
            let word = args.outcomes.atomic(row);
            if word.load() < outcome {
                word.fetch_max(outcome);
            }
        });
    }
}
