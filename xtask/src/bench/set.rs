//! Benchmarks of the set.

use super::input::{Input, Repeats, repeated};
use super::page_build::{Limits, median};
use super::record::{Record, Run, Subject};
use super::roofline::{Roofline, median_ms};
use warpnest::kernels::roofline::Access;
use warpnest::{Buffer, Device, Key, PageSet, PageSetConfig, PageStages};

/// Builds a set of `n` keys, asks for present and absent ones, builds from repeated keys, and combines the set with one that has half of its
/// keys and as many others. A build is a rebuild, in memory that is there; an operation on sets is a whole call, which takes its memory anew.
/// The limits of builds are [`Limits`].
pub fn measure<K: Key>(
    device: &Device,
    run: &Run,
    roofline: &Roofline,
    n: u64,
    load: f64,
    runs: u32,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let config = PageSetConfig::default().load(load).seed(1);
    let unique = config.clone().assume_unique();
    let input = Input::<K, u32>::new(n);
    let keys = Buffer::from_slice(device, &input.keys)?;
    let set = unique.build_on(stream, device, &keys)?;
    let memory = set.memory_bytes();
    let limits = Limits::new(roofline, n, K::BITS, memory, set.layout().page_bits)?;
    let whole = limits.whole();
    let of_keys = (n * (K::BITS / 8) as u64) as f64 / memory as f64;
    let subject = |op| Subject { table: "PageSet", op, n, load: of_keys, key_bits: K::BITS, value_bits: 0 };
    let mut records = Vec::new();

    // Time, stages, and how many keys too many or too few.
    let built = |config: &PageSetConfig, keys: &Buffer<K>, distinct: u64| -> anyhow::Result<_> {
        let mut set = config.build_on(stream, device, keys)?;
        let ms = median_ms(stream, 1, runs, || set.rebuild(stream, keys))?;
        Ok((ms, set.len().abs_diff(distinct)))
    };
    let stages_of = |config: &PageSetConfig| -> anyhow::Result<Option<PageStages>> {
        let mut set = config.clone().timings().build_on(stream, device, &keys)?;
        let mut found = Vec::new();
        for _ in 0..runs {
            set.rebuild(stream, &keys)?;
            found.extend(set.report().stages);
        }
        Ok(median(found))
    };
    for (op, config) in [("build", &unique), ("build_any", &config)] {
        let (ms, wrong) = built(config, &keys, n)?;
        records.push(run.record(subject(op), ms, whole, wrong));
    }
    for (op, ms, limit) in limits.stages([stages_of(&unique)?, stages_of(&config)?]) {
        records.push(run.record(subject(op), ms, limit, 0));
    }

    let find_limit = roofline.gops(Access::Find, memory / 8, n)?;
    for (op, queries, present) in [("contains_hit", &input.present, true), ("contains_miss", &input.absent, false)] {
        let queries = Buffer::from_slice(device, queries)?;
        let mut found = Buffer::zeroed(device, queries.len().div_ceil(32))?;
        let ms = median_ms(stream, 2, runs, || set.contains_many_into(stream, &queries, &mut found))?;
        let contained: u64 = found.download(stream)?.iter().map(|word| word.count_ones() as u64).sum();
        let expected = if present { queries.len() as u64 } else { 0 };
        records.push(run.record(subject(op), ms, find_limit, contained.abs_diff(expected)));
    }

    // Every second key, and as many others.
    let half = input.keys.iter().step_by(2).chain(input.absent.iter().step_by(2)).copied();
    let other = unique.build(device, &half.collect::<Vec<K>>())?;
    let common = n.div_ceil(2);
    type Operation<K> = fn(&PageSet<K>, &warpnest::Stream, &PageSet<K>) -> warpnest::Result<PageSet<K>>;
    let operations: [(&str, Operation<K>, u64); 3] = [
        ("union", PageSet::union, n + common),
        ("intersection", PageSet::intersection, common),
        ("difference", PageSet::difference, n - common),
    ];
    for (op, operation, expected) in operations {
        let mut wrong = 0;
        let ms = median_ms(stream, 1, runs, || {
            wrong += operation(&set, stream, &other)?.len().abs_diff(expected);
            Ok(())
        })?;
        records.push(run.record(subject(op), ms, 0.0, wrong));
    }
    drop((set, other));

    for repeats in [Repeats::Half, Repeats::Million, Repeats::Zipf] {
        let (keys, distinct) = repeated::<K>(n, repeats);
        let (ms, wrong) = built(&config, &Buffer::from_slice(device, &keys)?, distinct)?;
        records.push(run.record(subject(repeats.op()), ms, whole, wrong));
    }
    Ok(records)
}
