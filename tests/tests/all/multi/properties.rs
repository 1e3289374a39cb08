//! The multimap, compared with `BTreeMap<K, Vec<V>>` on every engine and on every base table. Every
//! key has all of its values, in the order of the input.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use warpnest::design::{Config, HashFamily};
use warpnest::design::{Cuckoo, Ids};
use warpnest::error::BuildError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, CuckooConfig, Device, Error, MultiConfig, MultiMap, PageConfig};
use warpnest_tests::forms::{Form, FormOf};
use warpnest_tests::{
    assert_wrong_device, at, counting, distinct_keys, elsewhere, in_all_widths, key, on_all, on_every_engine,
    parameterized, values,
};

fn reference<K: Key, V: Value>(keys: &[K], values: &[V]) -> BTreeMap<K, Vec<V>> {
    let mut all: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (&key, &value) in keys.iter().zip(values) {
        all.entry(key).or_default().push(value);
    }
    all
}

/// Says what is wrong with a map of these pairs; `absent` are more keys to look up, present or not.
pub(super) fn wrong<K: Key, V: Value, D: Ids>(
    map: &MultiMap<K, V, D>,
    keys: &[K],
    values: &[V],
    absent: &[K],
) -> Result<(), String> {
    let said = |error: Error| error.to_string();
    let all = reference(keys, values);
    let sizes = (map.len(), map.key_count(), map.is_empty());
    if sizes != (keys.len(), all.len(), keys.is_empty()) {
        return Err(format!("{} pairs of {} keys, and the map says {sizes:?}", keys.len(), all.len()));
    }
    let none = Vec::new();
    let queries: Vec<K> = all.keys().chain(absent).copied().chain(all.keys().rev().copied()).collect();
    let expected: Vec<&Vec<V>> = queries.iter().map(|key| all.get(key).unwrap_or(&none)).collect();
    let counts = map.count_many(&queries).map_err(said)?;
    if counts.len() != queries.len() || counts.iter().zip(&expected).any(|(&count, list)| count as usize != list.len())
    {
        return Err(format!("counts of {queries:?} are {counts:?}"));
    }
    let contained = map.contains_many(&queries).map_err(said)?;
    if contained.len() != queries.len()
        || contained.iter().zip(&expected).any(|(&there, list)| there == list.is_empty())
    {
        return Err(format!("which of {queries:?} are there: {contained:?}"));
    }
    let stream = map.device().default_stream();
    let asked = Buffer::from_slice(map.device(), &queries).map_err(said)?;
    let (starts, of_runs) = map.runs_many_on(stream, &asked).map_err(said)?;
    let (starts, of_runs) = (starts.download(stream).map_err(said)?, of_runs.download(stream).map_err(said)?);
    let grouped = map.value_buffer().download(stream).map_err(said)?;
    let run = |i: usize| grouped.get(starts[i] as usize..(starts[i] + of_runs[i]) as usize);
    if of_runs != counts || (0..queries.len()).any(|i| run(i) != Some(&expected[i][..])) {
        return Err(format!("the runs of {queries:?} are {starts:?}, {of_runs:?}"));
    }
    listed(map, &all)?;
    let found = map.retrieve_many(&queries).map_err(said)?;
    if found.offsets.len() != queries.len() + 1 || found.offsets.last() != Some(&(found.values.len() as u64)) {
        return Err(format!("offsets {:?} of {} values", found.offsets, found.values.len()));
    }
    for (i, expected) in expected.iter().enumerate() {
        let [from, to] = [found.offsets[i], found.offsets[i + 1]].map(|offset| offset as usize);
        if found.values.get(from..to) != Some(&expected[..]) {
            return Err(format!("key {} has {expected:?}, and {:?} came", queries[i], found.values.get(from..to)));
        }
    }
    Ok(())
}

/// Says what is wrong with the list of all pairs.
fn listed<K: Key, V: Value, D: Ids>(map: &MultiMap<K, V, D>, all: &BTreeMap<K, Vec<V>>) -> Result<(), String> {
    let said = |error: Error| error.to_string();
    let pairs = map.to_pairs().map_err(said)?;
    let keys: BTreeSet<K> = map.keys().map_err(said)?.collect();
    let values = map.values().map_err(said)?;
    if !keys.iter().eq(all.keys()) || !values.eq(pairs.iter().map(|&(_, value)| value)) {
        return Err(format!("keys or values differ from those of {pairs:?}"));
    }
    if !map.iter().map_err(said)?.eq(pairs.iter().copied()) {
        return Err(format!("iterating does not give {pairs:?}"));
    }
    if let Some((&key, list)) = all.first_key_value() {
        let (got, there) = (map.get(key).map_err(said)?, map.contains(key).map_err(said)?);
        if (&got, there) != (list, true) {
            return Err(format!("key {key} has {list:?}, and alone {got:?}, {there}"));
        }
    }
    // Every key's values are listed in their order, and all values as the map stores them, so
    // copies of a key are adjacent.
    let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
    let in_groups = map.value_buffer().download(map.device().default_stream()).map_err(said)?;
    if reference(&keys, &values) != *all || values != in_groups {
        return Err(format!("the pairs are listed as {pairs:?}, and the values as {in_groups:?}"));
    }
    let changes = keys.windows(2).filter(|two| two[0] != two[1]).count();
    if changes + 1 != all.len().max(1) {
        return Err(format!("{} keys, and {changes} times another one follows: {keys:?}", all.len()));
    }
    Ok(())
}

fn right<F: Form + FormOf, K: Key, V: Value>(device: &Device, config: &MultiConfig<F>, keys: &[K]) {
    let _at = at(format!(
        "{} pairs of {}, {}, {config:?}",
        keys.len(),
        std::any::type_name::<K>(),
        std::any::type_name::<V>()
    ));
    let values: Vec<V> = values(keys.len());
    let absent: Vec<K> = keys.iter().map(|&key| K::from_u64(!key.to_u64())).chain([K::default()]).collect();
    let map = config.build(device, keys, &values).unwrap();
    assert_eq!(wrong(&map, keys, &values, &absent), Ok(()));
    let copy = map.try_clone().unwrap();
    drop(map);
    assert_eq!(wrong(&copy, keys, &values, &[]), Ok(()));
}

fn property<F: Form + FormOf, K: Key, V: Value>() {
    on_every_engine(
        |engine| {
            let pairs = prop::collection::vec((key::<K>(), any::<u64>()), 0..engine.max_items.min(3000));
            (pairs, prop::collection::vec(key::<K>(), 0..40), any::<u64>(), 0.05..1.0f64)
        },
        |engine, (pairs, absent, seed, load)| {
            let keys: Vec<K> = pairs.iter().map(|pair| pair.0).collect();
            let values: Vec<V> = pairs.iter().map(|pair| V::from_u64(pair.1)).collect();
            let config = MultiConfig::on(F::with(seed, load));
            let map = config.build(&engine.device, &keys, &values);
            let map = map.map_err(|error| TestCaseError::fail(error.to_string()))?;
            wrong(&map, &keys, &values, &absent).map_err(TestCaseError::fail)
        },
    );
}

fn every_key_has_its_values_32_32<F: Form>() {
    property::<F, u32, u32>();
}

fn every_key_has_its_values_32_64<F: Form>() {
    property::<F, u32, u64>();
}

fn every_key_has_its_values_64_32<F: Form>() {
    property::<F, u64, u32>();
}

fn every_key_has_its_values_64_64<F: Form>() {
    property::<F, u64, u64>();
}

fn edges<F: Form>() {
    fn with<F: Form + FormOf, K: Key, V: Value>(device: &Device) {
        let config = MultiConfig::on(F::with(5, 0.8));
        let (zero, ones) = (K::default(), K::ALL_ONES);
        // There are no pairs, one pair, or pairs of one key, more than a block has threads.
        for keys in [&[][..], &[zero], &[ones], &[ones, zero, ones], &[ones; 33], &[zero; 300]] {
            right::<F, K, V>(device, &config, keys);
        }
        for pairs in [31, 32, 33, 255, 256, 257] {
            right::<F, K, V>(device, &config, &distinct_keys::<K>(pairs, 3));
        }
        // One key has most of the values, between other keys with one value each.
        let one: Vec<K> = (0..400u64).map(|i| K::from_u64(if i % 8 == 0 { i } else { 9 })).collect();
        right::<F, K, V>(device, &config, &one);
    }
    on_all(|device| {
        in_all_widths!(with::<F>(device));
    });
}

/// Checks many keys with one value each up to few keys with many values.
fn however_values_are_shared_out<F: Form>() {
    let device = Device::best().unwrap();
    let config = MultiConfig::on(Config::<F>::default());
    for multiplicity in [1, 2, 100, 70_000] {
        let keys: Vec<u32> = distinct_keys::<u32>(140_000 / multiplicity, 9);
        right::<F, u32, u32>(&device, &config, &keys.repeat(multiplicity));
    }
}

fn a_rebuild_is_a_build_and_one_that_makes_no_sense_changes_nothing<F: Form>() {
    fn with<F: Form + FormOf, K: Key, V: Value>(device: &Device) {
        let config = MultiConfig::on(Config::<F>::default());
        let mut map = config.build(device, &distinct_keys::<K>(100, 1), &values::<V>(100)).unwrap();
        let last = distinct_keys::<K>(100, 3).repeat(3);
        for keys in [distinct_keys(40, 2), vec![], vec![K::ALL_ONES; 9], distinct_keys(200, 4), last.clone()] {
            let numbers = values::<V>(keys.len());
            let (keys_on, values_on) = (Buffer::from_slice(device, &keys), Buffer::from_slice(device, &numbers));
            map.rebuild(&keys_on.unwrap(), &values_on.unwrap()).unwrap();
            assert_eq!(wrong(&map, &keys, &numbers, &[]), Ok(()));
        }
        let there = elsewhere();
        let foreign =
            (Buffer::from_slice(&there, &last).unwrap(), Buffer::from_slice(&there, &values::<V>(300)).unwrap());
        assert_wrong_device(map.rebuild(&foreign.0, &foreign.1).unwrap_err(), "the buffer of keys", &there, device);
        map.shrink_to_fit().unwrap();
        assert_eq!(wrong(&map, &last, &values(300), &[]), Ok(()));
    }
    on_all(with::<F, u32, u32>);
    on_all(with::<F, u64, u32>);
}

/// Checks that the same pairs and seed give the same arrays.
fn two_builds_with_one_seed_group_alike<F: Form>() {
    on_all(|device| {
        let stream = device.default_stream();
        let keys: Vec<u64> = distinct_keys::<u64>(7000, 2).iter().map(|key| key % 2000).collect();
        let config = MultiConfig::on(F::with(3, 0.8));
        let build = || config.build(device, &keys, &values::<u32>(keys.len())).unwrap();
        let arrays = |map: &MultiMap<u64, u32, F>| {
            (map.value_buffer().download(stream).unwrap(), map.lasts().download(stream).unwrap())
        };
        assert_eq!(arrays(&build()), arrays(&build()));
    });
}

/// Checks keys that all belong to one page under the constants by which they were sorted. The table
/// of keys must draw other constants.
#[parameterized]
fn keys_that_all_fall_into_one_page_take_other_constants<K: Key>(device: &Device) {
    let config = MultiConfig::on(PageConfig::default().seed(8));
    let layout = *config.build(device, &[K::default()], &[0u32]).unwrap().runs().table().layout();
    let keys: Vec<K> = (0..20_000).map(|mixed| K::from_u64(mixed).unmixed(layout.a, layout.b)).collect();
    let map = config.build(device, &keys, &values::<u32>(keys.len())).unwrap();
    assert!(map.report().failures > 0 && map.runs().table().layout().a != layout.a);
    // The constants that failed are not tried again.
    let error = MultiConfig::on(PageConfig::default().seed(8).restarts(0))
        .build(device, &keys, &values::<u32>(keys.len()))
        .unwrap_err();
    assert!(matches!(error, Error::BuildFailed(BuildError::Page { attempts: 1, .. })), "{error}");
    assert_eq!(wrong(&map, &keys, &values(keys.len()), &[]), Ok(()));
}

/// Checks one key with most of the values, which would overflow a bin of any split. There must be
/// no split.
#[parameterized]
fn a_key_with_most_of_the_values_is_not_counted_in_the_map_of_keys(device: &Device) {
    let keys: Vec<u32> = (0..40_000).map(|i| if i % 8 == 0 { i } else { 77 }).collect();
    let map = MultiMap::build(device, &keys, &values::<u32>(keys.len())).unwrap();
    let report = map.report();
    assert!(!report.counted && !report.split_again && report.failures == 0);
    assert_eq!(wrong(&map, &keys, &values(keys.len()), &[]), Ok(()));
}

/// Checks that adjacent threads of a cuckoo table begin at adjacent slots, since the keys are
/// sorted in the table's order by its first constants.
#[parameterized]
fn the_sorted_keys_are_in_the_order_of_the_table(device: &Device) {
    let keys: Vec<u64> = distinct_keys::<u64>(3000, 1).iter().map(|key| key % 2900).collect();
    let numbers = values::<u32>(keys.len());
    let config = MultiConfig::on(CuckooConfig::default().seed(1));
    let map: MultiMap<u64, u32, Cuckoo> = config.build(device, &keys, &numbers).unwrap();
    let mut runs = map.runs().to_pairs().unwrap();
    runs.sort_unstable_by_key(|&(_, run)| run);
    let slots: Vec<u32> = runs.iter().map(|&(key, _)| map.runs().table().functions().slots_of(key)[0]).collect();
    assert!(slots.is_sorted(), "{slots:?}");
}

/// Checks a hash family that orders no keys.
#[parameterized]
fn another_family_than_the_mix_is_served_as_well(device: &Device) {
    let keys: Vec<u32> = distinct_keys::<u32>(3000, 5).iter().map(|key| key % 2900).collect();
    let config = CuckooConfig::default().hash(HashFamily::ALCANTARA_2011);
    right::<_, u32, u32>(device, &MultiConfig::on(config), &keys);
}

/// Checks the memory that the configuration announces: the most that a map keeps, and the most that
/// its build uses.
fn memory_is_what_was_said<F: Form>() {
    use std::sync::atomic::Ordering::Relaxed;
    fn with<F: Form + FormOf, K: Key, V: Value>() {
        for pairs in [1, 1000, 70_000] {
            let (device, counts) = counting();
            let config = MultiConfig::on(Config::<F>::default());
            let distinct = distinct_keys::<K>(pairs, 2);
            for multiplicity in [1, 2, 50] {
                let keys: Vec<K> = (0..pairs).map(|i| distinct[i / multiplicity]).collect();
                let keys = Buffer::from_slice(&device, &keys).unwrap();
                let values = Buffer::from_slice(&device, &values::<V>(pairs)).unwrap();
                let before = counts.bytes.load(Relaxed);
                counts.most.store(before, Relaxed);
                let map = config.build(&device, &keys, &values).unwrap();
                let (said, keeps) = (config.memory_bytes::<K, V>(pairs).unwrap(), counts.bytes.load(Relaxed) - before);
                let kept = map.memory_bytes();
                assert!(kept == said || multiplicity > 1 && kept < said, "{pairs} pairs: {kept} and {said}");
                // The map's own scratch consists of arrays without elements, which take 16 bytes
                // each.
                assert!(
                    (kept..=kept + 160).contains(&(keeps as usize)),
                    "{pairs} pairs keep {keeps} bytes, and {kept} were said"
                );
                let scratch = config.scratch_bytes::<K, V>(pairs).unwrap();
                let most = counts.most.load(Relaxed) - before;
                assert!(
                    most <= (said + scratch) as u64,
                    "{pairs} pairs took {most} bytes, and {said} + {scratch} were said"
                );
            }
        }
    }
    in_all_widths!(with::<F>());
}

warpnest_tests::of_all_forms! {
    every_key_has_its_values_32_32,
    every_key_has_its_values_32_64,
    every_key_has_its_values_64_32,
    every_key_has_its_values_64_64,
    edges,
    however_values_are_shared_out,
    a_rebuild_is_a_build_and_one_that_makes_no_sense_changes_nothing,
    two_builds_with_one_seed_group_alike,
    memory_is_what_was_said,
}
