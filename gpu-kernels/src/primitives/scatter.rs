//! Scattering: copying the rows of an array to the rows that an array of indices names.

use crate::hash::Divisor;
use crate::seam::{Block, Global};
use crate::types::Scalar;

/// The scalar arguments of [`ScatterRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ScatterParams {
    /// The count of rows that are copied.
    pub rows: u64,
    /// The count of rows of the output.
    pub targets: u64,
    /// The count of words of a row.
    pub words: Divisor,
}

kernel! {
    /// Copies row `sources[i]` of `values`, or row `i` if `sources` is null, to row `indices[i]` of
    /// `output`. One thread copies a word.
    ///
    /// Every row that `sources` names must exist. A row is left out if the output has no row with
    /// its index. If several rows have the same index, each word of the output's row comes from one
    /// of them.
    ScatterRows<T: Scalar>, "scatter_rows", threads 256;
    { values: Global<T>, sources: Global<u32>, indices: Global<u32>, output: Global<T>, plan: ScatterParams }
}

impl<T: Scalar> ScatterRows<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let ScatterParams { rows, targets, words } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let (row, word) = words.divided(first + thread as u64);
            if row >= rows {
                return;
            }
            let target = args.indices.load_read_only(row) as u64;
            if target < targets {
                let source = if args.sources.is_null() { row } else { args.sources.load_read_only(row) as u64 };
                let value = args.values.load_read_only(source * words.get() as u64 + word);
                // Other threads may store to the same word.
                args.output.atomic(target * words.get() as u64 + word).store(value);
            }
        });
    }
}
