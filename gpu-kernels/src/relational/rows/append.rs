//! Appending the indices of some rows: rows with given outcomes, rows with a key, or rows whose key
//! is null.

use crate::primitives::append::{WARPS, reserve};
use crate::relational::join::NO_ROW;
use crate::seam::{Block, Global};

/// The scalar arguments of [`AppendRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AppendRowsParams {
    /// The count of rows.
    pub rows: u64,
    /// The capacity of the outputs, in rows.
    pub capacity: u64,
    /// The wanted outcomes, as the sum of their [`Outcome::bit`](super::Outcome::bit). If the
    /// outcomes are bits, 1 for rows whose bit is clear, or 2 for rows whose bit is set.
    pub wanted: u32,
    /// 1 if the outcomes are bits: the outcome of row `i` is bit `i mod 32` of word `i / 32`. 0 if
    /// each row has a word.
    pub are_bits: u32,
}

/// A row, and the offset at which it is written.
struct Row {
    is_wanted: bool,
    target: u64,
}

kernel! {
    /// Appends the indices of the rows with a wanted outcome to `rows_out`, in any order. They
    /// begin at offset `next[0]`, to which their count is added. [`NO_ROW`] is written to the same
    /// offsets of `others_out`, which may be null. One thread processes a row.
    AppendRows<>, "append_rows", threads 256, shared sums: u32 = WARPS, shared start: u64 = 1;
    {
        outcomes: Global<u32>, rows_out: Global<u32>, others_out: Global<u32>, next: Global<u64>, plan: AppendRowsParams,
    }
}

impl AppendRows {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, sums: B::Shared<u32>, start: B::Shared<u64>) {
        let args = self;
        let AppendRowsParams { rows, capacity, wanted, are_bits } = args.plan;
        let outcome = |row: u64| match are_bits {
            0 => args.outcomes.load_streaming(row),
            _ => args.outcomes.load_read_only(row / 32) >> (row % 32) & 1,
        };
        let first = block.first_thread();
        let mut threads = block.local(|thread| {
            let row = first + thread as u64;
            Row { is_wanted: row < rows && wanted >> outcome(row) & 1 != 0, target: 0 }
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
