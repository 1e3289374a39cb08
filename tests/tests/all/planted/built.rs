//! The state of a table that is built in one call, after any kind of failure of any device
//! operation (memory, copies, fills, launches, events, waits).

use std::collections::HashMap;
use warpnest::design::{BulkMap, BulkSet, Config};
use warpnest::{
    Buffer, CompactingConfig, CuckooConfig, Device, LinearConfig, MultiConfig, PageConfig, Result, SortedConfig,
    TwoLevelConfig,
};
use warpnest_tests::built::{self, Before, Tested};
use warpnest_tests::extendible_parts::small;
use warpnest_tests::maps::{Checked, equals};
use warpnest_tests::planted::Operation::{Allocate, Download, Fill, Launch, Record, Upload, Wait};
use warpnest_tests::planted::{
    Fault, FaultPlan, Operation, SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, is_planted, planted,
};
use warpnest_tests::sets;
use warpnest_tests::{distinct_keys, values};

/// Returns 300 keys. Some of them are equal, and one has a cell of its own in some tables.
pub(super) fn repeated() -> Vec<u32> {
    let mut keys: Vec<u32> = distinct_keys(300, 2);
    keys[100..130].fill(77);
    keys[7] = u32::MAX;
    keys
}

/// Checks that a rebuild leaves the new pairs, or no pairs if it fails, and that the next rebuild
/// succeeds.
fn rebuilds<D: Tested>(config: &Config<D>, new: &[u32]) {
    let (device, plan) = planted();
    // Another stream has written the input and the table, so this stream waits for it.
    let stream = device.stream().unwrap();
    let (old, new_values) = (distinct_keys::<u32>(100, 1), values::<u64>(new.len()));
    let begin = || {
        let map = built::build::<D, u32, u64>(&device, config, &old, &values(old.len()));
        let input = (Buffer::from_slice(&device, new).unwrap(), Buffer::from_slice(&device, &new_values).unwrap());
        (Before::of(&map), map, input)
    };
    let rebuild =
        |(_, map, input): &mut (_, BulkMap<u32, u64, D>, (_, _))| map.on(&stream).unwrap().rebuild(&input.0, &input.1);
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, rebuild, |(before, mut map, _), done| {
        assert_planted(&done);
        before.check(&map, &done, new, &new_values);
        built::rebuild(&mut map, new, &new_values).unwrap();
    });
    all_failed(&seen, &[Fill, Launch, Record]);
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

#[test]
fn a_rebuild_that_fails_anywhere_leaves_an_empty_map_that_can_be_built_again() {
    let (unique, repeated) = (distinct_keys(300, 2), repeated());
    let split = PageConfig::default().load(300.0 * 8.0 / (6.0 * 300.0 * 32.0)).seed(2);
    let mut overflowing = unique.clone();
    overflowing[20..280].fill(77);
    rebuilds(&PageConfig::default().seed(2), &repeated);
    rebuilds(&split, &repeated);
    rebuilds(&split, &overflowing);
    rebuilds(&split.assume_unique(), &unique);
    rebuilds(&CuckooConfig::default().slots(400).seed(2), &repeated);
    rebuilds(&CuckooConfig::default().slots(400).assume_unique().seed(2), &unique);
    let small = TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(2);
    rebuilds(&small, &repeated);
    rebuilds(&SortedConfig::default(), &repeated);
    rebuilds(&SortedConfig::default().assume_unique(), &unique);
}

/// Lets each operation of `shrink_to_fit` fail after a rebuild from fewer pairs. The map must keep
/// its pairs and its memory. A map whose rebuild failed is shrunk, too.
fn shrinks<D: Tested>(config: &Config<D>) {
    let (device, plan) = planted();
    let (keys, values) = (distinct_keys::<u32>(3000, 1), values::<u64>(3000));
    for pairs in [0, 3, 300] {
        let (few, of_few) = (&keys[..pairs], &values[..pairs]);
        let begin = || {
            let mut map = built::build::<D, u32, u64>(&device, config, &keys, &values);
            built::rebuild(&mut map, few, of_few).unwrap();
            map
        };
        let fresh = {
            let map = built::build::<D, u32, u64>(&device, config, few, of_few);
            (map.memory_bytes(), plan.bytes())
        };
        let expected: HashMap<u32, u64> = few.iter().copied().zip(of_few.iter().copied()).collect();
        let large = begin().memory_bytes();
        let shrink = |map: &mut BulkMap<u32, u64, D>| map.shrink_to_fit();
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, shrink, |mut map, done| {
            assert!(is_planted(&done.unwrap_err()));
            assert_eq!(map.memory_bytes(), large);
            equals(&map, &expected);
            map.shrink_to_fit().unwrap();
            equals(&map, &expected);
            assert!(map.memory_bytes() <= fresh.0 && plan.bytes() <= fresh.1, "{} bytes", plan.bytes());
            built::rebuild(&mut map, &keys, &values).unwrap();
        });
        all_failed(&seen, &[Allocate]);
    }
    // The last launch of this rebuild fails, which leaves no pairs.
    let mut map = built::build::<D, u32, u64>(&device, config, &keys, &values);
    let input = (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
    let last = Fault { lasting: false, ..SINGLE_FAULTS[0] };
    let launched = (0..).find(|&good| {
        let rebuild = || map.rebuild(&input.0, &input.1);
        plan.with(last, good, rebuild).1 == [Launch]
    });
    assert!(launched.is_some() && map.is_empty());
    map.shrink_to_fit().unwrap();
    equals(&map, &HashMap::new());
    let none = built::build::<D, u32, u64>(&device, config, &[], &[]);
    assert!(map.memory_bytes() <= none.memory_bytes(), "{} bytes for no pairs", map.memory_bytes());
}

#[test]
fn a_map_that_cannot_be_shrunk_stays_whole() {
    shrinks(&PageConfig::default().seed(2));
    shrinks(&SortedConfig::default());
    shrinks(&TwoLevelConfig::default().bucket_capacity(64).items_per_bucket(40.0).sub_tables(3, 32).seed(2));
}

/// Lets each operation of a rebuild from slices fail. The first operations copy the slices. If one
/// of these fails, the old contents stay; if a later operation fails, the table is empty.
fn slices<T, R: std::fmt::Debug + PartialEq>(
    (device, plan): (&Device, &FaultPlan),
    slices: usize,
    begin: impl Fn() -> T,
    rebuild: impl Fn(&mut T) -> Result<()>,
    content: impl Fn(&T) -> R,
) {
    let new = repeated();
    let mut copying = 0;
    for fault in SINGLE_FAULTS {
        let copy = |_: &mut ()| (0..slices).try_for_each(|_| Buffer::from_slice(device, &new).map(drop));
        let mut failures = 0;
        in_each_operation(plan, &[fault], || (), copy, |(), done| failures += done.is_err() as u32);
        copying = failures;
        let (old, mut number) = (content(&begin()), 0);
        // This is the content that a failed launch leaves.
        let none = (copying..copying + 100).find_map(|good| {
            let mut subject = begin();
            (plan.with(fault, good, || rebuild(&mut subject)).1 == [Launch]).then(|| content(&subject))
        });
        let none = none.unwrap();
        in_each_operation(plan, &[fault], &begin, &rebuild, |mut subject, done| {
            if done.is_err() {
                let expected = if number < copying { &old } else { &none };
                assert_eq!(content(&subject), *expected, "operation {number}");
            }
            number += 1;
            rebuild(&mut subject).unwrap();
        });
    }
    assert!(copying >= 2 * slices as u32, "only {copying} operations copy the slices");
}

#[test]
fn a_rebuild_whose_slices_cannot_be_copied_loses_nothing() {
    let (device, plan) = &planted();
    let (old, new) = ([1u32, 2, 3], repeated());
    let case = (device, &**plan);
    let map = || PageConfig::default().seed(2).build(device, &old, &[5u64, 6, 7]).unwrap();
    let fives = vec![5u64; new.len()];
    slices(case, 2, map, |map| map.rebuild(&new, &fives), |map| map.get_many(&old).unwrap());
    let set = || PageConfig::default().seed(2).build_set(device, &old).unwrap();
    slices(case, 1, set, |set| set.rebuild(&new), |set| set.contains_many(&old).unwrap());
    let compacting = || CompactingConfig::on(PageConfig::default().seed(2)).build(device, &old).unwrap();
    let rebuild = |table: &mut warpnest::CompactingTable<u32>| table.rebuild(&new);
    slices(case, 1, compacting, rebuild, |table| table.contains_many(&old).unwrap());
    let multi = || MultiConfig::on(PageConfig::default().seed(2)).build(device, &old, &old).unwrap();
    let rebuild = |map: &mut warpnest::MultiMap<u32, u32>| map.rebuild(&new, &new);
    slices(case, 2, multi, rebuild, |map| map.retrieve_many(&old).unwrap().values);
}

/// Checks the calls that change nothing: after a failure the map is as it was.
fn looks<D: Checked>(
    (device, plan): (&Device, &FaultPlan),
    map: &BulkMap<u32, u64, D>,
    keys: &[u32],
) -> Vec<Operation> {
    let stream = device.stream().unwrap();
    let there: HashMap<u32, u64> = map.to_pairs().unwrap().into_iter().collect();
    let call = |what: usize| -> Result<()> {
        match what {
            0 => map.get_many(keys).map(drop),
            1 => map.contains_many(keys).map(drop),
            2 => map.to_pairs().map(drop),
            // The device's own stream waits for the other one.
            3 => {
                let answers = map.get_many_on(&stream, &Buffer::from_slice(device, keys)?)?;
                answers.download(device.default_stream()).map(drop)
            }
            _ => map.try_clone().map(drop),
        }
    };
    let mut seen = Vec::new();
    for what in 0..5 {
        seen.extend(in_each_operation(
            plan,
            &SINGLE_FAULTS,
            || (),
            |_| call(what),
            |_, done| {
                assert!(is_planted(&done.unwrap_err()));
                equals(map, &there);
            },
        ));
    }
    equals(&map.try_clone().unwrap(), &there);
    seen
}

#[test]
fn whatever_fails_of_a_lookup_or_a_copy_is_an_error_and_the_map_stays_as_it_is() {
    fn with<D: Tested>(config: &Config<D>) {
        let (device, plan) = planted();
        let keys = repeated();
        let map = built::build::<D, u32, u64>(&device, config, &keys, &values(keys.len()));
        let seen = looks((&device, &plan), &map, &keys);
        all_failed(&seen, &[Allocate, Upload, Download, Launch, Record, Wait]);
    }
    with(&PageConfig::default());
    with(&CuckooConfig::default());
    with(&TwoLevelConfig::default());
    with(&SortedConfig::default());
    let (device, plan) = planted();
    let keys: Vec<u32> = distinct_keys(300, 1);
    let mut map = LinearConfig::default().create::<u32, u64>(&device).unwrap();
    map.insert_many(&keys, &values(300)).unwrap();
    looks((&device, &plan), &map, &keys);
    let mut map = small().create::<u32, u64>(&device).unwrap();
    map.insert_many(&keys, &values(300)).unwrap();
    looks((&device, &plan), &map, &keys);
}

#[test]
fn whatever_fails_of_a_set_it_is_whole_or_empty() {
    fn with<D: sets::Tested>(config: &Config<D>) {
        let (device, plan) = planted();
        let stream = device.stream().unwrap();
        let (old, new) = (distinct_keys::<u32>(100, 1), repeated());
        let input = Buffer::from_slice(&device, &new).unwrap();
        let begin = || sets::build(&device, config, &old);
        let rebuild = |set: &mut BulkSet<u32, D>| set.on(&stream).unwrap().rebuild(&input);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, rebuild, |mut set, done| {
            assert_planted(&done);
            sets::holds(&set, if done.is_ok() { &new } else { &[] });
            set.on(&stream).unwrap().rebuild(&input).unwrap();
            sets::holds(&set, &new);
        });
        all_failed(&seen, &[Download, Launch, Record]);
        let (one, other) = (begin(), sets::build(&device, config, &new));
        for operation in [BulkSet::union, BulkSet::intersection, BulkSet::difference] {
            let call = |_: &mut ()| operation(&one, &other).map(drop);
            let seen = in_each_operation(&plan, &SINGLE_FAULTS, || (), call, |_, done| assert_planted(&done));
            all_failed(&seen, &[Allocate, Download, Launch, Record]);
        }
        assert_eq!(sets::wrong_operations(&one, &other), Ok(()));
    }
    with(&PageConfig::default().seed(1));
    with(&CuckooConfig::default().slots(600).seed(1));
}
