//! The configuration of a two-level map, and the sizes that follow from it.

use crate::hash::Arithmetic;
use crate::primitives::{MAX_ITEMS, Pairs};
use crate::table::config::Config;
use crate::{ConfigError, Error, HashFamily, InputError, Result};
use gpu_kernels::table::slots::slot_words;
use gpu_kernels::two_level::{MAX_IN_BUCKET, MAX_SLOTS, MAX_SUB_TABLES};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The configuration of a [`TwoLevelMap`](crate::TwoLevelMap).
///
/// By default, a bucket has at most 512 items, and 409 or a little fewer on average. It has three
/// sub-tables of 192 slots. Both levels use [`HashFamily::Mix`]. A bucket tries 20 seeds, with 50
/// rounds each.
///
/// ```
/// use warpnest::{Device, TwoLevelConfig, TwoLevelMap};
///
/// let device = Device::cpu();
/// let config = TwoLevelConfig::default().items_per_bucket(300.0).seed(42);
/// let keys: Vec<u64> = (0..1000).collect();
/// let map: TwoLevelMap<u64, u32> = config.build(&device, &keys, &[5; 1000])?;
/// assert_eq!((map.table().buckets(), map.table().slots()), (4, 4 * 576));
/// assert_eq!(map.memory_bytes(), config.memory_bytes::<u64, u32>(1000)?);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type TwoLevelConfig = Config<TwoLevel>;

/// The design of [`TwoLevelMap`](crate::TwoLevelMap), with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoLevel {
    pub(super) capacity: u32,
    pub(super) mean: Option<f64>,
    pub(super) sub_tables: u32,
    pub(super) sub_table_slots: u32,
    pub(super) hash: HashFamily,
    pub(super) sub_table_hash: HashFamily,
    pub(super) seeds: u32,
    pub(super) rounds: u32,
}

impl Default for TwoLevel {
    fn default() -> Self {
        Self {
            capacity: MAX_IN_BUCKET,
            mean: None,
            sub_tables: 3,
            sub_table_slots: 192,
            hash: HashFamily::Mix,
            sub_table_hash: HashFamily::Mix,
            seeds: 20,
            rounds: 50,
        }
    }
}

/// The most rounds of a bucket with all of its seeds. It ends a build that no seed allows.
const MAX_ROUNDS: u32 = 1 << 16;

/// The largest probability that an attempt overflows, by default.
const OVERFLOW_CHANCE: f64 = 0.01;

/// The largest average fill of buckets by default, four fifths as in (Alcantara 2009) and (Sahu
/// 2015).
const FULLEST: f64 = 0.8;

impl Config<TwoLevel> {
    /// Returns the configuration of (Sahu 2015): prime 1900813 and wrapping 32-bit products on both
    /// levels, and buckets filled to 80 % of 512. A bucket has three sub-tables of 512/4 + 512/8
    /// slots, and tries 20 seeds with at most 100 rounds each. docs/two-level.md says up to which
    /// size builds can succeed.
    pub fn sahu() -> Self {
        let hash = HashFamily::Linear { prime: 1_900_813, arithmetic: Arithmetic::Wrapping };
        let mean = Some(FULLEST * 512.0);
        Self::of(TwoLevel { mean, hash, sub_table_hash: hash, rounds: 100, ..TwoLevel::default() })
    }

    /// Sets the most items of a bucket, 1 to 512.
    #[must_use]
    pub fn bucket_capacity(mut self, items: u32) -> Self {
        self.design.capacity = items;
        self
    }

    /// Sets the average count of items of a bucket, which is at least 1 and at most its capacity.
    /// The default is four fifths of the capacity, or less, so that the probability that some
    /// bucket overflows is at most one in a hundred. Buckets of a few items cannot reach that goal.
    #[must_use]
    pub fn items_per_bucket(mut self, items: f64) -> Self {
        self.design.mean = Some(items);
        self
    }

    /// Sets the count of sub-tables of a bucket, 2 to 4, and the slots of each sub-table. A bucket
    /// must have at least as many slots as its capacity, and at most 1024.
    #[must_use]
    pub fn sub_tables(mut self, tables: u32, slots: u32) -> Self {
        (self.design.sub_tables, self.design.sub_table_slots) = (tables, slots);
        self
    }

    /// Sets the hash family of the first level, which maps keys to buckets.
    #[must_use]
    pub fn hash(mut self, family: HashFamily) -> Self {
        self.design.hash = family;
        self
    }

    /// Sets the hash family of the second level, which maps keys to the slots of sub-tables.
    #[must_use]
    pub fn sub_table_hash(mut self, family: HashFamily) -> Self {
        self.design.sub_table_hash = family;
        self
    }

    /// Sets the most seeds that a bucket tries before the build restarts, and the most rounds with
    /// each seed. A bucket never takes more than 65,536 rounds, whatever these settings are.
    #[must_use]
    pub fn seeds(mut self, seeds: u32, rounds: u32) -> Self {
        (self.design.seeds, self.design.rounds) = (seeds, rounds);
        self
    }

    /// Returns the most rounds that a bucket takes with one seed.
    pub(super) fn most_rounds(&self) -> u32 {
        self.design.rounds.min(MAX_ROUNDS)
    }

    /// Returns the most seeds that a bucket tries.
    pub(super) fn most_seeds(&self) -> u32 {
        self.design.seeds.min(MAX_ROUNDS.div_ceil(self.most_rounds()))
    }

    /// Returns the count of buckets for `pairs` pairs, if the configuration is valid.
    pub(super) fn check(&self, pairs: u64) -> Result<u64> {
        let (capacity, most) = (self.design.capacity, MAX_IN_BUCKET);
        // The default mean is computed for a valid capacity only, because the computation takes
        // long for a huge one.
        let mean = self.design.mean.unwrap_or_else(|| default_mean(capacity.min(most), pairs));
        if !(1..=most).contains(&capacity) || !(1.0..=capacity as f64).contains(&mean) {
            return Err(Error::Config(ConfigError::Bucket { capacity, mean, max_in_bucket: most }));
        }
        let (tables, slots) = (self.design.sub_tables, self.design.sub_table_slots);
        let bucket_slots = tables.saturating_mul(slots);
        if !(2..=MAX_SUB_TABLES as u32).contains(&tables) || !(capacity..=MAX_SLOTS).contains(&bucket_slots) {
            return Err(Error::Config(ConfigError::SubTables { tables, slots, capacity, max_slots: MAX_SLOTS }));
        }
        if self.design.seeds == 0 || self.design.rounds == 0 {
            return Err(Error::Config(ConfigError::Attempts { seeds: self.design.seeds, rounds: self.design.rounds }));
        }
        if pairs > MAX_ITEMS as u64 {
            return Err(Error::Input(InputError::TooManyPairs { asked: pairs, limit: MAX_ITEMS as u64 }));
        }
        self.design.hash.check_prime()?;
        self.design.sub_table_hash.check_prime()?;
        let buckets = ((pairs as f64 / mean).ceil() as u64).max(1);
        crate::error::check_slots(buckets * bucket_slots as u64)?;
        for (hash, slots) in [(self.design.hash, buckets), (self.design.sub_table_hash, slots as u64)] {
            if let Some(prime) = hash.prime().filter(|&prime| (prime as u64) < slots) {
                return Err(Error::Config(ConfigError::PrimeBelowSlots { prime, slots }));
            }
        }
        Ok(buckets)
    }

    /// Returns the count of words for the slots of `buckets` buckets. A build also moves its pairs
    /// through these words, which are enough for one pair per slot.
    pub(super) fn words<K: KeyWord, V: ValueWord>(&self, buckets: u64) -> u64 {
        let slots = buckets * (self.design.sub_tables * self.design.sub_table_slots) as u64;
        slots * slot_words::<K, V>() + Pairs::<K, V>::MAX_PADDING
    }
}

/// Returns the mean at which `pairs` pairs overflow some bucket of `capacity` items with a
/// probability of [`OVERFLOW_CHANCE`], or [`FULLEST`] times the capacity if that is less.
fn default_mean(capacity: u32, pairs: u64) -> f64 {
    let overflows = |mean: f64| pairs as f64 / mean * poisson_tail(mean, capacity) > OVERFLOW_CHANCE;
    let (mut low, mut high) = (1.0, (FULLEST * capacity as f64).max(1.0));
    if !overflows(high) {
        return high;
    }
    while high - low > 0.1 {
        let middle = f64::midpoint(low, high);
        if overflows(middle) { high = middle } else { low = middle }
    }
    low
}

/// Returns the probability that a Poisson variable of mean `mean` is above `most`, where `mean` is
/// at most `most`. The counts of items in buckets have this distribution.
fn poisson_tail(mean: f64, most: u32) -> f64 {
    let log_factorial: f64 = (1..=most).map(|k| (k as f64).ln()).sum();
    let mut term = (most as f64 * mean.ln() - mean - log_factorial).exp();
    let mut tail = 0.0;
    // Each term is `mean / k` times the one before. The last one changes nothing.
    for k in most + 1.. {
        term *= mean / k as f64;
        if tail + term == tail {
            break;
        }
        tail += term;
    }
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_poisson_variables() {
        // These are 1 - e^-1 (1 + 1 + 1/2), and 1 - e^-2 (1 + 2).
        assert!((poisson_tail(1.0, 2) - 0.080_301_397).abs() < 1e-8);
        assert!((poisson_tail(2.0, 1) - 0.593_994_15).abs() < 1e-8);
    }

    #[test]
    fn the_default_mean_is_four_fifths_for_small_tables_and_shrinks_with_their_size() {
        assert_eq!(default_mean(512, 0), 409.6);
        assert_eq!(default_mean(512, 1 << 16), 409.6);
        let means: Vec<f64> = [24, 27, 30].map(|lg| default_mean(512, 1 << lg)).into();
        assert!(means[0] > means[1] && means[1] > means[2] && means[2] > 380.0, "{means:?}");
        for (lg, mean) in [24, 27, 30].into_iter().zip(means) {
            let chance = (1u64 << lg) as f64 / mean * poisson_tail(mean, 512);
            assert!(chance > 0.005 && chance <= 0.01, "{chance}");
        }
    }
}
