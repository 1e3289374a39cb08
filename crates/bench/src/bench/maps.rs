//! The common parts of measurements of maps: building and looking up.

use super::Bench;
use super::input::{Input, wrong_hits, wrong_misses};
use super::record::{Record, Run, Subject};
use super::roofline::{median_ms, median_stages};
use warpnest::design::{Builds, Design};
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, Result};
use warpnest_bench_kernels::roofline::Access;

/// The input of a measurement, with its keys and values on a device.
pub struct Subjects<'d, K, V> {
    pub device: &'d Device,
    pub input: Input<K, V>,
    pub keys: Buffer<K>,
    pub values: Buffer<V>,
    pub runs: u32,
}

/// The name, the time and the limit of a stage of a build.
pub type Stage = (&'static str, f64, f64);

impl<'d, K: Key, V: Value> Subjects<'d, K, V> {
    pub fn new(device: &'d Device, n: u64, runs: u32) -> Result<Self> {
        let input = Input::new(n);
        let keys = Buffer::from_slice(device, &input.keys)?;
        let values = Buffer::from_slice(device, &input.values)?;
        Ok(Self { device, input, keys, values, runs })
    }

    /// Returns the subject of a measurement of `op` in `map`.
    pub fn subject<D: Design>(&self, map: &BulkMap<K, V, D>, op: &'static str) -> Subject<'static> {
        let n = self.input.keys.len() as u64;
        Subject::new(format!("{}Map", D::NAME), op, n, [K::BITS, V::BITS], map.memory_bytes() as u64)
    }

    pub fn build<D: Builds>(&self, config: &Config<D>) -> Result<BulkMap<K, V, D>> {
        config.build(self.device, &self.keys, &self.values)
    }

    /// Measures a rebuild of `map`, in milliseconds.
    pub fn rebuild_ms<D: Builds>(&self, map: &mut BulkMap<K, V, D>) -> Result<f64> {
        let stream = self.device.default_stream();
        median_ms(stream, 1, self.runs, || map.rebuild(&self.keys, &self.values))
    }

    /// Returns the stages of a rebuild of `map`, if its reports have stages.
    pub fn stages<D: Builds, S>(
        &self,
        map: &mut BulkMap<K, V, D>,
        total: impl Fn(&S) -> f64,
        of: impl Fn(&D::Report) -> Option<S>,
    ) -> Result<Option<S>> {
        median_stages(self.runs, total, || {
            map.rebuild(&self.keys, &self.values)?;
            Ok(of(map.report()))
        })
    }

    /// Measures the lookup of `queries` in `map`, and returns its milliseconds and the answers.
    pub fn find<D: Design>(&self, map: &BulkMap<K, V, D>, queries: &Buffer<K>) -> Result<(f64, Vec<Option<V>>)> {
        let stream = self.device.default_stream();
        let mut answers = Answers::new(self.device, queries.len())?;
        let ms = median_ms(stream, 2, self.runs, || map.get_many_into(stream, queries, &mut answers))?;
        Ok((ms, answers.download(stream)?))
    }

    /// Looks up every key, and equally many absent keys. Returns the records and the number of keys
    /// with wrong answers.
    pub fn lookups<D: Design>(&self, run: &Run, map: &BulkMap<K, V, D>, limit: f64) -> Result<(Vec<Record>, u64)> {
        let stream = self.device.default_stream();
        let mut records = Vec::new();
        let mut wrong_keys = 0;
        for (queries, present) in [(&self.input.present, true), (&self.input.absent, false)] {
            let buffer = Buffer::from_slice(self.device, queries)?;
            let (find_ms, answers) = self.find(map, &buffer)?;
            let wrong = if present { wrong_hits(queries, &answers) } else { wrong_misses(&answers) };
            let mut found = Buffer::zeroed(self.device, queries.len().div_ceil(32))?;
            let contains_ms = median_ms(stream, 2, self.runs, || map.contains_many_into(stream, &buffer, &mut found))?;
            let expected = if present { queries.len() as u64 } else { 0 };
            let contained: u64 = found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum();
            let (find, contains) = if present { ("find_hit", "contains_hit") } else { ("find_miss", "contains_miss") };
            records.push(run.record(self.subject(map, find), find_ms, limit, wrong));
            records.push(run.record(self.subject(map, contains), contains_ms, limit, contained.abs_diff(expected)));
            if present {
                wrong_keys = wrong;
            }
        }
        Ok((records, wrong_keys))
    }

    /// Builds a map with `assume_unique` and a map without it, and looks up present and absent keys
    /// in the second map, which it returns.
    ///
    /// `details` gets the first map, and returns the limits of both builds and the stages of
    /// builds.
    pub fn builds<D: Builds>(
        &self,
        Bench { run, roofline, n, .. }: Bench<'_>,
        config: &Config<D>,
        details: impl FnOnce(BulkMap<K, V, D>) -> anyhow::Result<([f64; 2], Vec<Stage>)>,
    ) -> anyhow::Result<(BulkMap<K, V, D>, Vec<Record>)> {
        let mut map = self.build(&config.clone().assume_unique())?;
        let find_limit = roofline.gops(Access::Find, (map.memory_bytes() / 8) as u64, n)?;
        let build_ms = self.rebuild_ms(&mut map)?;
        let ([limit, any_limit], stages) = details(map)?;
        let mut map = self.build(config)?;
        let any_ms = self.rebuild_ms(&mut map)?;
        let (lookups, wrong) = self.lookups(run, &map, find_limit)?;
        // A build is charged with the wrong answers of its map.
        let builds = [("build", build_ms, limit), ("build_any", any_ms, any_limit)].into_iter().chain(stages);
        let records = builds.map(|(op, ms, limit)| run.record(self.subject(&map, op), ms, limit, wrong));
        let records = records.chain(lookups).collect();
        Ok((map, records))
    }
}
