//! The settings that several designs have.

use super::config::Config;
use super::design::{Builds, Counted, Seeded, Staged};

/// Settings of all designs except `Sorted`.
impl<D: Seeded> Config<D> {
    /// Sets the seed of the random constants, so that a build, or a sequence of batches, can be
    /// repeated. The report of a build names its seed.
    ///
    /// Whoever knows the seed can choose keys that are slow to insert or that no build can place.
    /// Give no seed for keys that others choose.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }
}

/// Settings of designs that are built in one go with random constants.
impl<D: Builds + Seeded> Config<D> {
    /// Sets how often a failed build may start again with fresh random constants: 10,000 times at
    /// most, also if more is given.
    #[must_use]
    pub fn restarts(mut self, restarts: u32) -> Self {
        self.restarts = restarts;
        self
    }
}

/// Settings of designs that are built in one go.
impl<D: Builds> Config<D> {
    /// Promises that no key is repeated: the build is faster, or takes less memory.
    ///
    /// If a key is repeated all the same, a lookup gives one of its values, as a whole. But the
    /// count of keys may count the key several times, its pairs may be written out several times,
    /// and many copies of a key may make the build fail. The documentation of each map says which.
    #[must_use]
    pub fn assume_unique(mut self) -> Self {
        self.unique = true;
        self
    }
}

/// Settings of page, two-level and sorted maps.
impl<D: Staged> Config<D> {
    /// Measures the stages of builds, for their reports. Kernels that were never launched before
    /// are compiled in that time, unless [`Device::load_kernels`](crate::Device::load_kernels) has
    /// done that.
    #[must_use]
    pub fn timings(mut self) -> Self {
        self.timings = true;
        self
    }
}

/// Settings of cuckoo and two-level maps.
impl<D: Counted> Config<D> {
    /// Counts what builds do, for their reports: evictions or rounds. That takes two atomic
    /// operations for each 64 pairs of a cuckoo map, or for each bucket and seed of a two-level
    /// one.
    #[must_use]
    pub fn statistics(mut self) -> Self {
        self.statistics = true;
        self
    }
}
