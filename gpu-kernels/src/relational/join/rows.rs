//! The rows of a bin on one side of a join.

use crate::page::Pairs;
use crate::seam::Global;
use crate::types::KeyWord;

/// How the rows of a bin are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Keys as they are; their numbers are those of the rows.
    Whole,
    /// As splits leave them.
    Split,
    /// Keys and numbers apart.
    Apart,
}

/// The rows of a bin on one side.
#[derive(Clone, Copy)]
pub(super) struct Rows<K> {
    pub keys: Global<K>,
    pub numbers: Global<u32>,
    /// The number of the first row, if they are not split.
    pub first: u32,
    pub count: u32,
    pub format: Format,
    /// The constants of the mix.
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord> Rows<K> {
    /// Returns the rows from number `row` on.
    #[inline(always)]
    pub fn from(&self, row: u32) -> Self {
        let scale = if self.format == Format::Split && Pairs::<false, K, u32>::SIDE_BY_SIDE { 2 } else { 1 };
        let numbers = if self.format == Format::Whole { self.numbers } else { self.numbers.offset(row as u64) };
        let (first, count) = (self.first + row, self.count - row);
        Self { keys: self.keys.offset(row as u64 * scale), numbers, first, count, ..*self }
    }

    /// Returns the mixed key of a row and its number in its table.
    #[inline(always)]
    pub fn load(&self, row: u32) -> (K, u32) {
        let pairs = Pairs::<false, K, u32>::new(self.keys, self.numbers);
        match self.format {
            Format::Whole => (self.keys.load_streaming(row as u64).mixed(self.a, self.b), self.first + row),
            Format::Split => pairs.load(row as u64),
            Format::Apart => pairs.load_apart(row as u64),
        }
    }

    /// Prefetches the first rows that come from a split, as many as threads have lines.
    #[inline(always)]
    pub fn prefetch(&self, rows: u32, thread: u32) {
        let words = if Pairs::<false, K, u32>::SIDE_BY_SIDE { 2 } else { 1 };
        let line = 1024 / (words * K::BITS);
        if self.format == Format::Split && thread * line < rows {
            self.keys.prefetch_far((thread * line * words) as u64);
        }
    }
}
