//! The report of a build of a page table.

/// The report of a build.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PageReport {
    /// The seed of the random constants. [`PageConfig::seed`](crate::Config::seed) with this seed
    /// repeats them.
    pub seed: u64,
    /// The count of attempts that ended because a page could not be built.
    pub failures: u32,
    /// Whether a bin of the last split overflowed, so that this split was repeated. In the repeated
    /// split, a bin has the capacity that was counted for it.
    pub split_again: bool,
    /// Whether a bin of an earlier split overflowed, so that all pairs were counted and put at
    /// exact offsets.
    pub counted: bool,
    /// Whether copies of keys were dropped during a split, because a tile of the input had many
    /// equal keys.
    pub skewed: bool,
    /// Whether the build kept the order of the pairs. It does if keys may be repeated, and more
    /// keys are repeated than an attempt that ignores the order can resolve.
    pub ordered: bool,
    /// The count of repeated keys that were resolved after an attempt that ignored the order of
    /// pairs. A key of `n` pairs counts `n` - 1 times. To resolve a key is to give it the value of
    /// its last pair.
    pub resolved: u64,
    /// The count of pairs that found all of their slots full, so that other pairs had to be
    /// evicted.
    pub moved: u64,
    /// The times of the stages of the attempt that succeeded, if
    /// [`PageConfig::timings`](crate::Config::timings) requested them.
    pub stages: Option<PageStages>,
}

/// The milliseconds of device time that the stages of a build took. If the last split was repeated,
/// the times are of the repetition alone: `initialization` then includes adding up the counts, and
/// the repeated split counts as a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PageStages {
    /// The time to set counters and look-back state to 0.
    pub initialization: f64,
    /// The time of the first split, or of all counting and sorting if an earlier split overflowed.
    pub first_split: f64,
    /// The time of the splits after the first one.
    pub later_splits: f64,
    /// The time to build the pages.
    pub pages: f64,
    /// The time to resolve repeated keys after an attempt that ignored the order of pairs.
    pub resolving: f64,
}

impl PageStages {
    pub(in crate::page) fn new([initialization, first_split, later_splits, pages]: [f64; 4]) -> Self {
        Self { initialization, first_split, later_splits, pages, resolving: 0.0 }
    }

    /// Returns the sum of the times of all stages.
    pub fn total(&self) -> f64 {
        self.initialization + self.first_split + self.later_splits + self.pages + self.resolving
    }
}
