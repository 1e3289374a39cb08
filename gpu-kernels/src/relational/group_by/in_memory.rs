//! Aggregates in the device's memory, which all blocks add to.

use super::on_chip::Wanted;
use crate::column_values::ColumnParams;
use crate::seam::Global;
use crate::types::{KeyWord, Scalar};

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

/// The arrays of aggregates, which have an element for each slot or group. What is not wanted is
/// null.
#[derive(Clone, Copy)]
pub(super) struct InMemory<W> {
    pub sums: Global<u64>,
    pub counts: Global<u32>,
    pub minima: Global<W>,
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
    pub fn add(&self, slot: u64, aggregate: Aggregate<W>) {
        if !self.sums.is_null() {
            self.sums.atomic(slot).fetch_add(aggregate.sum);
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
}

/// The arrays that groups are written to.
#[derive(Clone, Copy)]
pub(super) struct GroupsOut<K, W> {
    pub keys: Global<K>,
    pub aggregates: InMemory<W>,
    /// How values were compared.
    pub column: ColumnParams,
}

impl<K: KeyWord, W: Scalar> GroupsOut<K, W> {
    /// Writes a key and the aggregates of its slot as group `target`.
    #[inline(always)]
    pub fn write(&self, target: u64, key: K, from: InMemory<W>, slot: u64) {
        let Self { keys, aggregates: out, column } = *self;
        keys.store(target, key);
        if !out.sums.is_null() {
            out.sums.store(target, from.sums.load(slot));
        }
        if !out.counts.is_null() {
            out.counts.store(target, from.counts.load(slot));
        }
        if !out.minima.is_null() {
            out.minima.store(target, column.of_min_rank(from.minima.load(slot)));
        }
        if !out.maxima.is_null() {
            out.maxima.store(target, column.of_max_rank(from.maxima.load(slot)));
        }
    }
}
