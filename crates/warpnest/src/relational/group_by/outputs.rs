//! The aggregates that are computed from each group's rows of one column, and their output buffers.

use crate::{Buffer, Device, Result};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::relational::group_by::Wanted;
use gpu_kernels::types::{Scalar, ValueWord};

/// The outputs for aggregates of at most one column, each as long as the capacity for groups. An
/// aggregate that is `None` is not computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregates<'o, K, W> {
    /// Tells how the column's values are added and compared.
    pub column: ColumnParams,
    /// The key of each group.
    pub keys: &'o Buffer<K>,
    /// The count of rows of each group.
    pub counts: Option<&'o Buffer<u32>>,
    /// The sum of the [widened](ColumnParams::widened) values of each group. Additions wrap.
    pub sums: Option<&'o Buffer<u64>>,
    /// The least value of each group.
    pub minima: Option<&'o Buffer<W>>,
    /// The greatest value of each group.
    pub maxima: Option<&'o Buffer<W>>,
}

impl<K, W: Scalar> Aggregates<'_, K, W> {
    pub(crate) fn wanted(&self) -> Wanted {
        let Self { counts, sums, minima, maxima, .. } = self;
        let (counts, sums) = (counts.is_some(), sums.is_some());
        Wanted { counts, sums, minima: minima.is_some(), maxima: maxima.is_some() }
    }

    /// Returns the count of 32-bit words that the aggregates of a group take in on-chip memory.
    pub(crate) fn words(&self) -> u32 {
        let word = W::BITS / 32;
        let words = |is_wanted: bool, words: u32| if is_wanted { words } else { 0 };
        words(self.counts.is_some(), 1)
            + words(self.sums.is_some(), 2)
            + words(self.minima.is_some(), word)
            + words(self.maxima.is_some(), word)
    }

    /// Returns the count of groups for which all buffers have capacity.
    pub(crate) fn capacity(&self) -> u64 {
        let values = [self.minima, self.maxima].into_iter().flatten().map(|values| values.len());
        let others = values.chain(self.counts.map(|counts| counts.len())).chain(self.sums.map(|sums| sums.len()));
        others.fold(self.keys.len(), usize::min) as u64
    }
}

/// The computed aggregates, which are the fields that are `Some`. The buffers are as long as there
/// are groups, but their memory may be larger.
#[derive(Debug)]
pub struct Computed<K, W> {
    /// The key of each group.
    pub keys: Buffer<K>,
    /// The count of rows of each group.
    pub counts: Option<Buffer<u32>>,
    /// The sum of each group.
    pub sums: Option<Buffer<u64>>,
    /// The least value of each group.
    pub minima: Option<Buffer<W>>,
    /// The greatest value of each group.
    pub maxima: Option<Buffer<W>>,
}

impl<K, W> Computed<K, W> {
    pub(super) fn outputs(&self, column: ColumnParams) -> Aggregates<'_, K, W> {
        Aggregates {
            column,
            keys: &self.keys,
            counts: self.counts.as_ref(),
            sums: self.sums.as_ref(),
            minima: self.minima.as_ref(),
            maxima: self.maxima.as_ref(),
        }
    }
}

impl<K: ValueWord, W: ValueWord> Computed<K, W> {
    /// Makes capacity for `groups` groups; returns the count of groups for which there is memory.
    pub(super) fn reserve(&mut self, device: &Device, groups: u64) -> Result<u64> {
        let groups = groups as usize;
        self.keys.fit_at_least(device, groups)?;
        self.counts.iter_mut().try_for_each(|counts| counts.fit_at_least(device, groups))?;
        self.sums.iter_mut().try_for_each(|sums| sums.fit_at_least(device, groups))?;
        for values in [&mut self.minima, &mut self.maxima].into_iter().flatten() {
            values.fit_at_least(device, groups)?;
        }
        Ok(self.outputs(ColumnParams::unsigned()).capacity())
    }

    /// Sets the count of groups.
    pub(super) fn set_length(&mut self, groups: u64) {
        let groups = groups as usize;
        self.keys.set_length(groups);
        self.counts.iter_mut().for_each(|counts| counts.set_length(groups));
        self.sums.iter_mut().for_each(|sums| sums.set_length(groups));
        [&mut self.minima, &mut self.maxima].into_iter().flatten().for_each(|values| values.set_length(groups));
    }
}
