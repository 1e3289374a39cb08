//! The extendible map, compared with `std::collections::HashMap` through sequences of batches, on
//! every engine. Its structure is checked after each step.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, ExtendibleConfig, ExtendibleMap};
use warpnest_tests::changing::steps::{check_removed, fail, without};
use warpnest_tests::{key, maps, of_all_widths, on_every_engine};

/// Returns a strategy for keys: few different keys, which repeat; any keys; or keys in sequence,
/// some of which differ in their upper halves alone.
fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let few = prop_oneof![4 => 0u64..40, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)].prop_map(K::from_u64);
    let row = (any::<u64>(), 0..K::BITS, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    prop_oneof![
        2 => prop::collection::vec(few, 0..=most.min(100)),
        3 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec((0u64..500).prop_map(K::from_u64), 0..=most),
        3 => row,
    ]
}

/// A call of a map.
#[derive(Clone, Debug)]
enum Step<K> {
    Insert(Vec<K>, u64),
    Remove(Vec<K>),
    /// Removes all keys of the map except every n-th.
    Thin(usize),
    Clear,
    Clone,
    Shrink,
}

fn step<K: Key>(most: usize) -> impl Strategy<Value = Step<K>> {
    prop_oneof![
        8 => (keys(most), any::<u64>()).prop_map(|(keys, seed)| Step::Insert(keys, seed)),
        3 => keys(most).prop_map(Step::Remove),
        3 => (2usize..40).prop_map(Step::Thin),
        1 => Just(Step::Clear),
        1 => Just(Step::Clone),
        1 => Just(Step::Shrink),
    ]
}

fn config() -> impl Strategy<Value = ExtendibleConfig> {
    let shape =
        (1u32..5, 2u32..7, prop_oneof![3 => Just(1u32), 1 => Just(2), 1 => Just(8), 1 => Just(5)], any::<u64>());
    shape.prop_map(|(segments, lg_buckets, eighths, seed)| {
        ExtendibleConfig::default().segments(segments).buckets(1 << lg_buckets).records(8 * eighths).seed(seed)
    })
}

fn check<K: Key, V: Value>(
    map: &ExtendibleMap<K, V>,
    reference: &HashMap<K, V>,
    queries: &[K],
) -> Result<(), TestCaseError> {
    maps::check(map, reference, queries).map_err(TestCaseError::fail)
}

fn as_a_hash_map<K: Key, V: Value>() {
    let inputs = |engine: &warpnest_tests::TestEngine| {
        let most = (engine.max_items / 50).clamp(30, 2000);
        (config(), prop::collection::vec(step::<K>(most), 1..8))
    };
    on_every_engine(inputs, |engine, (config, steps)| {
        let stream = engine.device.default_stream();
        let mut map = config.create::<K, V>(&engine.device).map_err(fail)?;
        let mut reference = HashMap::new();
        for step in steps {
            let mut queries: Vec<K> = vec![K::from_u64(3), K::ALL_ONES];
            match step {
                Step::Insert(keys, seed) => {
                    let value = |i: usize| V::from_u64((seed.wrapping_add(i as u64)).wrapping_mul(0x1_0000_0001));
                    let values: Vec<V> = (0..keys.len()).map(value).collect();
                    let new: HashSet<&K> = keys.iter().filter(|key| !reference.contains_key(*key)).collect();
                    let new = new.len();
                    let (on_device, device_values) = (
                        Buffer::from_slice(&engine.device, &keys).map_err(fail)?,
                        Buffer::from_slice(&engine.device, &values).map_err(fail)?,
                    );
                    let inserted = map.insert_many(&on_device, &device_values).map_err(fail)?;
                    prop_assert_eq!(inserted, new);
                    reference.extend(keys.iter().copied().zip(values));
                    queries = keys;
                }
                Step::Remove(keys) => {
                    let answers = map.remove_many(&keys).map_err(fail)?;
                    check_removed(&reference, &keys, &answers)?;
                    without(&mut reference, &keys);
                    queries = keys;
                }
                Step::Thin(every) => {
                    let mut keys: Vec<K> = reference.keys().copied().collect();
                    keys.sort_unstable();
                    let gone: Vec<K> =
                        keys.iter().enumerate().filter(|(i, _)| i % every != 0).map(|(_, &key)| key).collect();
                    let on_device = Buffer::from_slice(&engine.device, &gone).map_err(fail)?;
                    let mut answers = Answers::new(&engine.device, gone.len()).map_err(fail)?;
                    let removed = map.remove_many_into(stream, &on_device, &mut answers).map_err(fail)?;
                    prop_assert_eq!(removed, gone.len());
                    check_removed(&reference, &gone, &answers.download(stream).map_err(fail)?)?;
                    without(&mut reference, &gone);
                    queries = gone;
                }
                Step::Clear => {
                    map.clear().map_err(fail)?;
                    reference.clear();
                }
                Step::Clone => map = map.try_clone().map_err(fail)?,
                Step::Shrink => map.shrink_to_fit().map_err(fail)?,
            }
            check(&map, &reference, &queries)?;
        }
        Ok(())
    });
}
of_all_widths!(as_a_hash_map);
