//! Benchmarks of the extendible map.

use super::Bench;
use super::input::value;
use super::maps::Subjects;
use super::record::{Record, Subject};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, ExtendibleConfig};
use warpnest_bench_kernels::roofline::Access;

/// The number of keys that are left after the removals.
const LEFT: u64 = 1 << 16;

/// Grows an empty map to `n` pairs in batches of `batch` pairs, and measures each operation.
///
/// The rows are the whole growth, the median batch and the slowest batch. Then it measures lookups,
/// new values for all keys in batches, and the removal in batches of all keys except 2^16.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, batch: u64) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, roofline, n, runs } = at;
    let stream = device.default_stream();
    let subjects = Subjects::<K, V>::new(device, n, runs)?;
    let input = &subjects.input;
    let batches: Vec<(Buffer<K>, Buffer<V>)> = input
        .keys
        .chunks(batch as usize)
        .zip(input.values.chunks(batch as usize))
        .map(|(keys, values)| Ok((Buffer::from_slice(device, keys)?, Buffer::from_slice(device, values)?)))
        .collect::<warpnest::Result<_>>()?;
    let mut map = ExtendibleConfig::default().seed(1).create::<K, V>(device)?;
    let (mut growth, mut updates) = (Vec::new(), Vec::new());
    let mut wrong = 0;
    // The first run compiles the kernels.
    for _ in 0..2 {
        map.clear()?;
        for (times, new) in [(&mut growth, true), (&mut updates, false)] {
            times.clear();
            for (keys, values) in &batches {
                let start = stream.record()?;
                let came = map.insert_many(keys, values)?;
                times.push(stream.record()?.milliseconds_since(&start)?);
                wrong += came.abs_diff(if new { keys.len() } else { 0 }) as u64;
            }
        }
    }
    let words = map.memory_bytes() / 8;
    let change_limit = roofline.gops(Access::Insert, words as u64, n)?;
    let find_limit = roofline.gops(Access::Find, words as u64, n)?;
    let mut records = Vec::new();
    let mut record_of = |op, times: &[f64], wrong| {
        records.push(run.record(subjects.subject(&map, op), times.iter().sum(), change_limit, wrong));
    };
    record_of("grow", &growth, wrong);
    record_of("update", &updates, 0);
    growth.sort_by(f64::total_cmp);
    let subject = |op| Subject { n: batch.min(n), ..subjects.subject(&map, op) };
    records.push(run.record(subject("grow_median_batch"), growth[growth.len() / 2], change_limit, 0));
    records.push(run.record(subject("grow_slowest_batch"), growth[growth.len() - 1], change_limit, 0));
    println!("{:.2?}\n{:?}", growth, map.table().report());
    records.extend(subjects.lookups(run, &map, find_limit)?.0);

    let (mut times, mut removed) = (Vec::new(), 0);
    let gone = &input.present[..n.saturating_sub(LEFT) as usize];
    let (subject, mut wrong) = (Subject { n: gone.len() as u64, ..subjects.subject(&map, "remove") }, 0);
    for keys in gone.chunks(batch as usize) {
        let queries = Buffer::from_slice(device, keys)?;
        let mut answers = Answers::new(device, keys.len())?;
        let start = stream.record()?;
        removed += map.remove_many_into(stream, &queries, &mut answers)?;
        times.push(stream.record()?.milliseconds_since(&start)?);
        let answers = answers.download(stream)?;
        let right = keys.iter().zip(answers).filter(|(key, answer)| *answer == Some(value(**key))).count();
        wrong += (keys.len() - right) as u64;
    }
    if !gone.is_empty() {
        let wrong = wrong.max((gone.len() - removed) as u64);
        records.push(run.record(subject, times.iter().sum(), change_limit, wrong));
        times.sort_by(f64::total_cmp);
        println!("{:.2?}\n{:?}", times, map.table().report());
    }
    Ok(records)
}
