//! The state of a table that changes batch by batch, after any kind of failure of any device
//! operation.

use std::collections::HashMap;
use warpnest::linear::LinearKind;
use warpnest::{Buffer, Error, ExtendibleMap, LinearConfig, LinearMap, Result, Stream};
use warpnest_tests::changing::{pairs, values as own_values};
use warpnest_tests::distinct_keys;
use warpnest_tests::extendible_parts::small;
use warpnest_tests::linear_checker::check_linear_map;
use warpnest_tests::maps::{equals, is_empty};
use warpnest_tests::planted::Operation::{Fill, Record};
use warpnest_tests::planted::{
    LASTING_FAULTS, SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, is_planted, planted,
};

/// A change of a linear map of the keys `old`.
type Change = fn(&mut LinearMap<u32, u64>, &Stream, old: &[u32], new: &[u32]) -> Result<()>;

/// The changes, each with the count of keys that it leaves if it succeeds.
const CHANGES: [(Change, usize); 9] = [
    (|map, _, _, new| map.insert_many(new, &own_values(new)).map(drop), 1800),
    (|map, _, _, new| map.get_or_insert_many(new, &own_values(new)).map(drop), 1800),
    (|map, _, old, _| map.remove_many(&old[..100]).map(drop), 200),
    (|map, stream, old, _| map.on(stream)?.erase_many(old).map(drop), 0),
    (|map, stream, _, _| map.on(stream)?.clear(), 0),
    (|map, stream, _, _| map.on(stream)?.reserve(5000), 300),
    (|map, _, _, _| map.shrink_to_fit(), 300),
    (|map, stream, _, _| map.on(stream)?.drop_tombstones(), 300),
    (
        |map, stream, old, new| {
            let (insert, remove) = (LinearKind::INSERT, LinearKind::REMOVE);
            let kinds = Buffer::from_slice(map.device(), &[insert, remove, insert, insert])?;
            let keys = Buffer::from_slice(map.device(), &[new[0], old[0], new[1], old[1]])?;
            let values = Buffer::from_slice(map.device(), &own_values(&[new[0], old[0], new[1], old[1]]))?;
            let mut answers = warpnest::Answers::new(map.device(), 4)?;
            map.apply_many_into(stream, &kinds, &keys, &values, &mut answers)
        },
        301,
    ),
];

/// Checks that the next change repairs a map that a failure broke, and returns whether the map was
/// broken. Afterwards its figures are true, and it has only pairs of the earlier contents or of the
/// batch.
fn is_true(map: &mut LinearMap<u32, u64>, done: &Result<()>, keys: &[u32]) -> bool {
    assert_planted(done);
    let broken = map.get_many(&[1]).is_err();
    if broken {
        assert!(done.is_err());
        let nothing = [map.get_many(&[]).map(drop), map.contains_many(&[]).map(drop)];
        assert!(nothing.into_iter().all(|done| is_planted(&done.unwrap_err())), "no queries");
        for error in
            [map.to_pairs().map(drop), map.contains_many(&[1]).map(drop), map.table().probe_lengths().map(drop)]
        {
            assert!(is_planted(&error.unwrap_err()));
        }
        assert!(is_planted(&map.try_clone().unwrap_err()));
        assert_eq!(map.insert_many(&[], &[]), Ok(0));
    }
    let found = check_linear_map(map).unwrap_or_else(|wrong| panic!("after {done:?}: {wrong}")).pairs;
    equals(map, &found);
    let all = pairs::<u32, u64>(keys);
    assert!(found.iter().all(|(key, value)| all.get(key) == Some(value)));
    broken
}

#[test]
fn a_linear_map_knows_what_is_in_it_whatever_fails() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let (old, new) = (distinct_keys::<u32>(400, 1), distinct_keys::<u32>(1500, 1 << 20));
    let all = [&old[..], &new].concat();
    let begin = || {
        let mut map = LinearConfig::default().pairs(500).seed(3).create::<u32, u64>(&device).unwrap();
        map.insert_many(&old, &own_values(&old)).unwrap();
        map.remove_many(&old[300..]).unwrap();
        map
    };
    for (number, (change, left)) in CHANGES.into_iter().enumerate() {
        let call = |map: &mut LinearMap<u32, u64>| change(map, &stream, &old[..300], &new);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut map, done| {
            // After a single fault the header can still be read, and the next change can empty the
            // table.
            assert!(!is_true(&mut map, &done, &all) || number == 4);
            call(&mut map).unwrap();
            is_true(&mut map, &Ok(()), &all);
            assert_eq!(map.len(), left);
        });
        all_failed(&seen, &[Fill, Record][(number < 4) as usize..]);
        let mut broken = 0;
        in_each_operation(&plan, &LASTING_FAULTS, begin, call, |mut map, done| {
            broken += is_true(&mut map, &done, &all) as u32;
            call(&mut map).unwrap();
            is_true(&mut map, &Ok(()), &all);
            assert_eq!(map.len(), left);
        });
        // Only in these changes can a batch or a clearing fail halfway.
        assert_eq!(broken > 0, number < 5 || number == 8, "change {number}: {broken} times");
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}

/// Checks that a table of removed keys is rehashed before a large batch, or emptied if it has no
/// other keys. If there is no memory for the rehash, the batch succeeds without it.
#[test]
fn a_linear_map_does_without_memory_for_being_tidied() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let (old, new) = (distinct_keys::<u32>(400, 1), distinct_keys::<u32>(300, 1 << 20));
    let all = [&old[..], &new].concat();
    for kept in [0, 20] {
        let begin = || {
            let mut map = LinearConfig::default().pairs(900).seed(3).create::<u32, u64>(&device).unwrap();
            map.insert_many(&old, &own_values(&old)).unwrap();
            map.remove_many(&old[kept..]).unwrap();
            map
        };
        let values = own_values::<u32, u64>(&new);
        let input = (Buffer::from_slice(&device, &new).unwrap(), Buffer::from_slice(&device, &values).unwrap());
        let call = |map: &mut LinearMap<u32, u64>| map.on(&stream).unwrap().insert_many(&input.0, &input.1).map(drop);
        let mut untidied = 0;
        for faults in [SINGLE_FAULTS, LASTING_FAULTS] {
            in_each_operation(&plan, &faults, begin, call, |mut map, done| {
                untidied += (done.is_ok() && map.table().taken() != map.len() as u64) as u32;
                is_true(&mut map, &done, &all);
                call(&mut map).unwrap();
                is_true(&mut map, &Ok(()), &all);
                assert_eq!(map.len(), kept + new.len());
            });
        }
        // Emptying the table takes no memory.
        assert_eq!(untidied > 0, kept > 0, "{kept} keys were kept: {untidied} times");
    }
}

#[test]
fn an_extendible_map_is_whole_or_says_that_it_was_emptied() {
    let (device, plan) = planted();
    let keys: Vec<u32> = distinct_keys(1500, 1);
    let new: Vec<u32> = distinct_keys(1500, 1 << 20);
    let begin = || {
        let mut map = small().create::<u32, u64>(&device).unwrap();
        map.insert_many(&keys, &own_values(&keys)).unwrap();
        map
    };
    type Change = fn(&mut ExtendibleMap<u32, u64>, &[u32], &[u32]) -> Result<()>;
    let changes: [(Change, Vec<u32>); 3] = [
        (|map, _, new| map.insert_many(new, &own_values(new)).map(drop), [&keys[..], &new].concat()),
        (|map, keys, _| map.remove_many(&keys[20..]).map(drop), keys[..20].to_vec()),
        (|map, keys, _| map.remove_many(&keys[..1]).map(drop), keys[1..].to_vec()),
    ];
    for (change, left) in changes {
        let call = |map: &mut ExtendibleMap<u32, u64>| change(map, &keys, &new);
        let mut emptied = 0;
        in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut map, done| {
            match &done {
                Err(Error::Emptied { source }) => {
                    assert!(is_planted(source), "{source}");
                    emptied += 1;
                    is_empty(&map, &keys);
                    map.insert_many(&keys, &own_values(&keys)).unwrap();
                }
                // The answers of a removal are copied to the host after all other work.
                Err(error) if map.len() == left.len() => {
                    assert!(is_planted(error), "{error}");
                    equals(&map, &pairs(&left));
                }
                Err(error) => {
                    assert!(is_planted(error), "{error}");
                    equals(&map, &pairs(&keys));
                }
                Ok(()) => equals(&map, &pairs(&left)),
            }
            call(&mut map).unwrap();
            equals(&map, &pairs(&left));
        });
        assert!(emptied > 0);
        in_each_operation(&plan, &LASTING_FAULTS, begin, call, |mut map, done| {
            if map.get_many(&[1]).is_err() {
                assert!(matches!(done, Err(Error::Emptied { .. })), "{done:?}");
                assert!(map.is_empty() && map.to_pairs().is_err() && map.get_many(&[]).is_err());
                map.clear().unwrap();
            }
            let there = if map.is_empty() { HashMap::new() } else { map.to_pairs().unwrap().into_iter().collect() };
            assert!([0, keys.len(), left.len()].contains(&there.len()), "{} keys", there.len());
            equals(&map, &there);
            call(&mut map).unwrap();
        });
    }
    assert_eq!(plan.bytes(), 0, "some bytes were not given back");
}
