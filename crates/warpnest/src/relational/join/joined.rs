//! What is joined, how, and the result.

use crate::{Buffer, Device, Result};

/// The rows that a join gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinKind {
    /// Each pair of a left and a right row with equal keys.
    #[default]
    Inner,
    /// The pairs of an inner join, and each left row that is in none.
    Left,
    /// The pairs of an inner join, and each right row that is in none.
    Right,
    /// The pairs of an inner join, and each row of either side that is in none.
    Full,
    /// Each left row whose key a right row has, once.
    Semi,
    /// Each left row whose key no right row has.
    Anti,
}

impl JoinKind {
    /// Returns whether the result has right rows.
    pub(super) fn has_right_rows(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti)
    }

    /// Returns whether the result has rows of the left and of the right table that meet none.
    pub(in crate::relational) fn has_rows_alone(self) -> [bool; 2] {
        match self {
            Self::Inner | Self::Semi => [false, false],
            Self::Left | Self::Anti => [true, false],
            Self::Right => [false, true],
            Self::Full => [true, true],
        }
    }
}

/// How a join is computed. One of its sides is the build side. The rows of the other side look for
/// their keys among its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinMethod {
    /// The fastest method, as estimated from the counts of rows.
    #[default]
    Auto,
    /// Each block takes the whole build side on chip. If that has more rows than fit there, rows
    /// are split instead: on an H200 more than 2^14, and 2^15 on a CPU.
    OnChip,
    /// The build side is put into a hash table in memory and looked up from there; or it is ordered
    /// by bucket, if keys have several rows. A full join is not computed so, nor one with more than
    /// 2^20 build rows, nor any on a CPU: rows are split instead.
    Direct,
    /// The rows of both sides are split into bins by their keys, and each bin is joined on chip.
    Split,
}

/// What is known of the way that a join was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JoinReport {
    /// The method: not [`JoinMethod::Auto`].
    pub method: JoinMethod,
    /// Whether some keys had more rows than there was capacity for: more than bins take, or more
    /// than the one row of a key that a hash table has a slot for. Then rows were brought together
    /// again, in another way.
    pub overflowed: bool,
    /// The count of work items into which bins with many rows were divided, beside one for each
    /// bin.
    pub further_items: u64,
}

/// The result of a join, on the device: pairs of row indices, in any order.
#[derive(Debug)]
pub struct Joined {
    pub(super) left: Buffer<u32>,
    /// Empty if there are no right rows in the result.
    pub(super) right: Buffer<u32>,
    pub(super) report: JoinReport,
}

impl Joined {
    /// Returns a result without rows, and without memory: for
    /// [`Join::run_into`](super::Join::run_into).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn new(device: &Device) -> Result<Self> {
        let report = JoinReport { method: JoinMethod::OnChip, overflowed: false, further_items: 0 };
        let [left, right] = [Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?];
        Ok(Self { left, right, report })
    }

    /// Returns the count of pairs, or of rows of a semi or anti join.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Returns whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns the indices of the left rows, counted from 0; [`NO_ROW`](super::NO_ROW) beside a
    /// right row that has met none.
    pub fn left_rows(&self) -> &Buffer<u32> {
        &self.left
    }

    /// Returns the indices of the right rows; [`NO_ROW`](super::NO_ROW) beside a left row that has
    /// met none. There are none after a semi or anti join.
    pub fn right_rows(&self) -> &Buffer<u32> {
        &self.right
    }

    /// Returns how the join was computed.
    pub fn report(&self) -> JoinReport {
        self.report
    }

    /// Returns both columns of row indices.
    pub fn into_rows(self) -> (Buffer<u32>, Buffer<u32>) {
        (self.left, self.right)
    }

    /// Returns the left and the right rows. There are as many of either, or no right ones after a
    /// semi or anti join.
    pub(in crate::relational) fn rows_mut(&mut self) -> [&mut Buffer<u32>; 2] {
        [&mut self.left, &mut self.right]
    }
}
