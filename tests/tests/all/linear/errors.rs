//! Every error that a user of the linear map can cause, on every engine: its figures, its advice,
//! and the map's state afterwards.
//!
//! `linear/faults.rs` tests device failures.

use std::collections::HashMap;
use warpnest::error::{ConfigError, InputError};
use warpnest::linear::LinearKind;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Answers, Buffer, Device, Error, LinearConfig, LinearMap};
use warpnest_tests::changing::errors;
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::linear_checker::linear_engines;
use warpnest_tests::maps::refuses_buffers_of_other_lengths;
use warpnest_tests::maps::{equals, refuses_other_lengths};
use warpnest_tests::{
    assert_lengths, assert_wrong_device, distinct_keys, elsewhere, engines, on_all, only_cuda, parameterized, says,
};

pub(super) fn configs() -> [LinearConfig; 2] {
    let config = LinearConfig::default().seed(5);
    [config.clone(), config.linear_probing()]
}

#[parameterized]
fn loads_that_are_none_are_refused<K: Key, V: Value>() {
    let loads = [
        0.0,
        -0.0,
        -1.0,
        1e-9,
        f64::MIN_POSITIVE,
        1.0,
        1.0 + f64::EPSILON,
        2.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    for device in linear_engines::<K, V>().map(|engine| &engine.device) {
        for (config, load) in configs().into_iter().flat_map(|config| loads.map(|load| (config.clone(), load))) {
            let config = config.load(load).pairs(3);
            for error in
                [config.create::<K, V>(device).unwrap_err(), config.initial_memory_bytes::<K, V>(device).unwrap_err()]
            {
                says(&error, &[&format!("a load of {load}"), "at least 1/1024 and below 1"]);
                let Error::Config(ConfigError::OpenLoad { load: figure }) = error else { panic!("{error:?}") };
                assert_eq!(figure.to_bits(), load.to_bits());
            }
        }
        for load in [1.0 - f64::EPSILON / 2.0, 0.5, 1e-3] {
            let mut map = configs()[0].clone().load(load).pairs(20).create::<K, V>(device).unwrap();
            let keys = [K::from_u64(9), K::from_u64(8), K::ALL_ONES];
            assert_eq!(map.insert_many(&keys, &values(&keys)), Ok(3));
            equals(&map, &pairs(&keys));
        }
    }
}

#[parameterized]
fn a_device_without_wide_atomics_refuses_maps_that_need_them_and_says_what_to_do<K: Key, V: Value>() {
    let wide = K::BITS.max(V::BITS) == 64;
    let mut refusals = 0;
    for device in engines().iter().map(|engine| &engine.device) {
        let Err(error) = configs()[0].create::<K, V>(device) else { continue };
        refusals += 1;
        says(&error, &["words of 128 bits", device.name(), "32 bits", "compute capability 9.0", "the CPU"]);
        let Error::NoWideAtomics { what, device: named } = error else { panic!("{error:?}") };
        assert!(wide && what.contains("LinearMap") && named == device.name());
    }
    // The PTX for older GPUs refuses, and so does an older GPU if there is one.
    let least = if only_cuda() { 0 } else { 1 };
    assert!(if wide { (least..=2).contains(&refusals) } else { refusals == 0 }, "{refusals} engines refuse");
}

#[test]
fn more_pairs_than_a_map_can_have_are_refused() {
    let limit = u32::MAX as u64;
    let refused = |error: Error, least: u64| {
        says(&error, &["at most", &limit.to_string(), "a higher load"]);
        let Error::Input(InputError::TooManyKeys { asked, slots, load }) = error else { panic!("{error:?}") };
        says(&error, &[&format!("{asked} keys"), &format!("a load of {load}")]);
        assert!(asked >= least && slots == limit, "{asked} keys were asked for");
    };
    for config in configs() {
        for pairs in [1 << 32, 1 << 40, usize::MAX] {
            refused(
                config.clone().pairs(pairs).initial_memory_bytes::<u32, u64>(&Device::cpu()).unwrap_err(),
                pairs as u64,
            );
            refused(
                config.clone().load(0.999).pairs(pairs).create::<u64, u32>(&Device::cpu()).unwrap_err(),
                pairs as u64,
            );
        }
        let lowest = config.clone().load(1.0 / 1024.0);
        refused(lowest.clone().pairs(1 << 23).initial_memory_bytes::<u64, u64>(&Device::cpu()).unwrap_err(), 1 << 23);
        let mut map = lowest.create::<u64, u64>(&elsewhere()).unwrap();
        assert_eq!(map.insert_many(&[1], &[2]), Ok(1));
        // At a load of 0.5, 2^30 pairs need 2^31 slots, which are allowed, and 2^31 pairs need too
        // many.
        assert!(config.clone().load(0.5).pairs(1 << 30).initial_memory_bytes::<u64, u64>(&Device::cpu()).is_ok());
        assert!(config.clone().load(0.5).pairs(1 << 31).initial_memory_bytes::<u32, u32>(&Device::cpu()).is_err());
    }
    on_all(|device| {
        let mut map: LinearMap<u32, u32> = configs()[0].create(device).unwrap();
        map.insert_many(&[1, 2, u32::MAX], &[3, 4, 5]).unwrap();
        let slots = map.table().slots();
        for additional in [1 << 32, 1 << 40, usize::MAX - 3, usize::MAX - 2, usize::MAX - 1, usize::MAX] {
            match map.reserve(additional) {
                Err(error) => refused(error, additional as u64),
                Ok(()) => {
                    panic!("room for {additional} more keys in {} slots on {}", map.table().slots(), device.name())
                }
            }
        }
        assert_eq!(map.table().slots(), slots);
        equals(&map, &HashMap::from([(1, 3), (2, 4), (u32::MAX, 5)]));
    });
}

#[parameterized]
fn inputs_whose_lengths_differ_are_refused_with_both_lengths<K: Key, V: Value>() {
    for device in linear_engines::<K, V>().map(|engine| &engine.device) {
        let stream = device.default_stream();
        let mut map = configs()[0].create::<K, V>(device).unwrap();
        let (k, v) = ([1, 2, 3].map(K::from_u64), [3, 4, 5].map(V::from_u64));
        map.insert_many(&k[..2], &v[..2]).unwrap();
        let (keys, values) = (("the keys", 3), ("the values", 2));
        assert_lengths(map.insert_many(&k, &v[..2]).unwrap_err(), keys, values);
        assert_lengths(map.replace_many(&k, &v[..2]).unwrap_err(), keys, values);
        assert_lengths(map.get_or_insert_many(&k, &v[..2]).unwrap_err(), keys, values);
        assert_lengths(map.get_or_insert_many(&[], &v[..1]).unwrap_err(), ("the keys", 0), ("the values", 1));
        let three = Buffer::from_slice(device, &k).unwrap();
        let (two_values, three_values) =
            (Buffer::from_slice(device, &v[..2]).unwrap(), Buffer::from_slice(device, &v).unwrap());
        let (two_kinds, three_kinds) = (Buffer::zeroed(device, 2).unwrap(), Buffer::zeroed(device, 3).unwrap());
        let mut four = Answers::new(device, 4).unwrap();
        assert_lengths(map.insert_many(&three, &two_values).unwrap_err(), keys, values);
        assert_lengths(map.replace_many_into(stream, &three, &two_values, &mut four).unwrap_err(), keys, values);
        let answers = ("the answers", 4);
        assert_lengths(map.replace_many_into(stream, &three, &three_values, &mut four).unwrap_err(), keys, answers);
        assert_lengths(
            map.get_or_insert_many_into(stream, &three, &three_values, &mut four).unwrap_err(),
            keys,
            answers,
        );
        assert_lengths(map.remove_many_into(stream, &three, &mut four).unwrap_err(), keys, answers);
        let mixed = |map: &mut LinearMap<K, V>, kinds, values, answers: &mut Answers<V>| {
            map.apply_many_into(stream, kinds, &three, values, answers).unwrap_err()
        };
        assert_lengths(mixed(&mut map, &three_kinds, &three_values, &mut four), keys, answers);
        assert_lengths(mixed(&mut map, &two_kinds, &three_values, &mut four), keys, ("the kinds", 2));
        assert_lengths(mixed(&mut map, &three_kinds, &two_values, &mut four), keys, values);
        refuses_other_lengths(&map);
        refuses_buffers_of_other_lengths(&map);
        equals(&map, &HashMap::from([(k[0], v[0]), (k[1], v[1])]));
    }
}

#[parameterized]
fn what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was(here: &Device) {
    let there = &elsewhere();
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    // The batches fit exactly, or exceed the spare capacity.
    for n in [9, 100, 290] {
        let mut map: LinearMap<u32, u32> = configs()[0].create(here).unwrap();
        map.insert_many(&[1, u32::MAX], &[2, 3]).unwrap();
        errors::what_belongs_to_another_device_is_refused(&mut map, n);
        let keys: Vec<u32> = distinct_keys(n, 3);
        let [ours, theirs] = [here, there].map(|device| Buffer::from_slice(device, &keys).unwrap());
        let [kinds, far_kinds] =
            [here, there].map(|device| Buffer::from_slice(device, &vec![LinearKind::INSERT; n]).unwrap());
        let [mut answers, mut far_answers] = [here, there].map(|device| Answers::new(device, n).unwrap());
        for (stream, keys, values, near) in [
            (foreign, &ours, &ours, true),
            (stream, &theirs, &ours, true),
            (stream, &ours, &theirs, true),
            (stream, &ours, &ours, false),
        ] {
            let (found, expected) = if std::ptr::eq(stream, foreign) { (here, there) } else { (there, here) };
            let wrong = |error: Error| assert_wrong_device(error, "a buffer", found, expected);
            let answers = if near { &mut answers } else { &mut far_answers };
            wrong(map.replace_many_into(stream, keys, values, answers).unwrap_err());
            wrong(map.get_or_insert_many_into(stream, keys, values, answers).unwrap_err());
            wrong(map.apply_many_into(stream, &kinds, keys, values, answers).unwrap_err());
            // Lookups have no values to refuse.
            if !std::ptr::eq(values, &theirs) {
                wrong(map.get_many_into(stream, keys, answers).unwrap_err());
            }
        }
        let error = map.apply_many_into(stream, &far_kinds, &ours, &ours, &mut answers).unwrap_err();
        assert_wrong_device(error, "a buffer", there, here);
        equals(&map, &HashMap::from([(1, 2), (u32::MAX, 3)]));
    }
}
