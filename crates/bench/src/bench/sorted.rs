//! Benchmarks of the sorted map.

use super::Bench;
use super::maps::Subjects;
use super::record::{Record, Run};
use super::roofline::median_ms;
use warpnest::low_level::kernels::sorted::GROUP;
use warpnest::sorted::SortedStages;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, SortedConfig, SortedMap};
use warpnest_bench_kernels::roofline::Access;

/// Builds a map of `n` pairs, looks up present and absent keys, and queries bounds and ranges.
///
/// The limits of a build and its stages are the times of copies of equally many bytes. The sort
/// reads keys once for counting, and reads and writes keys and values in each pass. Removing
/// repeats reads the keys once more, and reads and writes keys and values. The index reads a sector
/// of 32 bytes for each group, and is written.
pub fn measure<K: Key, V: Value>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let subjects = Subjects::<K, V>::new(at.device, at.n, at.runs)?;
    let config = SortedConfig::default();
    let (map, mut records) = subjects.builds(at, &config, |map| {
        drop(map);
        let copies = at.roofline.copies(at.n, K::BITS + V::BITS)?;
        let limit = |bytes| copies.gops(bytes);
        let (key_bytes, pair_bytes) = (at.n * K::BITS as u64 / 8, at.n * (K::BITS + V::BITS) as u64 / 8);
        let sort = key_bytes + K::BITS as u64 / 8 * 2 * pair_bytes;
        let (repeats, index) = (key_bytes + 2 * pair_bytes, at.n / GROUP * 32 + key_bytes / (GROUP - 1));
        let mut map = subjects.build(&config.clone().timings())?;
        let stages = subjects.stages(&mut map, SortedStages::total, |report| report.stages)?.map(|stages| {
            vec![
                ("initialization", stages.initialization, 0.0),
                ("sort", stages.sort, limit(sort)),
                ("repeats", stages.repeats, limit(repeats)),
                ("index", stages.index, limit(index)),
            ]
        });
        Ok(([limit(sort + index), limit(sort + repeats + index)], stages.unwrap_or_default()))
    })?;
    let find_limit = at.roofline.gops(Access::Find, (map.memory_bytes() / 8) as u64, at.n)?;
    records.extend(bounds(&subjects, at.run, &map, find_limit)?);
    Ok(records)
}

/// Looks up the rank of every key, and the number of keys between each query and the next. Queries
/// are not in the order of keys.
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
