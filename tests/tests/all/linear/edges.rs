//! Edge cases of the linear map: extreme keys and values, sizes around every bound, growth, full
//! tables, and removed keys, on every engine.

use std::collections::HashMap;
use warpnest::linear::LinearOperation;
use warpnest::linear::LinearOperation::{Get, GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, LinearConfig, LinearMap};
use warpnest_tests::changing::edges::{self, extremes};
use warpnest_tests::changing::{create, fill, pairs, values};
use warpnest_tests::linear_checker::{check_answers, check_linear_map, linear_engines};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, parameterized};

/// Returns the two configurations, whose searches continue differently after a full line; each has
/// a seed.
pub(super) fn configs() -> [LinearConfig; 2] {
    let config = LinearConfig::default().seed(11);
    [config.clone(), config.linear_probing()]
}

/// Combines each engine with each of the configurations.
fn everywhere<K: Key, V: Value>() -> impl Iterator<Item = (&'static TestEngine, LinearConfig)> {
    linear_engines::<K, V>().flat_map(|engine| configs().map(|config| (engine, config)))
}

/// Applies the operations and returns their answers; fails unless some order of the operations
/// gives these answers.
fn apply<K: Key, V: Value>(map: &mut LinearMap<K, V>, operations: &[LinearOperation<K, V>]) -> Vec<Option<V>> {
    let before = check_linear_map(map).unwrap().pairs;
    let answers = map.apply_many(operations).unwrap();
    let after = check_linear_map(map).unwrap().pairs;
    check_answers(&before, operations.iter().copied().zip(answers.iter().copied()), &after).unwrap();
    answers
}

#[parameterized]
fn batches_of_nothing_do_nothing<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        let device = &engine.device;
        let none = Buffer::zeroed(device, 0).unwrap();
        let mut map = edges::batches_of_nothing_do_nothing::<_, K, V, _>(device, &config, |map| {
            assert_eq!(map.replace_many(&[], &[]).unwrap(), []);
            assert_eq!(map.get_or_insert_many(&[], &[]).unwrap(), []);
            assert_eq!(map.apply_many(&[]).unwrap(), []);
            assert_eq!(map.erase_many(&none).unwrap(), 0);
            (map.table().taken(), map.table().slots())
        });
        assert_eq!(map.table().taken(), 0);
        map.drop_tombstones().unwrap();
        map.shrink_to_fit().unwrap();
        map.reserve(0).unwrap();
        equals(&map, &HashMap::new());
    }
}

#[parameterized(each_width)]
fn every_operation_on_every_extreme_key_and_value<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        for key in extremes::<K>() {
            let mut map = create(&engine.device, &config);
            for value in extremes::<V>() {
                assert_eq!(map.remove_many(&[key]).unwrap(), [None]);
                assert_eq!((map.get_many(&[key]).unwrap(), map.len()), (vec![None], 0));
                assert_eq!(map.replace_many(&[key], &[value]).unwrap(), [None]);
                assert_eq!(map.get_or_insert_many(&[key], &[!value]).unwrap(), [value]);
                equals(&map, &HashMap::from([(key, value)]));
                assert_eq!(map.insert_many(&[key], &[!value]).unwrap(), 0);
                assert_eq!(map.replace_many(&[key], &[value]).unwrap(), [Some(!value)]);
                assert_eq!(apply(&mut map, &[GetOrInsert(key, !value)]), [Some(value)]);
                assert_eq!(apply(&mut map, &[Insert(key, !value)]), [Some(value)]);
                assert_eq!(apply(&mut map, &[Get(key), Get(!key)]), [Some(!value), None]);
                assert_eq!(apply(&mut map, &[Remove(key)]), [Some(!value)]);
                assert_eq!(map.get_or_insert_many(&[key], &[value]).unwrap(), [value]);
                assert_eq!(map.to_pairs().unwrap(), [(key, value)]);
                assert_eq!(map.remove_many(&[key, key]).unwrap().iter().flatten().collect::<Vec<_>>(), [&value]);
            }
            // The key with a cell takes no slot.
            assert!(map.is_empty() && map.table().taken() <= (key != K::ALL_ONES) as u64);
        }
    }
}

#[parameterized]
fn one_key_many_times_in_a_batch<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        for (config, key) in configs()
            .into_iter()
            .flat_map(|config| [K::from_u64(0), K::from_u64(9), K::ALL_ONES].map(|key| (config.clone(), key)))
        {
            let n = engine.max_items.min(3000) as u64;
            let value = |number: u64| V::from_u64(number | number << 40);
            let (keys, values) = (vec![key; n as usize], (0..n).map(value).collect::<Vec<V>>());
            let mut map = create(&engine.device, &config);
            assert_eq!(map.insert_many(&keys, &values).unwrap(), 1);
            let pairs = map.to_pairs().unwrap();
            assert!(pairs.len() == 1 && pairs[0].0 == key && values.contains(&pairs[0].1));
            // The earlier value is returned once, and so is each value except the one that stays.
            let mut answers = map.replace_many(&keys, &(n..2 * n).map(value).collect::<Vec<_>>()).unwrap();
            answers.push(map.get_many(&[key]).unwrap()[0]);
            answers.sort_unstable();
            let expected: Vec<_> = [pairs[0].1].into_iter().chain((n..2 * n).map(value)).map(Some).collect();
            assert!(answers == expected, "on {}", engine.device.name());
            let removed = map.remove_many(&keys).unwrap();
            assert_eq!((removed.iter().flatten().count(), map.len()), (1, 0));
            let one = map.get_or_insert_many(&keys, &values).unwrap();
            assert!(one.iter().all(|&value| value == one[0] && values.contains(&value)));
            let operations = (0..n).map(|number| match number % 4 {
                0 => Get(key),
                1 => Insert(key, value(n + number)),
                2 => GetOrInsert(key, value(n + number)),
                _ => Remove(key),
            });
            apply(&mut map, &operations.collect::<Vec<_>>());
        }
    }
}

#[parameterized]
fn one_key_at_a_time<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        edges::one_key_at_a_time::<_, K, V>(&engine.device, &config);
    }
}

#[parameterized]
fn retaining<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        edges::retaining::<_, K, V>(&engine.device, &config, engine.max_items);
    }
}

#[parameterized]
fn sequential_and_strided_keys<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        let n = engine.max_items.min(2000);
        edges::sequential_and_strided_keys::<_, K, V>(&engine.device, &config, (n as u64, 4, n));
    }
}

#[parameterized]
fn sizes_around_powers_of_two_warps_and_blocks<K: Key, V: Value>() {
    let mut sizes: Vec<usize> = (0..14).map(|lg| 1 << lg).chain([96, 160, 224, 288, 768, 1280]).collect();
    sizes.push(100_000);
    for size in sizes {
        for n in size - 1..=size + 1 {
            let keys: Vec<K> = distinct_keys(n, 5);
            for engine in linear_engines::<K, V>().filter(|engine| n <= engine.max_items) {
                for config in configs() {
                    let mut map = fill::<_, K, V>(&engine.device, &config, &keys, n.max(1));
                    let mut operations: Vec<_> = keys.iter().map(|&key| Remove(key)).collect();
                    operations.iter_mut().skip(1).step_by(3).for_each(|operation| *operation = Get(K::ALL_ONES));
                    let answers = apply(&mut map, &operations);
                    assert_eq!(map.len() + answers.iter().flatten().count(), n);
                }
            }
        }
    }
}

/// Checks that slots of removed keys are reused and that searches stay short, while a tenth of the
/// keys is replaced again and again.
#[parameterized]
fn keys_that_come_and_go_at_a_high_load_leave_a_table_as_good_as_it_was<K: Key, V: Value>() {
    for (engine, fixed) in linear_engines::<K, V>().flat_map(|engine| [(engine, true), (engine, false)]) {
        for config in configs() {
            let n = engine.max_items.min(20_000);
            let config = config.load(0.9).pairs(n * 90 / 85);
            let mut map = create::<_, K, V>(&engine.device, &if fixed { config.fixed() } else { config });
            let all: Vec<K> = distinct_keys(n * 5, 17);
            let mut there = pairs(&all[..n]);
            map.insert_many(&all[..n], &values(&all[..n])).unwrap();
            let slots = map.table().slots();
            for round in 0..40 {
                let first = round * (n / 10);
                let (gone, new) = (&all[first..first + n / 10], &all[first + n..first + n + n / 10]);
                let removed = map.remove_many(gone).unwrap();
                assert!(removed.iter().zip(gone).all(|(value, key)| *value == there.remove(key)));
                // Some rounds insert in a batch of mixed operations.
                if round % 4 == 3 {
                    let operations: Vec<_> = new.iter().map(|&key| Insert(key, values(&[key])[0])).collect();
                    assert!(apply(&mut map, &operations).iter().all(Option::is_none));
                } else {
                    assert_eq!(map.insert_many(new, &values(new)).unwrap(), new.len());
                }
                there.extend(pairs(new));
                // The load leaves some slots empty. Slots of removed keys may take only a part of
                // these slots.
                let most = ((map.table().slots() as f64 * 0.9) as u64 + 3 * map.table().slots()) / 4;
                assert!(
                    map.table().taken() <= most,
                    "{} of {} slots are taken",
                    map.table().taken(),
                    map.table().slots()
                );
                assert!(
                    map.table().slots() <= if fixed { slots } else { 3 * slots.max(900) },
                    "{} slots",
                    map.table().slots()
                );
                let longest = map.table().probe_lengths().unwrap().longest;
                assert!(longest < 600, "round {round} on {}: {longest} slots", engine.device.name());
                if round % 10 == 9 || n < 300 {
                    equals(&map, &there);
                }
            }
        }
    }
}

#[parameterized]
fn the_cell_goes_where_the_map_goes<K: Key, V: Value>() {
    for (engine, config) in everywhere::<K, V>() {
        let mut map = create::<_, K, V>(&engine.device, &config);
        let (key, all_ones) = (K::from_u64(4), V::ALL_ONES);
        let [zero, one, three] = [0, 1, 3].map(V::from_u64);
        map.insert_many(&[K::ALL_ONES, key], &[zero, one]).unwrap();
        let holds = |map: &LinearMap<K, V>, cell| equals(map, &HashMap::from([(K::ALL_ONES, cell), (key, one)]));
        let copy = map.try_clone().unwrap();
        map.reserve(400).unwrap();
        holds(&map, zero);
        assert_eq!(map.replace_many(&[K::ALL_ONES], &[all_ones]).unwrap(), [Some(zero)]);
        map.shrink_to_fit().unwrap();
        holds(&map, all_ones);
        // The map grows and becomes small again.
        let keys: Vec<K> = distinct_keys(250, 6);
        map.insert_many(&keys, &values(&keys)).unwrap();
        assert_eq!(map.get_many(&[K::ALL_ONES]).unwrap(), [Some(all_ones)]);
        map.remove_many(&keys).unwrap();
        map.insert_many(&[key], &[one]).unwrap();
        map.drop_tombstones().unwrap();
        holds(&map, all_ones);
        assert_eq!(map.table().taken(), 1);
        map.clear().unwrap();
        equals(&map, &HashMap::new());
        assert_eq!(map.get_or_insert_many(&[K::ALL_ONES], &[three]).unwrap(), [three]);
        holds(&copy, zero);
    }
}

/// Checks that the cell counts as no slot: with and without its key, dropping tombstones must free
/// a slot.
#[parameterized]
fn one_removed_key_leaves_with_a_compaction_whether_the_cell_is_full_or_not<K: Key, V: Value>() {
    for (engine, cell) in linear_engines::<K, V>().flat_map(|engine| [(engine, false), (engine, true)]) {
        let mut map = create::<_, K, V>(&engine.device, &configs()[0]);
        let two = K::from_u64(2);
        map.insert_many(&[K::from_u64(1), two, K::from_u64(3), K::ALL_ONES], &[V::from_u64(7); 4]).unwrap();
        // In a batch of mixed operations a removal leaves a tombstone.
        apply(&mut map, &[Remove(two), Remove(K::ALL_ONES)][..if cell { 1 } else { 2 }]);
        assert_eq!(map.table().taken(), 3);
        map.drop_tombstones().unwrap();
        assert_eq!(map.table().taken(), 2, "with the cell {}", if cell { "full" } else { "empty" });
    }
}

#[parameterized]
fn probe_lengths_are_those_of_the_words<K: Key, V: Value>() {
    for engine in linear_engines::<K, V>() {
        for (config, load) in
            configs().into_iter().flat_map(|config| [0.3, 0.9, 0.99].map(|load| (config.clone(), load)))
        {
            let n = engine.max_items.min(5000);
            let mut map = create::<_, K, V>(&engine.device, &config.load(load).pairs(n).fixed());
            let none = map.table().probe_lengths().unwrap();
            assert_eq!((none.mean, none.longest, none.histogram.iter().sum()), (0.0, 0, 0u64));
            let keys: Vec<K> = distinct_keys(n, 8);
            map.insert_many(&keys, &values(&keys)).unwrap();
            map.insert_many(&[K::ALL_ONES], &[V::from_u64(1)]).unwrap();
            for _ in 0..2 {
                let report = map.table().probe_lengths().unwrap();
                let lengths = check_linear_map(&map).unwrap().lengths;
                let last = report.histogram.len() - 1;
                let mut histogram = vec![0; last + 1];
                lengths.iter().for_each(|&length| histogram[last.min(length as usize)] += 1);
                assert_eq!(report.histogram, histogram);
                assert_eq!(report.histogram.iter().sum::<u64>(), map.len() as u64 - 1);
                assert_eq!(report.longest, *lengths.iter().max().unwrap());
                assert!((report.mean - lengths.iter().sum::<u64>() as f64 / lengths.len() as f64).abs() < 1e-9);
                map.remove_many(&keys[..n / 3]).unwrap();
            }
        }
    }
}

/// Checks that a full map that may not grow accepts a batch that frees the slots that it needs.
#[parameterized]
fn a_full_map_gives_out_what_the_same_batch_gives_up(device: &Device) {
    let mut map: LinearMap<u32, u32> = LinearConfig::default().pairs(100).fixed().seed(4).create(device).unwrap();
    let keys: Vec<u32> = (0..).take_while(|&key| map.insert_many(&[key], &[key]).is_ok()).collect();
    let full = map.len();
    let operation = |i: usize| match i % 2 {
        0 => LinearOperation::Remove(keys[i / 2]),
        _ => LinearOperation::Insert(1_000_000 + i as u32, i as u32),
    };
    let batch: Vec<LinearOperation<u32, u32>> = (0..60).map(operation).collect();
    let answers = map.apply_many(&batch).unwrap();
    for (i, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, (i % 2 == 0).then(|| keys[i / 2]), "operation {i}");
    }
    assert_eq!(map.len(), full);
}
