//! Benchmarks of the multimap.

use super::input::key;
use super::lab::{Bench, name_on};
use super::record::{Record, Subject};
use super::roofline::median_ms;
use warpnest::design::Config;
use warpnest::design::Ids;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, MultiConfig};
use warpnest_bench_kernels::roofline::Access;

/// The numbers of values per key, each with the names of its operations.
const MULTIPLICITIES: [(u64, [&str; 3]); 4] = [
    (1, ["build", "find", "retrieve"]),
    (16, ["build_16", "find_16", "retrieve_16"]),
    (1024, ["build_1024", "find_1024", "retrieve_1024"]),
    (1 << 20, ["build_2^20", "find_2^20", "retrieve_2^20"]),
];

/// Builds maps of `n` pairs with various numbers of values per key, looks up the ranges of values,
/// and retrieves all values.
///
/// A build is a rebuild, in existing memory. A retrieval is a whole call, which allocates its
/// memory. The table of keys has the configuration `config`.
pub fn measure<K: Key, V: Value, D: Ids>(at: Bench<'_>, config: &Config<D>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, roofline, n, runs } = at;
    let (stream, config) = (device.default_stream(), MultiConfig::on(config.clone()));
    let mut records = Vec::new();
    for (multiplicity, [build, find, retrieve]) in MULTIPLICITIES {
        if multiplicity > n {
            continue;
        }
        let distinct = n.div_ceil(multiplicity);
        // Copies of a key are at distant positions.
        let keys: Vec<K> = (0..n).map(|i| key(i % distinct)).collect();
        let numbers: Vec<V> = (0..n).map(|i| V::from_u64(i / distinct)).collect();
        let (keys, values) = (Buffer::from_slice(device, &keys)?, Buffer::from_slice(device, &numbers)?);
        let mut map = config.build(device, &keys, &values)?;
        let kept = map.memory_bytes();
        let subject = |op, n| Subject::new(name_on::<D>("MultiMap"), op, n, [K::BITS, V::BITS], kept as u64);
        let build_ms = median_ms(stream, 1, runs, || map.rebuild(&keys, &values))?;
        records.push(run.record(subject(build, n), build_ms, 0.0, (map.key_count() as u64).abs_diff(distinct)));

        let queries: Vec<K> = (0..distinct).map(key).collect();
        let queries = Buffer::from_slice(device, &queries)?;
        let mut starts = Buffer::<u32>::zeroed(device, distinct as usize)?;
        let mut counts = Buffer::<u32>::zeroed(device, distinct as usize)?;
        let find_ms = median_ms(stream, 2, runs, || map.runs_many_into(stream, &queries, &mut starts, &mut counts))?;
        let counted: u64 = counts.download(stream)?.into_iter().map(u64::from).sum();
        let limit = roofline.gops(Access::Find, (map.runs().memory_bytes() / 8) as u64, distinct)?;
        records.push(run.record(subject(find, distinct), find_ms, limit, counted.abs_diff(n)));

        let mut found = map.retrieve_many_on(stream, &queries)?;
        let retrieve_ms = median_ms(stream, 1, runs, || {
            found = map.retrieve_many_on(stream, &queries)?;
            Ok(())
        })?;
        // The values of a key are the indices of its copies, in order.
        let offsets = found.offsets.download(stream)?;
        let retrieved = found.values.download(stream)?;
        let wrong = offsets.windows(2).map(|ends| {
            let of_key = &retrieved[ends[0] as usize..ends[1] as usize];
            of_key.iter().zip(0..).filter(|(value, copy)| value.to_u64() != *copy).count() as u64
        });
        let wrong = wrong.sum::<u64>() + (retrieved.len() as u64).abs_diff(n);
        records.push(run.record(subject(retrieve, n), retrieve_ms, 0.0, wrong));
    }
    Ok(records)
}
