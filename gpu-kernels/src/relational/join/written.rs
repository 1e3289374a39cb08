//! The kinds of outputs of a join.

/// The kinds of outputs for each probe row, as a sum of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emit(pub u32);

impl Emit {
    /// Each pair of rows with equal keys.
    pub const PAIRS: Self = Self(1);
    /// Each probe row without a match, once.
    pub const UNMATCHED: Self = Self(2);
    /// Each probe row with a match, once.
    pub const MATCHED: Self = Self(4);

    /// Returns whether `self` has one of the flags of `other`.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the flags of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether some output of a row depends on all build rows.
    #[inline(always)]
    pub const fn needs_all(self) -> bool {
        self.has(Self::UNMATCHED) || self.has(Self::MATCHED)
    }

    /// Returns whether one match is enough for a probe row that has several.
    #[inline(always)]
    pub const fn is_one_enough(self) -> bool {
        !self.has(Self::PAIRS)
    }
}
