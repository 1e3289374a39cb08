//! The report of a build of a two-level table.

/// The report of a build.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TwoLevelReport {
    /// The seed of the random constants. [`TwoLevelConfig::seed`](crate::Config::seed) with this
    /// seed repeats them.
    pub seed: u64,
    /// The count of attempts that ended because a bucket got too many items.
    pub overflows: u32,
    /// The count of attempts that ended because a bucket could not be built with any of its seeds.
    pub failures: u32,
    /// The count of seeds that failed, over all buckets of the attempt that succeeded.
    pub reseeded: u64,
    /// The count of radix passes that sorted the pairs by bucket, in the attempt that succeeded.
    pub passes: u32,
    /// Whether the pairs were sorted and repeated keys removed before the pairs were put into
    /// buckets.
    pub sorted: bool,
    /// The most rounds that a bucket took with one seed, and the sum of the rounds of all buckets,
    /// if [`TwoLevelConfig::statistics`](crate::Config::statistics) requested them.
    pub rounds: Option<(u64, u64)>,
    /// The times of the stages of the attempt that succeeded, if
    /// [`TwoLevelConfig::timings`](crate::Config::timings) requested them.
    pub stages: Option<TwoLevelStages>,
}

/// The milliseconds of device time that the stages of a build took, named as in (Alcantara 2009).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TwoLevelStages {
    /// The time of the initialization, which sets counters and look-back state to 0.
    pub initialization: f64,
    /// The time to assign keys to buckets and to count them.
    pub count: f64,
    /// The time of the scan, which computes the offsets of the buckets.
    pub scan: f64,
    /// The time to shuffle the pairs into the buckets, and to check that no bucket overflows.
    pub shuffle: f64,
    /// The time of cuckoo hashing in every bucket.
    pub cuckoo: f64,
}

impl TwoLevelStages {
    pub(super) fn new([initialization, count, scan, shuffle, cuckoo]: [f64; 5]) -> Self {
        Self { initialization, count, scan, shuffle, cuckoo }
    }

    /// Returns the sum of the times of all stages.
    pub fn total(&self) -> f64 {
        self.initialization + self.count + self.scan + self.shuffle + self.cuckoo
    }
}
