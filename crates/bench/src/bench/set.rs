//! Benchmarks of the sets.

use super::Bench;
use super::input::{Input, Repeats, repeated};
use super::page_build::Limits;
use super::record::{Record, Subject};
use super::roofline::{median_ms, median_stages};
use warpnest::design::Sets;
use warpnest::design::{BulkSet, Config};
use warpnest::page::PageStages;
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, CuckooConfig, PageConfig, Result};
use warpnest_bench_kernels::roofline::Access;

impl Bench<'_> {
    /// Measures a `PageSet` with this load factor. The limits of builds are [`Limits`].
    pub fn page_set<K: Key>(&self, load: f64) -> anyhow::Result<Vec<Record>> {
        let config = PageConfig::default().load(load).seed(1);
        let unique = config.clone().assume_unique();
        let input = Input::<K, u32>::new(self.n);
        let keys = Buffer::from_slice(self.device, &input.keys)?;
        let set = unique.build_set(self.device, &keys)?;
        let page_bits = set.table().layout().page_bits;
        let limits = Limits::new(self.roofline, self.n, K::BITS, set.memory_bytes() as u64, page_bits)?;
        let mut records = self.set(&config, |_: &BulkSet<K, _>| Ok(limits.whole()))?;
        let stages_of = |config: &PageConfig| {
            let mut set = config.clone().timings().build_set(self.device, &keys)?;
            median_stages(self.runs, PageStages::total, || {
                set.rebuild(&keys)?;
                Ok(set.report().stages)
            })
        };
        for (op, ms, limit) in limits.stages([stages_of(&unique)?, stages_of(&config)?]) {
            records.push(self.run.record(self.subject_of(&set, op), ms, limit, 0));
        }
        Ok(records)
    }

    /// Measures a `CuckooSet` with `slots_per_key` slots per key. The limit of a build is a random
    /// exchange for each key.
    pub fn cuckoo_set<K: Key>(&self, slots_per_key: f64) -> anyhow::Result<Vec<Record>> {
        let config = CuckooConfig::default().slots_per_pair(slots_per_key).seed(1);
        let limit = |set: &BulkSet<K, _>| self.roofline.gops(Access::Insert, (set.memory_bytes() / 8) as u64, self.n);
        self.set(&config, limit)
    }

    fn subject_of<K: Key, D: Sets>(&self, set: &BulkSet<K, D>, op: &'static str) -> Subject<'static> {
        Subject::new(format!("{}Set", D::NAME), op, self.n, [K::BITS, 0], set.memory_bytes() as u64)
    }

    /// Builds a set, looks up present and absent keys, combines the set with another set, and
    /// builds from repeated keys.
    ///
    /// The other set has half of the keys and equally many other keys. A build is a rebuild, in
    /// existing memory. An operation on sets is a whole call, which allocates its memory.
    fn set<K: Key, D: Sets>(
        &self,
        config: &Config<D>,
        build_limit: impl Fn(&BulkSet<K, D>) -> Result<f64>,
    ) -> anyhow::Result<Vec<Record>> {
        let Self { device, run, roofline, n, runs } = *self;
        let stream = device.default_stream();
        let unique = config.clone().assume_unique();
        let input = Input::<K, u32>::new(n);
        let keys = Buffer::from_slice(device, &input.keys)?;
        let set = unique.build_set(device, &keys)?;
        let whole = build_limit(&set)?;
        let mut records = Vec::new();

        // Returns the time, and the absolute error of the number of keys.
        let built = |config: &Config<D>, keys: &Buffer<K>, distinct: u64| -> anyhow::Result<_> {
            let mut set = config.build_set(device, keys)?;
            let ms = median_ms(stream, 1, runs, || set.rebuild(keys))?;
            Ok((ms, (set.len() as u64).abs_diff(distinct)))
        };
        for (op, config) in [("build", &unique), ("build_any", config)] {
            let (ms, wrong) = built(config, &keys, n)?;
            records.push(run.record(self.subject_of(&set, op), ms, whole, wrong));
        }

        let find_limit = roofline.gops(Access::Find, (set.memory_bytes() / 8) as u64, n)?;
        for (op, queries, present) in [("contains_hit", &input.present, true), ("contains_miss", &input.absent, false)]
        {
            let (ms, contained) = self.asked(&set, queries)?;
            let expected = if present { n } else { 0 };
            records.push(run.record(self.subject_of(&set, op), ms, find_limit, contained.abs_diff(expected)));
        }

        // Every second key, and equally many other keys.
        let half = input.keys.iter().step_by(2).chain(input.absent.iter().step_by(2)).copied();
        let other = Buffer::from_slice(device, &half.collect::<Vec<K>>())?;
        let other = unique.build_set(device, &other)?;
        let common = n.div_ceil(2);
        let operations: [(_, fn(&_, &_) -> _, _); 3] = [
            ("union", BulkSet::<K, D>::union, n + common),
            ("intersection", BulkSet::intersection, common),
            ("difference", BulkSet::difference, n - common),
        ];
        for (op, operation, expected) in operations {
            let mut wrong = 0;
            let ms = median_ms(stream, 1, runs, || {
                wrong += (operation(&set, &other)?.len() as u64).abs_diff(expected);
                Ok(())
            })?;
            records.push(run.record(self.subject_of(&set, op), ms, 0.0, wrong));
        }
        drop(other);

        for repeats in [Repeats::Half, Repeats::Million, Repeats::Zipf] {
            let (keys, distinct) = repeated::<K>(n, repeats);
            let (ms, wrong) = built(config, &Buffer::from_slice(device, &keys)?, distinct)?;
            records.push(run.record(self.subject_of(&set, repeats.op()), ms, whole, wrong));
        }
        // In a set whose keys came twice, lookups of absent keys may end sooner, because fewer
        // slots are taken.
        let (keys, distinct) = repeated::<K>(n, Repeats::Half);
        let repeated = config.build_set(device, &Buffer::from_slice(device, &keys)?)?;
        let (ms, contained) = self.asked(&repeated, &input.absent)?;
        let wrong = contained + (repeated.len() as u64).abs_diff(distinct);
        records.push(run.record(self.subject_of(&repeated, "contains_miss_half_repeated"), ms, find_limit, wrong));
        Ok(records)
    }

    /// Returns the time of looking up `queries`, and the number of queries that are in the set.
    fn asked<K: Key, D: Sets>(&self, set: &BulkSet<K, D>, queries: &[K]) -> Result<(f64, u64)> {
        let stream = self.device.default_stream();
        let queries = Buffer::from_slice(self.device, queries)?;
        let mut found = Buffer::zeroed(self.device, queries.len().div_ceil(32))?;
        let ms = median_ms(stream, 2, self.runs, || set.contains_many_into(stream, &queries, &mut found))?;
        Ok((ms, found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum()))
    }
}
