//! Tests of linear maps lent to kernels, compared with possible results of batches.

use crate::{engines, fail};
use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::linear::LinearOperation;
use warpnest::linear::LinearOperation::{Combine, Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, Fold, LinearConfig, LinearMap, Result};
use warpnest_bench_kernels::changes::{ChangeMap, InsertPairs, REFUSED};
use warpnest_tests::linear_checker::{Done, check_answers, check_linear_map, check_pairs};
use warpnest_tests::{TestEngine, distinct_keys, key, of_all_widths, on_those, the_cpu_engine};

/// Returns the engines that support a linear map of such keys and values, with the kernels loaded.
fn linear_engines<K: Key, V: Value>() -> impl Iterator<Item = &'static TestEngine> + Clone {
    engines();
    warpnest_tests::linear_checker::linear_engines::<K, V>()
}

/// Lends the map to a kernel that inserts pairs.
fn insert<K: Key, V: Value>(map: &mut LinearMap<K, V>, keys: &[K], values: &[V]) -> Result<()> {
    let device = map.device().clone();
    let (keys, values) = (Buffer::from_slice(&device, keys)?, Buffer::from_slice(&device, values)?);
    let count = keys.len() as u64;
    // SAFETY: there are equally many keys and values.
    unsafe {
        device.default_stream().launch(keys.len(), |uses| InsertPairs {
            keys: uses.read(&keys),
            values: uses.read(&values),
            map: uses.table_mut(map),
            count,
        })
    }
}

/// The result of an operation: whether the key had a value or there was no slot, and the value.
type Found<V> = (u32, V);

/// Lends the map to a kernel that does operations, `each` of them per thread.
fn change<K: Key, V: Value>(
    map: &mut LinearMap<K, V>,
    operations: &[LinearOperation<K, V>],
    each: u64,
) -> Result<Vec<Found<V>>> {
    let (device, count) = (map.device().clone(), operations.len());
    let stream = device.default_stream();
    let parts = || operations.iter().map(|operation| operation.parts());
    let kinds = Buffer::from_slice(&device, &parts().map(|(kind, ..)| kind.word()).collect::<Vec<u32>>())?;
    let keys = Buffer::from_slice(&device, &parts().map(|(_, key, _)| key).collect::<Vec<K>>())?;
    let values = Buffer::from_slice(&device, &parts().map(|(.., value)| value).collect::<Vec<V>>())?;
    let (mut before, mut answers) = (Buffer::<u32>::zeroed(&device, count)?, Buffer::<V>::zeroed(&device, count)?);
    // SAFETY: each buffer has an element for each operation.
    unsafe {
        stream.launch(count.div_ceil(each as usize), |uses| ChangeMap {
            kinds: uses.read(&kinds),
            keys: uses.read(&keys),
            values: uses.read(&values),
            before: uses.write(&mut before),
            answers: uses.write(&mut answers),
            map: uses.table_mut(map),
            count: count as u64,
            each,
        })?;
    }
    Ok(before.download(stream)?.into_iter().zip(answers.download(stream)?).collect())
}

fn pairs_of<K: Key, V: Value>(map: &LinearMap<K, V>) -> Result<HashMap<K, V>> {
    Ok(map.to_pairs()?.into_iter().collect())
}

/// Returns a strategy for operations, many of them with the same keys.
fn operations<K: Key, V: Value>(most: usize) -> impl Strategy<Value = Vec<LinearOperation<K, V>>> {
    let few = prop_oneof![3 => (0u64..6).prop_map(K::from_u64), 1 => Just(K::ALL_ONES), 3 => key::<K>()];
    let operation = (0..9u32, few, any::<u64>().prop_map(V::from_u64)).prop_map(|(kind, key, value)| match kind {
        0 | 1 => Get(key),
        2 | 3 => Insert(key, value),
        4 => GetOrInsert(key, value),
        5 | 6 => Remove(key),
        7 => Combine(key, value, Fold::SUM),
        _ => Combine(key, value, Fold::MAX),
    });
    prop::collection::vec(operation, 0..=most)
}

/// Checks that some order of operations explains the answers of each launch, and that the map is
/// intact and its count right, also for batches before and after.
fn operations_of_a_kernel_have_an_order<K: Key, V: Value>() {
    let launches = |most| prop::collection::vec((operations::<K, V>(most), 1..5u64), 1..5);
    on_those(
        linear_engines::<K, V>().chain(the_cpu_engine()),
        |engine| (launches(engine.max_items.min(400)), 0.3..0.9f64, any::<u64>()),
        |engine, (launches, load, seed)| {
            let config = LinearConfig::default().load(load).seed(seed);
            let mut map: LinearMap<K, V> = config.create(&engine.device).map_err(fail)?;
            for (operations, each) in launches {
                map.reserve(operations.len()).map_err(fail)?;
                let before = pairs_of(&map).map_err(fail)?;
                let found = change(&mut map, &operations, each).map_err(fail)?;
                prop_assert!(found.iter().all(|&(before, _)| before != REFUSED));
                let answer = |(operation, (before, value))| (operation, (before != 0).then_some(value));
                let done: Vec<Done<K, V>> = operations.into_iter().zip(found).map(answer).collect();
                let after = pairs_of(&map).map_err(fail)?;
                check_answers(&before, done, &after).map_err(TestCaseError::fail)?;
                check_pairs(&map, &after).map_err(TestCaseError::fail)?;
                // A batch may reuse the slots of removed keys.
                let more: Vec<K> = distinct_keys(5, seed);
                map.insert_many(&more, &[V::from_u64(3); 5]).map_err(fail)?;
                check_linear_map(&map).map_err(TestCaseError::fail)?;
            }
            Ok(())
        },
    );
}

mod operations {
    use super::{of_all_widths, operations_of_a_kernel_have_an_order};
    of_all_widths!(operations_of_a_kernel_have_an_order);
}

fn inserted_by_a_kernel<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        let n = engine.max_items.min(3000);
        let keys: Vec<K> = [K::ALL_ONES, K::from_u64(0)].into_iter().chain(distinct_keys(n, 4)).collect();
        let values: Vec<V> = (0..keys.len() as u64).map(V::from_u64).collect();
        let mut map: LinearMap<K, V> = LinearMap::new(&engine.device).unwrap();
        map.reserve(keys.len()).unwrap();
        insert(&mut map, &keys, &values).unwrap();
        let reference: HashMap<K, V> = keys.iter().copied().zip(values).collect();
        check_pairs(&map, &reference).unwrap();
        insert(&mut map, &[], &[]).unwrap();
        assert_eq!(map.len(), reference.len());
    }
}

mod inserting {
    use super::{inserted_by_a_kernel, of_all_widths};
    of_all_widths!(inserted_by_a_kernel);
}

/// Checks that insertions into a full map end with a report and lose nothing.
fn a_full_map_refuses<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        let config = LinearConfig::default().pairs(100).load(0.8).seed(5);
        let mut map: LinearMap<K, V> = config.create(&engine.device).unwrap();
        let slots = map.table().slots() as usize;
        let keys: Vec<K> = distinct_keys(slots + 50, 7);
        let operations: Vec<_> = keys.iter().map(|&key| Insert(key, V::from_u64(1))).collect();
        let found = change(&mut map, &operations, 1).unwrap();
        let refused = found.iter().filter(|&&(before, _)| before == REFUSED).count();
        assert!((50..100 + slots / 4).contains(&refused), "{refused} of {} on {}", keys.len(), engine.device.name());
        assert_eq!(map.len(), keys.len() - refused);
        check_linear_map(&map).unwrap();
        // Even if no slot is empty, the map can be saved and loaded.
        let mut file = Vec::new();
        map.save(&mut file).unwrap();
        let loaded: LinearMap<K, V> = LinearMap::load(&engine.device, &file[..]).unwrap();
        assert_eq!(loaded.len(), map.len());
        let there = map.contains_many(&keys).unwrap();
        let expected: Vec<bool> = found.iter().map(|&(before, _)| before != REFUSED).collect();
        assert_eq!(there, expected);
        // A batch makes the map grow.
        map.insert_many(&keys, &vec![V::from_u64(2); keys.len()]).unwrap();
        assert_eq!(map.len(), keys.len());
        check_linear_map(&map).unwrap();
    }
}

mod full {
    use super::{a_full_map_refuses, of_all_widths};
    of_all_widths!(a_full_map_refuses);
}

/// Makes a map of three pairs.
pub fn three(device: &Device) -> LinearMap<u32, u32> {
    let mut map = LinearMap::new(device).unwrap();
    map.insert_many(&[1, 2, 3], &[10, 20, 30]).unwrap();
    map
}

#[test]
fn a_launch_without_its_module_changes_nothing() {
    // No module is loaded here, so the launch fails.
    let device = warpnest_testing::interpreting(3);
    let mut map = three(&device);
    let error = insert(&mut map, &[4], &[40]).unwrap_err();
    assert!(matches!(&error, Error::Kernel { fault, .. } if fault.contains("warpnest-bench-kernels")), "{error}");
    assert_eq!((map.len(), map.get_many(&[1, 4]).unwrap()), (3, vec![Some(10), None]));
    device.load(&crate::KERNELS).unwrap();
    insert(&mut map, &[4], &[40]).unwrap();
    assert_eq!((map.len(), map.get_many(&[1, 4]).unwrap()), (4, vec![Some(10), Some(40)]));
}
