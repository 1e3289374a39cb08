//! The two-level map, compared with `std::collections::HashMap` in every configuration on every
//! engine.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::design::HashFamily;
use warpnest::error::BuildError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Error, TwoLevelConfig};
use warpnest_tests::{TestEngine, family, key, maps, on_every_engine};

/// Returns a strategy for configurations that can hold any keys, also with small buckets, so small
/// inputs have many buckets. The flag says whether one of the hash families is weak.
fn config() -> impl Strategy<Value = (TwoLevelConfig, bool)> {
    let shape = (16u32..=512, 0.05..0.6f64, 2u32..=4, 1.0..2.0f64);
    (shape, family(), family(), any::<u64>(), any::<bool>()).prop_map(
        |((capacity, fill, tables, slack), first, second, seed, statistics)| {
            // A bucket has enough slots for each item that a seed can be found even if the bucket
            // is nearly full.
            let least = [2.6, 1.5, 1.4][tables as usize - 2];
            let capacity = capacity.min((1024.0 / least) as u32);
            let slots = ((capacity as f64 * least * slack / tables as f64).ceil() as u32).min(1024 / tables);
            // If keys share their slots under all constants, more attempts fail, so only few are
            // allowed.
            let weak = [first, second].iter().any(|family| *family != HashFamily::Mix);
            let config = TwoLevelConfig::default()
                .bucket_capacity(capacity)
                .items_per_bucket((capacity as f64 * fill).max(1.0))
                .sub_tables(tables, slots)
                .hash(first)
                .sub_table_hash(second)
                .restarts(if weak { 20 } else { 200 })
                .seed(seed);
            (if statistics { config.statistics().timings() } else { config }, weak)
        },
    )
}

/// Builds a map of `pairs` and compares all of its answers with the reference.
fn check<K: Key, V: Value>(
    engine: &TestEngine,
    config: &TwoLevelConfig,
    weak: bool,
    pairs: &[(K, V)],
    absent: &[K],
) -> Result<(), TestCaseError> {
    let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
    let reference: HashMap<K, V> = pairs.iter().copied().collect();
    let map = match config.build(&engine.device, &keys, &values) {
        Ok(map) => map,
        // Under the weak families, keys that are equal modulo the prime, or in all except their
        // high bits, share their bucket and slots.
        Err(Error::BuildFailed(BuildError::TwoLevel { .. })) if weak => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(format!("{config:?}: {error}"))),
    };
    let queries: Vec<K> = keys.iter().chain(absent).copied().collect();
    maps::check(&map, &reference, &queries).map_err(TestCaseError::fail)?;
    Ok(())
}

fn property<K: Key, V: Value>() {
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(3000);
            let pairs = prop::collection::vec((key::<K>(), any::<u64>()), 0..most);
            (config(), pairs, prop::collection::vec(key::<K>(), 0..40))
        },
        |engine, ((config, weak), pairs, absent)| {
            let pairs: Vec<(K, V)> = pairs.into_iter().map(|(key, value)| (key, V::from_u64(value))).collect();
            check(engine, &config, weak, &pairs, &absent)
        },
    );
}

warpnest_tests::of_all_widths!(property);
