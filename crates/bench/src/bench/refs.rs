//! Benchmarks of a user's kernels that take tables as arguments, beside the library's own calls,
//! such as `get_many`, for the same work.

use super::Bench;
use super::input::{wrong_hits, wrong_misses};
use super::maps::Subjects;
use super::record::{Record, Run};
use super::roofline::{KERNELS, median_ms};
use warpnest::design::BulkMap;
use warpnest::design::Design;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    Buffer, CuckooConfig, Error, ExtendibleConfig, LinearConfig, LinearMap, PageConfig, SortedConfig, Stream,
    TwoLevelConfig,
};
use warpnest_bench_kernels::changes::InsertPairs;
use warpnest_bench_kernels::lookups::{AskCuckoo, AskExtendible, AskLinear, AskPage, AskSorted, AskTwoLevel};

/// The load factor of the page map and the linear map.
const LOAD: f64 = 0.8;

/// Measures lookups by a kernel of a user and by a batch. The rate of the batch is the limit of the
/// kernel.
macro_rules! lookups {
    ($kernel:ident, $subjects:expr, $run:expr, $map:expr) => {
        ask($subjects, $run, $map, |stream, queries, values, found| {
            let count = queries.len() as u64;
            // SAFETY: there is a value for each query, and a word of `found` for each 32 queries.
            unsafe {
                stream.launch(queries.len(), |uses| $kernel {
                    queries: uses.read(queries),
                    values: uses.write(values),
                    found: uses.write(found),
                    map: uses.table($map),
                    count,
                })
            }
        })
    };
}

/// Builds a map of `n` pairs of each design, and looks up present and absent keys. It also inserts
/// `n` pairs into a linear map.
pub fn measure<K: Key, V: Value>(at: Bench<'_>) -> anyhow::Result<Vec<Record>> {
    let Bench { device, run, .. } = at;
    device.load(&KERNELS)?;
    let subjects = &Subjects::<K, V>::new(device, at.n, at.runs)?;
    let mut records = Vec::new();
    let page = subjects.build(&PageConfig::default().load(LOAD).seed(1))?;
    records.extend(lookups!(AskPage, subjects, run, &page)?);
    drop(page);
    let cuckoo = subjects.build(&CuckooConfig::default().seed(1))?;
    records.extend(lookups!(AskCuckoo, subjects, run, &cuckoo)?);
    drop(cuckoo);
    let two_level = subjects.build(&TwoLevelConfig::default().seed(1))?;
    records.extend(lookups!(AskTwoLevel, subjects, run, &two_level)?);
    drop(two_level);
    let sorted = subjects.build(&SortedConfig::default())?;
    records.extend(lookups!(AskSorted, subjects, run, &sorted)?);
    drop(sorted);
    let mut extendible = ExtendibleConfig::default().seed(1).create(device)?;
    extendible.insert_many(&subjects.keys, &subjects.values)?;
    records.extend(lookups!(AskExtendible, subjects, run, &extendible)?);
    drop(extendible);
    match LinearConfig::default().load(LOAD).pairs(at.n as usize).seed(1).create(device) {
        Err(Error::NoWideAtomics { .. }) => {}
        linear => {
            let mut linear = linear?;
            records.extend(insertions(at, subjects, &mut linear)?);
            records.extend(lookups!(AskLinear, subjects, run, &linear)?);
        }
    }
    Ok(records)
}

fn ask<K: Key, V: Value, D: Design>(
    subjects: &Subjects<'_, K, V>,
    run: &Run,
    map: &BulkMap<K, V, D>,
    launch: impl Fn(&Stream, &Buffer<K>, &mut Buffer<V>, &mut Buffer<u32>) -> warpnest::Result<()>,
) -> anyhow::Result<Vec<Record>> {
    let (device, stream, mut records) = (subjects.device, subjects.device.default_stream(), Vec::new());
    for (queries, present) in [(&subjects.input.present, true), (&subjects.input.absent, false)] {
        let asked = Buffer::from_slice(device, queries)?;
        let (batch_ms, answers) = subjects.find(map, &asked)?;
        let mut values = Buffer::zeroed(device, queries.len())?;
        let mut found = Buffer::zeroed(device, queries.len().div_ceil(32))?;
        let ms = median_ms(stream, 2, subjects.runs, || launch(stream, &asked, &mut values, &mut found))?;
        let (values, found) = (values.download(stream)?, found.download(stream)?);
        let answer = |(i, value)| (found[i / 32] >> (i % 32) & 1 != 0).then_some(value);
        let by_ref: Vec<Option<V>> = values.into_iter().enumerate().map(answer).collect();
        let wrong = |answers: &[Option<V>]| {
            if present { wrong_hits(queries, answers) } else { wrong_misses(answers) }
        };
        let ops = if present { ["find_hit", "ref_find_hit"] } else { ["find_miss", "ref_find_miss"] };
        let [batch, by_kernel] = ops.map(|op| subjects.subject(map, op));
        let batch = run.record(batch, batch_ms, 0.0, wrong(&answers));
        let limit = batch.gops;
        records.extend([batch, run.record(by_kernel, ms, limit, wrong(&by_ref))]);
    }
    Ok(records)
}

/// Fills an empty map by a batch, and by a kernel to which it is lent.
fn insertions<K: Key, V: Value>(
    Bench { device, run, n, runs, .. }: Bench<'_>,
    subjects: &Subjects<'_, K, V>,
    map: &mut LinearMap<K, V>,
) -> anyhow::Result<Vec<Record>> {
    let (stream, mut times, mut wrong) = (device.default_stream(), [Vec::new(), Vec::new()], [0, 0]);
    for _ in 0..runs + 1 {
        for by_kernel in [false, true] {
            map.clear()?;
            let start = stream.record()?;
            if by_kernel {
                // SAFETY: there are equally many keys and values.
                unsafe {
                    stream.launch(n as usize, |uses| InsertPairs {
                        keys: uses.read(&subjects.keys),
                        values: uses.read(&subjects.values),
                        map: uses.table_mut(map),
                        count: n,
                    })?;
                }
            } else {
                map.insert_many(&subjects.keys, &subjects.values)?;
            }
            times[by_kernel as usize].push(stream.record()?.milliseconds_since(&start)?);
            wrong[by_kernel as usize] += n - map.len() as u64;
        }
    }
    // The first run warms up.
    let [batch_ms, ms] = times.map(|mut times| {
        let times = &mut times[1..];
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let batch = run.record(subjects.subject(map, "insert"), batch_ms, 0.0, wrong[0]);
    let limit = batch.gops;
    Ok(vec![batch, run.record(subjects.subject(map, "ref_insert"), ms, limit, wrong[1])])
}
