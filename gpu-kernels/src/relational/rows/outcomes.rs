//! The outcomes of rows.

use crate::seam::{Block, Global};

/// The outcome of a row, which is the greatest outcome of its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Outcome {
    /// There is no pair with the row.
    None = 0,
    /// In all pairs of the row, the two rows differ.
    Lost = 1,
    /// In a pair of the row, both rows are equal.
    Matched = 2,
}

impl Outcome {
    /// Returns the bit of the outcome in a set of wanted outcomes.
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
    /// Raises the outcome of the row of each pair `i`: to [`Outcome::Matched`] if bit `i mod 32` of
    /// `keep[i / 32]` is set, or else to [`Outcome::Lost`]. A row that does not exist in the table
    /// has no outcome. One thread processes a pair.
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
            // The outcome of a row in many pairs changes once or twice, and is otherwise only read.
            let word = args.outcomes.atomic(row);
            if word.load() < outcome {
                word.fetch_max(outcome);
            }
        });
    }
}
