//! Benchmarks of the linear map.

use super::Bench;
use super::input::key;
use super::maps::Subjects;
use super::record::{Record, Run, Subject};
use warpnest::linear::LinearKind;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, LinearConfig, LinearMap};
use warpnest_bench_kernels::roofline::Access;

/// The inverse of the share of keys that are replaced in a round. It is also the number of chunks
/// in the map.
const ROUND: u64 = 10;
/// The number of chunks of keys. A removed key comes back after `CHUNKS - ROUND` rounds.
const CHUNKS: u64 = 40;
/// The number of rounds whose times are averaged.
const AVERAGED: usize = 10;

/// Inserts `n` pairs into an empty map, which they fill to its load factor, and measures each
/// operation.
///
/// It looks up, removes and reinserts all pairs, and runs mixed batches: of 20 operations, 18 look
/// up, one inserts and one removes.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, config: &LinearConfig) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, roofline, n, runs } = at;
    let stream = device.default_stream();
    let subjects = Subjects::<K, V>::new(device, n, runs)?;
    let mut map = config.clone().pairs(n as usize).seed(1).create::<K, V>(device)?;
    // The limits are for words of 64 bits, even if slots have another size.
    let words = map.memory_bytes() / 8;
    let change_limit = roofline.gops(Access::Insert, words as u64, n)?;
    let find_limit = roofline.gops(Access::Find, words as u64, n)?;

    let present = Buffer::from_slice(device, &subjects.input.present)?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let mut wrong = 0;
    for _ in 0..runs + 1 {
        map.clear()?;
        let events = [stream.record()?, {
            wrong += n - map.insert_many(&subjects.keys, &subjects.values)? as u64;
            stream.record()?
        }];
        let removed = n - map.erase_many(&present)? as u64;
        let after_removal = stream.record()?;
        let again = n - map.insert_many(&subjects.keys, &subjects.values)? as u64;
        let end = stream.record()?;
        wrong += removed + again;
        times[0].push(events[1].milliseconds_since(&events[0])?);
        times[1].push(after_removal.milliseconds_since(&events[1])?);
        times[2].push(end.milliseconds_since(&after_removal)?);
    }
    map.clear()?;
    map.insert_many(&subjects.keys, &subjects.values)?;
    let mut records = Vec::new();
    for (op, times) in ["insert", "remove", "insert_again"].into_iter().zip(&mut times) {
        // The first run warms up.
        let times = &mut times[1..];
        times.sort_by(f64::total_cmp);
        records.push(run.record(subjects.subject(&map, op), times[times.len() / 2], change_limit, wrong));
    }
    records.extend(subjects.lookups(run, &map, find_limit)?.0);
    records.push(mixed(run, &mut map, &subjects)?);
    Ok(records)
}

/// Measures one batch of `n` operations. Their keys are present, except in insertions, whose keys
/// are absent before.
fn mixed<K: Key, V: Value>(
    run: &Run,
    map: &mut LinearMap<K, V>,
    subjects: &Subjects<'_, K, V>,
) -> anyhow::Result<Record> {
    let (device, stream) = (subjects.device, subjects.device.default_stream());
    let (present, absent) = (&subjects.input.present, &subjects.input.absent);
    let kind = |i: usize| match i % 20 {
        7 => LinearKind::INSERT,
        13 => LinearKind::REMOVE,
        _ => LinearKind::GET,
    };
    let kinds: Vec<LinearKind<V>> = (0..present.len()).map(kind).collect();
    let keys: Vec<K> = (0..present.len()).map(|i| if i % 20 == 7 { absent[i] } else { present[i] }).collect();
    let (kinds_on, keys_on) = (Buffer::from_slice(device, &kinds)?, Buffer::from_slice(device, &keys)?);
    let mut answers = Answers::new(device, keys.len())?;
    // There is capacity for the new keys, so the map does not grow.
    map.reserve(present.len() / ROUND as usize)?;
    let start = stream.record()?;
    map.apply_many_into(stream, &kinds_on, &keys_on, &subjects.values, &mut answers)?;
    let ms = stream.record()?.milliseconds_since(&start)?;
    let answers = answers.download(stream)?;
    let wrong = (0..keys.len()).filter(|&i| answers[i].is_some() == (i % 20 == 7)).count() as u64;
    Ok(run.record(subjects.subject(map, "mixed_90_5_5"), ms, 0.0, wrong))
}

/// Replaces a tenth of the keys `rounds` times, in a map of fixed size that `n` keys fill to its
/// load factor.
///
/// The keys are their own values. The two records are for the first rounds and for the last rounds.
pub fn rounds<K: Key + Value>(
    Bench { device, run, n, .. }: Bench<'_>,
    config: &LinearConfig,
    rounds: usize,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let chunk = n / ROUND;
    let mut map = config.clone().pairs((chunk * ROUND) as usize).fixed().seed(1).create::<K, K>(device)?;
    let chunks: Vec<Buffer<K>> = (0..CHUNKS)
        .map(|number| {
            let keys: Vec<K> = (number * chunk..(number + 1) * chunk).map(key).collect();
            Buffer::from_slice(device, &keys)
        })
        .collect::<warpnest::Result<_>>()?;
    for keys in &chunks[..ROUND as usize] {
        map.insert_many(keys, keys)?;
    }
    let (mut times, mut wrong) = (Vec::new(), 0);
    for round in 0..rounds {
        let chunk_at = |ahead: u64| &chunks[(round + ahead as usize) % chunks.len()];
        let start = stream.record()?;
        wrong += chunk - map.erase_many(chunk_at(0))? as u64;
        wrong += chunk - map.insert_many(chunk_at(ROUND), chunk_at(ROUND))? as u64;
        times.push(stream.record()?.milliseconds_since(&start)?);
    }
    let lengths = map.table().probe_lengths()?;
    println!(
        "after {rounds} rounds {} keys, {} of {} slots taken, searches look at {:.2} slots, at most {}",
        map.len(),
        map.table().taken(),
        map.table().slots(),
        lengths.mean,
        lengths.longest
    );
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let load = map.len() as f64 / map.table().slots() as f64;
    let record = |op, ms| {
        let table = "LinearMap".to_owned();
        let subject = Subject { table, op, n: 2 * chunk, load, key_bits: K::BITS, value_bits: K::BITS };
        run.record(subject, ms, 0.0, wrong)
    };
    // The very first rounds warm up.
    let first = &times[AVERAGED.min(times.len() - 1)..(2 * AVERAGED).min(times.len())];
    let last = &times[times.len().saturating_sub(AVERAGED)..];
    Ok(vec![record("round_first", mean(first)), record("round_last", mean(last))])
}
