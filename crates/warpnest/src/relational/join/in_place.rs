//! The rows of a join, for those that change them.

use super::joined::Joined;
use crate::Buffer;

impl Joined {
    /// Returns the left and the right rows. There are as many of either, or no right ones after a
    /// semi or anti join.
    pub(in crate::relational) fn rows_mut(&mut self) -> [&mut Buffer<u32>; 2] {
        [&mut self.left, &mut self.right]
    }
}
