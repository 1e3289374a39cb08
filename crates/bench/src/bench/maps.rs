//! What maps have in common for measurements: rebuilding and looking up.

use super::input::{Input, wrong_hits, wrong_misses};
use super::record::{Record, Run, Subject};
use super::roofline::median_ms;
use warpnest::{
    Answers, Buffer, CuckooMap, Device, ExtendibleMap, Key, LinearMap, PageMap, Result, SortedMap, Stream, TwoLevelMap,
    Value,
};

/// A map that takes all pairs at once.
pub trait BulkMap<K: Key, V: Value> {
    /// The name of the map's type.
    fn name(&self) -> &'static str;
    fn memory_bytes(&self) -> u64;
    fn rebuild(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()>;
    fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<V>) -> Result<()>;
    fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()>;
}

/// Implements [`BulkMap`] for maps by their methods; they differ in how they get other pairs.
macro_rules! bulk_maps {
    ($($map:ident),+: |$this:ident, $stream:ident, $keys:ident, $values:ident| $rebuild:expr) => {
        $(impl<K: Key, V: Value> BulkMap<K, V> for $map<K, V> {
            fn name(&self) -> &'static str {
                stringify!($map)
            }
            fn memory_bytes(&self) -> u64 {
                self.memory_bytes()
            }
            fn rebuild(&mut self, $stream: &Stream, $keys: &Buffer<K>, $values: &Buffer<V>) -> Result<()> {
                let $this = self;
                $rebuild
            }
            fn get_many_into(&self, stream: &Stream, queries: &Buffer<K>, answers: &mut Answers<V>) -> Result<()> {
                self.get_many_into(stream, queries, answers)
            }
            fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut Buffer<u32>) -> Result<()> {
                self.contains_many_into(stream, queries, found)
            }
        })+
    };
}
bulk_maps! { CuckooMap, TwoLevelMap, PageMap, SortedMap: |map, stream, keys, values| map.rebuild(stream, keys, values) }
bulk_maps! {
    LinearMap, ExtendibleMap: |map, stream, keys, values| {
        map.clear(stream)?;
        map.insert_many_on(stream, keys, values).map(drop)
    }
}

/// The input of one measurement, on a device.
pub struct Subjects<'d, K, V> {
    pub device: &'d Device,
    pub input: Input<K, V>,
    pub keys: Buffer<K>,
    pub values: Buffer<V>,
    pub runs: u32,
}

impl<'d, K: Key, V: Value> Subjects<'d, K, V> {
    pub fn new(device: &'d Device, n: u64, runs: u32) -> Result<Self> {
        let input = Input::new(n);
        let keys = Buffer::from_slice(device, &input.keys)?;
        let values = Buffer::from_slice(device, &input.values)?;
        Ok(Self { device, input, keys, values, runs })
    }

    /// The subject of a measurement of `op` in `map`.
    pub fn subject(&self, map: &dyn BulkMap<K, V>, op: &'static str) -> Subject<'static> {
        let n = self.input.keys.len() as u64;
        let load = (n * (K::BITS + V::BITS) as u64 / 8) as f64 / map.memory_bytes() as f64;
        Subject { table: map.name(), op, n, load, key_bits: K::BITS, value_bits: V::BITS }
    }

    /// Milliseconds of building `map` anew.
    pub fn rebuild_ms(&self, map: &mut dyn BulkMap<K, V>) -> Result<f64> {
        let stream = self.device.default_stream();
        median_ms(stream, 1, self.runs, || map.rebuild(stream, &self.keys, &self.values))
    }

    /// Milliseconds of looking up `queries` in `map`, and the answers.
    pub fn find(&self, map: &dyn BulkMap<K, V>, queries: &Buffer<K>) -> Result<(f64, Vec<Option<V>>)> {
        let stream = self.device.default_stream();
        let mut answers = Answers::new(self.device, queries.len())?;
        let ms = median_ms(stream, 2, self.runs, || map.get_many_into(stream, queries, &mut answers))?;
        Ok((ms, answers.download(stream)?))
    }

    /// Looks up every key, and as many absent ones. Returns the records and the number of keys with
    /// wrong answers.
    pub fn lookups(&self, run: &Run, map: &dyn BulkMap<K, V>, limit: f64) -> Result<(Vec<Record>, u64)> {
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
}
