//! The refusals of a cuckoo set, the memory that it takes, and its state when a build or its device
//! fails.

use gpu_kernels::cuckoo::header;
use warpnest::error::{BuildError, ConfigError, InputError};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, CuckooConfig, Device, Error};
use warpnest_tests::sets::errors::{self, refused};
use warpnest_tests::sets::faults::{self, Measured, Takes, memory_is_as_said};
use warpnest_tests::sets::{build, holds};
use warpnest_tests::{distinct_keys, faulty, linear, on_all, only, parameterized, says};

fn default() -> CuckooConfig {
    CuckooConfig::default().seed(5)
}

#[parameterized]
fn a_configuration_that_makes_no_sense_is_refused(device: &Device) {
    for asked in [0, 1, 6, u32::MAX] {
        assert_eq!(
            refused(device, &default().functions(asked), 3),
            Error::Config(ConfigError::FunctionCount { asked })
        );
    }
    for slots in [f64::NAN, f64::INFINITY, 0.5, -1.0] {
        let error = refused(device, &default().slots_per_pair(slots), 3);
        assert!(matches!(error, Error::Config(ConfigError::SlotsPerPair { .. })), "{error}");
    }
    assert_eq!(refused(device, &default().chain_limit(0), 3), Error::Config(ConfigError::ChainLimit));
    assert_eq!(refused(device, &default().hash(linear(9)), 3), Error::Config(ConfigError::NotPrime { modulus: 9 }));
    let limit = (1 << 32) - 2;
    let error = refused(device, &default().slots(limit + 1), 3);
    assert_eq!(error, Error::Input(InputError::TooManySlots { asked: limit + 1, limit }));
    let error = refused(device, &default().hash(linear(257)).slots(258), 3);
    assert_eq!(error, Error::Config(ConfigError::PrimeBelowSlots { prime: 257, slots: 258 }));
}

/// Checks that every copy of a key counts against the limit, since all keys may be different.
#[parameterized]
fn more_keys_than_fit_are_refused_and_leave_the_set_as_it_was(device: &Device) {
    const KEYS: u64 = 250;
    let keys: Vec<u64> = distinct_keys(KEYS as usize, 8);
    for (functions, min_slots) in [(2, 525), (3, 275), (4, 258), (5, 255)] {
        let config = default().functions(functions).restarts(1000);
        let slots = min_slots - 1;
        let error = refused(device, &config.clone().slots(slots), KEYS as usize);
        assert_eq!(error, Error::Config(ConfigError::LoadTooHigh { pairs: KEYS, slots, functions, min_slots }));
        let mut set = build(device, &config.slots(min_slots), &keys);
        let report = set.report().clone();
        for more in [distinct_keys::<u64>(KEYS as usize + 2, 9), vec![7; KEYS as usize + 2]] {
            let more = Buffer::from_slice(device, &more).unwrap();
            let error = set.rebuild(&more).unwrap_err();
            assert!(matches!(error, Error::Config(ConfigError::LoadTooHigh { pairs: 252, .. })), "{error}");
            assert_eq!(*set.report(), report);
            holds(&set, &keys);
        }
    }
}

#[test]
fn what_belongs_to_another_device_and_other_lengths_are_refused_and_change_nothing() {
    errors::what_belongs_to_another_device_and_other_lengths_are_refused(&default());
}

#[parameterized]
fn a_set_that_cannot_be_built_says_so_and_after_a_rebuild_it_is_empty(device: &Device) {
    let any: Vec<u64> = distinct_keys(100, 2);
    // Five keys share their four slots, among other keys and with copies.
    let mut alike: Vec<u64> = (0..5).map(|i| 40 + i * 334_214_459).collect();
    alike.extend(alike.clone());
    alike.extend(&any[10..]);
    let config = default().hash(linear(334_214_459));
    let error = config.build_set(device, &alike).unwrap_err();
    let Error::BuildFailed(BuildError::KeysAgreeModuloPrime { key, functions: 4, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(key % 334_214_459, 40);
    let mut set = build(device, &config, &any);
    let on_device = Buffer::from_slice(device, &alike[..100]).unwrap();
    assert!(matches!(
        set.rebuild(&on_device).unwrap_err(),
        Error::BuildFailed(BuildError::KeysAgreeModuloPrime { .. })
    ));
    holds(&set, &[]);

    let short = default().chain_limit(1).restarts(2);
    let error = short.build_set(device, &any).unwrap_err();
    assert!(
        matches!(error, Error::BuildFailed(BuildError::Cuckoo { attempts: 3, chain_limit: 1, pairs: 100, .. })),
        "{error}"
    );
    says(&error, &["100", "3 attempts"]);
    set.rebuild(&Buffer::from_slice(device, &any).unwrap()).unwrap();
    holds(&set, &any);
}

/// Checks that a union, an intersection or a difference takes the slots per pair from the
/// configuration of the first set. If that many slots cannot be built, the operation fails like a
/// build.
#[test]
fn the_result_of_an_operation_has_the_configuration_of_the_first_set() {
    let (wide, dense) = (default().seed(8).slots_per_pair(4.0), default().seed(6));
    errors::the_result_of_an_operation_has_the_configuration_of_the_first_set((&wide, 100), (&dense, 250), |made| {
        assert_eq!((made.report().seed, made.table().slots()), (8, (4 * made.len() as u64).max(8)));
        made.len() / 2
    });
    on_all(|device| {
        let dense = dense.build_set(device, &distinct_keys::<u32>(250, 1)).unwrap();
        let promised = default().assume_unique().build_set(device, &distinct_keys::<u32>(10, 1)).unwrap();
        assert_eq!(promised.union(&dense).unwrap().len(), 250);
        let fixed = default().slots(125).build_set(device, &distinct_keys::<u32>(100, 1)).unwrap();
        let error = fixed.union(&dense).unwrap_err();
        assert!(matches!(error, Error::Config(ConfigError::LoadTooHigh { pairs: 250, slots: 125, .. })), "{error}");
        holds(&fixed, &distinct_keys::<u32>(100, 1));
    });
}

/// Returns many copies of two keys that share all their slots. Threads then drop copies, so all
/// kernels of a build run.
fn colliding_keys() -> (CuckooConfig, Vec<u64>) {
    let config = default().functions(3).slots_per_pair(2.0).hash(linear(4_294_967_291)).slots(6000);
    (config, (0..3000).map(|i| 40 + i % 2 * 4_294_967_291).collect())
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_set_is_empty_and_can_be_built_again() {
    let (device, launches) = faulty();
    let (config, keys) = colliding_keys();
    let errors = faults::failing_rebuilds((&device, &launches), &config, (&[3, 4, 3], &keys), |set| {
        let head = set.table().header().download(device.default_stream()).unwrap();
        assert_eq!(head[header::DROPPED as usize], 1);
    });
    let name = |error| if let Error::Kernel { kernel, .. } = error { kernel } else { panic!("{error}") };
    let names: Vec<String> = errors.into_iter().map(name).collect();
    assert_eq!(names, ["cuckoo_insert_u64", "cuckoo_census_u64", "cuckoo_last_u64"]);
}

#[test]
fn whatever_fails_beside_a_set_it_stays_whole() {
    let launches = Takes { build: 2, copy: 0, keys: 1 };
    let allocations = Takes { build: 2, copy: 2, keys: 2 };
    faults::whatever_fails_beside_a_set_it_stays_whole(&default(), launches, allocations);
}

/// Checks the memory that the configuration announces for a set. A build takes no additional
/// memory, however often keys are repeated, and a rebuild allocates nothing.
#[test]
fn memory_is_what_was_said_and_a_rebuild_takes_none() {
    fn with<K: Key>(config: &CuckooConfig) {
        for n in [0usize, 1, 2, 301, 4097, 70_000] {
            let repeated = distinct_keys::<K>(n.div_ceil(2), 2).repeat(2);
            let Measured { device, counts, input, mut set, most } = memory_is_as_said(config, &repeated[..n]);
            let stream = device.default_stream();
            let slot = K::BITS as u64 / 8;
            assert_eq!(most, set.memory_bytes() as u64);
            assert_eq!(most, (set.table().slots() * slot).next_multiple_of(8) + 56);
            assert_eq!(config.set_scratch_bytes::<K>(n).unwrap(), 0);
            only(&counts.allocations, 0, || set.rebuild(&input)).unwrap();
            let mut found = Buffer::zeroed(&device, n.div_ceil(32)).unwrap();
            only(&counts.allocations, 0, || set.contains_many_into(stream, &input, &mut found)).unwrap();
            let there: u32 = found.download(stream).unwrap().iter().map(|word| word.count_ones()).sum();
            assert_eq!(there as usize, n);
        }
    }
    for config in [default(), default().functions(2).slots_per_pair(2.1), default().slots_per_pair(1.03).restarts(500)]
    {
        with::<u32>(&config);
        with::<u64>(&config);
    }
}
