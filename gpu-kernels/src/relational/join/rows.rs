//! The rows of a bin on one side of a join.

use crate::seam::Global;
use crate::split::{Pairs, bins};
use crate::types::KeyWord;

/// The storage format of the rows of a bin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Keys without row indices. The index of a row is its position.
    Whole,
    /// Pairs as splits leave them.
    Split,
    /// Keys and row indices in two arrays.
    Apart,
}

/// The rows of all bins on one side.
#[derive(Clone, Copy)]
pub(super) struct Bins<K> {
    pub keys: Global<K>,
    pub numbers: Global<u32>,
    /// The count of rows of each bin. If the capacity is 0, the starts of bins and the end of the
    /// last bin.
    pub counts: Global<u32>,
    /// The distance between the first rows of two adjacent bins, or 0.
    pub capacity: u64,
    /// 1 if keys and row indices are in two arrays, as after a sort, or 0 if they are as after a
    /// split.
    pub apart: u32,
}

impl<K: KeyWord> Bins<K> {
    /// Returns the position of a bin's first row, and the count of its rows.
    #[inline(always)]
    pub fn place(&self, bin: u64) -> (u64, u32) {
        bins::place(self.counts, self.capacity, bin)
    }

    /// Returns the rows of a bin.
    #[inline(always)]
    pub fn rows(&self, bin: u64) -> Rows<K> {
        let format = if self.apart == 0 { Format::Split } else { Format::Apart };
        let (first, count) = self.place(bin);
        let scale = if format == Format::Split && Pairs::<false, K, u32>::SIDE_BY_SIDE { 2 } else { 1 };
        let (keys, numbers) = (self.keys.offset(first * scale), self.numbers.offset(first));
        Rows { keys, numbers, first: 0, count, format, a: 0, b: 0 }
    }
}

/// The rows of a bin on one side.
#[derive(Clone, Copy)]
pub(super) struct Rows<K> {
    pub keys: Global<K>,
    pub numbers: Global<u32>,
    /// The index of the first row, used if rows are not split.
    pub first: u32,
    pub count: u32,
    pub format: Format,
    /// The constants of the mix.
    pub a: u64,
    pub b: u64,
}

impl<K: KeyWord> Rows<K> {
    /// Returns the rows starting at index `row`.
    #[inline(always)]
    pub fn from(&self, row: u32) -> Self {
        let scale = if self.format == Format::Split && Pairs::<false, K, u32>::SIDE_BY_SIDE { 2 } else { 1 };
        let numbers = if self.format == Format::Whole { self.numbers } else { self.numbers.offset(row as u64) };
        let (first, count) = (self.first + row, self.count - row);
        Self { keys: self.keys.offset(row as u64 * scale), numbers, first, count, ..*self }
    }

    /// Returns the mixed key of a row, and the row's index in its table.
    #[inline(always)]
    pub fn load(&self, row: u32) -> (K, u32) {
        let pairs = Pairs::<false, K, u32>::new(self.keys, self.numbers);
        match self.format {
            Format::Whole => (self.keys.load_streaming(row as u64).mixed(self.a, self.b), self.first + row),
            Format::Split => pairs.load(row as u64),
            Format::Apart => pairs.load_apart(row as u64),
        }
    }

    /// Prefetches the first rows that come from a split, one line per thread.
    #[inline(always)]
    pub fn prefetch(&self, rows: u32, thread: u32) {
        let words = if Pairs::<false, K, u32>::SIDE_BY_SIDE { 2 } else { 1 };
        let line = 1024 / (words * K::BITS);
        if self.format == Format::Split && thread * line < rows {
            self.keys.prefetch_far((thread * line * words) as u64);
        }
    }
}
