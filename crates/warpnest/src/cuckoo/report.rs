//! What a build of a cuckoo table reports.

/// The report of a build.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CuckooReport {
    /// The seed of the random constants: [`CuckooConfig::seed`](crate::Config::seed) with it
    /// repeats the build's constants.
    pub seed: u64,
    /// How often the build had to start again.
    pub restarts: u32,
    /// The most exchanges that one pair was allowed.
    pub chain_limit: u32,
    /// Whether a key was met twice. Not all slots are searched for that under
    /// [`CuckooConfig::assume_unique`](crate::Config::assume_unique).
    pub repeated_keys: bool,
    /// The eviction chains of the attempt that succeeded, if
    /// [`CuckooConfig::statistics`](crate::Config::statistics) asked for them.
    pub chains: Option<EvictionChains>,
}

/// The lengths of the eviction chains of a build. A chain of one exchange met an empty slot at
/// once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvictionChains {
    /// The count of exchanges of the longest chain.
    pub longest: u32,
    /// The average count of exchanges a pair.
    pub mean: f64,
}
