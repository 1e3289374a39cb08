//! Device failures during the operations of a linear map, the state of the map afterwards, and the
//! memory that it takes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use warpnest::linear::LinearOperation;
use warpnest::linear::LinearOperation::{GetOrInsert, Insert, Remove};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error, LinearConfig, LinearMap, Result};
use warpnest_tests::changing::{self, own, pairs, values};
use warpnest_tests::linear_checker::check_linear_map;
use warpnest_tests::maps::equals;
use warpnest_tests::{counting, distinct_keys, faulty, only, parameterized};

fn config() -> LinearConfig {
    LinearConfig::default().seed(2)
}

/// Returns the map before anything fails, and its pairs. One key has a cell of its own, and a
/// removed key has left a tombstone.
fn begin<K: Key, V: Value>(device: &Device) -> (LinearMap<K, V>, HashMap<K, V>) {
    let mut map = config().pairs(900).create(device).unwrap();
    let keys: Vec<K> = [K::ALL_ONES].into_iter().chain(distinct_keys(400, 1)).collect();
    map.insert_many(&keys, &values(&keys)).unwrap();
    let removals: Vec<_> = keys[300..].iter().map(|&key| Remove(key)).collect();
    map.apply_many(&removals).unwrap();
    (map, pairs(&keys[..300]))
}

/// A call that may need memory and launches, with its name.
type Call<K, V> = (&'static str, fn(&mut LinearMap<K, V>, &[K]) -> Result<()>);

/// Returns the calls that insert keys with their own values.
fn insertions<K: Key, V: Value>() -> [Call<K, V>; 3] {
    [
        ("insert_many", |map, keys| map.insert_many(keys, &values(keys)).map(drop)),
        ("get_or_insert_many", |map, keys| map.get_or_insert_many(keys, &values(keys)).map(drop)),
        ("apply_many", |map, keys| {
            let operation = |key: &K| {
                if key.to_u64().is_multiple_of(2) { Insert(*key, own(key)) } else { GetOrInsert(*key, own(key)) }
            };
            map.apply_many(&keys.iter().map(operation).collect::<Vec<LinearOperation<K, V>>>()).map(drop)
        }),
    ]
}

/// Returns the calls that do not change the pairs.
fn others<K: Key, V: Value>() -> [Call<K, V>; 8] {
    [
        ("reserve", |map, _| map.reserve(5000)),
        ("shrink_to_fit", |map, _| map.shrink_to_fit()),
        ("compact", |map, _| map.drop_tombstones()),
        ("try_clone", |map, _| map.try_clone().map(drop)),
        ("get_many", |map, keys| map.get_many(keys).map(drop)),
        ("contains_many", |map, keys| map.contains_many(keys).map(drop)),
        ("to_pairs", |map, _| map.to_pairs().map(drop)),
        ("probe_lengths", |map, _| map.table().probe_lengths().map(drop)),
    ]
}

/// Checks the map after an insertion that failed: it has all old pairs, and some of the new keys
/// with their values.
fn check_some<K: Key, V: Value>(map: &LinearMap<K, V>, before: &HashMap<K, V>, new: &[K], after: &str) {
    let found = check_linear_map(map).unwrap_or_else(|wrong| panic!("{after}: {wrong}")).pairs;
    assert!(before.iter().all(|(key, value)| found.get(key) == Some(value)), "{after}");
    let came = found.iter().filter(|(key, _)| !before.contains_key(key));
    assert!(came.into_iter().all(|(key, value)| own::<K, V>(key) == *value && new.contains(key)), "{after}");
    equals(map, &found);
}

/// Lets a call fail at each of its allocations or launches until it succeeds, and returns the count
/// of failures.
fn failures<K: Key, V: Value>(
    (name, call): Call<K, V>,
    (device, inserts, new): (&Device, bool, &[K]),
    left: &AtomicU32,
    expected: fn(&Error) -> bool,
) -> u32 {
    for good in 0.. {
        let (mut map, mut there) = begin(device);
        let state = (*map.table().layout(), map.len(), map.table().taken());
        let done = only(left, good, || call(&mut map, new));
        let case = format!("{name} with {good} that go well");
        if let Err(error) = &done {
            assert!(expected(error), "{case}: {error}");
            if inserts {
                check_some(&map, &there, new, &case);
            } else {
                assert_eq!((*map.table().layout(), map.len(), map.table().taken()), state, "{case}");
                equals(&map, &there);
            }
            // The call can be repeated.
            call(&mut map, new).unwrap_or_else(|error| panic!("{case}, then again: {error}"));
        }
        if inserts {
            there.extend(pairs(new));
        }
        equals(&map, &there);
        if done.is_ok() {
            return good;
        }
    }
    unreachable!("a call does not fail for ever")
}

#[parameterized]
fn whichever_allocation_fails_the_map_holds_what_it_should_and_the_call_can_be_repeated<K: Key, V: Value>() {
    let (device, counts) = counting();
    let out_of_memory = |error: &Error| matches!(error, Error::OutOfMemory { .. });
    // The first batch fits, the second one fits in part, and for the third one the map grows twice.
    for n in [50, 1500, 20_000] {
        let new: Vec<K> = distinct_keys(n, 1 << 20);
        for call in insertions::<K, V>() {
            let failed = failures(call, (&device, true, &new), &counts.allocations, out_of_memory);
            assert!(failed >= if n < 1000 { 2 } else { 4 }, "{} of {n}: only {failed} allocations", call.0);
        }
    }
    let new: Vec<K> = distinct_keys(100, 77);
    for (call, least) in others::<K, V>().into_iter().zip([2, 2, 2, 2, 3, 2, 3, 2]) {
        let failed = failures(call, (&device, false, &new), &counts.allocations, out_of_memory);
        assert!(failed >= least, "{}: only {failed} allocations", call.0);
    }
    assert_eq!(counts.bytes.load(Relaxed), 0, "some bytes were not given back");
}

#[parameterized]
fn whichever_launch_fails_the_map_holds_what_it_should_and_the_call_can_be_repeated<K: Key, V: Value>() {
    let (device, good_launches) = faulty();
    let planted = |error: &Error| matches!(error, Error::Kernel { .. });
    let new: Vec<K> = distinct_keys(20_000, 1 << 20);
    for call in insertions::<K, V>() {
        let failed = failures(call, (&device, true, &new), &good_launches, planted);
        assert!(failed >= 2, "{}: only {failed} launches", call.0);
    }
    for call in others::<K, V>().into_iter().filter(|call| call.0 != "try_clone") {
        assert_eq!(failures(call, (&device, false, &new), &good_launches, planted), 1, "{}", call.0);
    }
}

#[parameterized]
fn a_removal_that_fails_removes_nothing<K: Key, V: Value>() {
    let (device, counts) = counting();
    let (faulty, good_launches) = faulty();
    let (mut counted, there) = begin::<K, V>(&device);
    let (mut launched, _) = begin::<K, V>(&faulty);
    let keys: Vec<K> = there.keys().copied().take(100).collect();
    for good in 0..4 {
        let done = only(&counts.allocations, good, || counted.remove_many(&keys));
        match done {
            Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }) && good < 4, "{error}"),
            Ok(values) => {
                assert_eq!(values, keys.iter().map(|key| Some(own(key))).collect::<Vec<_>>());
                counted.insert_many(&keys, &changing::values(&keys)).unwrap();
            }
        }
        equals(&counted, &there);
    }
    let done = only(&good_launches, 0, || launched.remove_many(&keys));
    assert!(matches!(done, Err(Error::Kernel { .. })));
    equals(&launched, &there);
    assert!(launched.remove_many(&keys).unwrap().iter().all(Option::is_some));
}

/// Checks that a batch takes a single launch if there is capacity for its insertions, although not
/// for all of its operations.
#[test]
fn a_mixed_batch_of_few_insertions_is_one_chunk() {
    let (device, launches) = faulty();
    let mut map: LinearMap<u32, u32> = config().pairs(1000).create(&device).unwrap();
    let keys: Vec<u32> = distinct_keys(900, 3);
    map.insert_many(&keys, &keys).unwrap();
    let slots = map.table().slots();
    let operation = |i: u32| match i % 100 {
        7 => Insert(!i, i),
        8 => GetOrInsert(!i, i),
        _ => LinearOperation::Get(keys[i as usize % 900]),
    };
    let batch: Vec<LinearOperation<u32, u32>> = (0..4000).map(operation).collect();
    let answers = only(&launches, 2, || map.apply_many(&batch)).unwrap();
    assert_eq!(answers.iter().filter(|answer| answer.is_none()).count(), 80);
    assert_eq!((map.len(), map.table().slots()), (980, slots));
    check_linear_map(&map).unwrap();
}

/// Checks that a batch has few chunks, and that rehashes are rare.
#[test]
fn removing_a_tenth_and_inserting_as_many_again_and_again_takes_few_launches() {
    let (device, launches) = faulty();
    for load in [0.8, 0.9, 0.95] {
        let mut map = config().pairs(20_000).load(load).fixed().create::<u32, u32>(&device).unwrap();
        let keys: Vec<u32> = distinct_keys(22_000, 4);
        map.insert_many(&keys[..20_000], &keys[..20_000]).unwrap();
        for round in 0..40 {
            let part = |ahead: usize| &keys[(round + ahead) % 11 * 2000..][..2000];
            only(&launches, 1, || map.remove_many(part(0))).unwrap();
            only(&launches, 12, || map.insert_many(part(10), part(10))).unwrap_or_else(|error| {
                panic!("round {round} at load {load}: {error}");
            });
        }
        check_linear_map(&map).unwrap();
        // If only tombstones are left, the table is emptied without a rehash.
        map.remove_many(&keys).unwrap();
        assert!(map.table().taken() > 0);
        assert_eq!(only(&launches, 1, || map.insert_many(&keys[..20_000], &keys[..20_000])), Ok(20_000));
        assert_eq!((map.len(), map.table().taken()), (20_000, 20_000));
    }
}

/// Checks that a table of mostly removed keys is rehashed before a large batch, despite spare
/// capacity. It is not rehashed before a small batch, or without memory for that.
#[test]
fn removed_keys_do_not_stay_in_the_way_of_a_large_batch() {
    let (device, counts) = counting();
    let keys: Vec<u32> = distinct_keys(80_000, 6);
    let (old, new) = keys.split_at(40_000);
    let buffers = |keys: &[u32]| Buffer::from_slice(&device, keys).unwrap();
    let batches = [buffers(&new[..10_000]), buffers(&new[10_000..])];
    for (allocations, expected) in [(u32::MAX, true), (0, false)] {
        let mut map = config().pairs(100_000).create::<u32, u32>(&device).unwrap();
        map.insert_many(old, old).unwrap();
        map.apply_many(&old[1000..].iter().map(|&key| Remove(key)).collect::<Vec<_>>()).unwrap();
        let layout = *map.table().layout();
        let mut taken_by = |batch: &Buffer<u32>| {
            let done = only(&counts.allocations, allocations, || map.insert_many(batch, batch));
            assert_eq!(done, Ok(batch.len()));
            (map.table().taken() == map.len() as u64, *map.table().layout() == layout)
        };
        assert_eq!(taken_by(&batches[0]), (false, true), "a small batch");
        assert_eq!(taken_by(&batches[1]), (expected, !expected), "a large batch, {allocations} allocations");
        equals(&map, &old[..1000].iter().chain(new).map(|&key| (key, key)).collect());
    }
}

/// Checks a map that would have to grow but cannot: it keeps the pairs for which it had capacity.
#[parameterized]
fn pairs_for_which_there_was_room_are_in_a_map_that_could_not_grow<K: Key, V: Value>() {
    let (device, counts) = counting();
    let mut map = config().pairs(5000).create::<K, V>(&device).unwrap();
    let keys: Vec<K> = distinct_keys(20_000, 3);
    let on_device = Buffer::from_slice(&device, &keys).unwrap();
    let values = Buffer::from_slice(&device, &values(&keys)).unwrap();
    let done = only(&counts.allocations, 0, || map.insert_many(&on_device, &values));
    assert!(matches!(done, Err(Error::OutOfMemory { .. })));
    assert!(map.len() > 4000, "only {} keys", map.len());
    check_some(&map, &HashMap::new(), &keys, "no growth");
    let there = map.len();
    assert_eq!(map.insert_many(&on_device, &values), Ok(keys.len() - there));
    equals(&map, &pairs(&keys));
}

#[parameterized]
fn a_map_takes_the_memory_that_was_said_beforehand_and_gives_it_back<K: Key, V: Value>() {
    let (device, counts) = counting();
    for config in [config(), config().linear_probing(), config().load(0.3), config().load(0.99)] {
        for pairs in [0, 1, 100, 5000, 50_000] {
            let said = config.clone().pairs(pairs).initial_memory_bytes::<K, V>(&device).unwrap();
            let mut map = config.clone().pairs(pairs).create::<K, V>(&device).unwrap();
            assert_eq!((map.memory_bytes(), counts.bytes.load(Relaxed) as usize), (said, said));
            let keys: Vec<K> = distinct_keys(3000, 5);
            map.insert_many(&keys, &values(&keys)).unwrap();
            assert_eq!(map.memory_bytes(), counts.bytes.load(Relaxed) as usize);
            let copy = map.try_clone().unwrap();
            assert_eq!(2 * copy.memory_bytes(), counts.bytes.load(Relaxed) as usize);
            drop(copy);
            map.remove_many(&keys[100..]).unwrap();
            map.shrink_to_fit().unwrap();
            assert_eq!(map.memory_bytes(), counts.bytes.load(Relaxed) as usize);
            assert!(
                map.memory_bytes()
                    <= config.clone().pairs(100).initial_memory_bytes::<K, V>(&device).unwrap().max(said)
            );
            drop(map);
            assert_eq!(counts.bytes.load(Relaxed), 0);
        }
    }
}
