//! The kind and the method of a join, and its result.

use crate::{Buffer, Device, Result};

/// The rows that a join returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinKind {
    /// Each pair of a left and a right row with equal keys.
    #[default]
    Inner,
    /// The pairs of an inner join, and each left row that is in no pair.
    Left,
    /// The pairs of an inner join, and each right row that is in no pair.
    Right,
    /// The pairs of an inner join, and each row of either side that is in no pair.
    Full,
    /// Each left row whose key a right row has, too. It is returned once.
    Semi,
    /// Each left row whose key no right row has.
    Anti,
}

impl JoinKind {
    /// Returns whether the result has right rows.
    pub(super) fn has_right_rows(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti)
    }

    /// Returns for the left and the right table whether the result contains its unmatched rows.
    pub(in crate::relational) fn has_rows_alone(self) -> [bool; 2] {
        match self {
            Self::Inner | Self::Semi => [false, false],
            Self::Left | Self::Anti => [true, false],
            Self::Right => [false, true],
            Self::Full => [true, true],
        }
    }
}

/// The method that computes a join. The rows of the probe side search for their keys among the rows
/// of the build side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinMethod {
    /// The fastest method, as estimated from the counts of rows.
    #[default]
    Auto,
    /// Each block loads the whole build side into on-chip memory. Rows are split instead if the
    /// build side is too large: more than 2^14 rows on an H200, and 2^15 on a CPU.
    OnChip,
    /// The build side is inserted into a hash table in memory, or sorted by bucket if keys have
    /// several rows, and probe rows are looked up there. Rows are split instead in full joins, if
    /// there are more than 2^20 build rows, and on a CPU.
    Direct,
    /// The rows of both sides are split into bins by their keys, and each bin is joined on chip.
    Split,
}

/// A report of how a join was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinReport {
    /// The method that was used, which is never [`JoinMethod::Auto`].
    pub method: JoinMethod,
    /// Whether some keys had more rows than there was capacity for: more rows than fit into bins,
    /// or more than one row where a hash table has a slot for each key. If so, the rows were
    /// arranged a second time, in another way.
    pub overflowed: bool,
    /// The count of additional work items into which bins with many rows were divided.
    pub further_items: u64,
}

/// The result of a join, on the device: pairs of row indices, in any order.
#[derive(Debug)]
pub struct Joined {
    pub(super) left: Buffer<u32>,
    /// The right rows; empty if the result has no right rows.
    pub(super) right: Buffer<u32>,
    pub(super) report: JoinReport,
}

impl Joined {
    /// Returns a result without rows and without memory, which can be passed to
    /// [`Join::run_into`](super::Join::run_into).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn new(device: &Device) -> Result<Self> {
        let report = JoinReport { method: JoinMethod::OnChip, overflowed: false, further_items: 0 };
        let [left, right] = [Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?];
        Ok(Self { left, right, report })
    }

    /// Returns the count of pairs, or the count of rows of a semi or anti join.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the indices of the left rows, which start at 0. The index is
    /// [`NO_ROW`](super::NO_ROW) where a right row is unmatched.
    pub fn left_rows(&self) -> &Buffer<u32> {
        &self.left
    }

    /// Returns the indices of the right rows. The index is [`NO_ROW`](super::NO_ROW) where a left
    /// row is unmatched. After a semi or anti join the buffer is empty.
    pub fn right_rows(&self) -> &Buffer<u32> {
        &self.right
    }

    /// Returns a report of how the join was computed.
    pub fn report(&self) -> JoinReport {
        self.report
    }

    /// Returns both columns of row indices.
    pub fn into_rows(self) -> (Buffer<u32>, Buffer<u32>) {
        (self.left, self.right)
    }

    /// Sets the count of pairs, for which there is memory. Without right rows there stay none.
    pub(super) fn set_length(&mut self, pairs: usize) {
        self.left.set_length(pairs);
        if !self.right.is_empty() {
            self.right.set_length(pairs);
        }
    }

    /// Returns the left and the right rows. There are equally many, or no right rows after a semi
    /// or anti join.
    pub(in crate::relational) fn rows_mut(&mut self) -> [&mut Buffer<u32>; 2] {
        [&mut self.left, &mut self.right]
    }
}
