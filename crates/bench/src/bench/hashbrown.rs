//! `hashbrown::HashMap` on one thread, with the same input as the library's maps.

use super::Bench;
use super::input::{Input, wrong_hits, wrong_misses};
use super::record::{Record, Subject};
use std::time::Instant;

/// Measures `hashbrown::HashMap` on one thread with the same input, with its default hasher and
/// `with_capacity`.
pub fn measure(Bench { run, n, runs, .. }: Bench<'_>) -> Vec<Record> {
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
