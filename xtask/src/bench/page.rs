//! Benchmarks of the page map.

use super::input::{Repeats, repeated};
use super::maps::Subjects;
use super::record::{Record, Run};
use super::roofline::Roofline;
use warpnest::kernels::roofline::Access;
use warpnest::{Buffer, Device, Key, PageConfig, PageStages, Value};

/// Builds a map of `n` pairs and looks up present and absent keys; then builds from pairs with repeated keys. The limits of a build
/// and its stages are what copies of as many bytes take: keys and values in and out for each split; keys and values in and the
/// table out for the pages.
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
    let copied = (n * (K::BITS + V::BITS) as u64 / 64).next_multiple_of(2);
    let copy_rate = (16 * copied) as f64 / roofline.copy_milliseconds(copied)? / 1e6;
    let limit = |bytes: u64| copy_rate * n as f64 / bytes.max(1) as f64;
    let pair_bytes = n * (K::BITS + V::BITS) as u64 / 8;
    let splits = map.layout().page_bits.div_ceil(warpnest::kernels::page::MOST_SPLIT_BITS) as u64;
    let built = pair_bytes + map.memory_bytes();
    let all = limit(splits * 2 * pair_bytes + built);

    let build_ms = subjects.rebuild_ms(&mut map)?;
    drop(map);
    let stages_of = |config: PageConfig| -> anyhow::Result<Option<PageStages>> {
        let mut map = config.timings().build_on(stream, device, &subjects.keys, &subjects.values)?;
        let mut found = Vec::new();
        for _ in 0..runs {
            map.rebuild(stream, &subjects.keys, &subjects.values)?;
            found.extend(map.report().stages);
        }
        found.sort_by(|a, b| a.total().total_cmp(&b.total()));
        Ok(found.get(found.len() / 2).copied())
    };
    let stages = [stages_of(config.clone().assume_unique())?, stages_of(config.clone())?];
    let mut map = config.build_on(stream, device, &subjects.keys, &subjects.values)?;
    let any_ms = subjects.rebuild_ms(&mut map)?;
    let (lookups, wrong) = subjects.lookups(run, &map, find_limit)?;
    let mut records = Vec::new();
    let mut keep = |op, ms, limit| records.push(run.record(subjects.subject(&map, op), ms, limit, wrong));
    keep("build", build_ms, all);
    keep("build_any", any_ms, all);
    let names = [["clear", "split_1", "split_2", "pages"], ["clear_any", "split_1_any", "split_2_any", "pages_any"]];
    for (stages, names) in stages.into_iter().zip(names) {
        let Some(stages) = stages else { continue };
        let later = if splits > 1 { limit((splits - 1) * 2 * pair_bytes) } else { 0.0 };
        keep(names[0], stages.initialization, 0.0);
        keep(names[1], stages.first_split, limit(2 * pair_bytes));
        keep(names[2], stages.later_splits, later);
        keep(names[3], stages.pages, limit(built));
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
