//! Benchmarks of the cuckoo map, and of `hashbrown` beside it.

use super::Bench;
use super::input::{Input, wrong_hits, wrong_misses};
use super::maps::Subjects;
use super::record::{Record, Subject};
use std::time::Instant;
use warpnest::CuckooConfig;
use warpnest::kernels::primitives::roofline::Access;
use warpnest::types::{KeyWord as Key, ValueWord as Value};

/// Builds a map of `n` pairs in `slots_per_pair` slots a pair and looks up present and absent keys.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, slots_per_pair: f64) -> anyhow::Result<Vec<Record>> {
    let subjects = Subjects::<K, V>::new(at.device, at.n, at.runs)?;
    let config = CuckooConfig::default().slots_per_pair(slots_per_pair).seed(1);
    let limit = |words| at.roofline.gops(Access::Insert, words, at.n);
    let (_, records) = subjects.builds(at, &config, |map| Ok(([limit(map.memory_bytes() / 8)?; 2], Vec::new())))?;
    Ok(records)
}

/// The same input through `hashbrown::HashMap` on one thread, with its default hasher and
/// `with_capacity`.
pub fn measure_hashbrown(Bench { run, n, runs, .. }: Bench<'_>) -> Vec<Record> {
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
        let table = "hashbrown::HashMap".to_owned();
        let subject = Subject { table, op, n, load: 0.0, key_bits: 32, value_bits: 32 };
        run.record(subject, times[times.len() / 2], 0.0, wrong)
    });
    records.collect()
}
