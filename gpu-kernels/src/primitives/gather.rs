//! Copying rows of an array by their numbers.

use crate::seam::{Global, in_turn};

/// The scalar arguments of [`GatherRows`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct GatherParams {
    /// The number of rows of the output.
    pub rows: u64,
    /// The number of rows of the source.
    pub sources: u64,
    /// The number of 32-bit words of a row.
    pub words: u64,
}

kernel! {
    /// Copies row `numbers[i]` of `source` to row `i` of `output`. One thread a word of the output.
    ///
    /// The row becomes zeros if the source has no such row, or if `found` is not null and its bit
    /// `i mod 32` of word `i / 32` is 0.
    GatherRows<>, "gather_rows", threads 256;
    { source: Global<u32>, numbers: Global<u32>, found: Global<u32>, output: Global<u32>, plan: GatherParams }
    |args, block| {
        let GatherParams { rows, sources, words } = args.plan;
        let first = block.first_thread();
        // The row of the source, if there is one and it was found.
        let source_of = |row: u64| {
            let number = args.numbers.load_read_only(row) as u64;
            let there = args.found.is_null() || args.found.load_read_only(row / 32) >> (row % 32) & 1 != 0;
            (there && number < sources).then_some(number)
        };
        if in_turn(block) {
            // One thread copies whole rows, but for the first and the last of the block.
            let end = (first + block.threads() as u64).min(rows * words);
            let (mut row, mut word, mut index) = (first / words, first % words, first);
            while index < end {
                let count = (words - word).min(end - index);
                let source = source_of(row).map(|number| args.source.offset(number * words + word));
                for i in 0..count {
                    args.output.store(index + i, source.map_or(0, |source| source.load_read_only(i)));
                }
                (row, word, index) = (row + 1, 0, index + count);
            }
            return;
        }
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            let index = first + thread as u64;
            let (row, word) = (index / words, index % words);
            if row >= rows {
                return;
            }
            let value = source_of(row).map_or(0, |number| args.source.load_read_only(number * words + word));
            args.output.store_streaming(index, value);
        });
    }
}
