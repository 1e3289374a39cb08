//! The report of a build of a cuckoo table.

/// The report of a build.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CuckooReport {
    /// The seed of the random constants. [`CuckooConfig::seed`](crate::Config::seed) with this seed
    /// repeats them.
    pub seed: u64,
    /// The count of restarts of the build.
    pub restarts: u32,
    /// The most exchanges that the build allowed for storing one pair.
    pub chain_limit: u32,
    /// Whether a key was found twice. Under
    /// [`CuckooConfig::assume_unique`](crate::Config::assume_unique) not all slots are searched for
    /// repeated keys.
    pub repeated_keys: bool,
    /// The eviction chains of the attempt that succeeded, if
    /// [`CuckooConfig::statistics`](crate::Config::statistics) requested them.
    pub chains: Option<EvictionChains>,
}

/// The lengths of the eviction chains of a build. A chain has one exchange if the first slot is
/// empty.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EvictionChains {
    /// The count of exchanges of the longest chain.
    pub longest: u32,
    /// The average count of exchanges per pair.
    pub mean: f64,
}
