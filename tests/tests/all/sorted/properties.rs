//! The sorted map, compared with `std::collections::BTreeMap` through sequences of rebuilds,
//! lookups, bounds and ranges, on every engine.

use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::ops::{Bound, Range, RangeBounds};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, SortedConfig, SortedMap};
use warpnest_tests::sorted_checker::check_sorted_map;
use warpnest_tests::{TestEngine, key, on_every_engine};

type Bounds<K> = (Bound<K>, Bound<K>);

#[derive(Clone, Debug)]
enum Step<K, V> {
    Rebuild(Vec<(K, V)>),
    Clone,
    Get(Vec<K>),
    LowerAndUpper(Vec<K>),
    Ranges(Vec<Bounds<K>>),
    Count(Vec<Range<K>>),
    PairsInto,
    Shrink,
}

fn pairs<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Vec<(K, V)>> {
    let of = |most| prop::collection::vec((key::<K>(), any::<u64>().prop_map(V::from_u64)), 0..most);
    // Some inputs have few keys, so the whole map is one or two groups.
    prop_oneof![2 => of(most), 1 => of(40)]
}

fn bound<K: Key>() -> impl Strategy<Value = Bound<K>> {
    prop_oneof![
        3 => key().prop_map(Bound::Included),
        3 => key().prop_map(Bound::Excluded),
        1 => Just(Bound::Unbounded),
    ]
}

fn step<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Step<K, V>> {
    let queries = || prop::collection::vec(key::<K>(), 0..80);
    let range = (key::<K>(), key::<K>()).prop_map(|(from, to)| from..to);
    prop_oneof![
        2 => pairs(most).prop_map(Step::Rebuild),
        1 => Just(Step::Clone),
        2 => queries().prop_map(Step::Get),
        2 => queries().prop_map(Step::LowerAndUpper),
        2 => prop::collection::vec((bound(), bound()), 0..4).prop_map(Step::Ranges),
        2 => prop::collection::vec(range, 0..80).prop_map(Step::Count),
        1 => Just(Step::PairsInto),
        1 => Just(Step::Shrink),
    ]
}

#[derive(Debug)]
struct Case<K, V> {
    config: SortedConfig,
    unique: bool,
    pairs: Vec<(K, V)>,
    steps: Vec<Step<K, V>>,
}

fn case<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Case<K, V>> {
    (any::<bool>(), any::<bool>(), pairs(most), prop::collection::vec(step(most), 0..6)).prop_map(
        |(unique, timings, pairs, steps)| {
            let config = SortedConfig::default();
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

/// Returns the keys of a reference, and their neighbours.
fn around<K: Key, V>(reference: &BTreeMap<K, V>) -> Vec<K> {
    let beside = |key: K| [0, 1, u64::MAX].map(|step| K::from_u64(key.to_u64().wrapping_add(step)));
    reference.keys().flat_map(|&key| beside(key)).collect()
}

fn bounds_are_right<K: Key, V: Value>(
    map: &SortedMap<K, V>,
    reference: &BTreeMap<K, V>,
    queries: &[K],
) -> Result<(), TestCaseError> {
    let sorted: Vec<K> = reference.keys().copied().collect();
    let count = |test: &dyn Fn(K, K) -> bool| -> Vec<u32> {
        queries.iter().map(|&query| sorted.partition_point(|&key| test(key, query)) as u32).collect()
    };
    prop_assert_eq!(map.lower_bound_many(queries).unwrap(), count(&|key, query| key < query));
    prop_assert_eq!(map.upper_bound_many(queries).unwrap(), count(&|key, query| key <= query));
    Ok(())
}

fn range_is_right<K: Key, V: Value>(
    map: &SortedMap<K, V>,
    reference: &BTreeMap<K, V>,
    range: Bounds<K>,
) -> Result<(), TestCaseError> {
    let ranks = map.range(range).unwrap();
    let all_from = |key: &&K| !(range.0, Bound::Unbounded).contains(*key);
    let all_to = |key: &&K| (Bound::Unbounded, range.1).contains(*key);
    let start = reference.keys().filter(all_from).count() as u32;
    let end = reference.keys().filter(all_to).count() as u32;
    prop_assert_eq!(&ranks, &(start..end.max(start)), "{:?}", range);
    let expected: Vec<(K, V)> =
        reference.iter().filter(|(key, _)| range.contains(*key)).map(|(&key, &value)| (key, value)).collect();
    prop_assert_eq!(map.range_pairs(range).unwrap(), expected);
    Ok(())
}

fn run<K: Key, V: Value>(engine: &TestEngine, case: Case<K, V>) -> Result<(), TestCaseError> {
    let fail = |error: warpnest::Error| TestCaseError::fail(error.to_string());
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let (keys, values) = kept(case.unique, &case.pairs);
    let mut map: SortedMap<K, V> = case.config.build(device, &keys, &values).map_err(fail)?;
    let mut given = keys.len();
    let mut reference: BTreeMap<K, V> = keys.into_iter().zip(values).collect();
    let last = [Step::Get(vec![]), Step::LowerAndUpper(vec![]), Step::PairsInto];
    for step in case.steps.into_iter().chain(last) {
        match step {
            Step::Rebuild(pairs) => {
                let (keys, values) = kept(case.unique, &pairs);
                given = keys.len();
                let on_device = Buffer::from_slice(device, &keys).map_err(fail)?;
                let device_values = Buffer::from_slice(device, &values).map_err(fail)?;
                map.rebuild(&on_device, &device_values).map_err(fail)?;
                reference = keys.into_iter().zip(values).collect();
            }
            Step::Clone => {
                let copy = map.try_clone().map_err(fail)?;
                prop_assert_eq!((copy.report(), copy.table().layout()), (map.report(), map.table().layout()));
                map = copy;
            }
            Step::Get(mut queries) => {
                queries.extend(around(&reference));
                let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
                let contained: Vec<bool> = expected.iter().map(Option::is_some).collect();
                prop_assert_eq!(map.get_many(&queries).map_err(fail)?, expected);
                prop_assert_eq!(map.contains_many(&queries).map_err(fail)?, contained);
            }
            Step::LowerAndUpper(mut queries) => {
                queries.extend(around(&reference));
                bounds_are_right(&map, &reference, &queries)?;
            }
            Step::Ranges(ranges) => {
                ranges.into_iter().try_for_each(|range| range_is_right(&map, &reference, range))?;
            }
            Step::Count(ranges) => {
                let count = |range: &Range<K>| reference.keys().filter(|key| range.contains(key)).count() as u32;
                prop_assert_eq!(
                    map.count_ranges_many(&ranges).map_err(fail)?,
                    Vec::from_iter(ranges.iter().map(count))
                );
            }
            Step::PairsInto => {
                let mut keys = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                let mut values = Buffer::zeroed(device, reference.len()).map_err(fail)?;
                map.pairs_into(stream, &mut keys, &mut values).map_err(fail)?;
                prop_assert!(reference.keys().copied().eq(keys.download(stream).map_err(fail)?));
                prop_assert!(reference.values().copied().eq(values.download(stream).map_err(fail)?));
            }
            Step::Shrink => map.shrink_to_fit().map_err(fail)?,
        }
        check_sorted_map(&map).map_err(TestCaseError::fail)?;
        prop_assert_eq!(map.len(), reference.len());
        prop_assert_eq!(map.report().repeats, (given - reference.len()) as u64);
        prop_assert_eq!(map.report().stages.is_some(), case.config == case.config.clone().timings());
    }
    Ok(())
}

fn property<K: Key, V: Value>() {
    on_every_engine(|engine| case::<K, V>(engine.max_items.min(2500)), run);
}

warpnest_tests::of_all_widths!(property);
