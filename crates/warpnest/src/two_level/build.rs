//! The build of a two-level table: count, scan, shuffle, and build the buckets. If a bucket
//! overflows, another hash function is tried.

use super::report::{TwoLevelReport, TwoLevelStages};
use super::{TwoLevel, TwoLevelConfig, TwoLevelTable};
use crate::primitives::{Pairs, RadixPasses, Scratch, compact, flag_last_of_each, sort_pairs};
use crate::runtime::machine::Machine;
use crate::table::design::Builds;
use crate::table::input::{Input, Known};
use crate::table::stages::StageClock;
use crate::{Buffer, BuildError, Device, Error, Result, Stream};
use gpu_kernels::hash::{Family, Formula, HashFunctions};
use gpu_kernels::two_level::{BucketStarts, BuildBuckets, BuildParams, KEYS_OF_STARTS, Layout, StartsParams, header};
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::marker::PhantomData;

/// The outcome of an attempt.
enum Outcome {
    Built { found: Vec<u64>, passes: u32 },
    Overflow,
    Failure,
}

/// The sizes of a build, and the layout of its scratch: first the words of the passes, then storage
/// for the pairs, then the starts of the buckets.
pub(super) struct Plan<K, V> {
    pairs: u64,
    buckets: u64,
    /// The count of bits of a bucket index.
    bits: u32,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: ValueWord> Plan<K, V> {
    pub(super) fn new(pairs: u64, buckets: u64) -> Self {
        Self { pairs, buckets, bits: u64::BITS - (buckets - 1).leading_zeros(), types: PhantomData }
    }

    /// Returns the passes that sort the pairs by bucket. No pass is needed if there is one bucket.
    fn passes(&self, functions: HashFunctions, machine: Machine) -> RadixPasses<K, V> {
        RadixPasses::by_bucket(functions, self.bits, self.pairs, machine)
    }

    fn passes_words(&self) -> u64 {
        // The sizes do not depend on the functions.
        self.passes(HashFunctions::new(Formula::Mix, 1, 1, 0, K::BITS, || 0), Machine::UNKNOWN).words()
    }

    fn starts_at(&self) -> u64 {
        self.passes_words() + if self.bits == 0 { 0 } else { Pairs::<K, V>::words(self.pairs) }
    }

    pub(super) fn scratch_words(&self) -> u64 {
        self.starts_at() + (self.buckets + 1).div_ceil(2)
    }
}

/// The pairs to build from: the caller's pairs, or the same pairs without repeated keys.
struct Source<'i, K, V: ValueWord> {
    input: Input<'i, K, V>,
    buckets: u64,
}

impl Builds for TwoLevel {
    type Report = TwoLevelReport;

    fn sizes<K: KeyWord, P: Payload>(config: &TwoLevelConfig, items: u64) -> Result<(u64, u64)> {
        let buckets = config.check(items)?;
        let kept = 8 * (config.words::<K, WordOf<P>>(buckets) + header::WORDS as u64) + 4 * buckets;
        Ok((kept, 8 * Plan::<K, WordOf<P>>::new(items, buckets).scratch_words()))
    }

    fn build<K: KeyWord, P: Payload>(
        config: TwoLevelConfig,
        stream: &Stream,
        device: &Device,
        input: Input<'_, K, P>,
    ) -> Result<TwoLevelTable<K, WordOf<P>>> {
        let buckets = config.check(input.pairs)?;
        let mut map = TwoLevelTable {
            device: device.clone(),
            layout: layout::<K>(&config, buckets, || 0),
            words: Buffer::uninitialized(device, config.words::<K, WordOf<P>>(buckets) as usize)?,
            seeds: Buffer::uninitialized(device, buckets as usize)?,
            header: Buffer::uninitialized(device, header::WORDS)?,
            scratch: Scratch::new(device),
            length: 0,
            report: TwoLevelReport::default(),
            types: PhantomData,
            config,
        };
        map.attempt_until_built(stream, &Source { input: input.with_values(), buckets })?;
        map.scratch.release();
        Ok(map)
    }

    fn rebuild<K: KeyWord, P: Payload>(
        table: &mut TwoLevelTable<K, WordOf<P>>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<()> {
        let buckets = table.config.check(input.pairs)?;
        table.length = 0;
        let built = table.attempt_until_built(stream, &Source { input: input.with_values(), buckets });
        if built.is_err() {
            table.empty(stream);
        }
        built
    }

    fn config<K: KeyWord, P: Payload>(table: &TwoLevelTable<K, WordOf<P>>) -> &TwoLevelConfig {
        &table.config
    }

    fn report<K: KeyWord, P: Payload>(table: &TwoLevelTable<K, WordOf<P>>) -> &Self::Report {
        &table.report
    }
}

impl<K: KeyWord, V: ValueWord> TwoLevelTable<K, V> {
    /// Removes all keys, as after a failed rebuild.
    fn empty(&mut self, stream: &Stream) {
        self.length = 0;
        // If this fails too, the device is lost, and the first error says more.
        let _ = self.clear(stream);
    }

    /// Shrinks the memory of an empty table to the size of a table that is built without pairs.
    pub(super) fn shrink_empty(&mut self) -> Result<()> {
        let (device, tiny) = (&self.device, self.config.words::<K, V>(1) as usize);
        if self.words.len() > tiny || self.seeds.len() > 1 {
            let mut words = Buffer::uninitialized(device, tiny)?;
            words.fill(device.default_stream(), 0xff)?;
            let (seeds, header) = (Buffer::zeroed(device, 1)?, Buffer::zeroed(device, header::WORDS)?);
            (self.words, self.seeds, self.header) = (words, seeds, header);
            self.layout = layout::<K>(&self.config, 1, || 0);
        }
        Ok(())
    }

    fn clear(&mut self, stream: &Stream) -> Result<()> {
        self.words.fill(stream, 0xff)?;
        self.seeds.fill(stream, 0)?;
        self.header.fill(stream, 0)
    }

    fn attempt_until_built(&mut self, stream: &Stream, given: &Source<'_, K, V>) -> Result<()> {
        let seed = self.config.seed_or_random();
        let mut random = Xoshiro256StarStar::seed_from_u64(seed);
        let (mut overflows, mut failures) = (0, 0);
        // The pairs without repeated keys, the count of these pairs, and the count of buckets for
        // them.
        let mut unique: Option<(Buffer<K>, Buffer<V>, u64, u64)> = None;
        for restarts in 0..=self.config.most_restarts() {
            let source = match &unique {
                Some((keys, values, pairs, buckets)) => {
                    let input = Input { keys, values: Some(values), pairs: *pairs, known: Known::Nothing };
                    Source { input, buckets: *buckets }
                }
                None => Source { input: given.input, buckets: given.buckets },
            };
            let mut stages = StageClock::new(self.config.timings);
            match self.attempt(stream, &source, &mut random, &mut stages)? {
                Outcome::Built { found, passes } => {
                    let stages = stages.durations()?.map(TwoLevelStages::new);
                    let rounds = [header::MAX_ROUNDS, header::ROUNDS].map(|word| found[word as usize]);
                    let repeats = found[header::REPEATS as usize];
                    let pairs = source.input.pairs;
                    self.length = if self.config.unique { pairs } else { pairs - repeats };
                    self.report = TwoLevelReport {
                        seed,
                        overflows,
                        failures,
                        reseeded: found[header::RESEEDED as usize],
                        passes,
                        sorted: unique.is_some(),
                        rounds: self.config.statistics.then_some(rounds.into()),
                        stages,
                    };
                    return Ok(());
                }
                Outcome::Failure => failures += 1,
                Outcome::Overflow => {
                    overflows += 1;
                    // One overflow may be bad luck. Two may come from copies of one key, which no
                    // function can spread over buckets, so repeated keys are removed. That is done
                    // before the last attempt at the latest.
                    let left = self.config.most_restarts() - restarts;
                    if unique.is_none() && !self.config.unique && (left == 1 || left > 1 && overflows >= 2) {
                        let (keys, values, pairs) = self.without_repeats(stream, given.input)?;
                        unique = Some((keys, values, pairs, self.config.check(pairs)?));
                    }
                }
            }
        }
        Err(Error::BuildFailed(BuildError::TwoLevel {
            pairs: given.input.pairs,
            buckets: self.buckets(),
            overflows,
            failures,
            capacity: self.config.design.capacity,
        }))
    }

    /// Makes one attempt with new random constants.
    fn attempt(
        &mut self,
        stream: &Stream,
        source: &Source<'_, K, V>,
        random: &mut impl Rng,
        stages: &mut StageClock,
    ) -> Result<Outcome> {
        let buckets = source.buckets;
        self.ensure_capacity(buckets)?;
        self.layout = layout::<K>(&self.config, buckets, || random.next_u64());
        let bucket_seed = random.next_u32();
        let plan = Plan::<K, V>::new(source.input.pairs, buckets);
        let passes = plan.passes(self.layout.buckets, stream.machine());
        let Self { scratch, words, seeds, header, layout, config, .. } = self;
        let scratch = scratch.reserve(plan.scratch_words())?;

        // SAFETY: for all launches, the scratch has the words of its plan, and the table's words
        // are enough for all pairs. The passes move the pairs between the two, and the last pass
        // writes to the scratch. There is a seed for each bucket, and one start more.
        stream.batch(|batch| unsafe {
            let work = batch.write(scratch);
            let input = source.input.read(batch);
            let in_scratch = Pairs::at(work.offset(plan.passes_words()), plan.pairs);
            let in_table = Pairs::at(batch.write(words), plan.pairs);
            let starts = work.offset(plan.starts_at()).cast::<u32>();
            stages.lap(batch)?;
            batch.zero(header, header::WORDS)?;
            passes.clear(batch, scratch)?;
            stages.lap(batch)?;
            if passes.digits() > 0 {
                passes.count(batch, scratch, input.keys)?;
            }
            stages.lap(batch)?;
            if passes.digits() > 0 {
                passes.scan(batch, scratch)?;
            }
            stages.lap(batch)?;
            let mut from = input;
            for pass in 0..passes.digits() {
                let to = if (passes.digits() - pass) % 2 == 1 { in_scratch } else { in_table };
                passes.pass(batch, scratch, pass, from, to)?;
                from = to;
            }
            let plan_of_starts = StartsParams { functions: layout.buckets, pairs: plan.pairs };
            let find_starts = BucketStarts { keys: from.keys, starts, plan: plan_of_starts };
            batch.launch(&find_starts, (plan.pairs + 1).div_ceil(KEYS_OF_STARTS as u64))?;
            stages.lap(batch)?;
            let build = BuildBuckets {
                keys: from.keys,
                values: from.values,
                starts,
                words_out: batch.write(words).cast(),
                seeds: batch.write(seeds),
                header: batch.write(header),
                plan: BuildParams {
                    layout: *layout,
                    capacity: config.design.capacity,
                    seed: bucket_seed,
                    seeds: config.most_seeds(),
                    rounds: config.most_rounds(),
                    statistics: config.statistics as u32,
                    padding: 0,
                },
            };
            batch.launch_blocks(&build, buckets)?;
            stages.lap(batch)
        })?;
        let found = self.header.download(stream)?;
        Ok(match (found[header::OVERFLOW as usize], found[header::FAILED as usize]) {
            (0, 0) => Outcome::Built { found, passes: passes.digits() },
            (0, _) => Outcome::Failure,
            _ => Outcome::Overflow,
        })
    }

    /// Allocates more memory if the table is too small for `buckets` buckets.
    fn ensure_capacity(&mut self, buckets: u64) -> Result<()> {
        let words = self.config.words::<K, V>(buckets) as usize;
        if self.words.len() < words {
            // A tiny table is allocated first, so that an empty table is left if the large one
            // cannot be allocated.
            self.words = Buffer::uninitialized(&self.device, self.config.words::<K, V>(1) as usize)?;
            self.layout = layout::<K>(&self.config, 1, || 0);
            self.words = Buffer::uninitialized(&self.device, words)?;
        }
        if self.seeds.len() < buckets as usize {
            self.seeds = Buffer::uninitialized(&self.device, buckets as usize)?;
        }
        Ok(())
    }

    /// Returns the pairs sorted by key, with only the last pair in input order of each key.
    fn without_repeats(&mut self, stream: &Stream, input: Input<'_, K, V>) -> Result<(Buffer<K>, Buffer<V>, u64)> {
        let (device, pairs) = (&self.device, input.pairs as usize);
        let mut sorted_keys = Buffer::uninitialized(device, pairs)?;
        let mut sorted_values = Buffer::uninitialized(device, pairs)?;
        stream.batch(|batch| {
            batch.copy(input.keys, 0..pairs * size_of::<K>(), &sorted_keys)?;
            input.values.map_or(Ok(()), |values| batch.copy(values, 0..pairs * size_of::<V>(), &sorted_values))
        })?;
        sort_pairs(stream, &mut self.scratch, &mut sorted_keys, &mut sorted_values)?;
        let mut keep = Buffer::uninitialized(device, pairs.div_ceil(32))?;
        flag_last_of_each(stream, &sorted_keys, &mut keep)?;
        let mut unique_keys = Buffer::uninitialized(device, pairs)?;
        let mut count = Buffer::uninitialized(device, 1)?;
        compact(stream, &mut self.scratch, &sorted_keys, &keep, &mut unique_keys, &mut count)?;
        // The sorted keys are no longer needed. They are freed because there should never be three
        // copies of the pairs at once.
        drop(sorted_keys);
        let mut unique_values = Buffer::uninitialized(device, pairs)?;
        compact(stream, &mut self.scratch, &sorted_values, &keep, &mut unique_values, &mut count)?;
        let pairs = count.download(stream)?[0] as u64;
        Ok((unique_keys, unique_values, pairs))
    }
}

pub(super) fn layout<K: KeyWord>(config: &TwoLevelConfig, buckets: u64, random: impl FnMut() -> u64) -> Layout {
    let (hash, inner) = (config.design.hash, config.design.sub_table_hash);
    let prime = hash.prime().unwrap_or(0);
    Layout {
        buckets: HashFunctions::new(hash.formula(), 1, buckets as u32, prime, K::BITS, random),
        slot_hashes: Family::new(
            inner.formula(),
            config.design.sub_tables,
            config.design.sub_table_slots,
            inner.prime().unwrap_or(0),
        ),
    }
}
