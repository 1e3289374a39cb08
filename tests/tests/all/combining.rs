//! Values that are combined with a map's values over many batches, compared with `HashMap`, on
//! every engine and in every table that changes.

use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use warpnest::design::{BulkMap, Config};
use warpnest::design::{Extendible, Linear, Page};
use warpnest::error::{FullError, InputError};
use warpnest::linear::LinearOperation;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, ExtendibleConfig, Fold, LinearConfig, LinearMap, PageConfig, PageMap};
use warpnest_tests::changing::{Changing, steps};
use warpnest_tests::linear_checker::{check_answers, linear_engines};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, engines, on_all, on_those, parameterized, the_cpu_engine};

/// A batch.
#[derive(Clone, Debug)]
enum Step<K> {
    /// Combines by a sum, the least or the greatest value, with values that follow from a seed.
    Combine(usize, Vec<K>, u64),
    Count(Vec<K>),
    Insert(Vec<K>, u64),
    Erase(Vec<K>),
}

fn step<K: Key>(most: usize) -> impl Strategy<Value = Step<K>> {
    prop_oneof![
        6 => (0usize..3, steps::keys(most), any::<u64>()).prop_map(|(fold, keys, seed)| Step::Combine(fold, keys, seed)),
        3 => steps::keys(most).prop_map(Step::Count),
        1 => (steps::keys(most), any::<u64>()).prop_map(|(keys, seed)| Step::Insert(keys, seed)),
        2 => steps::keys(most).prop_map(Step::Erase),
    ]
}

fn sum<V: Value>(held: V, value: V) -> V {
    V::from_u64(held.to_u64().wrapping_add(value.to_u64()))
}

/// Runs a batch on the map and its reference; the count of new keys of each combination is checked.
fn work<D: Changing, K: Key, V: Value>(
    map: &mut BulkMap<K, V, D>,
    reference: &mut HashMap<K, V>,
    step: &Step<K>,
) -> Result<(), TestCaseError> {
    let device = map.device().clone();
    let had = reference.len();
    match step {
        Step::Combine(fold, keys, seed) => {
            let values = steps::values_of::<V>(keys.len(), *seed);
            let combine: fn(V, V) -> V = [sum, Ord::min, Ord::max][*fold];
            for (&key, &value) in keys.iter().zip(&values) {
                reference.entry(key).and_modify(|held| *held = combine(*held, value)).or_insert(value);
            }
            let new = match fold {
                0 => map.combine_many(Fold::SUM, keys, &values),
                1 => map.combine_many(Fold::MIN, keys, &values),
                _ => {
                    let keys = Buffer::from_slice(&device, keys).map_err(steps::fail)?;
                    let values = Buffer::from_slice(&device, &values).map_err(steps::fail)?;
                    map.combine_many(Fold::MAX, &keys, &values)
                }
            };
            prop_assert_eq!(new.map_err(steps::fail)?, reference.len() - had);
        }
        Step::Count(keys) => {
            for &key in keys {
                reference.entry(key).and_modify(|held| *held = sum(*held, V::from_u64(1))).or_insert(V::from_u64(1));
            }
            prop_assert_eq!(map.count_many(keys).map_err(steps::fail)?, reference.len() - had);
        }
        Step::Insert(keys, seed) => {
            let values = steps::values_of::<V>(keys.len(), *seed);
            let new: HashSet<_> = keys.iter().filter(|key| !reference.contains_key(key)).collect();
            prop_assert_eq!(map.insert_many(keys, &values).map_err(steps::fail)?, new.len());
            // Which of several values wins differs from table to table, but it must be one of them.
            let mut given: HashMap<K, HashSet<V>> = HashMap::new();
            keys.iter().zip(&values).for_each(|(&key, &value)| _ = given.entry(key).or_default().insert(value));
            for (&key, held) in keys.iter().zip(map.get_many(keys).map_err(steps::fail)?) {
                let held = held.ok_or_else(|| TestCaseError::fail(format!("key {key} is lost")))?;
                prop_assert!(given[&key].contains(&held), "key {} has {}", key, held);
                reference.insert(key, held);
            }
        }
        Step::Erase(keys) => {
            let gone = keys.iter().filter(|key| reference.remove(key).is_some()).count();
            prop_assert_eq!(map.erase_many(keys).map_err(steps::fail)?, gone);
        }
    }
    Ok(())
}

/// Runs sequences of batches of at most `most` rows on some engines.
fn sequences<'e, D: Changing, K: Key, V: Value>(
    engines: impl IntoIterator<Item = &'e TestEngine>,
    most: usize,
    config: impl Fn(u64) -> Config<D>,
) {
    let inputs = |engine: &TestEngine| {
        let most = engine.max_items.min(most);
        (any::<u64>(), prop::collection::vec(step::<K>(most), 1..6))
    };
    on_those(engines, inputs, |engine, (seed, batches)| {
        let mut map = config(seed).create::<K, V>(&engine.device).map_err(steps::fail)?;
        let mut reference = HashMap::new();
        for step in &batches {
            work(&mut map, &mut reference, step)?;
            equals(&map, &reference);
        }
        Ok(())
    });
}

/// Runs sequences of batches on linear maps that combine the rows of each key first, or do not, or
/// decide that themselves.
#[parameterized(each_width)]
fn linear_sequences<K: Key, V: Value>() {
    sequences::<Linear, K, V>(linear_engines::<K, V>().chain(the_cpu_engine()), 3_000, |seed| {
        let config = LinearConfig::default().seed(seed).load([0.8, 0.95][seed as usize % 2]);
        match seed / 2 % 3 {
            0 => config,
            chosen => config.combine_first(chosen == 1),
        }
    });
}

#[test]
fn page_keys_32_values_64() {
    sequences::<Page, u32, u64>(engines().iter().chain(the_cpu_engine()), 2_000, |seed| {
        PageConfig::default().seed(seed)
    });
}

#[test]
fn extendible_keys_64_values_32() {
    sequences::<Extendible, u64, u32>(engines().iter().chain(the_cpu_engine()), 300, |seed| {
        ExtendibleConfig::default().segments(2).buckets(4).records(8).seed(seed)
    });
}

#[parameterized]
fn numbers_of_every_type_are_combined_as_their_type_does(device: &Device) {
    let mut signed: PageMap<u32, i32> = PageMap::new(device).unwrap();
    signed.combine_many(Fold::SUM, &[1, 1, 2, 3], &[5, -7, i32::MAX, -1]).unwrap();
    signed.combine_many(Fold::SUM, &[2], &[1]).unwrap();
    signed.combine_many(Fold::MIN, &[1, 3, 3], &[-1, -9, 4]).unwrap();
    assert_eq!(signed.get_many(&[1, 2, 3]).unwrap(), [Some(-2), Some(i32::MIN), Some(-9)]);
    let mut long: PageMap<u64, i64> = PageMap::new(device).unwrap();
    long.combine_many(Fold::SUM, &[1, 1], &[i64::MAX, -1]).unwrap();
    long.combine_many(Fold::MAX, &[1, 2], &[-1, i64::MIN]).unwrap();
    assert_eq!(long.get_many(&[1, 2]).unwrap(), [Some(i64::MAX - 1), Some(i64::MIN)]);
    let mut single: LinearMap<u32, f32> = LinearMap::new(device).unwrap();
    single.combine_many(Fold::SUM, &[1, 2, 1, u32::MAX], &[0.5, -1.0, 0.25, 3.0]).unwrap();
    single.combine_many(Fold::SUM, &[2, u32::MAX], &[0.75, 1.0]).unwrap();
    single.count_many(&[1, 1, 4]).unwrap();
    assert_eq!(single.get_many(&[1, 2, 4, u32::MAX]).unwrap(), [Some(2.75), Some(-0.25), Some(1.0), Some(4.0)]);
    single.combine_many(Fold::MAX, &[1, 2, 1], &[-f32::NAN, f32::INFINITY, f32::NAN]).unwrap();
    single.combine_many(Fold::MIN, &[1, 8, 8], &[f32::NAN, -f32::NAN, 3.0]).unwrap();
    single.combine_many(Fold::MIN, &[4, 4], &[0.0, -0.0]).unwrap();
    let found: Vec<_> =
        single.get_many(&[1, 2, 4, 8]).unwrap().into_iter().map(|value| value.unwrap().to_bits()).collect();
    assert_eq!(found, [2.75f32, f32::INFINITY, -0.0, 3.0].map(f32::to_bits));
    let mut double: PageMap<u32, f64> = PageMap::new(device).unwrap();
    double.count_many(&[7, 7]).unwrap();
    double.combine_many(Fold::SUM, &[7], &[0.5]).unwrap();
    assert_eq!(double.get_many(&[7]).unwrap(), [Some(2.5)]);
}

#[parameterized]
fn operations_of_a_mixed_batch_that_combine_values_of_few_keys_have_an_order(device: &Device) {
    let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(200).create(device).unwrap();
    let mut operations: Vec<_> = (0..700).map(|row| LinearOperation::add(row % 3, 1 << (row % 20))).collect();
    operations.extend((0..200).map(|row| LinearOperation::max(5 + row % 2, row)));
    operations.extend([LinearOperation::add(u32::MAX, 7), LinearOperation::min(9, 4), LinearOperation::Get(9)]);
    let answers = map.apply_many(&operations).unwrap();
    let after = map.to_pairs().unwrap().into_iter().collect();
    check_answers(&HashMap::new(), operations.into_iter().zip(answers), &after).unwrap();
    // A block has many keys, each of them several times.
    let keys: Vec<u32> = (0..1000).map(|row| row * 0x0001_0001 % 180).collect();
    let operations: Vec<_> = keys.iter().map(|&key| LinearOperation::add(key, key + 1)).collect();
    let mut map: LinearMap<u32, u32> = LinearMap::new(device).unwrap();
    let answers = map.apply_many(&operations).unwrap();
    let after = map.to_pairs().unwrap().into_iter().collect();
    check_answers(&HashMap::new(), operations.into_iter().zip(answers), &after).unwrap();
}

#[parameterized]
fn one_key_in_all_rows_and_none(device: &Device) {
    for combines in [None, Some(true), Some(false)] {
        let config =
            combines.map_or(LinearConfig::default(), |combines| LinearConfig::default().combine_first(combines));
        for key in [0, u32::MAX] {
            let mut map = config.clone().pairs(400).create::<u32, u32>(device).unwrap();
            assert_eq!(map.count_many(&[]), Ok(0));
            assert_eq!(map.count_many(&[key; 300]), Ok(1));
            assert_eq!(map.combine_many(Fold::SUM, &[key; 300], &[2; 300]), Ok(0));
            assert_eq!(map.get(key), Ok(Some(900)));
            assert_eq!(map.insert_many(&[key; 300], &[5; 300]), Ok(0));
            assert_eq!(map.to_pairs(), Ok(vec![(key, 5)]));
        }
    }
}

#[parameterized]
fn a_full_map_combines_what_it_has_and_refuses_new_keys_before_anything_is_done(device: &Device) {
    let mut map = LinearConfig::default().pairs(100).load(0.8).fixed().create::<u32, u32>(device).unwrap();
    let capacity = (map.table().slots() as f64 * 0.8) as u32;
    let keys: Vec<u32> = (0..capacity).collect();
    assert_eq!(map.count_many(&keys), Ok(capacity as usize));
    // There are more rows than capacity for keys, but all keys are present.
    let twice = [&keys[..], &keys].concat();
    assert_eq!(map.count_many(&twice), Ok(0));
    let more = [&twice[..], &[capacity + 1, capacity + 2, capacity + 1]].concat();
    let error = map.count_many(&more).unwrap_err();
    assert!(matches!(error, Error::Full(FullError::NoCapacity { new_keys: 2, spare_capacity: 0, .. })), "{error}");
    assert!(map.to_columns().unwrap().1.iter().all(|&count| count == 3), "something was counted");
    assert_eq!(map.len(), capacity as usize);
    // Removed keys free their slots.
    assert_eq!(map.erase_many(&keys[..2]), Ok(2));
    assert_eq!(map.count_many(&more[more.len() - 3..]), Ok(2));
    // The all-ones key takes no slot.
    assert_eq!(map.count_many(&[&keys[2..], &[u32::MAX]].concat()), Ok(1));
    assert_eq!(map.get_many(&[u32::MAX, 2]), Ok(vec![Some(1), Some(4)]));
}

#[parameterized]
fn a_map_that_has_all_keys_of_a_batch_does_not_grow(device: &Device) {
    let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(200).create(device).unwrap();
    let slots = map.table().slots();
    let keys: Vec<u32> = (0..200).collect();
    for _ in 0..3 {
        map.count_many(&keys).unwrap();
        map.count_many(&[&keys[..], &keys[..100]].concat()).unwrap();
    }
    assert_eq!(map.table().slots(), slots);
    assert_eq!(map.get_many(&[0, 150]), Ok(vec![Some(9), Some(6)]));
}

#[test]
fn rows_without_values_and_values_without_rows_are_refused() {
    on_all(|device: &Device| {
        let mut map: LinearMap<u32, u32> = LinearMap::new(device).unwrap();
        let error = map.combine_many(Fold::SUM, &[1, 2], &[1]).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::LengthsDiffer { .. })), "{error}");
        let mut map: PageMap<u32, u32> = PageMap::new(device).unwrap();
        let error = map.combine_many(Fold::SUM, &[1], &[1, 2]).unwrap_err();
        assert!(matches!(error, Error::Input(InputError::LengthsDiffer { .. })), "{error}");
        assert!(map.is_empty());
    });
}
