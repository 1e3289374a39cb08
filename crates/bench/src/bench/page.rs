//! Benchmarks of the page map.

use super::Bench;
use super::input::{Repeats, repeated};
use super::maps::Subjects;
use super::page_build::Limits;
use super::record::Record;
use warpnest::page::PageStages;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, PageConfig};

/// Builds a map of `n` pairs, and looks up present and absent keys. Then it builds maps from pairs
/// with repeated keys.
///
/// The limits of builds are [`Limits`].
pub fn measure<K: Key, V: Value>(at: Bench<'_>, load: f64) -> anyhow::Result<Vec<Record>> {
    let mut subjects = Subjects::<K, V>::new(at.device, at.n, at.runs)?;
    let config = PageConfig::default().load(load).seed(1);
    let stages_of = |config: PageConfig| {
        subjects.stages(&mut subjects.build(&config.timings())?, PageStages::total, |report| report.stages)
    };
    let mut whole = 0.0;
    let (mut map, mut records) = subjects.builds(at, &config, |map| {
        let page_bits = map.table().layout().page_bits;
        let limits = Limits::new(at.roofline, at.n, K::BITS + V::BITS, map.memory_bytes() as u64, page_bits)?;
        whole = limits.whole();
        drop(map);
        let stages = [stages_of(config.clone().assume_unique())?, stages_of(config.clone())?];
        Ok(([whole; 2], limits.stages(stages)))
    })?;
    let few = [65_536, 1024, 256, 128, 64, 32].map(Repeats::OneIn);
    for repeats in few.into_iter().chain([Repeats::Half, Repeats::Million, Repeats::Zipf]) {
        let (keys, distinct) = repeated::<K>(at.n, repeats);
        subjects.keys = Buffer::from_slice(at.device, &keys)?;
        let ms = subjects.rebuild_ms(&mut map)?;
        let wrong = (map.len() as u64).abs_diff(distinct);
        records.push(at.run.record(subjects.subject(&map, repeats.op()), ms, whole, wrong));
    }
    Ok(records)
}
