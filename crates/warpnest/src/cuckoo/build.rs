//! Building a cuckoo table: attempts until one succeeds, then the repeated keys.

use super::{CuckooConfig, CuckooMap};
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::cuckoo::{
    Census, Insert, InsertPlan, Last, PairsPlan, PlaceValues, Unplaceable, header, packed, slot_words,
};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::seam::Global;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

/// How a build went.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BuildReport {
    /// Where the random constants started: [`CuckooConfig::seed`] with it repeats the build's constants.
    pub seed: u64,
    /// How often the build had to start again.
    pub restarts: u32,
    /// The most exchanges that one pair was allowed.
    pub chain_limit: u32,
    /// Whether a key was met twice. Not looked for in every place under [`CuckooConfig::assume_unique`].
    pub repeated_keys: bool,
    /// Exchanges in the attempt that succeeded, if [`CuckooConfig::statistics`] asked for them.
    pub chains: Option<Chains>,
}

/// Eviction chains of a build. A chain of one exchange met an empty slot at once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chains {
    /// Exchanges of the longest chain.
    pub longest: u32,
    /// Exchanges a pair, on average.
    pub mean: f64,
}

impl<K: Key, V: Value> CuckooMap<K, V> {
    pub(super) fn create(
        config: CuckooConfig,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self> {
        crate::error::check_pairs(device, stream, keys, values)?;
        let slots = config.check(keys.len() as u64)?;
        let words = Buffer::uninitialized(device, (slots * slot_words::<K, V>()) as usize)?;
        let mut map = Self {
            device: device.clone(),
            functions: HashFunctions::new(Formula::Mix, config.functions, slots as u32, 0, K::BITS, || 0),
            words,
            header: Buffer::uninitialized(device, header::WORDS)?,
            length: 0,
            report: BuildReport { seed: 0, restarts: 0, chain_limit: 0, repeated_keys: false, chains: None },
            types: PhantomData,
            config: config.slots(slots),
        };
        map.attempt_until_built(stream, keys, values)?;
        Ok(map)
    }

    /// Builds the map anew from other pairs, in the slots that it has; waits until it is known that the build succeeded.
    ///
    /// For data that changes as a whole, frame after frame: nothing is allocated, unless keys are repeated.
    ///
    /// # Errors
    /// As for [`CuckooConfig::build`], and [`Error::WrongDevice`]. If the request makes no sense the map is as it was; after
    /// another error it is empty, and [`CuckooMap::report`] still tells of the last build that succeeded.
    pub fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        crate::error::check_pairs(&self.device, stream, keys, values)?;
        self.config.check_size(keys.len() as u64)?;
        self.length = 0;
        let built = self.attempt_until_built(stream, keys, values);
        if built.is_err() {
            // If this fails too, the device is lost; the first error says more.
            let _ = self.clear(stream);
        }
        built
    }

    fn clear(&mut self, stream: &Stream) -> Result<()> {
        self.words.fill(stream, 0xff)?;
        self.header.fill(stream, 0)
    }

    fn attempt_until_built(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        let pairs = keys.len() as u64;
        let seed = self.config.seed.unwrap_or_else(crate::hash::random_seed);
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        let chain_limit = self.config.chain_limit_for(pairs, self.slots());
        for restarts in 0..=self.config.restarts {
            let (hash, count, slots) = (self.config.hash, self.config.functions, self.functions.slots());
            let prime = hash.prime().unwrap_or(0);
            self.functions = HashFunctions::new(hash.formula(), count, slots, prime, K::BITS, || random.next_u64());
            self.clear(stream)?;
            self.insert(stream, keys, values, chain_limit)?;
            let found = self.header.download(stream)?;
            if found[header::FAILED as usize] != 0 {
                self.check_residues(stream, keys)?;
                continue;
            }
            let repeated_keys = found[header::REPEATED as usize] != 0;
            if !self.place_values(stream, keys, values, repeated_keys)? {
                continue;
            }
            let in_cell = (found[header::CELL as usize] != 0) as u64;
            self.length = if self.config.unique { pairs } else { found[header::KEYS as usize] + in_cell };
            let chains = self.config.statistics.then(|| Chains {
                longest: found[header::LONGEST as usize] as u32,
                mean: found[header::EXCHANGES as usize] as f64 / pairs.max(1) as f64,
            });
            self.report = BuildReport { seed, restarts, chain_limit, repeated_keys, chains };
            return Ok(());
        }
        Err(Error::BuildFailed {
            attempts: self.config.restarts.saturating_add(1),
            pairs,
            slots: self.slots(),
            functions: self.config.functions,
            chain_limit,
        })
    }

    /// One attempt: every thread inserts a pair, then the keys are counted.
    fn insert(&self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>, chain_limit: u32) -> Result<()> {
        let pairs = keys.len() as u64;
        let insert = Insert {
            keys: keys.argument(),
            values: values.argument(),
            words: self.slots_pointer(),
            header: self.header.argument(),
            plan: InsertPlan {
                functions: self.functions,
                pairs,
                chain_limit,
                statistics: self.config.statistics as u32,
            },
        };
        // SAFETY: as many keys as values; the slots are empty and the header is 0, as `clear` left them.
        unsafe { stream.launch(&insert, pairs, &[keys, values], &[&self.words, &self.header])? };
        if self.config.unique {
            return Ok(());
        }
        let census =
            Census::<K, V> { words: self.slots_pointer(), header: self.header.argument(), functions: self.functions };
        // SAFETY: the slots were filled with these functions.
        unsafe { stream.launch(&census, self.slots(), &[], &[&self.words, &self.header]) }
    }

    /// Puts in the values that the insertion did not carry, and for repeated keys the last one. Returns whether every key is in
    /// the table, which is looked at only if a key was met twice (see [`Last`]).
    fn place_values(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>, repeated: bool) -> Result<bool> {
        let pairs = keys.len() as u64;
        let plan = PairsPlan { functions: self.functions, pairs };
        let settle = repeated && !self.config.unique;
        let last = settle.then(|| Buffer::<u32>::zeroed(&self.device, self.slots() as usize)).transpose()?;
        // SAFETY: both kernels' texts allow no `last`.
        let last_argument = last.as_ref().map_or(unsafe { Global::null() }, |last| last.argument());
        let last_tracked = last.as_ref().map(|last| last as &dyn crate::Tracked);
        if repeated {
            let find_last = Last {
                keys: keys.argument(),
                words: self.slots_pointer(),
                header: self.header.argument(),
                last: last_argument,
                plan,
            };
            let writes: Vec<_> = last_tracked.into_iter().chain([&self.header as _]).collect();
            // SAFETY: a word for each slot, all 0, or none.
            unsafe { stream.launch(&find_last, pairs, &[keys, &self.words], &writes)? };
            if self.header.download(stream)?[header::FAILED as usize] != 0 {
                return Ok(false);
            }
        }
        if packed::<K, V>() && !settle {
            return Ok(true);
        }
        let place = PlaceValues {
            keys: keys.argument(),
            values: values.argument(),
            words: self.slots_pointer(),
            header: self.header.argument(),
            last: last_argument,
            plan,
        };
        let reads: Vec<_> = last_tracked.into_iter().chain([keys as _, values as _]).collect();
        // SAFETY: as many keys as values; `last` was filled above, or is null.
        unsafe { stream.launch(&place, pairs, &reads, &[&self.words, &self.header])? };
        Ok(true)
    }

    /// After a failure: an error if no constants can place the keys.
    fn check_residues(&self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        let Some(prime) = self.config.hash.prime().filter(|_| self.config.hash.formula() == Formula::Linear) else {
            return Ok(());
        };
        let pairs = keys.len() as u64;
        let unplaceable = Unplaceable::<K, V> {
            keys: keys.argument(),
            words: self.slots_pointer(),
            header: self.header.argument(),
            plan: PairsPlan { functions: self.functions, pairs },
        };
        // SAFETY: the slots were filled with these functions.
        unsafe { stream.launch(&unplaceable, pairs, &[keys, &self.words], &[&self.header])? };
        let found = self.header.download(stream)?;
        if found[header::UNPLACEABLE as usize] == 0 {
            return Ok(());
        }
        let key = found[header::UNPLACEABLE_KEY as usize];
        Err(Error::KeysAgreeModuloPrime { key, prime, functions: self.config.functions })
    }
}
