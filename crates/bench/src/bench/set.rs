//! Benchmarks of the sets.

use super::input::{Input, Repeats, repeated};
use super::page_build::Limits;
use super::record::{Record, Run, Subject};
use super::roofline::{Roofline, median_ms, median_stages};
use warpnest::kernels::primitives::roofline::Access;
use warpnest::{Buffer, CuckooSet, CuckooSetConfig, Device, Key, PageSet, PageSetConfig, PageStages, Result, Stream};

/// An operation that makes one set of two.
type Operation<S> = fn(&S, &Stream, &S) -> Result<S>;

/// A set that is built in one go, and its configuration.
trait BulkSet<K: Key>: Sized {
    type Config: Clone;
    /// The name of the set's type.
    const NAME: &'static str;
    fn build_on(config: &Self::Config, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self>;
    fn unique(config: &Self::Config) -> Self::Config;
    fn memory_bytes(&self) -> u64;
    fn len(&self) -> u64;
    fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()>;
    fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()>;
    /// The union, intersection and difference.
    const OPERATIONS: [Operation<Self>; 3];
}

macro_rules! bulk_set {
    ($set:ident, $config:ident) => {
        impl<K: Key> BulkSet<K> for $set<K> {
            type Config = $config;
            const NAME: &'static str = stringify!($set);
            fn build_on(config: &$config, stream: &Stream, device: &Device, keys: &Buffer<K>) -> Result<Self> {
                config.build_on(stream, device, keys)
            }
            fn unique(config: &$config) -> $config {
                config.clone().assume_unique()
            }
            fn memory_bytes(&self) -> u64 {
                self.memory_bytes()
            }
            fn len(&self) -> u64 {
                self.len()
            }
            fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
                self.rebuild(stream, keys)
            }
            fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()> {
                self.contains_many_into(stream, queries, found)
            }
            const OPERATIONS: [Operation<Self>; 3] = [$set::union, $set::intersection, $set::difference];
        }
    };
}
bulk_set!(PageSet, PageSetConfig);
bulk_set!(CuckooSet, CuckooSetConfig);

/// The size of a set to measure, and the number of runs.
pub struct Measured<'m> {
    pub device: &'m Device,
    pub run: &'m Run,
    pub roofline: &'m Roofline<'m>,
    pub n: u64,
    pub runs: u32,
}

impl Measured<'_> {
    /// Measures a `PageSet` with this load factor. The limits of builds are [`Limits`].
    pub fn page_set<K: Key>(&self, load: f64) -> anyhow::Result<Vec<Record>> {
        let config = PageSetConfig::default().load(load).seed(1);
        let unique = config.clone().assume_unique();
        let (stream, input) = (self.device.default_stream(), Input::<K, u32>::new(self.n));
        let keys = Buffer::from_slice(self.device, &input.keys)?;
        let set: PageSet<K> = unique.build_on(stream, self.device, &keys)?;
        let limits = Limits::new(self.roofline, self.n, K::BITS, set.memory_bytes(), set.layout().page_bits)?;
        let mut records = self.rows::<K, PageSet<K>>(&config, |_| Ok(limits.whole()))?;
        let stages_of = |config: &PageSetConfig| {
            let mut set = config.clone().timings().build_on(stream, self.device, &keys)?;
            median_stages(self.runs, PageStages::total, || {
                set.rebuild(stream, &keys)?;
                Ok(set.report().stages)
            })
        };
        for (op, ms, limit) in limits.stages([stages_of(&unique)?, stages_of(&config)?]) {
            records.push(self.run.record(self.subject(&set, op), ms, limit, 0));
        }
        Ok(records)
    }

    /// Measures a `CuckooSet` with so many slots a key. The limit of a build is a random exchange
    /// for each key.
    pub fn cuckoo_set<K: Key>(&self, slots_per_key: f64) -> anyhow::Result<Vec<Record>> {
        let config = CuckooSetConfig::default().slots_per_key(slots_per_key).seed(1);
        let limit = |set: &CuckooSet<K>| self.roofline.gops(Access::Insert, set.memory_bytes() / 8, self.n);
        self.rows(&config, limit)
    }

    fn subject<K: Key, S: BulkSet<K>>(&self, set: &S, op: &'static str) -> Subject<'static> {
        let load = (self.n * (K::BITS / 8) as u64) as f64 / set.memory_bytes() as f64;
        Subject { table: S::NAME, op, n: self.n, load, key_bits: K::BITS, value_bits: 0 }
    }

    /// Builds a set, looks up present and absent keys, combines the set with another, and builds
    /// from repeated keys.
    ///
    /// The other set has half of its keys and as many others. A build is a rebuild, in memory that
    /// is there; an operation on sets is a whole call, which allocates its memory anew.
    fn rows<K: Key, S: BulkSet<K>>(
        &self,
        config: &S::Config,
        build_limit: impl Fn(&S) -> Result<f64>,
    ) -> anyhow::Result<Vec<Record>> {
        let Self { device, run, roofline, n, runs } = *self;
        let stream = device.default_stream();
        let unique = S::unique(config);
        let input = Input::<K, u32>::new(n);
        let keys = Buffer::from_slice(device, &input.keys)?;
        let set = S::build_on(&unique, stream, device, &keys)?;
        let whole = build_limit(&set)?;
        let mut records = Vec::new();

        // The time, and the number of keys too many or too few.
        let built = |config: &S::Config, keys: &Buffer<K>, distinct: u64| -> anyhow::Result<_> {
            let mut set = S::build_on(config, stream, device, keys)?;
            let ms = median_ms(stream, 1, runs, || set.rebuild(stream, keys))?;
            Ok((ms, set.len().abs_diff(distinct)))
        };
        for (op, config) in [("build", &unique), ("build_any", config)] {
            let (ms, wrong) = built(config, &keys, n)?;
            records.push(run.record(self.subject(&set, op), ms, whole, wrong));
        }

        let find_limit = roofline.gops(Access::Find, set.memory_bytes() / 8, n)?;
        for (op, queries, present) in [("contains_hit", &input.present, true), ("contains_miss", &input.absent, false)]
        {
            let (ms, contained) = self.asked(&set, queries)?;
            let expected = if present { n } else { 0 };
            records.push(run.record(self.subject(&set, op), ms, find_limit, contained.abs_diff(expected)));
        }

        // Every second key, and as many others.
        let half = input.keys.iter().step_by(2).chain(input.absent.iter().step_by(2)).copied();
        let other = Buffer::from_slice(device, &half.collect::<Vec<K>>())?;
        let other = S::build_on(&unique, stream, device, &other)?;
        let common = n.div_ceil(2);
        let expected = [("union", n + common), ("intersection", common), ("difference", n - common)];
        for ((op, expected), operation) in expected.into_iter().zip(S::OPERATIONS) {
            let mut wrong = 0;
            let ms = median_ms(stream, 1, runs, || {
                wrong += operation(&set, stream, &other)?.len().abs_diff(expected);
                Ok(())
            })?;
            records.push(run.record(self.subject(&set, op), ms, 0.0, wrong));
        }
        drop(other);

        for repeats in [Repeats::Half, Repeats::Million, Repeats::Zipf] {
            let (keys, distinct) = repeated::<K>(n, repeats);
            let (ms, wrong) = built(config, &Buffer::from_slice(device, &keys)?, distinct)?;
            records.push(run.record(self.subject(&set, repeats.op()), ms, whole, wrong));
        }
        // In a set whose keys came twice, absent keys may be found absent sooner, since fewer slots
        // are taken.
        let (keys, distinct) = repeated::<K>(n, Repeats::Half);
        let repeated = S::build_on(config, stream, device, &Buffer::from_slice(device, &keys)?)?;
        let (ms, contained) = self.asked(&repeated, &input.absent)?;
        let wrong = contained + repeated.len().abs_diff(distinct);
        records.push(run.record(self.subject(&repeated, "contains_miss_half_repeated"), ms, find_limit, wrong));
        Ok(records)
    }

    /// The time of looking up `queries`, and the number that are there.
    fn asked<K: Key>(&self, set: &impl BulkSet<K>, queries: &[K]) -> anyhow::Result<(f64, u64)> {
        let stream = self.device.default_stream();
        let queries = Buffer::from_slice(self.device, queries)?;
        let mut found = Buffer::zeroed(self.device, queries.len().div_ceil(32))?;
        let ms = median_ms(stream, 2, self.runs, || set.contains_many_into(stream, &queries, &mut found))?;
        Ok((ms, found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum()))
    }
}
