//! Benchmarks of the cuckoo map.

use super::Bench;
use super::maps::Subjects;
use super::record::Record;
use warpnest::CuckooConfig;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest_bench_kernels::roofline::Access;

/// Builds a map of `n` pairs with `slots_per_pair` slots per pair, and looks up present and absent
/// keys.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, slots_per_pair: f64) -> anyhow::Result<Vec<Record>> {
    let subjects = Subjects::<K, V>::new(at.device, at.n, at.runs)?;
    let config = CuckooConfig::default().slots_per_pair(slots_per_pair).seed(1);
    let limit = |words| at.roofline.gops(Access::Insert, words, at.n);
    let (_, records) =
        subjects.builds(at, &config, |map| Ok(([limit((map.memory_bytes() / 8) as u64)?; 2], Vec::new())))?;
    Ok(records)
}
