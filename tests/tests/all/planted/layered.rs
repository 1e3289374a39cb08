//! The state of tables that are built on another table, after any kind of failure of any device
//! operation.

use super::built::repeated;
use warpnest::design::{Cuckoo, Page};
use warpnest::{Buffer, CompactingConfig, MultiConfig};
use warpnest_tests::forms::Form;
use warpnest_tests::planted::Operation::{Allocate, Download, Fill, Launch, Record};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, assert_planted, in_each_operation, is_planted, planted};
use warpnest_tests::{distinct_keys, parameterized};

#[parameterized(<Page>, <Cuckoo>)]
fn what_stands_on_another_table_is_shrunk_or_stays_whole<F: Form>() {
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

#[parameterized(<Page>, <Cuckoo>)]
fn whatever_fails_of_what_stands_on_another_table_it_is_whole_or_empty<F: Form>() {
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
            |table| table.on(&stream).unwrap().rebuild(&input),
            |mut table, done| {
                assert_planted(&done);
                let keys = if done.is_ok() { different } else { 0 };
                assert_eq!((table.len(), table.to_pairs().unwrap().len()), (keys, keys));
                assert_eq!(table.contains_many(&new).unwrap(), vec![done.is_ok(); new.len()]);
                table.on(&stream).unwrap().rebuild(&input).unwrap();
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
        |map| map.on(&stream).unwrap().rebuild(&input, &input),
        |mut map, done| {
            assert_planted(&done);
            let (pairs, keys) = if done.is_ok() { (new.len(), different) } else { (0, 0) };
            assert_eq!((map.len(), map.key_count(), map.to_pairs().unwrap().len()), (pairs, keys, pairs));
            assert_eq!(map.contains_many(&new).unwrap(), vec![done.is_ok(); new.len()]);
            map.on(&stream).unwrap().rebuild(&input, &input).unwrap();
            assert_eq!(map.retrieve_many(&[77]).unwrap().values, [77; 30]);
        },
    );
    let map = config.build(&device, &new, &new).unwrap();
    let call = |_: &mut ()| map.retrieve_many_on(&stream, &input).map(drop);
    in_each_operation(&plan, &SINGLE_FAULTS, || (), call, |_, done| assert!(is_planted(&done.unwrap_err())));
}
