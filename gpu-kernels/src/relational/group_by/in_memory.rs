//! Aggregates in the device's memory, which all blocks add to.

use super::aggregates::{Aggregate, Wanted};
use crate::column_values::ColumnParams;
use crate::seam::Global;
use crate::types::Scalar;

/// The arrays of aggregates, which have an element for each slot or group. What is not wanted is
/// null.
#[derive(Clone, Copy)]
pub(super) struct InMemory<W> {
    /// The sums: integers, or the bits of `f64`.
    pub sums: Global<u64>,
    pub counts: Global<u32>,
    /// The least values, or their ranks.
    pub minima: Global<W>,
    /// The greatest values, or their ranks.
    pub maxima: Global<W>,
}

impl<W: Scalar> InMemory<W> {
    /// Returns which aggregates are wanted.
    #[inline(always)]
    pub fn wanted(&self) -> Wanted {
        Wanted {
            counts: !self.counts.is_null(),
            sums: !self.sums.is_null(),
            minima: !self.minima.is_null(),
            maxima: !self.maxima.is_null(),
        }
    }

    /// Adds the aggregates of some rows to the aggregates of a slot, which are 0 at first.
    #[inline(always)]
    pub fn add(&self, slot: u64, aggregate: Aggregate<W>, column: ColumnParams) {
        if !self.sums.is_null() {
            if column.adds_floats() {
                self.sums.cast::<f64>().atomic(slot).fetch_add(f64::from_bits(aggregate.sum));
            } else {
                self.sums.atomic(slot).fetch_add(aggregate.sum);
            }
        }
        if !self.counts.is_null() {
            self.counts.atomic(slot).fetch_add(aggregate.count);
        }
        if !self.minima.is_null() {
            self.minima.atomic(slot).fetch_max(aggregate.minimum);
        }
        if !self.maxima.is_null() {
            self.maxima.atomic(slot).fetch_max(aggregate.maximum);
        }
    }

    /// Writes an aggregate, whose least and greatest values are ranks, as element `target`.
    #[inline(always)]
    pub fn write(&self, target: u64, aggregate: Aggregate<W>, column: ColumnParams) {
        if !self.sums.is_null() {
            self.sums.store_streaming(target, aggregate.sum);
        }
        if !self.counts.is_null() {
            self.counts.store_streaming(target, aggregate.count);
        }
        if !self.minima.is_null() {
            self.minima.store_streaming(target, column.of_min_rank(aggregate.minimum));
        }
        if !self.maxima.is_null() {
            self.maxima.store_streaming(target, column.of_max_rank(aggregate.maximum));
        }
    }

    /// Returns the aggregate of a slot.
    #[inline(always)]
    fn load(&self, slot: u64) -> Aggregate<W> {
        let Wanted { counts, sums, minima, maxima } = self.wanted();
        Aggregate {
            sum: if sums { self.sums.load_streaming(slot) } else { 0 },
            count: if counts { self.counts.load_streaming(slot) } else { 0 },
            minimum: if minima { self.minima.load_streaming(slot) } else { W::default() },
            maximum: if maxima { self.maxima.load_streaming(slot) } else { W::default() },
        }
    }

    /// Copies the aggregate of a slot of these arrays to element `target` of other arrays, which
    /// have the same kinds.
    #[inline(always)]
    pub fn copy_slot(&self, slot: u64, to: Self, target: u64, column: ColumnParams) {
        to.write(target, self.load(slot), column);
    }
}
