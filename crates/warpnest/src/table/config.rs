//! The configuration of tables: the settings that all designs have, beside a design's own settings.
//! The methods that change settings are in `settings`, and the builds are in `built`.

use super::input::Known;

/// The lowest load factor of any table. It keeps a mistaken load factor from taking all memory
/// without an error: a table takes at most 1024 times the bytes of its pairs.
pub(crate) const MIN_LOAD: f64 = 1.0 / 1024.0;

/// The most restarts of a build. More restarts would not help, and a build that cannot succeed
/// should end.
const MAX_RESTARTS: u32 = 10_000;

/// The configuration of maps and sets of one design. A design's own settings are methods of its
/// configuration: [`PageConfig`](crate::PageConfig), [`CuckooConfig`](crate::CuckooConfig),
/// [`TwoLevelConfig`](crate::TwoLevelConfig), [`SortedConfig`](crate::SortedConfig),
/// [`LinearConfig`](crate::LinearConfig) and [`ExtendibleConfig`](crate::ExtendibleConfig).
///
/// By default a build restarts up to 25 times, the seed is random, repeated keys are handled, and
/// there are no statistics and no timings.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<D> {
    pub(crate) design: D,
    pub(crate) seed: Option<u64>,
    pub(crate) restarts: u32,
    pub(crate) unique: bool,
    pub(crate) statistics: bool,
    pub(crate) timings: bool,
}

impl<D: Default> Default for Config<D> {
    fn default() -> Self {
        Self::of(D::default())
    }
}

impl<D> Config<D> {
    /// Returns the default configuration with the given settings of the design.
    pub(crate) fn of(design: D) -> Self {
        Self { design, seed: None, restarts: 25, unique: false, statistics: false, timings: false }
    }

    /// Returns whether each key is known to occur once, by the user's promise or from the input.
    pub(crate) fn unique_given(&self, known: Known) -> bool {
        self.unique || known.unique()
    }

    /// Returns how many times a build that fails may start again.
    pub(crate) fn most_restarts(&self) -> u32 {
        self.restarts.min(MAX_RESTARTS)
    }

    /// Returns the seed of the random constants: the configured one, or a random one.
    pub(crate) fn seed_or_random(&self) -> u64 {
        self.seed.unwrap_or_else(crate::hash::random_seed)
    }
}
