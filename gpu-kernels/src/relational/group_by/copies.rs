//! Copies of the aggregates of a group, so that lanes with equal keys add to different words.

/// The count of spare aggregates, one for each lane. Rows without a group are added to them, so
/// that lanes need not diverge.
pub const SPARE: u32 = 32;

/// The copies of a slot's aggregates: the index of the first one, above the mask of lanes that use
/// different copies. There are up to 32 copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copies(pub u32);

impl Copies {
    /// Returns 2^`bits` copies from index `first` on.
    #[inline(always)]
    pub fn new(first: u32, bits: u32) -> Self {
        Self(first << 5 | ((1 << bits) - 1))
    }

    /// Returns the copy of a lane, whose number is taken modulo the count of copies.
    #[inline(always)]
    pub fn of(self, lane: u32) -> u32 {
        (self.0 >> 5) + (lane & self.0 & 31)
    }

    /// Returns the count of copies.
    #[inline(always)]
    pub fn count(self) -> u32 {
        (self.0 & 31) + 1
    }
}
