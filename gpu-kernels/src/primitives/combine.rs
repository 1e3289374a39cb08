//! The functions that combine items to sums, minima and maxima, and the arrays of the results.

use crate::column_values::ColumnParams;
use crate::seam::Global;
use crate::types::Scalar;

/// A function that combines two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Combine {
    /// The sum of [widened](ColumnParams::widened) words, wrapping.
    Sum,
    /// The sum of the [upper halves](ColumnParams::upper_half) of words, wrapping.
    SumOfUpper,
    /// The sum of floating-point numbers, as `f64`.
    SumOfFloats,
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
        if self.combine == Combine::Sum as u32 || self.combine == Combine::SumOfUpper as u32 {
            a.wrapping_add(b)
        } else if self.combine == Combine::SumOfFloats as u32 {
            (f64::from_bits(a) + f64::from_bits(b)).to_bits()
        } else {
            a.max(b)
        }
    }

    /// Returns the word by which an item is combined.
    #[inline(always)]
    pub(super) fn item<W: Scalar>(self, word: W) -> u64 {
        if self.combine == Combine::Sum as u32 {
            self.column.widened(word)
        } else if self.combine == Combine::SumOfUpper as u32 {
            self.column.upper_half(word)
        } else if self.combine != Combine::SumOfFloats as u32 {
            self.rank(word)
        } else if W::BITS == 32 {
            (f32::from_bits(word.bits_from(0)) as f64).to_bits()
        } else {
            word.to_u64()
        }
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
