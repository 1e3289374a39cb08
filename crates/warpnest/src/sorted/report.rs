//! The report of a build of a sorted table.

/// The report of a build.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SortedReport {
    /// The count of pairs that are not in the map, because a later pair has the same key.
    pub repeats: u64,
    /// The times of the stages, if [`SortedConfig::timings`](crate::Config::timings) requested
    /// them.
    pub stages: Option<SortedStages>,
}

/// The milliseconds of device time that the stages of a build took.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SortedStages {
    /// The time to set counters and look-back state to 0.
    pub initialization: f64,
    /// The time of the radix sort.
    pub sort: f64,
    /// The time to drop all pairs of each key except the last.
    pub repeats: f64,
    /// The time to write the index.
    pub index: f64,
}

impl SortedStages {
    pub(super) fn new([initialization, sort, repeats, index]: [f64; 4]) -> Self {
        Self { initialization, sort, repeats, index }
    }

    /// Returns the sum of the times of all stages.
    pub fn total(&self) -> f64 {
        self.initialization + self.sort + self.repeats + self.index
    }
}
