//! The cuckoo map, compared with `std::collections::HashMap` in every configuration on every
//! engine.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::CuckooConfig;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest_tests::cuckoos::{Spec, spec};
use warpnest_tests::{TestEngine, key, maps, on_every_engine};

/// Builds a map of `pairs` and compares all of its answers with the reference.
fn check<K: Key, V: Value>(
    engine: &TestEngine,
    spec: &Spec,
    pairs: &[(K, V)],
    absent: &[K],
) -> Result<(), TestCaseError> {
    let (keys, values): (Vec<K>, Vec<V>) = pairs.iter().copied().unzip();
    let reference: HashMap<K, V> = pairs.iter().copied().collect();
    let map = match spec.config(pairs.len()).build(&engine.device, &keys, &values) {
        Ok(map) => map,
        Err(error) => return spec.excuses(&error, &reference.keys().copied().collect()).map_err(TestCaseError::fail),
    };
    let queries: Vec<K> = keys.iter().chain(absent).copied().collect();
    maps::check(&map, &reference, &queries).map_err(TestCaseError::fail)?;
    if let Some(chains) = map.report().chains {
        prop_assert!(chains.longest <= map.report().chain_limit);
        prop_assert!(chains.mean <= chains.longest as f64);
    }
    Ok(())
}

fn property<K: Key, V: Value>() {
    on_every_engine(
        |engine| {
            let most = engine.max_items.min(1200);
            let pairs = prop::collection::vec((key::<K>(), any::<u64>()), 0..most);
            (spec(), pairs, prop::collection::vec(key::<K>(), 0..40))
        },
        |engine, (spec, pairs, absent)| {
            let pairs: Vec<(K, V)> = pairs.into_iter().map(|(key, value)| (key, V::from_u64(value))).collect();
            check(engine, &spec, &pairs, &absent)
        },
    );
}

warpnest_tests::of_all_widths!(property);

/// Checks that `assume_unique` makes no difference if no key is repeated.
#[test]
fn unique_keys_need_no_last_values() {
    on_every_engine(
        |engine| (spec(), 0..engine.max_items.min(1200), any::<u64>()),
        |engine, (spec, n, seed)| {
            let pairs: Vec<(u32, u32)> =
                warpnest_tests::distinct_keys(n, seed).into_iter().zip(seed as u32..).collect();
            check(engine, &Spec { unique: true, ..spec }, &pairs, &[])
        },
    );
}

/// Checks repeated keys under `assume_unique`: a lookup returns one of the key's values as a whole.
#[test]
fn a_broken_promise_of_unique_keys_gives_one_of_the_values() {
    on_every_engine(
        |engine| prop::collection::vec((key::<u64>(), any::<u64>()), 1..engine.max_items.min(600)),
        |engine, pairs| {
            let (keys, values): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
            let map = CuckooConfig::default().assume_unique().build(&engine.device, &keys, &values).unwrap();
            let answers = map.get_many(&keys).unwrap();
            prop_assert_eq!(answers.len(), keys.len());
            for (key, value) in keys.iter().zip(answers) {
                let value = value.expect("the key was inserted");
                prop_assert!(pairs.contains(&(*key, value)));
            }
            Ok(())
        },
    );
}

/// Checks that a map that is built again holds the new pairs and nothing of the old ones.
#[test]
fn a_rebuilt_map_holds_the_new_pairs_only() {
    on_every_engine(
        |engine| (1..engine.max_items.min(800), any::<u64>(), any::<u64>()),
        |engine, (n, first, second)| {
            let device = &engine.device;
            let keys: Vec<u32> = warpnest_tests::distinct_keys(n, first);
            let mut map = CuckooConfig::default().build(device, &keys, &keys).unwrap();
            let others: Vec<u32> = warpnest_tests::distinct_keys(n.div_ceil(2), second | 1 << 40);
            let buffer = warpnest::Buffer::from_slice(device, &others).unwrap();
            map.rebuild(&buffer, &buffer).unwrap();
            prop_assert_eq!(map.len(), others.len());
            let reference: std::collections::HashSet<u32> = others.into_iter().collect();
            let expected: Vec<bool> = keys.iter().map(|key| reference.contains(key)).collect();
            prop_assert_eq!(map.contains_many(&keys).unwrap(), expected);
            Ok(())
        },
    );
}
