//! Benchmarks of the sorted map.

use super::maps::Subjects;
use super::record::{Record, Run};
use super::roofline::{Roofline, median_ms, median_stages};
use warpnest::kernels::primitives::roofline::Access;
use warpnest::kernels::sorted::GROUP;
use warpnest::{Buffer, Device, Key, SortedConfig, SortedMap, SortedStages, Value};

/// Builds a map of `n` pairs, looks up present and absent keys, and asks for bounds and ranges.
///
/// The limits of a build and its stages are what copies of as many bytes take. The sort reads keys
/// once for counting, and keys and values in and out for each pass. Leaving out repeats reads the
/// keys once more, and keys and values in and out. The index takes a sector of 32 bytes in for each
/// group, and the index out.
pub fn measure<K: Key, V: Value>(
    device: &Device,
    run: &Run,
    roofline: &Roofline,
    n: u64,
    runs: u32,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let subjects = Subjects::<K, V>::new(device, n, runs)?;
    let config = SortedConfig::default();
    let mut map = config.clone().assume_unique().build_on(stream, device, &subjects.keys, &subjects.values)?;
    let find_limit = roofline.gops(Access::Find, map.memory_bytes() / 8, n)?;
    let copies = roofline.copies(n, K::BITS + V::BITS)?;
    let limit = |bytes| copies.gops(bytes);
    let (key_bytes, pair_bytes) = (n * K::BITS as u64 / 8, n * (K::BITS + V::BITS) as u64 / 8);
    let sort = key_bytes + K::BITS as u64 / 8 * 2 * pair_bytes;
    let (repeats, index) = (key_bytes + 2 * pair_bytes, n / GROUP * 32 + key_bytes / (GROUP - 1));

    let build_ms = subjects.rebuild_ms(&mut map)?;
    drop(map);
    let mut map = config.clone().timings().build_on(stream, device, &subjects.keys, &subjects.values)?;
    let stages = median_stages(runs, SortedStages::total, || {
        map.rebuild(stream, &subjects.keys, &subjects.values)?;
        Ok(map.report().stages)
    })?;
    drop(map);
    let mut map = config.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let any_ms = subjects.rebuild_ms(&mut map)?;
    let (lookups, wrong) = subjects.lookups(run, &map, find_limit)?;
    let mut records = Vec::new();
    let mut keep = |op, ms, limit| records.push(run.record(subjects.subject(&map, op), ms, limit, wrong));
    keep("build", build_ms, limit(sort + index));
    keep("build_any", any_ms, limit(sort + repeats + index));
    if let Some(stages) = stages {
        keep("initialization", stages.initialization, 0.0);
        keep("sort", stages.sort, limit(sort));
        keep("repeats", stages.repeats, limit(repeats));
        keep("index", stages.index, limit(index));
    }
    records.extend(lookups);
    records.extend(bounds(&subjects, run, &map, find_limit)?);
    Ok(records)
}

/// Looks up the rank of every key, and the number of keys between one and the next, in an order
/// unrelated to theirs.
fn bounds<K: Key, V: Value>(
    subjects: &Subjects<'_, K, V>,
    run: &Run,
    map: &SortedMap<K, V>,
    limit: f64,
) -> anyhow::Result<Vec<Record>> {
    let (device, stream) = (subjects.device, subjects.device.default_stream());
    let (mut from, n) = (subjects.input.present.clone(), subjects.input.keys.len());
    let queries = Buffer::from_slice(device, &from)?;
    let mut answers = Buffer::zeroed(device, n)?;
    let lower_ms = median_ms(stream, 2, subjects.runs, || map.lower_bound_many_into(stream, &queries, &mut answers))?;
    let mut ranks = answers.download(stream)?;
    let mut sorted = subjects.input.keys.clone();
    sorted.sort_unstable();
    let there = |(place, key): (&u32, &K)| sorted.get(*place as usize) == Some(key);
    let wrong_lower = n as u64 - ranks.iter().zip(&from).filter(|&pair| there(pair)).count() as u64;

    from.rotate_left(1);
    let next = Buffer::from_slice(device, &from)?;
    let count_ms =
        median_ms(stream, 2, subjects.runs, || map.count_ranges_many_into(stream, &queries, &next, &mut answers))?;
    let counts = answers.download(stream)?;
    let before = ranks.clone();
    ranks.rotate_left(1);
    let between = ranks.iter().zip(&before).map(|(next, place)| next.saturating_sub(*place));
    let wrong_counts = between.zip(&counts).filter(|(expected, count)| expected != *count).count() as u64;
    Ok(vec![
        run.record(subjects.subject(map, "lower_bound"), lower_ms, limit, wrong_lower),
        run.record(subjects.subject(map, "count_ranges"), count_ms, limit / 2.0, wrong_counts),
    ])
}
