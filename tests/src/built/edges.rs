//! Edge cases of every map that is built in one call: extreme keys and values, copies of keys, and
//! rebuilds, on every engine.

use super::{Tested, build, check, rebuild};
use crate::maps::{holds, is_empty};
use crate::{TestEngine, at, distinct_keys, on_all, on_each_engine, values};
use std::collections::HashSet;
use warpnest::Device;
use warpnest::design::{BulkMap, Config};
use warpnest::types::{WordKey as Key, WordValue as Value};

/// Checks builds from no pairs, through the configuration and through the map's own constructor.
pub fn empty_input_and_empty_queries<D: Tested>(config: &Config<D>) {
    fn with<K: Key, V: Value>(map: &BulkMap<K, V, impl Tested>) {
        is_empty(map, &[0, 1, u64::MAX].map(K::from_u64));
        asks_nothing(map);
    }
    fn asks_nothing<K: Key, V: Value>(map: &BulkMap<K, V, impl Tested>) {
        assert_eq!((map.get_many(&[]).unwrap(), map.contains_many(&[]).unwrap()), (vec![], vec![]));
    }
    let _at = at(format!("{config:?}"));
    on_all(|device| {
        with(&BulkMap::<u64, u32, D>::build(device, &[], &[]).unwrap());
        with(&build::<D, u32, u32>(device, config, &[], &[]));
        with(&build::<D, u32, u64>(device, config, &[], &[]));
        with(&build::<D, u64, u32>(device, config, &[], &[]));
        with(&build::<D, u64, u64>(device, config, &[], &[]));
        asks_nothing(&BulkMap::<u32, u32, D>::build(device, &[5], &[6]).unwrap());
        asks_nothing(&build::<D, u64, u64>(device, config, &[5], &[6]));
    });
}

/// Checks maps of one extreme pair, and of all extreme pairs.
pub fn one_pair_of_every_extreme_key_and_value<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(config: &Config<D>, device: &Device) {
        let extremes = [0, 1, 77, 1 << 31, u32::MAX as u64 - 1, u32::MAX as u64, 1 << 32, u64::MAX - 1, u64::MAX];
        for key in extremes.map(K::from_u64) {
            for value in extremes.map(V::from_u64) {
                let map = build(device, config, &[key], &[value]);
                assert_eq!(map.to_pairs().unwrap(), [(key, value)]);
            }
            let neighbours = [K::from_u64(key.to_u64() ^ 1), K::from_u64(!key.to_u64())];
            let map = build(device, config, &[key], &[V::ALL_ONES]);
            assert_eq!(map.get_many(&neighbours).unwrap(), [None, None], "beside {key}");
        }
        // As 32-bit keys, some of the extremes are equal.
        let keys = extremes.map(K::from_u64);
        build(device, config, &keys, &values::<V>(keys.len()));
    }
    let _at = at(format!("{config:?}"));
    on_all(|device| {
        crate::in_all_widths!(with::<D>(config, device));
    });
}

/// Checks values that are all zeros or all ones, in all pairs at once.
pub fn values_that_are_all_zeros_and_all_ones<D: Tested>(config: &Config<D>) {
    on_all(|device| {
        let (keys, wide): (Vec<u32>, Vec<u64>) = (distinct_keys(290, 3), distinct_keys(290, 3));
        for value in [0, u64::MAX] {
            build(device, config, &keys, &[value as u32; 290]);
            build(device, config, &keys, &[value; 290]);
            build(device, config, &wide, &[value as u32; 290]);
            build(device, config, &wide, &[value; 290]);
        }
    });
}

/// Checks the all-ones key. A slot with this key may look empty, at least if its value is all ones,
/// too.
pub fn the_key_that_is_all_ones_is_there_or_not_with_every_value<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(config: &Config<D>, device: &Device) {
        for value in [0, 1, 77, V::ALL_ONES.to_u64() - 1, V::ALL_ONES.to_u64()] {
            let mut keys: Vec<K> = distinct_keys(100, 8);
            let values = [V::from_u64(value); 103];
            keys.retain(|&key| key != K::ALL_ONES);
            let without = build(device, config, &keys, &values[..keys.len()]);
            assert_eq!(without.get_many(&[K::ALL_ONES, K::ALL_ONES]).unwrap(), [None, None]);
            keys.insert(50, K::ALL_ONES);
            let map = build(device, config, &keys, &values[..keys.len()]);
            assert_eq!(map.get_many(&[K::ALL_ONES]).unwrap(), [Some(V::from_u64(value))]);
            // The last copy wins.
            keys.extend([K::ALL_ONES; 2]);
            let mut values = values[..keys.len()].to_vec();
            values[keys.len() - 1] = V::from_u64(5);
            let map = build(device, config, &keys, &values);
            assert_eq!(map.get_many(&[K::ALL_ONES]).unwrap(), [Some(V::from_u64(5))]);
        }
    }
    let _at = at(format!("{config:?}"));
    on_all(|device| {
        crate::in_all_widths!(with::<D>(config, device));
    });
}

/// Checks 64-bit keys that differ in one half only; `report` receives the report of each build.
pub fn wide_keys_that_differ_in_one_half_only<D: Tested>(config: &Config<D>, report: impl Fn(&D::Report)) {
    fn with<D: Tested, V: Value>(
        config: &Config<D>,
        report: &impl Fn(&D::Report),
        most: usize,
        key: impl Fn(u64) -> u64,
    ) {
        let keys = |n: usize| (0..n as u64).map(&key).collect();
        check::<D, u64, V>(|_| config.clone(), most, keys, |told, _| report(told));
    }
    for (other, most) in [0, 1, u32::MAX as u64].into_iter().flat_map(|other| [290, 2000].map(|most| (other, most))) {
        with::<D, u64>(config, &report, most, |i| i << 32 | other);
        with::<D, u32>(config, &report, most, |i| other << 32 | i);
        // The differences include the highest words of a half, such as all ones.
        with::<D, u32>(config, &report, most, |i| (u32::MAX as u64 - i) << 32 | other);
        with::<D, u64>(config, &report, most, |i| other << 32 | (u32::MAX as u64 - i));
    }
}

/// Returns all orders of `n` items.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for thing in 0..n {
        let with = |order: &Vec<usize>, at: usize| [&order[..at], &[thing], &order[at..]].concat();
        all = all.iter().flat_map(|order| (0..=order.len()).map(move |at| with(order, at))).collect();
    }
    all
}

/// Checks that the last pair of a key wins in every order. `config` returns the configuration for a
/// count of pairs; `report` receives each build's report and its count of pairs.
pub fn the_last_pair_wins_in_every_order_of_repeated_pairs<D: Tested>(
    config: impl Fn(usize) -> Config<D>,
    report: impl Fn(&D::Report, usize),
) {
    fn with<D: Tested, K: Key, V: Value>(
        device: &Device,
        (config, report): (Config<D>, &impl Fn(&D::Report, usize)),
        (keys, values): (&[K], &[V]),
    ) {
        let _at = at(format!("keys {keys:?}, {config:?}"));
        report(build(device, &config, keys, values).report(), keys.len());
    }
    let orders = orders(4);
    assert_eq!(orders.iter().collect::<HashSet<_>>().len(), 24);
    on_all(|device| {
        for keys in [[7u32, 7, 9, 9], [7, u32::MAX, u32::MAX, 7], [0, 0, 0, 1]] {
            for order in &orders {
                let keys: Vec<u32> = order.iter().map(|&i| keys[i]).collect();
                let values: Vec<u32> = order.iter().map(|&i| 100 + i as u32).collect();
                with(device, (config(4), &report), (&keys, &values));
            }
        }
        // The orders are forwards, backwards, and by key.
        for copies in [2, 20] {
            let once: Vec<u64> = distinct_keys(14, 4);
            let forwards: Vec<u64> = once.repeat(copies);
            let backwards: Vec<u64> = forwards.iter().rev().copied().collect();
            let runs: Vec<u64> = once.iter().flat_map(|&key| vec![key; copies]).collect();
            for keys in [forwards, backwards, runs] {
                let pairs = keys.len();
                with(device, (config(pairs), &report), (&keys, &values::<u64>(pairs)));
                with(device, (config(pairs), &report), (&keys, &values::<u32>(pairs)));
            }
        }
    });
}

/// Checks rebuilds from a small map to a large one; `config` returns the configuration for a
/// largest count of pairs.
pub fn rebuilds_with_more_and_fewer_and_no_pairs<D: Tested>(config: impl Fn(usize) -> Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(config: &Config<D>, device: &Device, most: usize) {
        let first: Vec<K> = distinct_keys(100, 1);
        let mut map = build::<D, K, V>(device, config, &first, &values(100));
        let sizes = [most, most / 2, 0, 1, most - 1, 0, 0, 65, most];
        for (round, &size) in sizes.iter().enumerate() {
            let _at = at(format!("round {round}, {size} pairs, {config:?}"));
            let mut keys: Vec<K> = distinct_keys(size, 20 + round as u64);
            if round % 3 == 1 {
                keys.iter_mut().step_by(2).for_each(|key| *key = K::ALL_ONES);
            }
            rebuild(&mut map, &keys, &values(size)).unwrap();
            let there: HashSet<K> = keys.into_iter().collect();
            let gone: Vec<K> = first.iter().copied().filter(|key| !there.contains(key)).collect();
            assert_eq!(map.get_many(&gone).unwrap(), vec![None; gone.len()]);
            if round == 4 {
                map.shrink_to_fit().unwrap();
            }
        }
    }
    on_each_engine(|engine| {
        let most = engine.max_items.min(20_000);
        crate::in_all_widths!(with::<D>(&config(most), &engine.device, most));
    });
}

/// Checks the memory of a map after a rebuild from fewer pairs. Once shrunk, the map takes no more
/// than a map that is built from those pairs, and neither does a clone; both have all the pairs.
pub fn a_map_that_is_shrunk_takes_no_more_than_a_fresh_one<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(engine: &TestEngine, config: &Config<D>) {
        let (device, most) = (&engine.device, engine.max_items.min(20_000));
        let (keys, values) = (distinct_keys::<K>(most, 31), values::<V>(most));
        for pairs in [0, 1, 60, most / 2] {
            let _at = at(format!("{pairs} pairs after {most}"));
            let mut map = build::<D, K, V>(device, config, &keys, &values);
            let large = map.memory_bytes();
            rebuild(&mut map, &keys[..pairs], &values[..pairs]).unwrap();
            let fresh = build::<D, K, V>(device, config, &keys[..pairs], &values[..pairs]).memory_bytes();
            let copy = map.try_clone().unwrap();
            map.shrink_to_fit().unwrap();
            assert!(map.memory_bytes() <= fresh && fresh <= large, "{} bytes, {fresh} fresh", map.memory_bytes());
            assert!(copy.memory_bytes() <= fresh, "{} bytes of the clone, {fresh} fresh", copy.memory_bytes());
            for map in [&map, &copy] {
                holds(map, &keys[..pairs], &values[..pairs]);
            }
            map.shrink_to_fit().unwrap();
            rebuild(&mut map, &keys, &values).unwrap();
            assert_eq!(map.memory_bytes(), large);
        }
    }
    let _at = at(format!("{config:?}"));
    on_each_engine(|engine| {
        crate::in_all_widths!(with::<D>(engine, config));
    });
}

/// Checks that a clone keeps its pairs when the original map is rebuilt. The all-ones key is among
/// the pairs.
pub fn a_clone_keeps_what_the_map_has_no_more<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(engine: &TestEngine, config: &Config<D>) {
        let (device, most) = (&engine.device, engine.max_items.min(20_000));
        let mut keys: Vec<K> = distinct_keys(most, 28);
        keys[7] = K::ALL_ONES;
        let values: Vec<V> = values(most);
        let mut map = build(device, config, &keys, &values);
        let copy = map.try_clone().unwrap();
        assert_eq!((copy.memory_bytes(), copy.report()), (map.memory_bytes(), map.report()));
        assert_eq!(format!("{:?}", copy.table()), format!("{:?}", map.table()));
        for pairs in [3, 0] {
            rebuild(&mut map, &keys[..pairs], &values[3..][..pairs]).unwrap();
            holds(&copy, &keys, &values);
        }
    }
    let _at = at(format!("{config:?}"));
    on_each_engine(|engine| {
        crate::in_all_widths!(with::<D>(engine, config));
    });
}
