//! The outcome of an attempt to build a page table, from the header at the front of its scratch.

use super::report::PageStages;
use crate::table::stages::StageClock;
use crate::{Buffer, Result, Stream};
use gpu_kernels::page::header;

/// The outcome of an attempt.
pub(in crate::page) enum Outcome {
    Built {
        length: u64,
        skewed: bool,
        moved: u64,
        /// The count of repeated keys that are still to be resolved.
        repeated: Repeats,
        stages: Option<PageStages>,
    },
    /// More keys are repeated than an unordered attempt can resolve.
    Repeated,
    /// A bin of the last split got more pairs than its capacity.
    LastOverflow,
    /// A bin of another split got more pairs than its capacity.
    Overflow,
    Failure,
}

impl Outcome {
    /// Returns whether a bin got more pairs than its capacity.
    pub(crate) fn overflowed(&self) -> bool {
        matches!(self, Self::LastOverflow | Self::Overflow)
    }

    /// Waits for the queued attempt, which has `splits` splits, and returns its outcome from the
    /// header at the front of its scratch.
    pub(crate) fn of(stream: &Stream, scratch: &Buffer<u64>, splits: usize, clock: &StageClock) -> Result<Self> {
        Self::of_listing(stream, scratch, splits, clock, 0)
    }

    /// Does [`Outcome::of`] for an attempt whose list of repeated keys has a common part with
    /// capacity `capacity`.
    pub(crate) fn of_listing(
        stream: &Stream,
        scratch: &Buffer<u64>,
        splits: usize,
        clock: &StageClock,
        capacity: u64,
    ) -> Result<Self> {
        let found = scratch.download_front(stream, header::WORDS)?;
        let word = |number: u64| found[number as usize];
        let of_levels = |first: u64| -> u64 { (first..first + header::LEVELS).map(word).sum() };
        let overflowed = (0..splits).find(|&level| word(header::OVERFLOW + level as u64) != 0);
        if word(header::REPEATED) > capacity {
            return Ok(Self::Repeated);
        }
        Ok(match (overflowed, word(header::FAILED)) {
            (None, 0) => Self::Built {
                length: word(header::LENGTH),
                skewed: of_levels(header::DROPPED) != 0,
                moved: word(header::LEFT),
                repeated: Repeats { own: word(header::LISTED), common: word(header::REPEATED) },
                stages: clock.durations()?.map(PageStages::new),
            },
            (None, _) => Self::Failure,
            (Some(level), _) if level + 1 == splits => Self::LastOverflow,
            _ => Self::Overflow,
        })
    }
}

/// The counts of repeated keys that pages have listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::page) struct Repeats {
    /// The count of repeated keys in the pages' own parts of the list.
    pub own: u64,
    /// The count of repeated keys in the common part of the list.
    pub common: u64,
}

impl Repeats {
    /// Returns the count of all listed keys.
    pub(crate) fn all(self) -> u64 {
        self.own + self.common
    }
}
