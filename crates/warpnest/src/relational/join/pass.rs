//! The passes of a join over the rows of both sides.

use super::joined::JoinKind;
use gpu_kernels::relational::join::Emit;

/// The indices of the left and the right side of a join.
pub(super) const LEFT: usize = 0;
pub(super) const RIGHT: usize = 1;

/// A pass over the rows of both sides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// The index of the side that is the build side.
    pub build: usize,
    pub emit: Emit,
    pub bins: Bins,
}

/// The bins that a pass processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bins {
    /// The bins that are not heavy, or all bins if only pairs are written.
    Light,
    /// The bins with so many build rows that a block should not read all of them for each of its
    /// probe rows.
    Heavy,
}

impl Pass {
    /// Returns the passes of a join, given the rows of each side.
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

    /// Returns the pass of a join of left rows with a kept right side.
    pub(super) fn of_kept(kind: JoinKind) -> Vec<Self> {
        let emit = Self::of(kind, [0, 0])[0].emit;
        vec![Self { build: RIGHT, emit, bins: Bins::Light }]
    }

    /// Returns the passes over the heavy bins. One pass writes pairs, with the smaller side of each
    /// bin as its build side. Another writes matched or unmatched rows.
    pub(super) fn of_heavy_bins(self) -> impl Iterator<Item = Self> {
        [Emit::PAIRS, Emit::UNMATCHED, Emit::MATCHED]
            .into_iter()
            .filter(move |&emit| self.emit.has(emit))
            .map(move |emit| Self { emit, bins: Bins::Heavy, ..self })
    }

    /// Returns whether the build side is the distinct keys of each bin instead of its rows.
    pub(super) fn is_of_distinct_keys(&self) -> bool {
        self.bins == Bins::Heavy && self.emit.needs_all()
    }

    /// Returns the index of the probe side.
    pub(super) fn probe(&self) -> usize {
        1 - self.build
    }
}
