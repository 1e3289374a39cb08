//! Union, intersection and difference, compared with the operations of `std::collections::HashSet`.
//! The refusals of a set, the memory that it takes, and its state when its device fails are tested,
//! too.

use proptest::prelude::*;
use std::sync::atomic::AtomicU32;
use warpnest::design::Page;
use warpnest::error::{BuildError, ConfigError, InputError};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Error, PageConfig};
use warpnest_tests::pages::key_of_page;
use warpnest_tests::sets::errors::{self, refused};
use warpnest_tests::sets::faults::{self, Takes};
use warpnest_tests::sets::properties::sets_of_any_keys_are_combined;
use warpnest_tests::sets::{build, edges, holds};
use warpnest_tests::{counting, distinct_keys, engines, faulty, on_all, parameterized, says};

#[parameterized(each_width)]
fn sets_of_any_keys_are_combined<K: Key>() {
    let configs = (any::<u64>(), 0.05..1.0f64).prop_map(|(seed, load)| {
        let config = PageConfig::default().seed(seed);
        (config.clone().load(load), config.load(0.8))
    });
    sets_of_any_keys_are_combined::<Page, K>(1500, &configs);
}

#[test]
fn sets_without_keys_with_the_same_and_with_no_common_ones() {
    edges::operations_on_sets_without_keys_with_the_same_and_with_no_common_ones(&PageConfig::default());
}

#[test]
fn the_result_has_the_configuration_of_the_first_set() {
    let (low, high) = (PageConfig::default().seed(5).load(0.2), PageConfig::default().seed(6).load(0.8));
    errors::the_result_of_an_operation_has_the_configuration_of_the_first_set((&low, 100), (&high, 250), |made| {
        assert_eq!(made.report().seed, 5);
        60
    });
    on_all(|device| {
        let low = low.build_set(device, &distinct_keys::<u32>(100, 1)).unwrap();
        let high = high.build_set(device, &distinct_keys::<u32>(250, 1)).unwrap();
        assert!(low.union(&high).unwrap().memory_bytes() > high.union(&low).unwrap().memory_bytes());
    });
}

#[parameterized]
fn a_configuration_that_makes_no_sense_is_refused(device: &Device) {
    for load in [0.0, -1.0, 1.01, f64::NAN, f64::INFINITY, 1e-300] {
        let error = refused(device, &PageConfig::default().load(load), 1);
        assert!(matches!(error, Error::Config(ConfigError::Load { .. })), "{error}");
    }
    for asked in [(1 << 31) + 1, 1 << 32, u64::MAX] {
        let error = PageConfig::default().set_memory_bytes::<u64>(asked as usize).unwrap_err();
        assert_eq!(error, Error::Input(InputError::TooManyPairs { asked, limit: 1 << 31 }));
        assert_eq!(PageConfig::default().set_scratch_bytes::<u32>(asked as usize).unwrap_err(), error);
    }
}

#[test]
fn what_belongs_to_another_device_and_other_lengths_are_refused_and_change_nothing() {
    errors::what_belongs_to_another_device_and_other_lengths_are_refused(&PageConfig::default());
}

/// Checks keys that all belong to one page under the constants of a seed, with and without
/// restarts.
#[test]
fn a_set_that_cannot_be_built_says_so_and_after_a_rebuild_it_is_empty() {
    fn with<K: Key>(device: &Device) {
        let n = 4000;
        let config = PageConfig::default().seed(1).restarts(0);
        let any: Vec<K> = distinct_keys(n, 2);
        let mut set = build(device, &config, &any);
        let layout = *set.table().layout();
        assert!(layout.page_bits > 0 && layout.page_buckets * layout.slots < n as u32, "{layout:?}");
        let page: Vec<K> = distinct_keys::<K>(n, 3).iter().map(|key| key_of_page(&layout, 0, key.to_u64())).collect();
        let error = config.build_set(device, &page).unwrap_err();
        assert!(matches!(error, Error::BuildFailed(BuildError::Page { pairs: 4000, attempts: 1, .. })), "{error}");
        says(&error, &["4000", "1 attempts", "lower load"]);
        let on_device = Buffer::from_slice(device, &page).unwrap();
        assert!(matches!(set.rebuild(&on_device).unwrap_err(), Error::BuildFailed(BuildError::Page { .. })));
        holds(&set, &[]);
        set.rebuild(&Buffer::from_slice(device, &any).unwrap()).unwrap();
        holds(&set, &any);
        let others = build(device, &config.restarts(5), &page);
        assert!(others.report().failures > 0, "{:?}", others.report());
    }
    with::<u32>(&engines()[0].device);
    with::<u64>(&engines()[0].device);
}

#[test]
fn whichever_launch_or_allocation_of_a_rebuild_fails_the_set_is_empty_and_can_be_built_again() {
    fn with(device: (&Device, &AtomicU32)) {
        let (old, new) = (distinct_keys::<u32>(500, 1), distinct_keys::<u32>(3000, 1));
        let errors = faults::failing_rebuilds(device, &PageConfig::default(), (&old, &new), |_| ());
        assert!(!errors.is_empty());
    }
    let (device, launches) = faulty();
    with((&device, &launches));
    let (device, counts) = counting();
    with((&device, &counts.allocations));
}

#[test]
fn whatever_fails_beside_a_set_it_stays_whole() {
    let launches = Takes { build: 1, copy: 0, keys: 1 };
    let allocations = Takes { build: 2, copy: 1, keys: 2 };
    faults::whatever_fails_beside_a_set_it_stays_whole(&PageConfig::default(), launches, allocations);
}

/// Checks the memory that the configuration announces for a build and a set.
#[test]
fn memory_is_what_was_said() {
    fn with<K: Key>(config: PageConfig) {
        for n in [0, 1, 1000, 5000, 70_000, 1_500_000] {
            faults::memory_is_as_said(&config, &distinct_keys::<K>(n, 2));
        }
    }
    with::<u32>(PageConfig::default());
    with::<u64>(PageConfig::default());
    with::<u32>(PageConfig::default().assume_unique().load(0.9));
    with::<u64>(PageConfig::default().assume_unique().load(0.3));
}
