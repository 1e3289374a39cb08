//! The aggregates of a column.

use crate::column_values::ColumnParams;
use crate::types::{KeyWord, Payload, Scalar};

/// The aggregates that are computed for each group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The count of rows.
    pub counts: bool,
    /// The sum of the [addends](ColumnParams::addend).
    pub sums: bool,
    /// The least value.
    pub minima: bool,
    /// The greatest value.
    pub maxima: bool,
}

impl Wanted {
    /// Returns the count of 32-bit words of the aggregates of values of `bits` bits.
    #[inline(always)]
    pub const fn words(self, bits: u32) -> u32 {
        let extremes = self.minima as u32 + self.maxima as u32;
        self.counts as u32 + self.sums as u32 * 2 + extremes * (bits / 32)
    }

    /// Returns the count of 32-bit words of a key and its aggregates.
    #[inline(always)]
    pub const fn slot_words<K: KeyWord, V: Payload>(self) -> u32 {
        K::BITS / 32 + self.words(<V::Word as Scalar>::BITS)
    }
}

/// The aggregates of one group.
#[derive(Clone, Copy)]
pub(super) struct Aggregate<W> {
    pub sum: u64,
    pub count: u32,
    /// The greatest [`ColumnParams::min_rank`].
    pub minimum: W,
    /// The greatest [`ColumnParams::max_rank`].
    pub maximum: W,
}

impl<W: Scalar> Aggregate<W> {
    /// Returns the aggregate of the rows of both.
    #[inline(always)]
    pub fn with(self, other: Self, column: ColumnParams) -> Self {
        Self {
            sum: column.sum(self.sum, other.sum),
            count: self.count + other.count,
            minimum: self.minimum.max(other.minimum),
            maximum: self.maximum.max(other.maximum),
        }
    }
}
