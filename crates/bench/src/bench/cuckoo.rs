//! Benchmarks of the cuckoo map, and of `hashbrown` beside it.

use super::input::{Input, wrong_hits, wrong_misses};
use super::maps::Subjects;
use super::record::{Record, Run, Subject};
use super::roofline::Roofline;
use std::time::Instant;
use warpnest::kernels::primitives::roofline::Access;
use warpnest::{CuckooConfig, Device, Key, Value};

/// Builds a map of `n` pairs in `slots_per_pair` slots a pair and looks up present and absent keys.
pub fn measure<K: Key, V: Value>(
    device: &Device,
    run: &Run,
    roofline: &Roofline,
    n: u64,
    slots_per_pair: f64,
    runs: u32,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let subjects = Subjects::<K, V>::new(device, n, runs)?;
    let config = CuckooConfig::default().slots_per_pair(slots_per_pair).seed(1);
    let mut map = config.clone().assume_unique().build_on(stream, device, &subjects.keys, &subjects.values)?;
    let words = map.memory_bytes() / 8;
    let (insert_limit, find_limit) = (roofline.gops(Access::Insert, words, n)?, roofline.gops(Access::Find, words, n)?);
    let build_ms = subjects.rebuild_ms(&mut map)?;
    drop(map);
    let mut map = config.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let any_ms = subjects.rebuild_ms(&mut map)?;
    let (lookups, wrong) = subjects.lookups(run, &map, find_limit)?;
    // A build has as many errors as its answers.
    let mut records = vec![
        run.record(subjects.subject(&map, "build"), build_ms, insert_limit, wrong),
        run.record(subjects.subject(&map, "build_any"), any_ms, insert_limit, wrong),
    ];
    records.extend(lookups);
    Ok(records)
}

/// The same input through `hashbrown::HashMap` on one thread, with its default hasher and
/// `with_capacity`.
pub fn measure_hashbrown(run: &Run, n: u64, runs: u32) -> Vec<Record> {
    let input = Input::<u32, u32>::new(n);
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    let (mut hits, mut misses) = (0, 0);
    for _ in 0..runs.max(1) {
        let mut clock = Instant::now();
        let mut lap = |times: &mut Vec<f64>| {
            times.push(clock.elapsed().as_secs_f64() * 1e3);
            clock = Instant::now();
        };
        let mut map = hashbrown::HashMap::<u32, u32>::with_capacity(n as usize);
        map.extend(input.keys.iter().copied().zip(input.values.iter().copied()));
        lap(&mut times[0]);
        let found: Vec<Option<u32>> = input.present.iter().map(|key| map.get(key).copied()).collect();
        lap(&mut times[1]);
        let missed: Vec<Option<u32>> = input.absent.iter().map(|key| map.get(key).copied()).collect();
        lap(&mut times[2]);
        hits = wrong_hits(&input.present, &found);
        misses = wrong_misses(&missed);
    }
    let names = [("build", hits), ("find_hit", hits), ("find_miss", misses)];
    let records = names.into_iter().zip(&mut times).map(|((op, wrong), times)| {
        times.sort_by(f64::total_cmp);
        let subject = Subject { table: "hashbrown::HashMap", op, n, load: 0.0, key_bits: 32, value_bits: 32 };
        run.record(subject, times[times.len() / 2], 0.0, wrong)
    });
    records.collect()
}
