//! The page map, compared with `std::collections::HashMap` through sequences of operations, on
//! every engine.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, PageConfig, PageMap};
use warpnest_tests::page_checker::{check_page_map, same_pairs};
use warpnest_tests::{TestEngine, key, on_every_engine};

/// Returns a strategy for keys of one kind: few keys that repeat, any keys, or keys in sequence at
/// some distance, which may wrap around.
fn keys<K: Key>(most: usize) -> impl Strategy<Value = Vec<K>> {
    let steps = (any::<u64>(), 0u32..48, 0..=most)
        .prop_map(|(first, lg, n)| (0..n as u64).map(|i| K::from_u64(first.wrapping_add(i << lg))).collect());
    let row = (any::<bool>(), 0..=most)
        .prop_map(|(up, n)| (0..n as u64).map(|i| K::from_u64(if up { i } else { u64::MAX - i })).collect());
    let few = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let copies = (few.clone(), few, 1usize..9, 0..=most).prop_map(|(one, other, every, n)| {
        (0..n).map(|i| K::from_u64(if i % every == 0 { one } else { other })).collect()
    });
    prop_oneof![
        3 => prop::collection::vec(key::<K>(), 0..=most),
        2 => prop::collection::vec(any::<u64>().prop_map(K::from_u64), 0..=most),
        1 => steps,
        1 => row,
        1 => copies,
    ]
}

/// Returns a strategy for pairs with values that follow from a seed.
fn pairs<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Vec<(K, V)>> {
    (keys::<K>(most), any::<u64>()).prop_map(|(keys, seed)| {
        let value = |i: usize| V::from_u64((i as u64).wrapping_add(seed).wrapping_mul(seed | 1));
        keys.into_iter().enumerate().map(|(i, key)| (key, value(i))).collect()
    })
}

#[derive(Clone, Debug)]
enum Step<K, V> {
    Rebuild(Vec<(K, V)>),
    Clone,
    Get(Vec<K>),
    Contains(Vec<K>),
    ToPairs,
    PairsInto,
    Shrink,
}

fn step<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Step<K, V>> {
    prop_oneof![
        4 => pairs(most).prop_map(Step::Rebuild),
        1 => Just(Step::Clone),
        2 => prop::collection::vec(key::<K>(), 0..70).prop_map(Step::Get),
        2 => prop::collection::vec(key::<K>(), 0..70).prop_map(Step::Contains),
        1 => Just(Step::ToPairs),
        1 => Just(Step::PairsInto),
        1 => Just(Step::Shrink),
    ]
}

#[derive(Clone, Debug)]
struct Case<K, V> {
    config: PageConfig,
    unique: bool,
    pairs: Vec<(K, V)>,
    steps: Vec<Step<K, V>>,
}

fn case<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Case<K, V>> {
    let load = prop_oneof![2 => 0.05..=1.0f64, 1 => Just(0.8), 1 => Just(1.0), 1 => 0.002..0.05f64];
    let config = (load, any::<u64>(), any::<bool>(), any::<bool>());
    (config, pairs(most), prop::collection::vec(step(most), 0..5)).prop_map(
        |((load, seed, unique, timings), pairs, steps)| {
            let config = PageConfig::default().load(load).seed(seed);
            let config = if unique { config.assume_unique() } else { config };
            Case { config: if timings { config.timings() } else { config }, unique, pairs, steps }
        },
    )
}

/// Returns the pairs to build from: only the first pair of each key if keys must be unique.
fn kept<K: Key, V: Value>(unique: bool, pairs: &[(K, V)]) -> (Vec<K>, Vec<V>) {
    let mut seen = HashSet::new();
    pairs.iter().copied().filter(|pair| !unique || seen.insert(pair.0)).unzip()
}

fn run<K: Key, V: Value>(engine: &TestEngine, case: Case<K, V>) -> Result<(), TestCaseError> {
    let fail = |error: warpnest::Error| TestCaseError::fail(error.to_string());
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let (keys, values) = kept(case.unique, &case.pairs);
    let mut map: PageMap<K, V> = case.config.build(device, &keys, &values).map_err(fail)?;
    let mut reference: HashMap<K, V> = keys.into_iter().zip(values).collect();
    check_page_map(&map, &reference).map_err(TestCaseError::fail)?;
    let some = |queries: Vec<K>, reference: &HashMap<K, V>| -> Vec<K> {
        reference.keys().copied().take(500).chain(queries).collect()
    };
    // After the steps all keys are looked up and all pairs are listed.
    let last = [Step::Get(reference.keys().copied().collect()), Step::ToPairs];
    for step in case.steps.into_iter().chain(last) {
        match step {
            Step::Rebuild(pairs) => {
                let (keys, values) = kept(case.unique, &pairs);
                let on_device = Buffer::from_slice(device, &keys).map_err(fail)?;
                let device_values = Buffer::from_slice(device, &values).map_err(fail)?;
                map.rebuild(&on_device, &device_values).map_err(fail)?;
                reference = keys.into_iter().zip(values).collect();
                prop_assert_eq!(map.report().stages.is_some(), format!("{:?}", case.config).contains("timings: true"));
            }
            Step::Clone => {
                let copy = map.try_clone().map_err(fail)?;
                prop_assert_eq!((copy.report(), copy.table().layout()), (map.report(), map.table().layout()));
                map = copy;
            }
            Step::Get(queries) => {
                let queries = some(queries, &reference);
                let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
                prop_assert_eq!(map.get_many(&queries).map_err(fail)?, expected);
            }
            Step::Contains(queries) => {
                let queries = some(queries, &reference);
                let expected: Vec<bool> = queries.iter().map(|key| reference.contains_key(key)).collect();
                prop_assert_eq!(map.contains_many(&queries).map_err(fail)?, expected);
            }
            Step::ToPairs => {
                let pairs = map.to_pairs().map_err(fail)?;
                prop_assert_eq!(pairs.len(), reference.len());
                same_pairs(&pairs.into_iter().collect(), &reference).map_err(TestCaseError::fail)?;
            }
            Step::PairsInto => {
                let mut keys = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                let mut values = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                map.pairs_into(stream, &mut keys, &mut values).map_err(fail)?;
                let keys: Vec<K> = keys.download(stream).map_err(fail)?;
                let pairs: HashMap<K, V> = keys.into_iter().zip(values.download(stream).map_err(fail)?).collect();
                same_pairs(&pairs, &reference).map_err(TestCaseError::fail)?;
            }
            Step::Shrink => map.shrink_to_fit().map_err(fail)?,
        }
        check_page_map(&map, &reference).map_err(TestCaseError::fail)?;
    }
    Ok(())
}

fn property<K: Key, V: Value>() {
    on_every_engine(|engine| case::<K, V>(engine.max_items.min(2500)), run);
}

warpnest_tests::of_all_widths!(property);
