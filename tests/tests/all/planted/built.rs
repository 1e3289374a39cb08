//! The state of a table that is built in one go, and of a primitive, after any kind of failure of
//! any device operation (memory, copies, fills, launches, events, waits).

use std::collections::HashMap;
use warpnest::design::{Cuckoo, Page};
use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, inclusive_scan, partition_pairs, sort_keys, sort_pairs,
    unique_of_sorted,
};
use warpnest::{
    Buffer, BulkMap, BulkSet, CompactingConfig, Config, CuckooConfig, Device, LinearConfig, MultiConfig, PageConfig,
    Result, SortedConfig, TwoLevelConfig,
};
use warpnest_tests::built::{self, Before, Tested};
use warpnest_tests::extendible_parts::small;
use warpnest_tests::forms::Form;
use warpnest_tests::maps::{Checked, equals};
use warpnest_tests::planted::Operation::{Allocate, Copy, Download, Fill, Launch, Record, Upload, Wait};
use warpnest_tests::planted::{
    Fault, FaultPlan, Operation, SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, is_planted, planted,
};
use warpnest_tests::sets;
use warpnest_tests::{distinct_keys, values};

/// Returns 300 keys, of which some are equal, and one has a cell of its own in some tables.
fn repeated() -> Vec<u32> {
    let mut keys: Vec<u32> = distinct_keys(300, 2);
    keys[100..130].fill(77);
    keys[7] = u32::MAX;
    keys
}

/// Checks that a rebuild leaves the new pairs or, if it is an error, none, and that the next
/// rebuild succeeds.
fn rebuilds<D: Tested>(config: &Config<D>, new: &[u32]) {
    let (device, plan) = planted();
    // The input and the table are of another stream, which this one waits for.
    let stream = device.stream().unwrap();
    let (old, new_values) = (distinct_keys::<u32>(100, 1), values::<u64>(new.len()));
    let begin = || {
        let map = built::build::<D, u32, u64>(&device, config, &old, &values(old.len()));
        let input = (Buffer::from_slice(&device, new).unwrap(), Buffer::from_slice(&device, &new_values).unwrap());
        (Before::of(&map), map, input)
    };
    let rebuild = |(_, map, input): &mut (_, BulkMap<u32, u64, D>, (_, _))| map.rebuild_on(&stream, &input.0, &input.1);
    let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, rebuild, |(before, mut map, _), done| {
        assert_planted(&done);
        before.check(&map, &done, new, &new_values);
        built::rebuild(&mut map, new, &new_values).unwrap();
    });
    all_failed(&seen, &[Fill, Launch, Record, Wait]);
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

/// Lets each operation of `shrink_to_fit` fail, after a rebuild from fewer pairs, or from none that
/// failed itself. The map has its pairs all the same, and no more memory than before.
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
    // What a failed rebuild left.
    let mut map = built::build::<D, u32, u64>(&device, config, &keys, &values);
    let input = (Buffer::from_slice(&device, &keys).unwrap(), Buffer::from_slice(&device, &values).unwrap());
    let last = Fault { lasting: false, ..SINGLE_FAULTS[0] };
    let launched = (0..).find(|&good| {
        let rebuild = || map.rebuild_on(device.default_stream(), &input.0, &input.1);
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

#[test]
fn what_stands_on_another_table_is_shrunk_or_stays_whole() {
    fn with<F: Form>() {
        let (device, plan) = planted();
        let (many, few): (Vec<u32>, [u32; 5]) = (distinct_keys(3000, 1), [7, 8, 7, 9, 7]);
        for ordered in [false, true] {
            let config = CompactingConfig::on(F::with(1, 0.5));
            let config = if ordered { config.in_order_of_appearance() } else { config };
            let fresh = {
                let table = config.build(&device, &few).unwrap();
                (table.memory_bytes(), plan.bytes())
            };
            let begin = || {
                let mut table = config.build(&device, &many).unwrap();
                table.rebuild(&few).unwrap();
                table
            };
            assert!(begin().try_clone().unwrap().memory_bytes() <= fresh.0);
            let seen = in_each_operation(
                &plan,
                &SINGLE_FAULTS,
                begin,
                |table| table.shrink_to_fit(),
                |mut table, done| {
                    assert!(is_planted(&done.unwrap_err()));
                    assert_eq!((table.len(), table.contains_many(&few).unwrap()), (3, vec![true; 5]));
                    table.shrink_to_fit().unwrap();
                    assert!(table.memory_bytes() <= fresh.0 && plan.bytes() <= fresh.1, "{} bytes", plan.bytes());
                    let mut keys: Vec<u32> = table.to_pairs().unwrap().into_iter().map(|(key, _)| key).collect();
                    keys.sort_unstable();
                    assert_eq!((keys, table.contains_many(&few).unwrap()), (vec![7, 8, 9], vec![true; 5]));
                    table.rebuild(&many).unwrap();
                    assert_eq!(table.len(), 3000);
                },
            );
            all_failed(&seen, &[Allocate]);
        }
        let config = MultiConfig::on(F::with(1, 0.5));
        let fresh = {
            let map = config.build(&device, &few, &few).unwrap();
            (map.memory_bytes(), plan.bytes())
        };
        let begin = || {
            let mut map = config.build(&device, &many, &many).unwrap();
            map.rebuild(&few, &few).unwrap();
            map
        };
        assert!(begin().try_clone().unwrap().memory_bytes() <= fresh.0);
        let seen = in_each_operation(
            &plan,
            &SINGLE_FAULTS,
            begin,
            |map| map.shrink_to_fit(),
            |mut map, done| {
                assert!(is_planted(&done.unwrap_err()));
                assert_eq!(map.retrieve_many(&[7, 1, 9]).unwrap().values, [7, 7, 7, 9]);
                map.shrink_to_fit().unwrap();
                assert!(map.memory_bytes() <= fresh.0 && plan.bytes() <= fresh.1, "{} bytes", plan.bytes());
                assert_eq!(map.retrieve_many(&[7, 1, 9]).unwrap().values, [7, 7, 7, 9]);
                map.rebuild(&many, &many).unwrap();
                assert_eq!((map.len(), map.key_count()), (3000, 3000));
            },
        );
        all_failed(&seen, &[Allocate]);
    }
    with::<Page>();
    with::<Cuckoo>();
}

/// Lets each operation of a rebuild from slices fail. The first ones copy the slices: if one of
/// these fails, what was there stays; if a later one does, nothing is left.
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
        // What a failed launch leaves.
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
            3 => map.get_many_on(&stream, &Buffer::from_slice(device, keys)?)?.download(&stream).map(drop),
            _ => map.try_clone_on(&stream).map(drop),
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
    equals(&map.try_clone_on(&stream).unwrap(), &there);
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
        let rebuild = |set: &mut BulkSet<u32, D>| set.rebuild_on(&stream, &input);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, rebuild, |mut set, done| {
            assert_planted(&done);
            sets::holds(&set, if done.is_ok() { &new } else { &[] });
            set.rebuild_on(&stream, &input).unwrap();
            sets::holds(&set, &new);
        });
        all_failed(&seen, &[Download, Launch, Record]);
        let (one, other) = (begin(), sets::build(&device, config, &new));
        for operation in [BulkSet::union_on, BulkSet::intersection_on, BulkSet::difference_on] {
            let call = |_: &mut ()| operation(&one, &stream, &other).map(drop);
            let seen = in_each_operation(&plan, &SINGLE_FAULTS, || (), call, |_, done| assert_planted(&done));
            all_failed(&seen, &[Allocate, Download, Launch, Record]);
        }
        assert_eq!(sets::wrong_operations(&one, &other), Ok(()));
    }
    with(&PageConfig::default().seed(1));
    with(&CuckooConfig::default().slots(600).seed(1));
}

#[test]
fn whatever_fails_of_what_stands_on_another_table_it_is_whole_or_empty() {
    fn with<F: Form>() {
        let (device, plan) = planted();
        let stream = device.stream().unwrap();
        let new = repeated();
        let input = Buffer::from_slice(&device, &new).unwrap();
        let different = new.iter().collect::<std::collections::HashSet<_>>().len();
        let on = |config: CompactingConfig<F>| {
            let begin = || config.build(&device, &[1u32, 2, 1]).unwrap();
            in_each_operation(
                &plan,
                &SINGLE_FAULTS,
                begin,
                |table| table.rebuild_on(&stream, &input),
                |mut table, done| {
                    assert_planted(&done);
                    let keys = if done.is_ok() { different } else { 0 };
                    assert_eq!((table.len(), table.to_pairs().unwrap().len()), (keys, keys));
                    assert_eq!(table.contains_many(&new).unwrap(), vec![done.is_ok(); new.len()]);
                    table.rebuild_on(&stream, &input).unwrap();
                    assert_eq!(table.len(), different);
                },
            )
        };
        all_failed(&on(CompactingConfig::on(F::with(1, 0.5))), &[Download, Fill, Launch, Record]);
        on(CompactingConfig::on(F::with(1, 0.5)).in_order_of_appearance());
        let config = MultiConfig::on(F::with(1, 0.5));
        let begin = || config.build(&device, &[1u32, 2, 1], &[4u32, 5, 6]).unwrap();
        in_each_operation(
            &plan,
            &SINGLE_FAULTS,
            begin,
            |map| map.rebuild_on(&stream, &input, &input),
            |mut map, done| {
                assert_planted(&done);
                let (pairs, keys) = if done.is_ok() { (new.len(), different) } else { (0, 0) };
                assert_eq!((map.len(), map.key_count(), map.to_pairs().unwrap().len()), (pairs, keys, pairs));
                assert_eq!(map.contains_many(&new).unwrap(), vec![done.is_ok(); new.len()]);
                map.rebuild_on(&stream, &input, &input).unwrap();
                assert_eq!(map.retrieve_many(&[77]).unwrap().values, [77; 30]);
            },
        );
        let map = config.build(&device, &new, &new).unwrap();
        let call = |_: &mut ()| map.retrieve_many_on(&stream, &input).map(drop);
        in_each_operation(&plan, &SINGLE_FAULTS, || (), call, |_, done| assert!(is_planted(&done.unwrap_err())));
    }
    with::<Page>();
    with::<Cuckoo>();
}

#[test]
fn a_primitive_that_fails_can_be_repeated_with_the_same_scratch() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = Buffer::from_slice(&device, &keys).unwrap();
    let odd = Buffer::from_slice(&device, &vec![0xaaaa_aaaau32; 5000usize.div_ceil(32)]).unwrap();
    let mut sorted: Vec<u32> = keys.clone();
    sorted.sort_unstable();
    let mut distinct: Vec<u32> = sorted.iter().map(|key| key >> 21).collect();
    let in_runs = Buffer::from_slice(&device, &distinct).unwrap();
    distinct.dedup();
    let odd_keys: Vec<u32> = keys.iter().skip(1).step_by(2).copied().collect();
    let sums: Vec<u32> = keys
        .iter()
        .scan(0u32, |sum, key| {
            let before = *sum;
            *sum = sum.wrapping_add(*key);
            Some(before)
        })
        .collect();
    let with_own: Vec<u32> = sums.iter().zip(&keys).map(|(sum, key)| sum.wrapping_add(*key)).collect();
    let field = BitField { shift: 24, bits: 8 };
    let mut by_field = keys.clone();
    by_field.sort_by_key(|key| key >> 24);
    type Outputs = (Scratch, Buffer<u32>, Buffer<u32>, Buffer<u32>, Buffer<u32>);
    let begin = || -> Outputs {
        let buffer = |length| Buffer::zeroed(&device, length).unwrap();
        (Scratch::new(&device), buffer(5000), buffer(5000), buffer(1), buffer(256))
    };
    let does = |what: usize, (scratch, one, other, count, starts): &mut Outputs| -> Result<()> {
        match what {
            0 => exclusive_scan(&stream, scratch, &input, one),
            1 => compact(&stream, scratch, &input, &odd, one, count),
            2 => {
                one.copy_from(&stream, &input)?;
                other.copy_from(&stream, &input)?;
                sort_pairs(&stream, scratch, one, other)
            }
            3 => {
                one.copy_from(&stream, &input)?;
                sort_keys(&stream, scratch, one)
            }
            4 => unique_of_sorted(&stream, scratch, &in_runs, one, count),
            5 => inclusive_scan(&stream, scratch, &input, one),
            _ => partition_pairs(&stream, scratch, (&input, &input), field, (one, other), starts),
        }
    };
    for (what, expected) in
        [&sums, &odd_keys, &sorted, &sorted, &distinct, &with_own, &by_field].into_iter().enumerate()
    {
        let call = |outputs: &mut Outputs| does(what, outputs);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut outputs, done| {
            assert!(is_planted(&done.unwrap_err()));
            call(&mut outputs).unwrap();
            let found = outputs.1.download(&stream).unwrap();
            assert!(found.starts_with(expected), "primitive {what}");
        });
        all_failed(&seen, &[Allocate, Fill, Launch, Record, Wait]);
        assert_eq!(input.download(&stream).unwrap(), keys);
    }
    let mut copy = Buffer::<u32>::zeroed(&device, 5000).unwrap();
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || (),
        |_| input.download(&stream),
        |_, done| {
            assert!(is_planted(&done.unwrap_err()));
        },
    );
    all_failed(&seen, &[Download, Record]);
    let (_, failed) = plan.with(SINGLE_FAULTS[0], 0, || copy.copy_from(device.default_stream(), &input).unwrap_err());
    assert_eq!(failed, [Copy]);
    copy.copy_from(&stream, &input).unwrap();
    assert_eq!(copy.download(&stream).unwrap(), keys);
}
