//! Union, intersection and difference beside `std::collections::HashSet`'s; what a set refuses, what it takes, and what is left when its device
//! fails.

use proptest::prelude::*;
use std::sync::atomic::Ordering::Relaxed;
use warpnest::{Buffer, Device, Error, Key, PageSet, PageSetConfig};
use warpnest_tests::pages::key_of_page;
use warpnest_tests::sets::{build, edges, holds, wrong_operations};
use warpnest_tests::{
    assert_lengths, assert_wrong_device, at, counting, distinct_keys, elsewhere, faulty, key, on_all, on_every_engine,
    only, says,
};

fn property<K: Key>() {
    on_every_engine(
        |engine| {
            let keys = || prop::collection::vec(key::<K>(), 0..engine.most_items.min(1500));
            (keys(), keys(), any::<u64>(), 0.05..1.0f64)
        },
        |engine, (first, second, seed, load)| {
            let built = |keys: &[K], load| PageSetConfig::default().seed(seed).load(load).build(&engine.device, keys);
            let fail = |error: Error| TestCaseError::fail(error.to_string());
            let (one, other) = (built(&first, load).map_err(fail)?, built(&second, 0.8).map_err(fail)?);
            wrong_operations(&one, &other).and_then(|()| wrong_operations(&other, &one)).map_err(TestCaseError::fail)
        },
    );
}

#[test]
fn sets_of_any_keys_are_combined_with_32_bits() {
    property::<u32>();
}

#[test]
fn sets_of_any_keys_are_combined_with_64_bits() {
    property::<u64>();
}

#[test]
fn sets_without_keys_with_the_same_and_with_no_common_ones() {
    edges::operations_on_sets_without_keys_with_the_same_and_with_no_common_ones(&PageSetConfig::default());
}

/// The result is like the first set, also in that it takes repeated keys when it is built again.
#[test]
fn the_result_has_the_configuration_of_the_first_set() {
    on_all(|device| {
        let stream = device.default_stream();
        let low = PageSetConfig::default().seed(5).load(0.2).build(device, &distinct_keys::<u32>(100, 1)).unwrap();
        let high = PageSetConfig::default().seed(6).load(0.8).build(device, &distinct_keys::<u32>(250, 1)).unwrap();
        for made in [low.union(stream, &high), low.intersection(stream, &high), low.difference(stream, &high)] {
            let mut made = made.unwrap();
            assert_eq!(made.report().seed, 5);
            let twice = distinct_keys::<u32>(60, 9).repeat(2);
            made.rebuild(stream, &Buffer::from_slice(device, &twice).unwrap()).unwrap();
            holds(&made, &twice);
        }
        assert!(low.union(stream, &high).unwrap().memory_bytes() > high.union(stream, &low).unwrap().memory_bytes());
    });
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    on_all(|device| {
        let (stream, there) = (device.default_stream(), elsewhere());
        for load in [0.0, -1.0, 1.01, f64::NAN, f64::INFINITY, 1e-300] {
            let error = PageSetConfig::default().load(load).build(device, &[1u32]).unwrap_err();
            assert!(matches!(error, Error::Load { .. }), "{error}");
        }
        for asked in [(1 << 31) + 1, 1 << 32, u64::MAX] {
            let error = PageSetConfig::default().memory_bytes::<u64>(asked).unwrap_err();
            assert_eq!(error, Error::TooManyItems { asked, limit: 1 << 31 });
            assert_eq!(PageSetConfig::default().scratch_bytes::<u32>(asked).unwrap_err(), error);
        }
        let keys = [4u32, 5, 4];
        let mut set = PageSet::build(device, &keys).unwrap();
        let report = set.report().clone();
        let (ours, theirs) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(&there, &keys).unwrap());
        for (stream, keys, what) in
            [(there.default_stream(), &ours, "the stream"), (stream, &theirs, "the buffer of keys")]
        {
            let built = PageSetConfig::default().build_on(stream, device, keys);
            assert_wrong_device(built.unwrap_err(), what, &there, device);
            assert_wrong_device(set.rebuild(stream, keys).unwrap_err(), what, &there, device);
        }
        let mut found = Buffer::zeroed(device, 1).unwrap();
        let error = set.contains_many_into(stream, &theirs, &mut found).unwrap_err();
        assert_wrong_device(error, "a buffer", &there, device);
        let error = set.contains_many_into(stream, &ours, &mut Buffer::zeroed(device, 2).unwrap()).unwrap_err();
        assert_lengths(error, ("the queries, in words of 32,", 1), ("the found-words", 2));
        let error = set.keys_into(stream, &mut Buffer::zeroed(device, 3).unwrap()).unwrap_err();
        assert_lengths(error, ("the set", 2), ("the keys", 3));

        let foreign = PageSet::build(&there, &keys).unwrap();
        let combined =
            |stream, other| [set.union(stream, other), set.intersection(stream, other), set.difference(stream, other)];
        for error in combined(stream, &foreign).map(Result::unwrap_err) {
            assert_wrong_device(error, "the other set", &there, device);
        }
        for error in combined(there.default_stream(), &set).map(Result::unwrap_err) {
            assert_wrong_device(error, "the stream", &there, device);
        }
        holds(&set, &keys);
        assert_eq!(*set.report(), report);
    });
}

/// Keys that all belong to one page by the constants of a seed, and no restarts or some.
#[test]
fn a_set_that_cannot_be_built_says_so_and_after_a_rebuild_it_is_empty() {
    fn with<K: Key>(device: &Device) {
        let (stream, n) = (device.default_stream(), 4000);
        let config = PageSetConfig::default().seed(1).restarts(0);
        let any: Vec<K> = distinct_keys(n, 2);
        let mut set = build(device, &config, &any);
        let layout = *set.layout();
        assert!(layout.page_bits > 0 && layout.page_buckets * layout.slots < n as u32, "{layout:?}");
        let page: Vec<K> = distinct_keys::<K>(n, 3).iter().map(|key| key_of_page(&layout, 0, key.to_u64())).collect();
        let error = config.build(device, &page).unwrap_err();
        assert!(matches!(error, Error::PageBuildFailed { pairs: 4000, attempts: 1, .. }), "{error}");
        says(&error, &["4000", "1 attempts", "lower load"]);
        let on_device = Buffer::from_slice(device, &page).unwrap();
        assert!(matches!(set.rebuild(stream, &on_device).unwrap_err(), Error::PageBuildFailed { .. }));
        holds(&set, &[]);
        set.rebuild(stream, &Buffer::from_slice(device, &any).unwrap()).unwrap();
        holds(&set, &any);
        let others = build(device, &config.restarts(5), &page);
        assert!(others.report().failures > 0, "{:?}", others.report());
    }
    with::<u32>(&Device::cpu());
    with::<u64>(&Device::cpu());
}

/// Whichever launch or allocation of a rebuild, or of an operation, fails: an error, and whole sets.
#[test]
fn after_a_failure_there_is_no_half_of_a_set() {
    fn with(device: &Device, left: &std::sync::atomic::AtomicU32, least: u32) {
        let stream = device.default_stream();
        let (old, new) = (distinct_keys::<u32>(500, 1), distinct_keys::<u32>(3000, 1));
        let input = Buffer::from_slice(device, &new).unwrap();
        let mut good = 0;
        loop {
            let mut set = build(device, &PageSetConfig::default(), &old);
            let done = only(left, good, || set.rebuild(stream, &input));
            holds(&set, if done.is_ok() { &new } else { &[] });
            set.rebuild(stream, &input).unwrap();
            holds(&set, &new);
            if done.is_ok() {
                break;
            }
            good += 1;
        }
        assert!(good >= least, "{good} good ones");
        let (one, other) = (PageSet::build(device, &old).unwrap(), PageSet::build(device, &new[200..]).unwrap());
        for operation in [PageSet::union, PageSet::intersection, PageSet::difference] {
            let mut good = 0;
            while let Err(error) = only(left, good, || operation(&one, stream, &other)) {
                assert!(matches!(error, Error::Kernel { .. } | Error::OutOfMemory { .. }), "{error}");
                good += 1;
            }
            assert!(good >= 4, "{good} good ones");
        }
        holds(&one, &old);
        assert_eq!(wrong_operations(&one, &other), Ok(()));
    }
    let (device, launches) = faulty();
    with(&device, &launches, 1);
    let (device, counts) = counting();
    with(&device, &counts.allocations, 1);
}

/// The configuration says beforehand what a build takes and a set keeps.
#[test]
fn memory_is_what_was_said() {
    fn with<K: Key>(config: PageSetConfig) {
        for n in [0, 1, 1000, 5000, 70_000, 1_500_000] {
            let _at = at(format!("{n} keys of {}, {config:?}", std::any::type_name::<K>()));
            let (device, counts) = counting();
            let input = Buffer::from_slice(&device, &distinct_keys::<K>(n, 2)).unwrap();
            let (before, n) = (counts.bytes.load(Relaxed), n as u64);
            counts.most.store(before, Relaxed);
            let set = config.build_on(device.default_stream(), &device, &input).unwrap();
            let (most, keeps) = (counts.most.load(Relaxed) - before, counts.bytes.load(Relaxed) - before);
            let (kept, scratch) = (config.memory_bytes::<K>(n).unwrap(), config.scratch_bytes::<K>(n).unwrap());
            assert_eq!((set.memory_bytes(), keeps), (kept, kept));
            // An allocation has 16 bytes at least.
            assert!(most <= kept + scratch + 64, "{most} bytes, and {kept} + {scratch} were said");
        }
    }
    with::<u32>(PageSetConfig::default());
    with::<u64>(PageSetConfig::default());
    with::<u32>(PageSetConfig::default().assume_unique().load(0.9));
    with::<u64>(PageSetConfig::default().assume_unique().load(0.3));
}
