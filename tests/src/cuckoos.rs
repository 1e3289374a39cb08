//! Configurations of the cuckoo map and set, and the keys that some of them cannot insert.

use crate::family;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::design::{Arithmetic, HashFamily};
use warpnest::error::BuildError;
use warpnest::types::WordKey as Key;
use warpnest::{CuckooConfig, Error};

/// A configuration without the count of pairs.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The count of hash functions.
    pub functions: u32,
    /// The slots per pair, no fewer than this count of functions needs.
    pub slots_per_pair: f64,
    /// The hash family.
    pub family: HashFamily,
    /// The seed of the constants.
    pub seed: u64,
    /// Whether builds count the lengths of eviction chains.
    pub statistics: bool,
    /// Whether the configuration promises unique keys.
    pub unique: bool,
}

impl Spec {
    /// Returns the configuration of a map or set of `items` pairs or keys.
    pub fn config(&self, items: usize) -> CuckooConfig {
        let config = CuckooConfig::default().functions(self.functions).hash(self.family).seed(self.seed).restarts(200);
        let config = if self.statistics { config.statistics() } else { config };
        let config = if self.unique { config.assume_unique() } else { config };
        match self.family {
            HashFamily::Mix => config.slots_per_pair(self.slots_per_pair),
            // The families of (Alcantara 2011) are weak. Keys that differ in high bits alone share
            // all their slots if the count of slots divides the difference. So do keys that are
            // equal modulo the prime (docs/cuckoo.md). The tests have many powers of two, so the
            // count of slots is odd and has some slack.
            _ => config.slots(((items as f64 * self.slots_per_pair * 1.25).ceil() as u64 + 6) | 1),
        }
    }

    /// Fails unless a build of these keys may end with the error.
    pub fn excuses<K: Key>(&self, error: &Error, keys: &HashSet<K>) -> Result<(), String> {
        match *error {
            Error::BuildFailed(BuildError::KeysAgreeModuloPrime { key, prime, functions }) => {
                let alike = keys.iter().filter(|k| k.to_u64() % prime as u64 == key % prime as u64).count();
                if alike > functions as usize {
                    return Ok(());
                }
                Err(format!("{alike} keys agree, and {functions} functions can place them"))
            }
            // If many pairs of keys share all their slots, there may be no valid assignment, and no
            // short proof of that.
            Error::BuildFailed(BuildError::Cuckoo { .. }) if 10 * self.keys_that_agree(keys) > keys.len() => Ok(()),
            _ => Err(format!("{self:?}: {error}")),
        }
    }

    /// Counts the keys that share all their slots with another key under the exact linear family.
    fn keys_that_agree<K: Key>(&self, keys: &HashSet<K>) -> usize {
        let HashFamily::Linear { prime, arithmetic: Arithmetic::Exact } = self.family else { return 0 };
        let mut residues: HashMap<u64, usize> = HashMap::new();
        for key in keys {
            *residues.entry(key.to_u64() % prime as u64).or_default() += 1;
        }
        residues.values().filter(|&&keys| keys > 1).sum()
    }
}

/// Returns a strategy for any configuration in which builds look for repeated keys.
pub fn spec() -> impl Strategy<Value = Spec> {
    (2u32..=5, 0.0..1.0, family(), any::<u64>(), any::<bool>()).prop_map(
        |(functions, slack, family, seed, statistics)| {
            // The strategy ranges from the fewest slots of (Alcantara 2011) to twice as many.
            let slots_per_pair = [2.1, 1.1, 1.03, 1.02][functions as usize - 2] * (1.0 + slack);
            Spec { functions, slots_per_pair, family, seed, statistics, unique: false }
        },
    )
}
