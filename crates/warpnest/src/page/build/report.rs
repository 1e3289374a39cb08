//! What a build of a page table reports.

/// The report of a build.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PageReport {
    /// The seed of the random constants: [`PageConfig::seed`](crate::Config::seed) with it repeats
    /// the build's constants.
    pub seed: u64,
    /// The count of attempts that ended because a page could not be built.
    pub failures: u32,
    /// Whether a bin of the last split overflowed, so that this split was made once more, into bins
    /// with the capacity that it had counted.
    pub split_again: bool,
    /// Whether a bin of an earlier split overflowed, so that all pairs were counted and put at
    /// exact offsets.
    pub counted: bool,
    /// Whether pairs were left out early, because a bin was skewed: a tile of the input had many
    /// equal keys.
    pub skewed: bool,
    /// Whether the pairs were kept in order, since it was not known that keys are unique, and more
    /// of them were repeated than an attempt without order can resolve.
    pub ordered: bool,
    /// The count of repeated keys that were resolved after an attempt without order, each counted
    /// once for every pair but one. A key is resolved when it has the value of its last pair.
    pub resolved: u64,
    /// The count of pairs that found all of their slots full, so that others had to be evicted.
    pub moved: u64,
    /// The times of the stages of the attempt that succeeded, if
    /// [`PageConfig::timings`](crate::Config::timings) asked for them.
    pub stages: Option<PageStages>,
}

/// The milliseconds of device time that the stages of a build took. If a last split was made again,
/// these are of the second time: `initialization` then includes adding up the counts. There is only
/// one split then, a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageStages {
    /// The time to set counters and published words to 0.
    pub initialization: f64,
    /// The time of the first split, or of all of the counting and ordering if a bin overflowed.
    pub first_split: f64,
    /// The time of the splits after the first one.
    pub later_splits: f64,
    /// The time to build the pages.
    pub pages: f64,
    /// The time to resolve repeated keys after an attempt without order.
    pub resolving: f64,
}

impl PageStages {
    pub(in crate::page) fn new([initialization, first_split, later_splits, pages]: [f64; 4]) -> Self {
        Self { initialization, first_split, later_splits, pages, resolving: 0.0 }
    }

    /// Returns the time of all stages.
    pub fn total(&self) -> f64 {
        self.initialization + self.first_split + self.later_splits + self.pages + self.resolving
    }
}
