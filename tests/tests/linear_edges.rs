//! The linear map at the edges: extreme keys and values, sizes around every bound, growth, full tables, removed slots, on every engine.

use std::collections::HashMap;
use warpnest::LinearOperation::{Get, GetOrInsert, Insert, Remove};
use warpnest::{Buffer, LinearConfig, LinearMap, LinearOperation};
use warpnest_tests::linear_checker::{check_answers, check_linear_map};
use warpnest_tests::maps::equals;
use warpnest_tests::{TestEngine, distinct_keys, engines};

/// The key that has a cell of its own.
const K: u32 = u32::MAX;

/// Both ways to go on from a full line, each with a seed.
fn configs() -> [LinearConfig; 2] {
    let config = LinearConfig::default().seed(11);
    [config.clone(), config.to_the_next_line()]
}

fn create(engine: &TestEngine, config: &LinearConfig) -> LinearMap {
    config.create(&engine.device).unwrap_or_else(|error| panic!("on {}: {error}", engine.device.name()))
}

fn values(keys: &[u32]) -> Vec<u32> {
    keys.iter().map(|key| key.wrapping_mul(0x9e37_79b1) ^ 77).collect()
}

fn pairs(keys: &[u32]) -> HashMap<u32, u32> {
    keys.iter().copied().zip(values(keys)).collect()
}

/// Does the operations and fails unless there is an order for their answers, which it returns.
fn apply(map: &mut LinearMap, operations: &[LinearOperation]) -> Vec<Option<u32>> {
    let before = check_linear_map(map).unwrap().pairs;
    let answers = map.apply_many(operations).unwrap();
    let after = check_linear_map(map).unwrap().pairs;
    check_answers(&before, operations.iter().copied().zip(answers.iter().copied()), &after).unwrap();
    answers
}

#[test]
fn batches_of_nothing_do_nothing() {
    for engine in engines() {
        for config in configs() {
            let mut map = create(engine, &config);
            let stream = engine.device.default_stream();
            for there in [vec![], vec![1, K, 5]] {
                assert_eq!(map.insert_many(&there, &values(&there)).unwrap(), there.len() as u64);
                assert_eq!(map.insert_many(&[], &[]).unwrap(), 0);
                assert_eq!(map.replace_many(&[], &[]).unwrap(), []);
                assert_eq!(map.get_or_insert_many(&[], &[]).unwrap(), []);
                assert_eq!(map.remove_many(&[]).unwrap(), []);
                assert_eq!((map.apply_many(&[]).unwrap(), map.get_many(&[]).unwrap()), (vec![], vec![]));
                assert_eq!(map.contains_many(&[]).unwrap(), []);
                assert_eq!(map.remove_many_on(stream, &Buffer::zeroed(&engine.device, 0).unwrap()).unwrap(), 0);
                equals(&map, &pairs(&there));
            }
            map.clear(stream).unwrap();
            equals(&map, &HashMap::new());
            assert_eq!((map.taken(), map.to_pairs().unwrap()), (0, vec![]));
            map.compact(stream).unwrap();
            map.shrink_to_fit(stream).unwrap();
            map.reserve(stream, 0).unwrap();
            equals(&map, &HashMap::new());
        }
    }
}

#[test]
fn every_operation_on_every_extreme_key_and_value() {
    for engine in engines() {
        for config in configs() {
            for key in [0, 1, 1 << 31, K - 1, K] {
                let mut map = create(engine, &config);
                for value in [0, 1, K - 1, K] {
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
                // What has a cell takes no slot.
                assert!(map.is_empty() && map.taken() <= (key != K) as u64);
            }
        }
    }
}

#[test]
fn one_key_many_times_in_a_batch() {
    for engine in engines() {
        for (config, key) in configs().into_iter().flat_map(|config| [0, 9, K].map(|key| (config.clone(), key))) {
            let n = engine.most_items.min(3000) as u32;
            let (keys, values) = (vec![key; n as usize], (0..n).collect::<Vec<u32>>());
            let mut map = create(engine, &config);
            assert_eq!(map.insert_many(&keys, &values).unwrap(), 1);
            let pairs = map.to_pairs().unwrap();
            assert!(pairs.len() == 1 && pairs[0].0 == key && pairs[0].1 < n);
            // Each value but the last one is given back, once, and so is the one before.
            let mut answers =
                map.replace_many(&keys, &values.iter().map(|value| value + n).collect::<Vec<_>>()).unwrap();
            answers.push(map.get_many(&[key]).unwrap()[0]);
            answers.sort_unstable();
            let expected: Vec<_> = [pairs[0].1].into_iter().chain(n..2 * n).map(Some).collect();
            assert!(answers == expected, "on {}", engine.device.name());
            let removed = map.remove_many(&keys).unwrap();
            assert_eq!((removed.iter().flatten().count(), map.len()), (1, 0));
            let one = map.get_or_insert_many(&keys, &values).unwrap();
            assert!(one.iter().all(|&value| value == one[0] && value < n));
            let operations = values.iter().map(|&value| match value % 4 {
                0 => Get(key),
                1 => Insert(key, value + n),
                2 => GetOrInsert(key, value + n),
                _ => Remove(key),
            });
            apply(&mut map, &operations.collect::<Vec<_>>());
        }
    }
}

/// Fills an empty map in batches of so many keys, removes some, and looks at all of it.
fn fill(engine: &TestEngine, config: &LinearConfig, keys: &[u32], batch: usize) -> LinearMap {
    let mut map = create(engine, config);
    for keys in keys.chunks(batch) {
        assert_eq!(map.insert_many(keys, &values(keys)).unwrap(), keys.len() as u64);
    }
    equals(&map, &pairs(keys));
    map
}

#[test]
fn sequential_and_strided_keys() {
    for engine in engines() {
        for config in configs() {
            let n = engine.most_items.min(2000) as u32;
            for lg in (0..=24).step_by(4) {
                // No more keys than the stride leaves, so that all differ.
                let keys: Vec<u32> = (0..n.min(1 << (32 - lg))).map(|i| i << lg).collect();
                let mut map = fill(engine, &config, &keys, keys.len());
                let (gone, left) = keys.split_at(keys.len() / 3);
                assert_eq!(map.remove_many(gone).unwrap(), values(gone).into_iter().map(Some).collect::<Vec<_>>());
                equals(&map, &pairs(left));
                fill(engine, &config, &keys.iter().map(|key| !key.reverse_bits()).collect::<Vec<_>>(), keys.len());
            }
        }
    }
}

#[test]
fn sizes_around_powers_of_two_warps_and_blocks() {
    let mut sizes: Vec<usize> = (0..14).map(|lg| 1 << lg).chain([96, 160, 224, 288, 768, 1280]).collect();
    sizes.push(100_000);
    for size in sizes {
        for n in size - 1..=size + 1 {
            let keys: Vec<u32> = distinct_keys(n, 5);
            for engine in engines().iter().filter(|engine| n <= engine.most_items) {
                for config in configs() {
                    let mut map = fill(engine, &config, &keys, n.max(1));
                    let mut operations: Vec<_> = keys.iter().map(|&key| Remove(key)).collect();
                    operations.iter_mut().skip(1).step_by(3).for_each(|operation| *operation = Get(!0));
                    let answers = apply(&mut map, &operations);
                    assert_eq!(map.len() + answers.iter().flatten().count() as u64, n as u64);
                }
            }
        }
    }
}

#[test]
fn growth_by_one_batch_and_by_many_at_every_load() {
    for engine in engines() {
        let n = engine.most_items.min(20_000);
        let keys: Vec<u32> = [K].into_iter().chain(distinct_keys(n - 1, 8)).collect();
        for config in configs() {
            for load in [0.99, 0.8, 0.29, 0.01] {
                let config = config.clone().load(load);
                for batch in [n, n / 3, n / 40 + 1] {
                    let mut map = fill(engine, &config, &keys, batch);
                    assert!(map.taken() as f64 <= map.slots() as f64 * load, "{} of {}", map.taken(), map.slots());
                    map.shrink_to_fit(engine.device.default_stream()).unwrap();
                    equals(&map, &pairs(&keys));
                    let exact = config.clone().pairs(n as u64).memory_bytes().unwrap();
                    assert!(map.memory_bytes() <= exact, "{} bytes for {n} pairs, {exact} said", map.memory_bytes());
                }
                if n <= 300 {
                    let mut map = create(engine, &config);
                    keys.iter().for_each(|&key| drop(map.replace_many(&[key], &values(&[key])).unwrap()));
                    equals(&map, &pairs(&keys));
                }
            }
        }
    }
}

#[test]
fn a_map_has_room_for_the_pairs_that_it_was_made_for() {
    let engine = &engines()[0];
    for load in [0.29, 0.35, 0.99, 0.8, 0.5, 0.05] {
        for (config, n) in configs().into_iter().flat_map(|config| (1..600).map(move |n| (config.clone(), n))) {
            let config = config.load(load).pairs(n as u64);
            let keys: Vec<u32> = distinct_keys(n, 3);
            for mut map in [create(engine, &config), create(engine, &config.clone().fixed())] {
                let constants = (map.layout().a, map.slots());
                let new = map.insert_many(&keys, &keys);
                assert_eq!(new, Ok(n as u64), "{n} pairs at load {load} in {} slots", map.slots());
                assert_eq!((map.layout().a, map.slots()), constants, "{n} pairs at load {load}");
            }
        }
    }
}

/// A tenth of the keys goes and as many others come, over and over: slots of removed keys must come back, and searches stay short.
#[test]
fn keys_that_come_and_go_at_a_high_load_leave_a_table_as_good_as_it_was() {
    for (engine, fixed) in engines().iter().flat_map(|engine| [(engine, true), (engine, false)]) {
        for config in configs() {
            let n = engine.most_items.min(20_000);
            let stream = engine.device.default_stream();
            let config = config.load(0.9).pairs(n as u64 * 90 / 85);
            let mut map = create(engine, &if fixed { config.fixed() } else { config });
            let all: Vec<u32> = distinct_keys(n * 5, 17);
            let mut there = pairs(&all[..n]);
            map.insert_many(&all[..n], &values(&all[..n])).unwrap();
            let slots = map.slots();
            for round in 0..40 {
                let first = round * (n / 10);
                let (gone, new) = (&all[first..first + n / 10], &all[first + n..first + n + n / 10]);
                let removed = map.remove_many(gone).unwrap();
                assert!(removed.iter().zip(gone).all(|(value, key)| *value == there.remove(key)));
                // Some of the rounds do both at once.
                if round % 4 == 3 {
                    let operations: Vec<_> = new.iter().map(|&key| Insert(key, values(&[key])[0])).collect();
                    assert!(apply(&mut map, &operations).iter().all(Option::is_none));
                } else {
                    assert_eq!(map.insert_many(new, &values(new)).unwrap(), new.len() as u64);
                }
                there.extend(pairs(new));
                // The slots of removed keys must leave a part of those empty that the load leaves.
                let most = ((map.slots() as f64 * 0.9) as u64 + 3 * map.slots()) / 4;
                assert!(map.taken() <= most, "{} of {} slots are taken", map.taken(), map.slots());
                assert!(map.slots() <= if fixed { slots } else { 3 * slots.max(900) }, "{} slots", map.slots());
                let longest = map.probe_lengths(stream).unwrap().longest;
                assert!(longest < 600, "round {round} on {}: {longest} slots", engine.device.name());
                if round % 10 == 9 || n < 300 {
                    equals(&map, &there);
                }
            }
        }
    }
}

#[test]
fn the_cell_goes_where_the_map_goes() {
    for engine in engines() {
        for config in configs() {
            let stream = engine.device.default_stream();
            let mut map = create(engine, &config);
            map.insert_many(&[K, 4], &[0, 1]).unwrap();
            let holds = |map: &LinearMap, cell: u32| equals(map, &HashMap::from([(K, cell), (4, 1)]));
            let copy = map.try_clone(stream).unwrap();
            map.reserve(stream, 400).unwrap();
            holds(&map, 0);
            assert_eq!(map.replace_many(&[K], &[K]).unwrap(), [Some(0)]);
            map.shrink_to_fit(stream).unwrap();
            holds(&map, K);
            // Full growth, then back.
            let keys: Vec<u32> = distinct_keys(250, 6);
            map.insert_many(&keys, &keys).unwrap();
            assert_eq!(map.get_many(&[K]).unwrap(), [Some(K)]);
            map.remove_many(&keys).unwrap();
            map.insert_many(&[4], &[1]).unwrap();
            map.compact(stream).unwrap();
            holds(&map, K);
            assert_eq!(map.taken(), 1);
            map.clear(stream).unwrap();
            equals(&map, &HashMap::new());
            assert_eq!(map.get_or_insert_many(&[K], &[3]).unwrap(), [3]);
            holds(&copy, 0);
        }
    }
}

/// The cell takes no slot: a map that has its key must find slots to give back as well as one that has not.
#[test]
fn one_removed_key_leaves_with_a_compaction_whether_the_cell_is_full_or_not() {
    for (engine, cell) in engines().iter().flat_map(|engine| [(engine, false), (engine, true)]) {
        let stream = engine.device.default_stream();
        let mut map = create(engine, &configs()[0]);
        map.insert_many(&[1, 2, 3, K], &[7; 4]).unwrap();
        // Among other operations, so that a slot is left.
        apply(&mut map, if cell { &[Remove(2)] } else { &[Remove(2), Remove(K)] });
        assert_eq!(map.taken(), 3);
        map.compact(stream).unwrap();
        assert_eq!(map.taken(), 2, "with the cell {}", if cell { "full" } else { "empty" });
    }
}

#[test]
fn probe_lengths_are_those_of_the_words() {
    for engine in engines() {
        for (config, load) in
            configs().into_iter().flat_map(|config| [0.3, 0.9, 0.99].map(|load| (config.clone(), load)))
        {
            let n = engine.most_items.min(5000);
            let stream = engine.device.default_stream();
            let mut map = create(engine, &config.load(load).pairs(n as u64).fixed());
            let none = map.probe_lengths(stream).unwrap();
            assert_eq!((none.mean, none.longest, none.histogram.iter().sum()), (0.0, 0, 0u64));
            let keys: Vec<u32> = distinct_keys(n, 8);
            map.insert_many(&keys, &keys).unwrap();
            map.insert_many(&[K], &[1]).unwrap();
            for _ in 0..2 {
                let report = map.probe_lengths(stream).unwrap();
                let lengths = check_linear_map(&map).unwrap().lengths;
                let last = report.histogram.len() - 1;
                let mut histogram = vec![0; last + 1];
                lengths.iter().for_each(|&length| histogram[last.min(length as usize)] += 1);
                assert_eq!(report.histogram, histogram);
                assert_eq!(report.histogram.iter().sum::<u64>(), map.len() - 1);
                assert_eq!(report.longest, *lengths.iter().max().unwrap());
                assert!((report.mean - lengths.iter().sum::<u64>() as f64 / lengths.len() as f64).abs() < 1e-9);
                map.remove_many(&keys[..n / 3]).unwrap();
            }
        }
    }
}
