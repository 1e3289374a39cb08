//! The passes of a join over the rows of both sides.

use super::joined::JoinKind;
use gpu_kernels::relational::join::Emit;

/// A side of the join: the left one, or the right one.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A pass over the rows of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The side that is the build side.
    pub build: usize,
    pub emit: Emit,
    pub bins: Bins,
}

/// The bins that a pass takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bins {
    /// The bins that are not heavy; or all of them, if only pairs are written.
    Light,
    /// The bins with more build rows than a block should read for each of its probe rows.
    Heavy,
}

impl Pass {
    /// Returns the passes of a join with so many rows on each side.
    pub(super) fn of(kind: JoinKind, [left, right]: [u64; 2]) -> Vec<Self> {
        let outer = Emit::PAIRS.and(Emit::UNMATCHED);
        let pass = |build, emit| Self { build, emit, bins: Bins::Light };
        match kind {
            JoinKind::Inner => vec![pass(if left < right { LEFT } else { RIGHT }, Emit::PAIRS)],
            JoinKind::Left => vec![pass(RIGHT, outer)],
            JoinKind::Right => vec![pass(LEFT, outer)],
            JoinKind::Full => vec![pass(RIGHT, outer), pass(LEFT, Emit::UNMATCHED)],
            JoinKind::Semi => vec![pass(RIGHT, Emit::MATCHED)],
            JoinKind::Anti => vec![pass(RIGHT, Emit::UNMATCHED)],
        }
    }

    /// Returns the pass of a join of left rows with a right side that is kept.
    pub(super) fn of_kept(kind: JoinKind) -> Vec<Self> {
        let emit = Self::of(kind, [0, 0])[0].emit;
        vec![Self { build: RIGHT, emit, bins: Bins::Light }]
    }

    /// Returns the passes over the heavy bins: one for pairs, in which the smaller side of a bin is
    /// the build side, and one for rows whose key is there or not.
    pub(super) fn of_heavy_bins(self) -> impl Iterator<Item = Self> {
        [Emit::PAIRS, Emit::UNMATCHED, Emit::MATCHED]
            .into_iter()
            .filter(move |&emit| self.emit.has(emit))
            .map(move |emit| Self { emit, bins: Bins::Heavy, ..self })
    }

    /// Returns whether the build side has the different keys of each bin in place of rows.
    pub(super) fn is_of_distinct_keys(&self) -> bool {
        self.bins == Bins::Heavy && self.emit.needs_all()
    }

    /// Returns the other side.
    pub(super) fn probe(&self) -> usize {
        1 - self.build
    }
}
