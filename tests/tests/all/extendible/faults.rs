//! Device failures during the operations of an extendible map, and the state of the map afterwards.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use warpnest::extendible::ExtendibleReport;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, Error, ExtendibleMap, Result};
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::extendible_checker::check_extendible_map;
use warpnest_tests::extendible_parts::small;
use warpnest_tests::maps::{equals, is_empty};
use warpnest_tests::{counting, distinct_keys, failing, faulty, only, parameterized};

fn insert<K: Key, V: Value>(map: &mut ExtendibleMap<K, V>, keys: &[K]) -> Result<usize> {
    map.insert_many(keys, &values(keys))
}

/// Returns the map before anything fails, and its pairs. Keys were removed, so the map has memory
/// for more buckets and bucket tables than it uses.
fn begin<K: Key, V: Value>(device: &Device) -> (ExtendibleMap<K, V>, HashMap<K, V>) {
    let mut map = small().create(device).unwrap();
    let keys: Vec<K> = [K::ALL_ONES].into_iter().chain(distinct_keys(4000, 1)).collect();
    insert(&mut map, &keys).unwrap();
    map.remove_many(&keys[2000..]).unwrap();
    assert!(map.table().report().global_depth > 5);
    (map, pairs(&keys[..2000]))
}

/// A call that may need memory and launches. Its arguments are the map, present keys and absent
/// keys.
type Call<K, V> = (&'static str, fn(&mut ExtendibleMap<K, V>, &[K], &[K]) -> Result<()>);

/// Returns the calls that do not change the pairs, and their least counts of launches.
fn others<K: Key, V: Value>() -> [(Call<K, V>, u32); 5] {
    [
        (("shrink_to_fit", |map, _, _| map.shrink_to_fit()), 3),
        (("try_clone", |map, _, _| map.try_clone().map(drop)), 3),
        (("get_many", |map, old, _| map.get_many(old).map(drop)), 1),
        (("contains_many", |map, _, new| map.contains_many(new).map(drop)), 1),
        (("to_pairs", |map, _, _| map.to_pairs().map(drop)), 1),
    ]
}

/// Returns an insertion that gives present keys other values. Its new keys make buckets split and
/// the directory grow.
fn insertion<K: Key, V: Value>() -> Call<K, V> {
    ("insert_many", |map, old, new| insert(map, &[&old[..50], new].concat()).map(drop))
}

/// Returns a removal of all keys except a few, after which the directory shrinks and the remaining
/// buckets are packed.
fn removal<K: Key, V: Value>() -> Call<K, V> {
    ("remove_many", |map, old, _| map.remove_many(&old[KEPT..]).map(drop))
}

/// The count of keys that a removal leaves.
const KEPT: usize = 40;

/// The keys of a call, and the state before the call.
struct Before<K: Key, V: Value> {
    there: HashMap<K, V>,
    report: ExtendibleReport,
    old: Vec<K>,
    new: Vec<K>,
}

impl<K: Key, V: Value> Before<K, V> {
    /// Fails unless the map is as it was, except for memory that the call may have allocated.
    fn is(&self, map: &ExtendibleMap<K, V>) {
        equals(map, &self.there);
        let mut report = map.table().report();
        report.memory_bytes = self.report.memory_bytes;
        assert_eq!(report, self.report);
    }
}

/// Runs a call once for each of its allocations or launches, and lets that one fail; returns the
/// count of failures. `check` receives each result.
fn hit_each<K: Key, V: Value>(
    call: &Call<K, V>,
    (device, left, once): (&Device, &AtomicU32, bool),
    mut check: impl FnMut(&mut ExtendibleMap<K, V>, &Before<K, V>, Result<()>, &str),
) -> u32 {
    let (begun, there) = begin::<K, V>(device);
    let mut old: Vec<K> = there.keys().copied().collect();
    old.sort_unstable();
    let new: Vec<K> = distinct_keys(4000, 1 << 20);
    let mut before = Before { there, report: begun.table().report(), old, new };
    for good in 0.. {
        // A copy has no spare memory, so the call must allocate all that it needs. A call that
        // frees memory needs spare memory.
        let mut map = match call.0 {
            "shrink_to_fit" => begin(device).0,
            _ => begun.try_clone().unwrap(),
        };
        before.report = map.table().report();
        left.store(good, Relaxed);
        let done = (call.1)(&mut map, &before.old, &before.new);
        let after = left.swap(u32::MAX, Relaxed);
        // After a single failure the counter wraps. If all later allocations fail, the call may
        // still succeed, because it can do without some of them.
        let hit = if once { after > good } else { after == 0 && (done.is_err() || call.0 == "remove_many") };
        if !hit {
            done.unwrap_or_else(|error| panic!("{} that was not hit: {error}", call.0));
            return good;
        }
        check(&mut map, &before, done, &format!("{} with {good} that go well, once {once}", call.0));
    }
    unreachable!("a call does not fail for ever")
}

#[parameterized]
fn whichever_allocation_fails_the_map_is_as_it_was_and_the_call_can_be_repeated<K: Key, V: Value>() {
    let (device, counts) = counting();
    let calls = others().map(|(call, _)| call).into_iter().chain([insertion::<K, V>()]);
    for (call, once) in calls.flat_map(|call| [(call, true), (call, false)]) {
        counts.once.store(once, Relaxed);
        let is_insertion = call.0 == "insert_many";
        let hits = hit_each(&call, (&device, &counts.allocations, once), |map, before, done, case| {
            // If there is no memory for packing, `shrink_to_fit` leaves the map where it is.
            match done {
                Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{case}: {error}"),
                Ok(()) => assert_eq!(call.0, "shrink_to_fit", "{case}"),
            }
            before.is(map);
            (call.1)(map, &before.old, &before.new).unwrap_or_else(|error| panic!("{case}, then again: {error}"));
            let mut there = before.there.clone();
            if is_insertion {
                there.extend(pairs::<K, V>(&before.new));
            }
            equals(map, &there);
        });
        assert!(hits >= if is_insertion { 15 } else { 2 }, "{}: only {hits} allocations", call.0);
    }
    assert_eq!(counts.bytes.load(Relaxed), 0, "some bytes were not given back");
}

/// Checks that keys are removed even without memory for merging; their buckets are merged by the
/// next removal.
#[parameterized]
fn a_removal_does_without_memory_for_merging<K: Key, V: Value>() {
    let (device, counts) = counting();
    for once in [true, false] {
        counts.once.store(once, Relaxed);
        let (mut refused, mut unmerged) = (0, 0);
        let hits = hit_each(&removal::<K, V>(), (&device, &counts.allocations, once), |map, before, done, case| {
            if let Err(error) = done {
                assert!(matches!(error, Error::OutOfMemory { .. }), "{case}: {error}");
                refused += 1;
                return before.is(map);
            }
            let kept = &before.old[..KEPT];
            equals(map, &pairs(kept));
            unmerged += (map.table().report().buckets == before.report.buckets) as u32;
            assert_eq!(map.remove_many(&kept[..1]).unwrap().iter().flatten().count(), 1, "{case}");
            equals(map, &pairs(&kept[1..]));
            assert!(map.table().report().buckets <= KEPT as u64, "{case}: {:?}", map.table().report());
            // The memory that was not freed is used again.
            insert(map, &before.new).unwrap_or_else(|error| panic!("{case}, then again: {error}"));
            equals(map, &pairs(&[&kept[1..], &before.new].concat()));
        });
        // Three allocations for keys and answers are refused. Others are for the list of merged
        // buckets, the smaller directory, and a smaller table.
        assert_eq!(refused, 3);
        assert!(
            unmerged >= 1 && hits >= refused + unmerged + 3 + 8,
            "{unmerged} times without that list, {hits} in all"
        );
    }
    assert_eq!(counts.bytes.load(Relaxed), 0, "some bytes were not given back");
}

/// Returns whether the error says that a launch failed, whether or not that emptied the map.
fn is_of_a_launch(error: &Error) -> bool {
    match error {
        Error::Kernel { .. } => true,
        Error::Emptied { source } => is_of_a_launch(source),
        _ => false,
    }
}

#[parameterized]
fn whichever_launch_fails_the_map_is_as_it_was_or_empty_and_the_call_can_be_repeated<K: Key, V: Value>() {
    let (device, launches) = faulty();
    // The third figure counts the last launches of a call, which change the map. In an insertion
    // these copy bucket tables, build buckets, free other buckets, insert records, and replace
    // values. In a removal all launches may.
    let all = u32::MAX;
    let calls = others().into_iter().map(|(call, least)| (call, least, 0));
    for (call, least, changing) in calls.chain([(insertion::<K, V>(), 15, 5), (removal(), 10, all)]) {
        let emptied = RefCell::new(Vec::new());
        let hits = hit_each(&call, (&device, &launches, true), |map, before, done, case| {
            let error = done.unwrap_err();
            assert!(is_of_a_launch(&error), "{case}: {error}");
            assert_eq!(matches!(error, Error::Emptied { .. }), map.is_empty(), "{case}: {error}");
            emptied.borrow_mut().push(map.is_empty());
            let mut there = before.there.clone();
            if map.is_empty() {
                is_empty(map, &before.old);
                there = if call.0 == "insert_many" { pairs(&before.old[..50]) } else { HashMap::new() };
            } else {
                before.is(map);
            }
            (call.1)(map, &before.old, &before.new).unwrap_or_else(|error| panic!("{case}, then again: {error}"));
            if call.0 == "insert_many" {
                there.extend(pairs::<K, V>(&before.new));
            }
            equals(map, &there);
            insert(map, &before.new).unwrap();
            there.extend(pairs::<K, V>(&before.new));
            equals(map, &there);
        });
        assert!(hits >= least, "{}: only {hits} launches", call.0);
        let expected: Vec<bool> = (0..hits).map(|hit| hit >= hits - changing.min(hits)).collect();
        assert_eq!(emptied.into_inner(), expected, "{}", call.0);
    }
}

/// Fails unless lookups, lists and copies of a broken map return the error `why`.
fn says_that_it_is_broken<K: Key, V: Value>(map: &ExtendibleMap<K, V>, why: &Error) {
    let keys = [K::from_u64(1), K::ALL_ONES];
    assert_eq!(map.get_many(&keys).unwrap_err(), *why);
    assert_eq!(map.contains_many(&keys).unwrap_err(), *why);
    assert_eq!(map.to_pairs().unwrap_err(), *why);
    assert_eq!(map.try_clone().unwrap_err(), *why);
    assert!(map.is_empty());
    // The map may have no buckets at all.
    assert_eq!(map.table().report().fill(), 0.0);
}

#[parameterized]
fn a_map_that_cannot_be_cleared_says_so_until_a_change_goes_well<K: Key, V: Value>() {
    let (device, counts) = counting();
    // The buckets are at their initial addresses, or all of them are elsewhere.
    for (is_copy, once) in [(false, true), (false, false), (true, true), (true, false)] {
        counts.once.store(once, Relaxed);
        for good in 0.. {
            let (mut map, there) = begin::<K, V>(&device);
            if is_copy {
                map = map.try_clone().unwrap();
            }
            let done = only(&counts.allocations, good, || map.clear());
            let Err(error) = done else {
                assert!(good >= 4, "only {good} allocations");
                is_empty(&map, &[]);
                break;
            };
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            says_that_it_is_broken(&map, &error);
            let keys: Vec<K> = there.keys().copied().collect();
            match good % 4 {
                0 => map.clear().unwrap(),
                1 => map.shrink_to_fit().unwrap(),
                2 => assert_eq!(map.remove_many(&keys), Ok(vec![None; keys.len()])),
                _ => assert_eq!(insert(&mut map, &[]), Ok(0)),
            }
            is_empty(&map, &keys);
            insert(&mut map, &keys).unwrap();
            equals(&map, &there);
        }
    }
    assert_eq!(counts.bytes.load(Relaxed), 0, "some bytes were not given back");
}

#[parameterized]
fn a_map_of_a_device_that_goes_on_failing_says_so_and_is_empty_when_that_ends<K: Key, V: Value>() {
    let (device, launches) = failing();
    let (begun, there) = begin::<K, V>(&device);
    let keys: Vec<K> = there.keys().copied().collect();
    let new: Vec<K> = distinct_keys(4000, 1 << 20);
    let mut broken = 0;
    for (good, removes) in (0..).flat_map(|good| [(good, false), (good, true)]) {
        let mut map = begun.try_clone().unwrap();
        let change = |map: &mut ExtendibleMap<K, V>| match removes {
            true => map.remove_many(&keys[KEPT..]).map(drop),
            false => insert(map, &[&keys[..50], &new].concat()).map(drop),
        };
        launches.store(good, Relaxed);
        let done = change(&mut map);
        let Err(error) = done else {
            launches.store(u32::MAX, Relaxed);
            if removes { continue } else { break }
        };
        assert!(is_of_a_launch(&error), "{error}");
        // The device still fails.
        assert!(is_of_a_launch(&map.get_many(&keys).unwrap_err()));
        let again = change(&mut map).unwrap_err();
        launches.store(u32::MAX, Relaxed);
        if map.is_empty() {
            broken += 1;
            says_that_it_is_broken(&map, &again);
            assert_eq!(map.remove_many(&keys[..3]), Ok(vec![None; 3]));
            is_empty(&map, &keys);
        } else {
            equals(&map, &there);
        }
        change(&mut map).unwrap();
        check_extendible_map(&map).unwrap();
    }
    assert!(broken >= 5 + 10, "only {broken} times");
}
