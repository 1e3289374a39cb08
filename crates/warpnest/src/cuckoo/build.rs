//! The build of a cuckoo table: attempts until one succeeds, and then the resolution of repeated
//! keys.

use super::config::table_words;
use super::report::{CuckooReport, EvictionChains};
use super::{Cuckoo, CuckooConfig, CuckooTable};
use crate::primitives::Pairs;
use crate::table::design::Builds;
use crate::table::input::{Input, Known};
use crate::{Buffer, BuildError, Device, Error, Result, Stream};
use gpu_kernels::cuckoo::{Census, Insert, InsertParams, Last, PairsParams, StoreValues, header, packed};
use gpu_kernels::hash::{Formula, HashFunctions};
use gpu_kernels::types::{KeyWord, Payload, WordOf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

impl Builds for Cuckoo {
    type Report = CuckooReport;

    /// Returns 0 bytes of scratch, because a build works in the table unless keys are repeated.
    fn sizes<K: KeyWord, P: Payload>(config: &CuckooConfig, items: u64) -> Result<(u64, u64)> {
        Ok((8 * (table_words::<K, P>(config.check(items)?) + header::WORDS as u64), 0))
    }

    fn build<K: KeyWord, P: Payload>(
        config: CuckooConfig,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<CuckooTable<K, P>> {
        let slots = config.check(input.pairs)?;
        let words = Buffer::uninitialized(device, table_words::<K, P>(slots) as usize)?;
        let mut map = CuckooTable {
            device: device.clone(),
            functions: HashFunctions::new(Formula::Mix, config.design.functions, slots as u32, 0, K::BITS, || 0),
            words,
            header: Buffer::uninitialized(device, header::WORDS)?,
            length: 0,
            report: CuckooReport { seed: 0, restarts: 0, chain_limit: 0, repeated_keys: false, chains: None },
            types: PhantomData,
            config,
        };
        map.attempt_until_built(stream, &input)?;
        Ok(map)
    }

    /// Rebuilds the table in its present slots.
    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut CuckooTable<K, P>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()> {
        table.config.clone().slots(table.slots()).check_size(input.pairs)?;
        table.rebuild_in_place(stream, &input)
    }

    fn config<K: KeyWord, P: Payload>(table: &CuckooTable<K, P>) -> &CuckooConfig {
        &table.config
    }

    fn report<K: KeyWord, P: Payload>(table: &CuckooTable<K, P>) -> &Self::Report {
        &table.report
    }
}

impl<K: KeyWord, V: Payload> CuckooTable<K, V> {
    /// Rebuilds the table with the slots that its configuration requires for the input. Reuses its
    /// memory if that is large enough.
    pub(super) fn resize_and_rebuild(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<()> {
        let slots = self.config.check_size(input.pairs)?;
        let words = table_words::<K, V>(slots) as usize;
        if self.words.len() < words {
            self.length = 0;
            // A tiny table is allocated first, so that an empty table is left if the large one
            // cannot be allocated.
            self.words = Buffer::uninitialized(&self.device, table_words::<K, V>(1) as usize)?;
            self.give_slots(1);
            self.words = Buffer::uninitialized(&self.device, words)?;
        }
        self.give_slots(slots as u32);
        self.rebuild_in_place(stream, &input)
    }

    /// Rebuilds the table from input that fits its slots.
    fn rebuild_in_place(&mut self, stream: &Stream, input: &Input<'_, K, V>) -> Result<()> {
        self.length = 0;
        let built = self.attempt_until_built(stream, input);
        if built.is_err() {
            self.empty(stream);
        }
        built
    }

    /// Sets the hash functions to range over `slots` slots, for which the memory must be large
    /// enough. Each build attempt draws their constants anew.
    fn give_slots(&mut self, slots: u32) {
        self.functions = HashFunctions::new(Formula::Mix, self.config.design.functions, slots, 0, K::BITS, || 0);
    }

    /// Removes all keys, as after a failed rebuild.
    pub(super) fn empty(&mut self, stream: &Stream) {
        self.length = 0;
        // If this fails too, the device is lost, and the first error says more.
        let _ = self.clear(stream);
    }

    fn clear(&mut self, stream: &Stream) -> Result<()> {
        let words = table_words::<K, V>(self.slots()) as usize;
        stream.batch(|batch| {
            batch.fill(&self.words, words, 0xff)?;
            batch.zero(&self.header, header::WORDS)
        })
    }

    fn attempt_until_built(&mut self, stream: &Stream, input: &Input<'_, K, V>) -> Result<()> {
        let pairs = input.pairs;
        let seed = input.ordered_by().or(self.config.seed).unwrap_or_else(crate::hash::random_seed);
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        let chain_limit = self.config.chain_limit_for(pairs, self.slots());
        for restarts in 0..=self.config.most_restarts() {
            let (hash, count, slots) = (self.config.design.hash, self.config.design.functions, self.functions.slots());
            let prime = hash.prime().unwrap_or(0);
            self.functions = HashFunctions::new(hash.formula(), count, slots, prime, K::BITS, || random.next_u64());
            self.clear(stream)?;
            self.insert(stream, input, chain_limit)?;
            let mut counted = !self.config.unique_given(input.known);
            if counted {
                self.count(stream)?;
            }
            let mut found = self.header.download(stream)?;
            if V::VALUE_BITS == 0 && !counted && found[header::REPEATED as usize] != 0 {
                // The promise of unique keys was broken. Copies that met during eviction are merged
                // already, so there are fewer keys than were inserted.
                self.count(stream)?;
                counted = true;
                found = self.header.download(stream)?;
            }
            if found[header::FAILED as usize] != 0 {
                // Other constants would not separate equal residues.
                if restarts == 0 {
                    self.check_residues(stream, input)?;
                }
                continue;
            }
            let repeated_keys = found[header::REPEATED as usize] != 0;
            let whole = match V::VALUE_BITS {
                // The count erased the copies already, so only dropped keys remain to be checked.
                0 => found[header::DROPPED as usize] == 0 || self.find_all(stream, input, None)?,
                _ => self.store_values(stream, input, repeated_keys)?,
            };
            if !whole {
                continue;
            }
            let in_cell = (found[header::CELL as usize] != 0) as u64;
            self.length = if counted { found[header::KEYS as usize] + in_cell } else { pairs };
            let chains = self.config.statistics.then(|| EvictionChains {
                longest: found[header::LONGEST as usize] as u32,
                mean: found[header::EXCHANGES as usize] as f64 / pairs.max(1) as f64,
            });
            self.report = CuckooReport { seed, restarts, chain_limit, repeated_keys, chains };
            return Ok(());
        }
        Err(Error::BuildFailed(BuildError::Cuckoo {
            attempts: self.config.most_restarts() + 1,
            pairs,
            slots: self.slots(),
            functions: self.config.design.functions,
            chain_limit,
        }))
    }

    /// Makes one attempt, in which every thread inserts a pair.
    fn insert(&self, stream: &Stream, input: &Input<'_, K, V>, chain_limit: u32) -> Result<()> {
        let (functions, statistics) = (self.functions, self.config.statistics as u32);
        let plan = InsertParams { functions, pairs: input.pairs, chain_limit, statistics };
        stream.batch(|batch| {
            let Pairs { keys, values } = input.read(batch);
            let (words, header) = (batch.write(&self.words).cast(), batch.write(&self.header));
            let insert = Insert::<K, V> { keys, values, words, header, plan };
            // SAFETY: there is a value for each key. `clear` left the slots empty and the header 0.
            unsafe { batch.launch(&insert, plan.pairs) }
        })
    }

    /// Counts the keys after an insertion, and erases copies of keys if the table is a set.
    fn count(&self, stream: &Stream) -> Result<()> {
        stream.batch(|batch| {
            let (words, header) = (batch.write(&self.words).cast(), batch.write(&self.header));
            let census = Census::<K, V> { words, header, functions: self.functions };
            // SAFETY: the slots were filled with these functions.
            unsafe { batch.launch(&census, self.slots()) }
        })
    }

    /// Stores the values that the insertion did not move with the keys. A repeated key gets its
    /// last value, unless any value will do. Returns whether every key is in the table. This is
    /// checked only if a key was found twice (see [`Last`]).
    fn store_values(&mut self, stream: &Stream, input: &Input<'_, K, V>, repeated: bool) -> Result<bool> {
        let any_values = input.known == Known::AnyValues;
        let wants_last = repeated && !self.config.unique_given(input.known) && !any_values;
        let last = wants_last.then(|| Buffer::<u32>::zeroed(&self.device, self.slots() as usize)).transpose()?;
        if repeated && !self.find_all(stream, input, last.as_ref())? {
            return Ok(false);
        }
        if any_values || packed::<K, V>() && !wants_last {
            return Ok(true);
        }
        stream.batch(|batch| {
            let Pairs { keys, values } = input.read(batch);
            let store = StoreValues::<K, WordOf<V>> {
                keys,
                values,
                words: batch.write(&self.words).cast(),
                header: batch.write(&self.header),
                // SAFETY: the kernel's documentation allows null for `last`.
                last: unsafe { batch.read_or_null(last.as_ref()) },
                plan: PairsParams { functions: self.functions, pairs: input.pairs },
            };
            // SAFETY: there is a value for each key. `last` was filled by `find_all`, or is null. A
            // payload other than `Nothing` is its own word.
            unsafe { batch.launch(&store, input.pairs) }
        })?;
        Ok(true)
    }

    /// Returns whether every key is in the table. If `last` is given, writes the index of each
    /// key's last pair to it.
    fn find_all(&self, stream: &Stream, input: &Input<'_, K, V>, last: Option<&Buffer<u32>>) -> Result<bool> {
        stream.batch(|batch| {
            let find_last = Last::<K, V> {
                keys: batch.read(input.keys),
                words: batch.read(&self.words).cast(),
                header: batch.write(&self.header),
                // SAFETY: the kernel's documentation allows null for `last`.
                last: unsafe { batch.write_or_null(last) },
                plan: PairsParams { functions: self.functions, pairs: input.pairs },
            };
            // SAFETY: `last` is null, or has a word of 0 for each slot.
            unsafe { batch.launch(&find_last, input.pairs) }
        })?;
        Ok(self.header.download(stream)?[header::FAILED as usize] == 0)
    }

    /// Returns an error if no constants can place the keys, which is so if more keys agree modulo
    /// the prime of the exact linear family than there are functions. Copies all keys to the host.
    fn check_residues(&self, stream: &Stream, input: &Input<'_, K, V>) -> Result<()> {
        let (hash, functions) = (self.config.design.hash, self.config.design.functions);
        let Some(prime) = hash.prime().filter(|_| hash.formula() == Formula::Linear) else { return Ok(()) };
        let keys = input.keys.download_front(stream, input.pairs as usize)?;
        // The key that is all ones is stored in the cell.
        let in_slots = keys.into_iter().filter(|&key| key != K::ALL_ONES);
        let mut by_residue: Vec<(u64, K)> = in_slots.map(|key| (self.functions.residue(key), key)).collect();
        by_residue.sort_unstable();
        by_residue.dedup();
        let agree = |one: &(u64, K), other: &(u64, K)| one.0 == other.0;
        match by_residue.chunk_by(agree).find(|alike| alike.len() > functions as usize) {
            None => Ok(()),
            Some(alike) => {
                let key = alike[0].1.to_u64();
                Err(Error::BuildFailed(BuildError::KeysAgreeModuloPrime { key, prime, functions }))
            }
        }
    }
}
