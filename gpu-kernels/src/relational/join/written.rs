//! What a join writes.

/// What a join writes of each probe row. The flags are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emit(pub u32);

impl Emit {
    /// Each pair of rows with equal keys.
    pub const PAIRS: Self = Self(1);
    /// Each probe row that has met no build row, once.
    pub const UNMATCHED: Self = Self(2);
    /// Each probe row that has met a build row, once.
    pub const MATCHED: Self = Self(4);

    /// Returns whether one of the flags of `other` is among these.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether what is written of a row depends on all build rows.
    #[inline(always)]
    pub const fn needs_all(self) -> bool {
        self.has(Self::UNMATCHED) || self.has(Self::MATCHED)
    }

    /// Returns whether one build row says all about a probe row that meets several.
    #[inline(always)]
    pub const fn is_one_enough(self) -> bool {
        !self.has(Self::PAIRS)
    }
}
