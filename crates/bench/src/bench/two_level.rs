//! Benchmarks of the two-level map.

use super::Bench;
use super::maps::Subjects;
use super::record::Record;
use warpnest::TwoLevelConfig;
use warpnest::two_level::TwoLevelStages;
use warpnest::types::{WordKey as Key, WordValue as Value};

/// Builds a map of `n` pairs, and looks up present and absent keys.
///
/// The limits of a build and its stages are the times of copies of equally many bytes. Counting
/// reads the keys once. Shuffling reads and writes keys and values in each pass, and reads the keys
/// once more for the buckets' starts. Cuckoo hashing reads keys and values and writes the slots.
pub fn measure<K: Key, V: Value>(at: Bench<'_>, items_per_bucket: Option<f64>) -> anyhow::Result<Vec<Record>> {
    let subjects = Subjects::<K, V>::new(at.device, at.n, at.runs)?;
    let config = TwoLevelConfig::default().seed(1);
    let config = match items_per_bucket {
        Some(items) => config.items_per_bucket(items),
        None => config,
    };
    let (_, records) = subjects.builds(at, &config, |map| {
        let copies = at.roofline.copies(at.n, K::BITS + V::BITS)?;
        let limit = |bytes| copies.gops(bytes);
        let (key_bytes, pair_bytes) = (at.n * K::BITS as u64 / 8, at.n * (K::BITS + V::BITS) as u64 / 8);
        let shuffled = map.report().passes as u64 * 2 * pair_bytes + key_bytes;
        let built = pair_bytes + map.memory_bytes() as u64;
        drop(map);
        let mut map = subjects.build(&config.clone().assume_unique().timings())?;
        let stages = subjects.stages(&mut map, TwoLevelStages::total, |report| report.stages)?.map(|stages| {
            vec![
                ("initialization", stages.initialization, 0.0),
                ("count", stages.count, limit(key_bytes)),
                ("scan", stages.scan, 0.0),
                ("shuffle", stages.shuffle, limit(shuffled)),
                ("cuckoo", stages.cuckoo, limit(built)),
            ]
        });
        Ok(([limit(key_bytes + shuffled + built); 2], stages.unwrap_or_default()))
    })?;
    Ok(records)
}
