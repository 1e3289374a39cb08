//! The configuration of a cuckoo map, and the sizes that follow from it.

use crate::table::config::{Config, MIN_LOAD};
use crate::{ConfigError, Error, HashFamily, Result};
use gpu_kernels::cuckoo::slot_bytes;
use gpu_kernels::hash::MAX_FUNCTIONS;
use gpu_kernels::types::{KeyWord, Payload};

/// The configuration of a [`CuckooMap`](crate::CuckooMap) or a [`CuckooSet`](crate::CuckooSet).
///
/// By default, there are four hash functions of [`HashFamily::Mix`], and 1.25 slots for each pair.
///
/// ```
/// use warpnest::{design::HashFamily, CuckooConfig, CuckooMap, CuckooSet, Device};
///
/// let device = Device::cpu();
/// let hash = HashFamily::ALCANTARA_2011;
/// let config = CuckooConfig::default().functions(3).slots_per_pair(1.5).hash(hash).seed(42);
/// let keys: Vec<u64> = (0..1000).collect();
/// assert_eq!(config.memory_bytes::<u64, u32>(1000)?, 16 * 1500 + 56);
/// let map: CuckooMap<u64, u32> = config.build(&device, &keys, &[5; 1000])?;
/// assert_eq!(map.table().slots(), 1500);
///
/// assert_eq!(config.set_memory_bytes::<u64>(1000)?, 8 * 1500 + 56);
/// let set: CuckooSet<u64> = config.build_set(&device, &keys)?;
/// assert_eq!(set.table().slots(), 1500);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type CuckooConfig = Config<Cuckoo>;

/// The design of [`CuckooMap`](crate::CuckooMap) and [`CuckooSet`](crate::CuckooSet), with its
/// settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuckoo {
    pub(super) functions: u32,
    pub(super) size: Size,
    pub(super) hash: HashFamily,
    pub(super) chain_limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size {
    PerPair(f64),
    Slots(u64),
}

/// The fewest slots per hundred pairs with which builds succeed in practice, for 2 to 5 functions
/// (Alcantara 2011, §4.3.1.1).
const LEAST_PERCENT: [u64; MAX_FUNCTIONS - 1] = [210, 110, 103, 102];

/// The fewest slots of a table. With fewer, the hash functions could all lead a few keys to the
/// same slots.
const LEAST_SLOTS: u64 = 8;

/// The most slots for each pair, which is the same as for the other designs.
const MAX_SLOTS_PER_PAIR: f64 = 1.0 / MIN_LOAD;

/// The most exchanges of an eviction chain. A longer chain is most likely endless and should be
/// ended.
const MAX_CHAIN_LIMIT: u32 = 100_000;

impl Default for Cuckoo {
    fn default() -> Self {
        Self { functions: 4, size: Size::PerPair(1.25), hash: HashFamily::Mix, chain_limit: None }
    }
}

impl Config<Cuckoo> {
    /// Sets the count of hash functions, 2 to 5. More functions allow a larger load factor and a
    /// faster build, and fewer functions make lookups faster.
    #[must_use]
    pub fn functions(mut self, functions: u32) -> Self {
        self.design.functions = functions;
        self
    }

    /// Sets the count of slots for each pair, or each key of a set, where repeated keys count too.
    /// It is at least 2.1, 1.1, 1.03 or 1.02 for 2, 3, 4 or 5 functions, and at most 1024. A table
    /// has at least 8 slots.
    #[must_use]
    pub fn slots_per_pair(mut self, slots: f64) -> Self {
        self.design.size = Size::PerPair(slots);
        self
    }

    /// Sets the count of slots, independently of the count of pairs.
    #[must_use]
    pub fn slots(mut self, slots: u64) -> Self {
        self.design.size = Size::Slots(slots);
        self
    }

    /// Sets the hash family, by default [`HashFamily::Mix`]. The other families are from Alcantara
    /// 2011 and from CUDPP. They may make a build fail if the keys are regular.
    #[must_use]
    pub fn hash(mut self, family: HashFamily) -> Self {
        self.design.hash = family;
        self
    }

    /// Sets the most exchanges that storing one pair may take before the build restarts. The
    /// default is `7 lg n` for four functions and 1.25 slots per pair (Alcantara 2011). It is
    /// larger for larger load factors and for fewer functions (docs/cuckoo.md). The limit is never
    /// more than 100,000, even if a larger one is given.
    #[must_use]
    pub fn chain_limit(mut self, exchanges: u32) -> Self {
        self.design.chain_limit = Some(exchanges);
        self
    }

    /// Returns the count of slots for `pairs` pairs, if the configuration is valid and that many
    /// slots are possible.
    pub(super) fn check(&self, pairs: u64) -> Result<u64> {
        self.design.hash.check_prime()?;
        self.check_size(pairs)
    }

    /// Does [`Config::check`] without the test of the prime, for a configuration that has passed
    /// that test.
    pub(super) fn check_size(&self, pairs: u64) -> Result<u64> {
        if !(2..=MAX_FUNCTIONS as u32).contains(&self.design.functions) {
            return Err(Error::Config(ConfigError::FunctionCount { asked: self.design.functions }));
        }
        if self.design.chain_limit == Some(0) {
            return Err(Error::Config(ConfigError::ChainLimit));
        }
        let asked = match self.design.size {
            Size::PerPair(slots) if slots.is_finite() && slots >= 1.0 => {
                ((pairs as f64 * slots).ceil() as u64).max(LEAST_SLOTS)
            }
            Size::PerPair(asked) => return Err(Error::Config(ConfigError::SlotsPerPair { asked })),
            Size::Slots(slots) => slots,
        };
        crate::error::check_slots(asked)?;
        if let Size::PerPair(asked) = self.design.size
            && asked > MAX_SLOTS_PER_PAIR
        {
            return Err(Error::Config(ConfigError::SlotsPerPair { asked }));
        }
        let min_slots = pairs.saturating_mul(LEAST_PERCENT[self.design.functions as usize - 2]).div_ceil(100).max(1);
        if asked < min_slots {
            return Err(Error::Config(ConfigError::LoadTooHigh {
                pairs,
                slots: asked,
                functions: self.design.functions,
                min_slots,
            }));
        }
        match self.design.hash.prime() {
            Some(prime) if (prime as u64) < asked => {
                Err(Error::Config(ConfigError::PrimeBelowSlots { prime, slots: asked }))
            }
            _ => Ok(asked),
        }
    }

    /// Returns the most exchanges of an eviction chain, for `pairs` pairs in `slots` slots.
    pub(super) fn chain_limit_for(&self, pairs: u64, slots: u64) -> u32 {
        let by_default = || default_chain_limit(self.design.functions, pairs, slots);
        self.design.chain_limit.unwrap_or_else(by_default).min(MAX_CHAIN_LIMIT)
    }
}

/// Returns the count of 64-bit words for `slots` slots.
pub(super) fn table_words<K: KeyWord, V: Payload>(slots: u64) -> u64 {
    (slots * slot_bytes::<K, V>()).div_ceil(8)
}

/// Returns the default limit of exchanges: `7 lg n` for four functions and 1.25 slots per pair
/// (Alcantara 2011). For other settings it is scaled by how near the load factor is to the
/// threshold of cuckoo hashing with `functions` functions.
///
/// The longest chain of a build grows as `lg n / gap`, where `gap` is 1 minus the ratio of the load
/// factor to that threshold. It was measured at 0.1 to 1.9 times `lg n / gap`, with a median of 0.6
/// (`cargo xtask chains`, docs/cuckoo.md). This limit is 1.27 times `lg n / gap`, and never below
/// the limit in (Alcantara 2011). Weak hash functions make longer chains, and a limit that is
/// rarely reached costs nothing.
fn default_chain_limit(functions: u32, pairs: u64, slots: u64) -> u32 {
    let gap = |functions: usize, load: f64| 1.0 - load / THRESHOLDS[functions - 2];
    let scale = gap(4, 0.8) / gap(functions as usize, pairs as f64 / slots as f64);
    // A table of fewer than sixteen pairs is no easier to build.
    let lg = (pairs.max(16) as f64).log2();
    (7.0 * lg * scale.max(1.0)).ceil() as u32
}

/// The load factors above which no placement exists for large n, for 2 to 5 functions (Alcantara
/// 2011, reference 5: Dietzfelbinger et al., 2010).
const THRESHOLDS: [f64; MAX_FUNCTIONS - 1] = [0.5, 0.9179, 0.9768, 0.9924];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_chain_limit_is_that_of_alcantara_where_given() {
        assert_eq!(default_chain_limit(4, 1 << 20, (1 << 20) / 4 * 5), 7 * 20);
        assert_eq!(default_chain_limit(4, 1 << 25, (1 << 25) / 4 * 5), 7 * 25);
    }

    #[test]
    fn the_default_chain_limit_grows_with_load_and_stays_finite_at_the_smallest_tables() {
        for (functions, percent) in (2..).zip(LEAST_PERCENT) {
            let least = percent as f64 / 100.0;
            let limit = |slots_per_pair: f64| {
                default_chain_limit(functions, 1 << 20, ((1 << 20) as f64 * slots_per_pair) as u64)
            };
            assert!(limit(least) > limit(least * 1.02) && limit(least * 1.1) >= limit(least * 2.0));
            assert!(limit(least) < 10_000);
        }
    }
}
