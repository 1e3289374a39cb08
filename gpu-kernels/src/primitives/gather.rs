//! Gathering: copying the rows of an array that an array of indices names.

use crate::hash::Divisor;
use crate::seam::{Block, Global};

/// The count of words of a wide piece: 16 bytes, the most that one instruction can load.
pub const WIDE: u64 = 4;

/// The scalar arguments of [`GatherRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GatherParams {
    /// The count of rows of the output.
    pub rows: u64,
    /// The count of rows of the source.
    pub sources: u64,
    /// The count of 32-bit words of a piece: [`WIDE`] if both arrays are aligned to wide pieces, or
    /// 1.
    pub width: u64,
    /// The count of pieces of a row.
    pub pieces: Divisor,
}

kernel! {
    /// Copies row `indices[i]` of `source` to row `i` of `output`. One thread copies a piece of a
    /// row.
    ///
    /// Row `i` becomes zeros if the source has no row `indices[i]`, or if `found` is not null and
    /// bit `i mod 32` of its word `i / 32` is 0.
    GatherRows<>, "gather_rows", threads 256, cpu cores;
    { source: Global<u32>, indices: Global<u32>, found: Global<u32>, output: Global<u32>, plan: GatherParams }
}

impl GatherRows {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let GatherParams { rows, width, pieces, .. } = args.plan;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let index = first + thread as u64;
            let (row, piece) = pieces.divided(index);
            if row >= rows {
                return;
            }
            let source = args.source_of(row).map(|source_row| source_row * pieces.get() as u64 + piece);
            if width == WIDE {
                let words = source.map_or([0; WIDE as usize], |piece| args.source.load_four_read_only(piece * WIDE));
                args.output.store_four_streaming(index * WIDE, words);
            } else {
                args.output.store_streaming(index, source.map_or(0, |word| args.source.load_read_only(word)));
            }
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let GatherParams { rows, width, pieces, .. } = self.plan;
        let first = block.first_thread();
        // Whole rows are copied. Only the first and the last row of the block may be partial.
        let words = pieces.get() as u64 * width;
        let mut index = first * width;
        let end = ((first + block.threads() as u64) * width).min(rows * words);
        let (mut row, mut word) = (index / words, index % words);
        while index < end {
            let count = (words - word).min(end - index);
            let source = self.source_of(row).map(|source_row| self.source.offset(source_row * words + word));
            for i in 0..count {
                self.output.store(index + i, source.map_or(0, |source| source.load_read_only(i)));
            }
            (row, word, index) = (row + 1, 0, index + count);
        }
    }

    /// Returns the row of the source for a row of the output, or `None` if that becomes zeros.
    #[inline(always)]
    fn source_of(&self, row: u64) -> Option<u64> {
        let source_row = self.indices.load_read_only(row) as u64;
        let there = self.found.is_null() || self.found.load_read_only(row / 32) >> (row % 32) & 1 != 0;
        (there && source_row < self.plan.sources).then_some(source_row)
    }
}
