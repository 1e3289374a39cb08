//! Outcomes: what became of the pairs of each row, and the rows with some outcome.

use crate::primitives::append::{WARPS, reserve};
use crate::relational::join::NO_ROW;
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
    /// The number of pairs.
    pub pairs: u64,
    /// The number of rows of the table.
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

/// The scalar arguments of [`AppendRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AppendRowsParams {
    /// The number of rows.
    pub rows: u64,
    /// The number of output rows that there is capacity for.
    pub capacity: u64,
    /// The outcomes that are wanted: the sum of their [`Outcome::bit`].
    pub wanted: u32,
    /// 0.
    pub padding: u32,
}

/// A row, and the offset that it is written to.
struct Row {
    is_wanted: bool,
    target: u64,
}

kernel! {
    /// Appends the numbers of the rows whose outcome is wanted to `rows_out`, in any order, from
    /// offset `next[0]` on, which is increased by their number. Beside them [`NO_ROW`] is written
    /// to `others_out`, which may be null. One thread a row.
    AppendRows<>, "append_rows", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        outcomes: Global<u32>, rows_out: Global<u32>, others_out: Global<u32>, next: Global<u64>, plan: AppendRowsParams,
    }
}

impl AppendRows {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let AppendRowsParams { rows, capacity, wanted, .. } = args.plan;
        let first = block.first_thread();
        let mut threads = block.local(|thread| {
            let row = first + thread as u64;
            let is_wanted = row < rows && wanted >> args.outcomes.load_streaming(row) & 1 != 0;
            Row { is_wanted, target: 0 }
        });
        let found = |row: &Row| row.is_wanted as u32;
        reserve(block, &mut threads, (sums, start), args.next, found, |row| &mut row.target);
        block.each(&mut threads, |thread, row| {
            if row.is_wanted && row.target < capacity {
                args.rows_out.store(row.target, (first + thread as u64) as u32);
                if !args.others_out.is_null() {
                    args.others_out.store(row.target, NO_ROW);
                }
            }
        });
    }
}
