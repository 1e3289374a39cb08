//! Linear maps that may not grow and are full: the operations that they refuse, and the operations
//! that still succeed.

use super::errors::configs;
use std::collections::HashMap;
use warpnest::error::FullError;
use warpnest::linear::LinearOperation::{Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, LinearConfig, LinearMap};
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::linear_checker::{check_linear_map, linear_engines};
use warpnest_tests::maps::equals;
use warpnest_tests::{distinct_keys, parameterized, says};

/// Returns a map that may not grow, with capacity for about `about` keys, and its exact capacity.
fn fixed<K: Key, V: Value>(
    device: &Device,
    config: &LinearConfig,
    load: f64,
    about: usize,
) -> (LinearMap<K, V>, usize) {
    let map = config.clone().load(load).pairs(about).fixed().create::<K, V>(device).unwrap();
    let most = ((map.table().slots() as f64 * load) as u64).min(map.table().slots() - 1);
    (map, most as usize)
}

/// Fails unless the error has these figures.
fn assert_full<K: Key, V: Value>(
    error: &Error,
    (refused, operations): (usize, usize),
    map: &LinearMap<K, V>,
    load: f64,
) {
    let (refused, operations, taken, slots) =
        (refused as u64, operations as u64, map.table().taken(), map.table().slots());
    assert_eq!(*error, Error::Full(FullError::NoSlots { refused, operations, taken, slots, load }));
    says(error, &[&refused.to_string(), &taken.to_string(), "slots are taken", &load.to_string(), "grow", "reserve"]);
}

#[parameterized]
fn a_map_that_may_not_grow_takes_as_many_keys_as_its_load_allows_and_says_how_many_it_refused<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        for (config, load) in
            configs().into_iter().flat_map(|config| [0.8, 0.99, 0.3].map(|load| (config.clone(), load)))
        {
            for about in [0, 20, 100, 5000] {
                let (mut map, most) = fixed::<K, V>(&engine.device, &config, load, about);
                let n = most + 45;
                if n > engine.max_items {
                    continue;
                }
                let keys: Vec<K> = distinct_keys(n, 9);
                let slots = map.table().slots();
                assert_full(&map.insert_many(&keys, &values(&keys)).unwrap_err(), (45, n), &map, load);
                assert_eq!((map.len(), map.table().taken(), map.table().slots()), (most, most as u64, slots));
                let there = check_linear_map(&map).unwrap().pairs;
                assert!(
                    there == pairs(&keys.iter().copied().filter(|key| there.contains_key(key)).collect::<Vec<K>>())
                );
                equals(&map, &there);
                // Operations on present keys take no slots.
                let (present, absent): (Vec<K>, Vec<K>) = keys.iter().partition(|key| there.contains_key(key));
                let (old, new): (Vec<V>, Vec<V>) = values(&present).into_iter().map(|value: V| (value, !value)).unzip();
                assert_eq!(map.insert_many(&present, &new), Ok(0));
                assert_eq!(map.get_or_insert_many(&present, &old), Ok(new.clone()));
                assert_eq!(map.replace_many(&present, &old), Ok(new.into_iter().map(Some).collect()));
                let updates: Vec<_> = present.iter().zip(&old).map(|(&key, &value)| Insert(key, value)).collect();
                assert_eq!(map.apply_many(&updates), Ok(old.into_iter().map(Some).collect()));
                let gets: Vec<_> = keys.iter().map(|&key| Get(key)).collect();
                assert_eq!(map.apply_many(&gets), map.get_many(&keys));
                equals(&map, &there);
                // Absent keys are refused, be it one or many, and nothing changes.
                assert_full(&map.replace_many(&absent, &values(&absent)).unwrap_err(), (45, 45), &map, load);
                assert_full(
                    &map.apply_many(&[GetOrInsert(absent[0], V::from_u64(1))]).unwrap_err(),
                    (1, 1),
                    &map,
                    load,
                );
                assert_full(
                    &map.insert_many(&[absent[3]; 40], &[V::from_u64(1); 40]).unwrap_err(),
                    (40, 40),
                    &map,
                    load,
                );
                equals(&map, &there);
            }
        }
    }
}

/// Checks that a batch can fill a map exactly to its capacity. The key with a cell counts as one of
/// the keys.
#[parameterized]
fn a_map_that_was_filled_to_its_limit_takes_no_key_more<K: Key, V: Value>() {
    for (engine, config) in linear_engines::<K, V>().flat_map(|engine| configs().map(|config| (engine, config))) {
        for (load, cell, mixed) in [0.8, 0.99, 0.01]
            .into_iter()
            .flat_map(|load| [(load, false, true), (load, true, false), (load, true, true)])
        {
            let (mut map, most) = fixed::<K, V>(&engine.device, &config, load, if load < 0.1 { 0 } else { 20 });
            let mut keys: Vec<K> = distinct_keys(most + 3, 9);
            let one = V::from_u64(1);
            if cell && most > 0 {
                keys[0] = K::ALL_ONES;
            }
            let (first, more) = keys.split_at(most);
            assert_eq!(map.insert_many(first, &values(first)), Ok(most));
            let refused = if mixed {
                map.apply_many(&[Insert(more[0], one), GetOrInsert(more[1], one), Insert(more[2], one)]).unwrap_err()
            } else {
                map.insert_many(more, &values(more)).unwrap_err()
            };
            let (len, name) = (map.len(), engine.device.name());
            assert_eq!(len, most, "{most} keys may be there at load {load} on {name}, cell {cell}: {refused}");
            assert_full(&refused, (3, 3), &map, load);
            equals(&map, &pairs(first));
        }
    }
}

/// Checks that exactly as many keys can be inserted as were removed, by every kind of removal and
/// insertion.
#[parameterized]
fn a_full_map_that_may_not_grow_has_room_again_when_keys_are_removed<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        for (config, load) in configs().into_iter().flat_map(|config| [0.8, 0.99].map(|load| (config.clone(), load))) {
            for (about, mixed, cell) in [20, 200, 2000]
                .into_iter()
                .flat_map(|about| [(about, 0, true), (about, 1, false), (about, 2, true), (about, 3, false)])
                .filter(|case| case.0 * 3 / 2 < engine.max_items)
            {
                let (mut map, most) = fixed::<K, V>(&engine.device, &config, load, about);
                let all: Vec<K> = distinct_keys(2 * most, 4);
                map.insert_many(&all[..most], &values(&all[..most])).unwrap();
                let mut there: HashMap<K, V> = pairs(&all[..most]);
                for share in [most, 20, 3, 40, most / 2] {
                    let gone = all.iter().copied().filter(|key| there.contains_key(key)).step_by(2);
                    let gone: Vec<K> = gone.take(most / share).collect();
                    let removals: Vec<_> = gone.iter().map(|&key| Remove(key)).collect();
                    let removed = if mixed & 1 == 0 { map.remove_many(&gone) } else { map.apply_many(&removals) };
                    assert!(removed.unwrap().iter().zip(&gone).all(|(value, key)| *value == there.remove(key)));
                    let mut new: Vec<K> = all.iter().copied().filter(|key| !there.contains_key(key)).collect();
                    // The key with a cell is one of the new keys.
                    new.truncate(most - there.len());
                    if cell && !there.contains_key(&K::ALL_ONES) {
                        new[0] = K::ALL_ONES;
                    }
                    let values: Vec<V> = values(&new);
                    let pairs = new.iter().zip(&values);
                    let insertions: Vec<_> = pairs.map(|(&key, &value)| Insert(key, value)).collect();
                    let inserted =
                        if mixed & 2 == 0 { map.replace_many(&new, &values) } else { map.apply_many(&insertions) };
                    assert_eq!(
                        inserted,
                        Ok(vec![None; new.len()]),
                        "{} of {most} keys went and as many came, load {load}, way {mixed}, {}",
                        gone.len(),
                        engine.device.name()
                    );
                    there.extend(new.into_iter().zip(values));
                    equals(&map, &there);
                }
            }
        }
    }
}

/// Checks copies of a key that request slots at the same time but need only one.
#[parameterized]
fn repeated_keys_do_not_fill_a_map_that_may_not_grow<K: Key, V: Value>() {
    // The schedule determines which operations request slots together, so each case runs eight
    // times. One schedule in six refused copies of a key in the same turn.
    let configs = |engine| (0..8).flat_map(move |_| configs().map(move |config| (engine, config)));
    for (engine, config) in linear_engines::<K, V>().flat_map(configs) {
        let (mut map, most) = fixed::<K, V>(&engine.device, &config, 0.8, 10);
        // There are exactly as many different keys as the capacity, most of them at the end.
        let keys: Vec<K> = (0..64).map(|i: u64| K::from_u64(i.saturating_sub(64 - most as u64))).collect();
        let inserted = map.insert_many(&keys, &values(&keys));
        let full = format!("{most} keys may come and {} are there on {}", map.len(), engine.device.name());
        assert_eq!(inserted, Ok(most), "{full}");
        equals(&map, &pairs(&keys[64 - most..]));
    }
}
