//! Benchmarks of batches that change a page map.

use super::Bench;
use super::input::{key, wrong_hits, wrong_misses};
use super::maps::Subjects;
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, PageConfig, PageMap};
use warpnest_bench_kernels::roofline::Access;

/// The batches to add, as inverses of their shares of the table.
const ADDED: [(&str, u64); 5] = [("add_1/2", 2), ("add_1/4", 4), ("add_1/8", 8), ("add_1/16", 16), ("add_1/32", 32)];
/// The batches to remove, as inverses of their shares.
const REMOVED: [(&str, u64); 3] = [("remove_1/4", 4), ("remove_1/16", 16), ("remove_1/32", 32)];
/// Batches to add that are small beside a large table.
const SMALL_ADDED: [(&str, u64); 3] = [("add_2^20", 1 << 20), ("add_2^18", 1 << 18), ("add_2^16", 1 << 16)];
/// Batches to remove that are small beside a large table.
const SMALL_REMOVED: [(&str, u64); 2] = [("remove_2^20", 1 << 20), ("remove_2^16", 1 << 16)];

/// The inverse of the share of the keys that are replaced in a round.
const ROUND: u64 = 10;
/// The number of chunks of keys. A removed key comes back after `CHUNKS - ROUND` rounds.
const CHUNKS: u64 = 40;
/// The number of rounds whose times are averaged.
const AVERAGED: usize = 10;
/// The inverse of the share of keys that are replaced in a small round.
const SMALL_ROUND: u64 = 128;
/// The number of small rounds before a batch would rewrite the pages.
const SMALL_ROUNDS: u64 = 15;

/// Adds batches to a map that then has `n` pairs, which fill it to `load`, and removes batches from
/// it. A record's `n` is the size of the batch.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, load: f64) -> anyhow::Result<Vec<Record>> {
    let n = at.n;
    let subjects = Subjects::<K, V>::new(at.device, n, at.runs)?;
    let config = PageConfig::default().load(load).pairs(n as usize).seed(1);
    let mut changes = Changes { at, subjects, map: config.create(at.device)? };
    let sizes = |shares: &[(&'static str, u64)], small: &[(&'static str, u64)]| -> Vec<(&'static str, usize)> {
        let shares = shares.iter().map(|&(op, share)| (op, n / share));
        let small = small.iter().copied().filter(|&(_, batch)| batch <= n / 64);
        shares.chain(small).map(|(op, batch)| (op, batch as usize)).collect()
    };
    let mut records = Vec::new();
    for (op, batch) in sizes(&ADDED, &SMALL_ADDED) {
        records.push(changes.add(op, batch)?);
    }
    for (op, batch) in sizes(&REMOVED, &SMALL_REMOVED) {
        records.push(changes.remove(op, batch, false)?);
    }
    records.push(changes.remove("remove_answers_1/4", n as usize / 4, true)?);
    Ok(records)
}

/// A map that batches change.
struct Changes<'b, K: Key, V: Value> {
    at: Bench<'b>,
    subjects: Subjects<'b, K, V>,
    map: PageMap<K, V>,
}

impl<K: Key, V: Value> Changes<'_, K, V> {
    /// Measures the addition of the last `batch` pairs to the other pairs.
    fn add(&mut self, op: &'static str, batch: usize) -> anyhow::Result<Record> {
        let (device, stream) = (self.at.device, self.at.device.default_stream());
        let input = &self.subjects.input;
        let old = input.keys.len() - batch;
        let [old_keys, keys] = [&input.keys[..old], &input.keys[old..]].map(|keys| Buffer::from_slice(device, keys));
        let [old_values, values] =
            [&input.values[..old], &input.values[old..]].map(|values| Buffer::from_slice(device, values));
        let (old_keys, old_values, keys, values) = (old_keys?, old_values?, keys?, values?);
        let (mut times, mut wrong) = (Vec::new(), 0);
        for _ in 0..self.at.runs + 1 {
            self.map.clear()?;
            self.map.insert_many(&old_keys, &old_values)?;
            let start = stream.record()?;
            wrong += batch.abs_diff(self.map.insert_many(&keys, &values)?);
            times.push(stream.record()?.milliseconds_since(&start)?);
        }
        let answers = self.map.get_many_on(stream, &self.subjects.keys)?.download(stream)?;
        Ok(self.record(op, batch, times, wrong as u64 + wrong_hits(&input.keys, &answers)))
    }

    /// Measures the removal of `batch` keys, which returns their values if `answers` is true.
    fn remove(&mut self, op: &'static str, batch: usize, answers: bool) -> anyhow::Result<Record> {
        let (device, stream) = (self.at.device, self.at.device.default_stream());
        let (removed, rest) = self.subjects.input.present.split_at(batch);
        let keys = Buffer::from_slice(device, removed)?;
        let (mut times, mut wrong) = (Vec::new(), 0);
        for _ in 0..self.at.runs + 1 {
            self.map.rebuild(&self.subjects.keys, &self.subjects.values)?;
            let start = stream.record()?;
            if answers {
                let answers = self.map.remove_many_on(stream, &keys)?;
                times.push(stream.record()?.milliseconds_since(&start)?);
                wrong = wrong_hits(removed, &answers.download(stream)?);
            } else {
                wrong += batch.abs_diff(self.map.erase_many(&keys)?) as u64;
                times.push(stream.record()?.milliseconds_since(&start)?);
            }
        }
        wrong += wrong_hits(rest, &self.map.get_many(rest)?) + wrong_misses(&self.map.get_many(removed)?);
        Ok(self.record(op, batch, times, wrong))
    }

    fn record(&self, op: &'static str, batch: usize, mut times: Vec<f64>, wrong: u64) -> Record {
        // The first run warms up.
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let subject = Subject { n: batch as u64, ..self.subjects.subject(&self.map, op) };
        self.at.run.record(subject, times[times.len() / 2], 0.0, wrong)
    }
}

/// Replaces a tenth of the keys `rounds` times, in a map that `n` keys fill to `load`. Then it
/// replaces few keys [`SMALL_ROUNDS`] times. It looks up present and absent keys before, between
/// and after. The keys are their own values.
pub fn rounds<K: Key + Value>(at: Bench<'_>, load: f64, rounds: usize) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, n, runs, roofline } = at;
    let stream = device.default_stream();
    let (chunk, small) = (n / ROUND, n / SMALL_ROUND);
    let (n, all) = (chunk * ROUND, chunk * CHUNKS);
    // At any time the map has `n` keys with consecutive indices, starting at `first`.
    let keys_of = |first: u64, count: u64| -> warpnest::Result<Buffer<K>> {
        let keys: Vec<K> = (first..first + count).map(|number| key(number % all)).collect();
        Buffer::from_slice(device, &keys)
    };
    let chunks: Vec<Buffer<K>> =
        (0..CHUNKS).map(|number| keys_of(number * chunk, chunk)).collect::<warpnest::Result<_>>()?;
    let built = keys_of(0, n)?;
    let mut map: PageMap<K, K> = PageConfig::default().load(load).seed(1).build(device, &built, &built)?;
    let limit = roofline.gops(Access::Find, (map.memory_bytes() / 8) as u64, n)?;
    let load = n as f64 * 2.0 * (K::BITS / 8) as f64 / map.memory_bytes() as f64;
    let table = || "PageMap".to_owned();
    let subject = |op, n| Subject { table: table(), op, n, load, key_bits: K::BITS, value_bits: K::BITS };
    let look = |map: &PageMap<K, K>, first: u64, ops: [&'static str; 2]| -> anyhow::Result<[Record; 2]> {
        let one = |op, first, present: bool| -> anyhow::Result<Record> {
            let queries = keys_of(first, n)?;
            let mut answers = Answers::new(device, queries.len())?;
            let ms = median_ms(stream, 2, runs, || map.get_many_into(stream, &queries, &mut answers))?;
            let (answers, keys) = (answers.download(stream)?, queries.download(stream)?);
            let wrong = answers.iter().zip(keys).filter(|&(answer, key)| *answer != present.then_some(key)).count();
            Ok(run.record(subject(op, n), ms, limit, wrong as u64))
        };
        Ok([one(ops[0], first, true)?, one(ops[1], first + 2 * n, false)?])
    };
    let mut wrong = 0;
    let mut replace = |map: &mut PageMap<K, K>, old: &Buffer<K>, new: &Buffer<K>| -> anyhow::Result<f64> {
        let start = stream.record()?;
        wrong += old.len().abs_diff(map.erase_many(old)?);
        wrong += new.len().abs_diff(map.insert_many(new, new)?);
        Ok(stream.record()?.milliseconds_since(&start)?)
    };
    let mut records = Vec::from(look(&map, 0, ["find_hit", "find_miss"])?);
    let (mut times, mut small_times) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let chunk_at = |ahead: u64| &chunks[(round + ahead as usize) % chunks.len()];
        times.push(replace(&mut map, chunk_at(0), chunk_at(ROUND))?);
    }
    let first = rounds as u64 * chunk;
    records.extend(look(&map, first, ["find_hit_rounds", "find_miss_rounds"])?);
    for round in 0..SMALL_ROUNDS {
        let first = first + round * small;
        small_times.push(replace(&mut map, &keys_of(first, small)?, &keys_of(first + n, small)?)?);
    }
    let last = look(&map, first + SMALL_ROUNDS * small, ["find_hit_small_rounds", "find_miss_small_rounds"])?;
    records.extend(last);
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    // The very first rounds warm up.
    let first = &times[AVERAGED.min(times.len() - 1)..(2 * AVERAGED).min(times.len())];
    let last = &times[times.len().saturating_sub(AVERAGED)..];
    for (op, times, size) in
        [("round_first", first, chunk), ("round_last", last, chunk), ("small_round", &small_times[1..], small)]
    {
        records.push(run.record(subject(op, 2 * size), mean(times), 0.0, wrong as u64));
    }
    Ok(records)
}
