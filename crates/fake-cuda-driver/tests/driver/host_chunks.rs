//! Tests of lookups of queries in host memory, in chunks that are small here.

use crate::{Session, assert_tells};
use fake_cuda_driver::Fault;
use std::fmt::Debug;
use warpnest::design::{Builds, Sets};
use warpnest::design::{BulkMap, BulkSet};
use warpnest::low_level::{HostAnswers, HostChunks, contains_on_host, get_on_host, set_host_chunks};
use warpnest::{Device, Error, Key, PageMap, Value, design};

const BYTES: usize = 1024;
const SETTINGS: HostChunks = HostChunks { bytes: BYTES, workers: 3 };

fn device(session: &Session) -> Device {
    let device = session.device(0);
    set_host_chunks(&device, SETTINGS);
    device
}

/// Returns lengths close to multiples of a chunk, and close to multiples of 32.
fn lengths(rows: usize) -> impl Iterator<Item = usize> {
    [0, 1, 33].into_iter().chain([1, 2, 3, 9].into_iter().flat_map(move |chunks| {
        let rows = chunks * rows;
        [rows - 32, rows - 1, rows, rows + 1, rows + 31, rows + 33]
    }))
}

/// Looks up integers, of which the multiples of 3 are keys, and checks each form of results.
fn agree<K: Key + Debug, V: Value + PartialEq + Debug, D: Builds + Sets>(
    session: &Session,
    device: &Device,
    key: fn(u32) -> K,
    value: fn(u32) -> V,
) {
    let (keys, values): (Vec<K>, Vec<V>) = (0..100).map(|i| (key(3 * i), value(i))).unzip();
    let map = BulkMap::<K, V, D>::build(device, &keys, &values).unwrap();
    let set = BulkSet::<K, D>::build(device, &keys).unwrap();
    let rows = BYTES / size_of::<K>().max(size_of::<V>());
    for length in lengths(rows) {
        let numbers: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(77) % 400).collect();
        let queries: Vec<K> = numbers.iter().map(|&i| key(i)).collect();
        let is_key = |i: &u32| i.is_multiple_of(3) && *i < 300;
        let expected: Vec<Option<V>> = numbers.iter().map(|i| is_key(i).then(|| value(i / 3))).collect();
        let found: Vec<bool> = expected.iter().map(Option::is_some).collect();
        let uploads = || session.driver.calls("cuMemcpyHtoDAsync_v2");

        let before = uploads();
        assert_eq!(map.get_many(&queries).unwrap(), expected, "{length} queries");
        let chunks = length.div_ceil(rows) as u64;
        assert_eq!(uploads() - before, chunks, "{length} queries");
        assert_eq!(map.contains_many(&queries).unwrap(), found, "{length} queries");
        assert_eq!(set.contains_many(&queries).unwrap(), found, "{length} queries");

        let (mut values, mut bits, mut flags) = (vec![value(9); length], vec![7; length.div_ceil(32)], vec![7; length]);
        let answers = HostAnswers {
            values: &mut values,
            default: Some(value(5)),
            bits: &mut bits,
            flags: &mut flags,
            counted: true,
        };
        let stream = device.default_stream();
        let number = found.iter().filter(|&&found| found).count();
        assert_eq!(get_on_host(&map, stream, &queries, answers), Ok(number));
        let default: Vec<V> = expected.iter().map(|found| found.unwrap_or(value(5))).collect();
        assert_eq!((&values, flags.iter().map(|&flag| flag == 1).collect()), (&default, found.clone()));
        assert_eq!((0..length).map(|i| bits[i / 32] >> (i % 32) & 1 == 1).collect::<Vec<_>>(), found);
        assert!(length.is_multiple_of(32) || bits[length / 32] >> (length % 32) == 0, "bits behind the last are 0");

        // Outputs that are not wanted are empty. Without a default, absent keys have the value 0.
        let answers = HostAnswers { values: &mut values, default: None, bits: &mut [], flags: &mut [], counted: true };
        assert_eq!(get_on_host(&map, stream, &queries, answers), Ok(number));
        for (value, expected) in values.iter().zip(&expected) {
            assert!(expected.is_none_or(|expected| expected == *value));
        }
        let (mut words, mut bytes) = (vec![7; bits.len()], vec![7; length]);
        contains_on_host(set.table(), stream, &queries, &mut words, &mut bytes).unwrap();
        assert_eq!((words, bytes), (bits, flags));
    }
}

#[test]
fn chunks_give_the_answers_of_whole_lookups() {
    let session = Session::new();
    let device = device(&session);
    for put_off in [false, true] {
        session.driver.defer(put_off);
        agree::<u32, u32, design::Page>(&session, &device, |i| i, |i| i + 1);
        agree::<u64, i32, design::Page>(&session, &device, |i| (i as u64) << 20, |i| -(i as i32));
        agree::<i32, f64, design::Cuckoo>(&session, &device, |i| i as i32 - 7, |i| i as f64 / 4.0);
    }
}

#[test]
fn lengths_that_differ_are_refused() {
    let session = Session::new();
    let device = device(&session);
    let map = PageMap::build(&device, &[1u32], &[2u32]).unwrap();
    let queries = vec![1; BYTES];
    let mut values = vec![0; BYTES - 1];
    let answers = HostAnswers { values: &mut values, default: None, bits: &mut [], flags: &mut [], counted: false };
    let stream = device.default_stream();
    assert!(matches!(get_on_host(&map, stream, &queries, answers), Err(Error::Input(_))));
    assert!(matches!(contains_on_host(map.table(), stream, &queries, &mut [0; 3], &mut []), Err(Error::Input(_))));
}

#[test]
fn whichever_call_fails_it_is_told_and_later_lookups_are_right() {
    let session = Session::new();
    let device = device(&session);
    let keys: Vec<u32> = (0..50).collect();
    let map = PageMap::build(&device, &keys, &keys).unwrap();
    let queries: Vec<u32> = (0..2500).map(|i| i * 7 % 90).collect();
    let expected: Vec<_> = queries.iter().map(|&query| (query < 50).then_some(query)).collect();
    for put_off in [false, true] {
        for before in 0.. {
            session.driver.defer(put_off);
            session.driver.plant(Fault::after(before, 4242));
            let answered = map.get_many(&queries);
            let is_over = session.driver.clear();
            match &answered {
                // A fault in a call that frees memory cannot be reported.
                Ok(answers) => assert!(*answers == expected, "after {before} calls"),
                Err(error) => assert_tells(error, 4242),
            }
            assert!(map.get_many(&queries) == Ok(expected.clone()), "after {before} calls");
            session.driver.defer(false);
            if is_over {
                assert!(before > 40, "{before} calls");
                break;
            }
        }
    }
}

#[test]
fn lookups_of_several_threads_go_beside_each_other() {
    let session = Session::new();
    let device = device(&session);
    let keys: Vec<u32> = (0..50).collect();
    let map = PageMap::build(&device, &keys, &keys).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let map = &map;
            scope.spawn(move || {
                for round in 0..10 {
                    let queries: Vec<u32> = (0..1500).map(|i| (i + thread) * 7 % (60 + round)).collect();
                    let expected: Vec<_> = queries.iter().map(|&query| (query < 50).then_some(query)).collect();
                    assert_eq!(map.get_many(&queries).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn changes_come_before_later_lookups_and_after_earlier_ones() {
    let session = Session::new();
    let device = device(&session);
    session.driver.defer(true);
    let stream = device.stream().unwrap();
    let queries: Vec<u32> = (0..1500).map(|i| i % 60).collect();
    let keys: Vec<u32> = (0..60).collect();
    let mut map = PageMap::build(&device, &keys, &keys).unwrap();
    for round in 1..4 {
        let values: Vec<u32> = keys.iter().map(|key| key * round).collect();
        let [keys, values] = [&keys, &values].map(|slice| warpnest::Buffer::from_slice(&device, slice).unwrap());
        map.on(&stream).unwrap().rebuild(&keys, &values).unwrap();
        let expected: Vec<_> = queries.iter().map(|query| Some(query * round)).collect();
        assert_eq!(map.get_many(&queries).unwrap(), expected);
    }
}
