//! Benchmarks of the page map.

use super::input::{Repeats, repeated};
use super::maps::Subjects;
use super::page_build::Limits;
use super::record::{Record, Run};
use super::roofline::{Roofline, median_stages};
use warpnest::kernels::primitives::roofline::Access;
use warpnest::{Buffer, Device, Key, PageConfig, PageStages, Value};

/// Builds a map of `n` pairs and looks up present and absent keys; then builds from pairs with
/// repeated keys.
///
/// The limits of builds are [`Limits`].
pub fn measure<K: Key, V: Value>(
    device: &Device,
    run: &Run,
    roofline: &Roofline,
    n: u64,
    load: f64,
    runs: u32,
) -> anyhow::Result<Vec<Record>> {
    let stream = device.default_stream();
    let mut subjects = Subjects::<K, V>::new(device, n, runs)?;
    let config = PageConfig::default().load(load).seed(1);
    let mut map = config.clone().assume_unique().build_on(stream, device, &subjects.keys, &subjects.values)?;
    let find_limit = roofline.gops(Access::Find, map.memory_bytes() / 8, n)?;
    let limits = Limits::new(roofline, n, K::BITS + V::BITS, map.memory_bytes(), map.layout().page_bits)?;
    let all = limits.whole();

    let build_ms = subjects.rebuild_ms(&mut map)?;
    drop(map);
    let stages_of = |config: PageConfig| {
        let mut map = config.timings().build_on(stream, device, &subjects.keys, &subjects.values)?;
        median_stages(runs, PageStages::total, || {
            map.rebuild(stream, &subjects.keys, &subjects.values)?;
            Ok(map.report().stages)
        })
    };
    let stages = [stages_of(config.clone().assume_unique())?, stages_of(config.clone())?];
    let mut map = config.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let any_ms = subjects.rebuild_ms(&mut map)?;
    let (lookups, wrong) = subjects.lookups(run, &map, find_limit)?;
    let mut records = Vec::new();
    let mut keep = |op, ms, limit| records.push(run.record(subjects.subject(&map, op), ms, limit, wrong));
    keep("build", build_ms, all);
    keep("build_any", any_ms, all);
    for (op, ms, limit) in limits.stages(stages) {
        keep(op, ms, limit);
    }
    records.extend(lookups);
    for repeats in [Repeats::Half, Repeats::Million, Repeats::Zipf] {
        let (keys, distinct) = repeated::<K>(n, repeats);
        subjects.keys = Buffer::from_slice(device, &keys)?;
        let ms = subjects.rebuild_ms(&mut map)?;
        let wrong = map.len().abs_diff(distinct);
        records.push(run.record(subjects.subject(&map, repeats.op()), ms, all, wrong));
    }
    Ok(records)
}
