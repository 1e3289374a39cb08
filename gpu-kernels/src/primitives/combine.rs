//! The functions that combine items to sums, minima and maxima, and the arrays of the results.

use crate::column_values::ColumnParams;
use crate::seam::Global;
use crate::types::Scalar;

/// A function that combines two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Combine {
    /// The [sum](ColumnParams::sum) of the [addends](ColumnParams::addend).
    Sum,
    /// The least item, by [`ColumnParams::min_rank`].
    Min,
    /// The greatest item, by [`ColumnParams::max_rank`].
    Max,
}

/// The scalar arguments of a reduction.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ReduceParams {
    /// The type of the items, by which they are added and compared.
    pub column: ColumnParams,
    /// The count of items.
    pub items: u64,
    /// The count of segments, below 2^32 - 1; a count in the device's memory may replace it.
    pub segments: u64,
    /// The function, a [`Combine`].
    pub combine: u32,
    /// An unused field: 0.
    pub padding: u32,
}

impl ReduceParams {
    /// Combines two results, which are sums or ranks. The result for no items is 0.
    #[inline(always)]
    pub(super) fn combined(self, a: u64, b: u64) -> u64 {
        if self.combine == Combine::Sum as u32 { self.column.sum(a, b) } else { a.max(b) }
    }

    /// Returns the word by which an item is combined.
    #[inline(always)]
    pub(super) fn item<W: Scalar>(self, word: W) -> u64 {
        if self.combine == Combine::Sum as u32 { self.column.addend(word) } else { self.rank(word) }
    }

    #[inline(always)]
    fn rank<W: Scalar>(self, word: W) -> u64 {
        let is_min = self.combine == Combine::Min as u32;
        if is_min { self.column.min_rank(word).to_u64() } else { self.column.max_rank(word).to_u64() }
    }

    #[inline(always)]
    fn of_rank<W: Scalar>(self, rank: u64) -> W {
        let (is_min, rank) = (self.combine == Combine::Min as u32, W::from_u64(rank));
        if is_min { self.column.of_min_rank(rank) } else { self.column.of_max_rank(rank) }
    }
}

/// The arrays of results, one of which is null.
#[derive(Clone, Copy)]
pub(super) struct Results<W> {
    pub sums: Global<u64>,
    pub values: Global<W>,
    pub plan: ReduceParams,
}

impl<W: Scalar> Results<W> {
    #[inline(always)]
    pub fn store(self, segment: u64, combined: u64) {
        if self.sums.is_null() {
            self.values.store(segment, self.plan.of_rank(combined));
        } else {
            self.sums.store(segment, combined);
        }
    }

    /// Combines the stored result of a segment with the result `more` of other items.
    #[inline(always)]
    pub fn add(self, segment: u64, more: u64) {
        let held =
            if self.sums.is_null() { self.plan.rank(self.values.load(segment)) } else { self.sums.load(segment) };
        self.store(segment, self.plan.combined(held, more));
    }
}

/// The type of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SumKind {
    /// `u64`.
    Unsigned,
    /// `i64`.
    Signed,
    /// `f64`.
    Float,
}
