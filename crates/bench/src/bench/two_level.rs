//! Benchmarks of the two-level map.

use super::maps::Subjects;
use super::record::{Record, Run};
use super::roofline::{Roofline, median_stages};
use warpnest::kernels::primitives::roofline::Access;
use warpnest::{Device, Key, TwoLevelConfig, TwoLevelStages, Value};

/// Builds a map of `n` pairs and looks up present and absent keys.
///
/// The limits of a build and its stages are what copies of as many bytes take. Counting reads the
/// keys once. Shuffling copies keys and values in and out for each pass, and reads the keys once
/// more for the buckets' starts. The cuckoo hashing copies keys and values in and the slots out.
pub fn measure<K: Key, V: Value>(
    device: &Device,
    run: &Run,
    roofline: &Roofline,
    n: u64,
    items_per_bucket: Option<f64>,
    runs: u32,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let subjects = Subjects::<K, V>::new(device, n, runs)?;
    let config = TwoLevelConfig::default().seed(1);
    let config = match items_per_bucket {
        Some(items) => config.items_per_bucket(items),
        None => config,
    };
    let mut map = config.clone().assume_unique().build_on(stream, device, &subjects.keys, &subjects.values)?;
    let words = map.memory_bytes() / 8;
    let find_limit = roofline.gops(Access::Find, words, n)?;
    let copies = roofline.copies(n, K::BITS + V::BITS)?;
    let limit = |bytes| copies.gops(bytes);
    let (key_bytes, pair_bytes) = (n * K::BITS as u64 / 8, n * (K::BITS + V::BITS) as u64 / 8);
    let shuffled = map.report().passes as u64 * 2 * pair_bytes + key_bytes;
    let built = pair_bytes + map.memory_bytes();

    let build_ms = subjects.rebuild_ms(&mut map)?;
    drop(map);
    let timed = config.clone().assume_unique().timings();
    let mut map = timed.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let stages = median_stages(runs, TwoLevelStages::total, || {
        map.rebuild(stream, &subjects.keys, &subjects.values)?;
        Ok(map.report().stages)
    })?;
    drop(map);
    let mut map = config.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let any_ms = subjects.rebuild_ms(&mut map)?;
    let (lookups, wrong) = subjects.lookups(run, &map, find_limit)?;
    let all = limit(key_bytes + shuffled + built);
    let mut records = Vec::new();
    let mut keep = |op, ms, limit| records.push(run.record(subjects.subject(&map, op), ms, limit, wrong));
    keep("build", build_ms, all);
    keep("build_any", any_ms, all);
    if let Some(stages) = stages {
        keep("initialization", stages.initialization, 0.0);
        keep("count", stages.count, limit(key_bytes));
        keep("scan", stages.scan, 0.0);
        keep("shuffle", stages.shuffle, limit(shuffled));
        keep("cuckoo", stages.cuckoo, limit(built));
    }
    records.extend(lookups);
    Ok(records)
}
