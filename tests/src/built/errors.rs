//! Errors that a user of any map that is built in one call can cause: their figures, their advice,
//! and the map's state afterwards.

use super::{Tested, build, refused};
use crate::maps::{holds, refuses_another_device, refuses_buffers_of_other_lengths, refuses_other_lengths};
use crate::{assert_lengths, assert_wrong_device, at, distinct_keys, elsewhere, linear, on_all, says};
use warpnest::design::{Arithmetic, BulkMap, Config, HashFamily};
use warpnest::error::{ConfigError, InputError};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, Error};

/// Checks that builds, rebuilds and lookups refuse inputs of different lengths and leave the map as
/// it was.
pub fn inputs_whose_lengths_differ_are_refused_with_both_lengths<D: Tested>(config: &Config<D>) {
    let _at = at(format!("{config:?}"));
    on_all(|device| {
        let error = config.build(device, &[1u32, 2, 3], &[1u64, 2]).unwrap_err();
        assert_lengths(error, ("the keys", 3), ("the values", 2));
        let error = BulkMap::<u32, u32, D>::build(device, &[1], &[]).unwrap_err();
        assert_lengths(error, ("the keys", 1), ("the values", 0));
        let (keys, few) =
            (Buffer::from_slice(device, &[1u64, 2, 3]).unwrap(), Buffer::from_slice(device, &[7u64]).unwrap());
        let error = config.build(device, &keys, &few).unwrap_err();
        assert_lengths(error, ("the keys", 3), ("the values", 1));

        let mut map = config.build(device, &keys, &keys).unwrap();
        let report = map.report().clone();
        let error = map.rebuild(&few, &keys).unwrap_err();
        assert_lengths(error, ("the keys", 1), ("the values", 3));
        refuses_other_lengths(&map);
        refuses_buffers_of_other_lengths(&map);
        holds(&map, &[1, 2, 3], &[1, 2, 3]);
        assert_eq!(*map.report(), report);
    });
}

/// Checks that builds, rebuilds and lookups refuse another device's resources and leave the map as
/// it was.
pub fn what_belongs_to_another_device_is_refused_and_leaves_the_map_as_it_was<D: Tested>(config: &Config<D>) {
    fn with<D: Tested, K: Key, V: Value>(config: &Config<D>, here: &Device) {
        let there = &elsewhere();
        let keys: Vec<K> = distinct_keys(100, 3);
        let values: Vec<V> = keys.iter().map(|key| V::from_u64(key.to_u64())).collect();
        let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
        let (our_values, their_values) =
            (Buffer::from_slice(here, &values).unwrap(), Buffer::from_slice(there, &values).unwrap());
        let mut map = build::<D, K, V>(here, config, &keys, &values);
        let report = map.report().clone();
        for (keys, values, what) in
            [(&theirs, &our_values, "the buffer of keys"), (&ours, &their_values, "the buffer of values")]
        {
            assert_wrong_device(config.build::<K, V>(here, keys, values).unwrap_err(), what, there, here);
            assert_wrong_device(map.rebuild(keys, values).unwrap_err(), what, there, here);
        }
        assert_wrong_device(map.on(there.default_stream()).unwrap_err(), "the stream", there, here);
        refuses_another_device(&map);
        holds(&map, &keys, &values);
        assert_eq!((map.device().name(), map.report()), (here.name(), &report));
    }
    let _at = at(format!("{config:?}"));
    on_all(|device| {
        with::<D, u32, u32>(config, device);
        with::<D, u64, u64>(config, device);
    });
}

/// Checks the largest count of pairs through the memory queries, since no test has that many pairs.
pub fn more_pairs_than_a_map_can_have_are_refused(config: &Config<impl Tested>, limit: u64) {
    let _at = at(format!("{config:?}"));
    for asked in [limit + 1, 1 << 32, 1 << 40, u64::MAX] {
        let error = config.memory_bytes::<u32, u32>(asked as usize).unwrap_err();
        assert_eq!(error, Error::Input(InputError::TooManyPairs { asked, limit }));
        assert_eq!(config.scratch_bytes::<u64, u64>(asked as usize).unwrap_err(), error);
        assert_eq!(config.scratch_bytes::<u64, u32>(asked as usize).unwrap_err(), error);
        says(&error, &[&asked.to_string(), &limit.to_string(), "build several tables"]);
    }
}

/// Checks that every hash family refuses a modulus that is not prime.
pub fn a_modulus_that_is_no_prime_is_refused<D: Tested>(hashing_by: impl Fn(HashFamily) -> Config<D>) {
    on_all(|device| {
        for modulus in [0, 1, 4, 1_900_812, 334_214_458, 65_521 * 65_521, u32::MAX] {
            for family in [linear(modulus), HashFamily::Xor { prime: modulus, arithmetic: Arithmetic::Wrapping }] {
                let error = refused(device, &hashing_by(family), 3);
                assert_eq!(error, Error::Config(ConfigError::NotPrime { modulus }));
                says(&error, &[&modulus.to_string(), "not a prime", "4294967291"]);
            }
        }
    });
}
