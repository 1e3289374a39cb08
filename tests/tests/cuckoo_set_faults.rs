//! What a cuckoo set refuses, what it takes, and what is left when a build or its device fails.

use gpu_kernels::cuckoo::header;
use std::sync::atomic::Ordering::Relaxed;
use warpnest::{Buffer, CuckooSet, CuckooSetConfig, Device, Error, Key};
use warpnest_tests::sets::{build, holds, wrong_operations};
use warpnest_tests::{
    assert_lengths, assert_wrong_device, at, counting, distinct_keys, elsewhere, faulty, linear, on_all, only, says,
};

fn default() -> CuckooSetConfig {
    CuckooSetConfig::default().seed(5)
}

/// What `config` answers to so many keys: the same from a slice, from a buffer and to the questions for its memory.
fn refused(device: &Device, config: &CuckooSetConfig, n: usize) -> Error {
    let _at = at(format!("{config:?}"));
    let keys: Vec<u32> = distinct_keys(n, 1);
    let error = config.build(device, &keys).unwrap_err();
    let on_device = Buffer::from_slice(device, &keys).unwrap();
    let others = [
        config.build_on(device.default_stream(), device, &on_device).unwrap_err(),
        config.memory_bytes::<u64>(n as u64).unwrap_err(),
        config.scratch_bytes::<u32>(n as u64).unwrap_err(),
    ];
    // As texts, since a figure may be NaN.
    assert!(others.iter().all(|other| format!("{other:?}") == format!("{error:?}")), "{error:?}, {others:?}");
    error
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    on_all(|device| {
        for asked in [0, 1, 6, u32::MAX] {
            assert_eq!(refused(device, &default().functions(asked), 3), Error::FunctionCount { asked });
        }
        for slots in [f64::NAN, f64::INFINITY, 0.5, -1.0] {
            let error = refused(device, &default().slots_per_key(slots), 3);
            assert!(matches!(error, Error::SlotsPerPair { .. }), "{error}");
        }
        assert_eq!(refused(device, &default().chain_limit(0), 3), Error::ChainLimit);
        assert_eq!(refused(device, &default().hash(linear(9)), 3), Error::NotPrime { modulus: 9 });
        let limit = (1 << 32) - 2;
        let error = refused(device, &default().slots(limit + 1), 3);
        assert_eq!(error, Error::TooManySlots { asked: limit + 1, limit });
        let error = refused(device, &default().hash(linear(257)).slots(258), 3);
        assert_eq!(error, Error::PrimeBelowSlots { prime: 257, slots: 258 });
    });
}

/// Keys count as often as they come, since that is how many there may be.
#[test]
fn more_keys_than_fit_are_refused_and_leave_the_set_as_it_was() {
    const KEYS: u64 = 250;
    let keys: Vec<u64> = distinct_keys(KEYS as usize, 8);
    on_all(|device| {
        for (functions, least_slots) in [(2, 525), (3, 275), (4, 258), (5, 255)] {
            let config = default().functions(functions).restarts(1000);
            let slots = least_slots - 1;
            let error = refused(device, &config.clone().slots(slots), KEYS as usize);
            assert_eq!(error, Error::LoadTooHigh { pairs: KEYS, slots, functions, least_slots });
            let mut set = build(device, &config.slots(least_slots), &keys);
            let report = set.report().clone();
            for more in [distinct_keys::<u64>(KEYS as usize + 2, 9), vec![7; KEYS as usize + 2]] {
                let more = Buffer::from_slice(device, &more).unwrap();
                let error = set.rebuild(device.default_stream(), &more).unwrap_err();
                assert!(matches!(error, Error::LoadTooHigh { pairs: 252, .. }), "{error}");
                assert_eq!(*set.report(), report);
                holds(&set, &keys);
            }
        }
    });
}

#[test]
fn what_belongs_to_another_device_and_other_lengths_are_refused_and_change_nothing() {
    on_all(|device| {
        let (stream, there) = (device.default_stream(), elsewhere());
        let keys = [4u32, 5, 4];
        let mut set = CuckooSet::build(device, &keys).unwrap();
        let report = set.report().clone();
        let (ours, theirs) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(&there, &keys).unwrap());
        for (stream, keys, what) in
            [(there.default_stream(), &ours, "the stream"), (stream, &theirs, "the buffer of keys")]
        {
            let built = default().build_on(stream, device, keys);
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
        assert_wrong_device(set.try_clone(there.default_stream()).unwrap_err(), "a buffer", device, &there);

        let foreign = CuckooSet::build(&there, &keys).unwrap();
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

#[test]
fn a_set_that_cannot_be_built_says_so_and_after_a_rebuild_it_is_empty() {
    on_all(|device| {
        let stream = device.default_stream();
        let any: Vec<u64> = distinct_keys(100, 2);
        // Five keys that share their four slots, among others and with copies.
        let mut alike: Vec<u64> = (0..5).map(|i| 40 + i * 334_214_459).collect();
        alike.extend(alike.clone());
        alike.extend(&any[10..]);
        let config = default().hash(linear(334_214_459));
        let error = config.build(device, &alike).unwrap_err();
        let Error::KeysAgreeModuloPrime { key, functions: 4, .. } = error else { panic!("{error}") };
        assert_eq!(key % 334_214_459, 40);
        let mut set = build(device, &config, &any);
        let on_device = Buffer::from_slice(device, &alike[..100]).unwrap();
        assert!(matches!(set.rebuild(stream, &on_device).unwrap_err(), Error::KeysAgreeModuloPrime { .. }));
        holds(&set, &[]);

        let short = default().chain_limit(1).restarts(2);
        let error = short.build(device, &any).unwrap_err();
        assert!(matches!(error, Error::BuildFailed { attempts: 3, chain_limit: 1, pairs: 100, .. }), "{error}");
        says(&error, &["100", "3 attempts"]);
        set.rebuild(stream, &Buffer::from_slice(device, &any).unwrap()).unwrap();
        holds(&set, &any);
    });
}

/// The result is like the first set, also in that it takes repeated keys when it is built again; and refuses as that one does.
#[test]
fn the_result_of_an_operation_has_the_configuration_of_the_first_set() {
    on_all(|device| {
        let stream = device.default_stream();
        let wide = default().seed(8).slots_per_key(4.0).build(device, &distinct_keys::<u32>(100, 1)).unwrap();
        let dense = default().seed(6).build(device, &distinct_keys::<u32>(250, 1)).unwrap();
        for made in [wide.union(stream, &dense), wide.intersection(stream, &dense), wide.difference(stream, &dense)] {
            let mut made = made.unwrap();
            assert_eq!((made.report().seed, made.slots()), (8, (4 * made.len()).max(8)));
            let twice = distinct_keys::<u32>(made.len() as usize / 2, 9).repeat(2);
            made.rebuild(stream, &Buffer::from_slice(device, &twice).unwrap()).unwrap();
            holds(&made, &twice);
        }
        let promised = default().assume_unique().build(device, &distinct_keys::<u32>(10, 1)).unwrap();
        assert_eq!(promised.union(stream, &dense).unwrap().len(), 250);
        let fixed = default().slots(125).build(device, &distinct_keys::<u32>(100, 1)).unwrap();
        let error = fixed.union(stream, &dense).unwrap_err();
        assert!(matches!(error, Error::LoadTooHigh { pairs: 250, slots: 125, .. }), "{error}");
        holds(&fixed, &distinct_keys::<u32>(100, 1));
    });
}

/// Keys of two classes that share their slots, many times, so that all kernels of a build run: threads drop copies.
fn crowd() -> (CuckooSetConfig, Vec<u64>) {
    let config = default().functions(3).slots_per_key(2.0).hash(linear(4_294_967_291)).slots(6000);
    (config, (0..3000).map(|i| 40 + i % 2 * 4_294_967_291).collect())
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_set_is_empty_and_can_be_built_again() {
    let (device, launches) = faulty();
    let stream = device.default_stream();
    let (config, keys) = crowd();
    let input = Buffer::from_slice(&device, &keys).unwrap();
    let mut names = Vec::new();
    for good in 0.. {
        let mut set = build(&device, &config, &[3u64, 4, 3]);
        let report = set.report().clone();
        let rebuilt = only(&launches, good, || set.rebuild(stream, &input));
        if let Err(error) = rebuilt {
            let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
            names.push(kernel);
            assert_eq!(*set.report(), report);
            holds(&set, &[]);
            set.rebuild(stream, &input).unwrap();
        } else {
            let head = set.header().download(stream).unwrap();
            assert_eq!(head[header::DROPPED as usize], 1);
        }
        holds(&set, &keys);
        if names.len() == good as usize {
            break;
        }
    }
    assert_eq!(names, ["cuckoo_insert_u64", "cuckoo_census_u64", "cuckoo_last_u64"]);
}

/// Whichever launch or allocation of a build, a copy, a listing or an operation fails: an error, the sets are as they were, and no byte is lost.
#[test]
fn whatever_fails_beside_a_set_it_stays_whole() {
    type Left<'l> = &'l std::sync::atomic::AtomicU32;
    fn with(device: &Device, left: Left<'_>, [build_takes, copy_takes, keys_take]: [u32; 3]) {
        let stream = device.default_stream();
        let old = distinct_keys::<u32>(500, 1).repeat(2);
        let (one, other) = (build(device, &default(), &old), build(device, &default(), &distinct_keys(3000, 1)));
        let input = Buffer::from_slice(device, &old).unwrap();
        let fails = |work: &dyn Fn() -> Result<(), Error>| {
            let mut good = 0;
            while let Err(error) = only(left, good, work) {
                assert!(matches!(error, Error::Kernel { .. } | Error::OutOfMemory { .. }), "{error}");
                good += 1;
            }
            good
        };
        assert_eq!(fails(&|| default().build_on(stream, device, &input).map(drop)), build_takes);
        assert_eq!(fails(&|| one.try_clone(stream).map(drop)), copy_takes);
        assert_eq!(fails(&|| one.to_keys().map(drop)), keys_take);
        for operation in [CuckooSet::union, CuckooSet::intersection, CuckooSet::difference] {
            let good = fails(&|| operation(&one, stream, &other).map(drop));
            assert!(good >= 4, "{good} good ones");
        }
        holds(&one, &old);
        assert_eq!(wrong_operations(&one, &other), Ok(()));
    }
    let (device, launches) = faulty();
    with(&device, &launches, [2, 0, 1]);
    let (device, counts) = counting();
    with(&device, &counts.allocations, [2, 2, 2]);
    assert_eq!(counts.bytes.load(Relaxed), 0);
}

/// The configuration says beforehand what a set keeps. A build takes nothing besides, however often keys come; and a rebuild nothing at all.
#[test]
fn memory_is_what_was_said_and_a_rebuild_takes_none() {
    fn with<K: Key>(config: &CuckooSetConfig) {
        for n in [0usize, 1, 2, 301, 4097, 70_000] {
            let _at = at(format!("{n} keys of {}, {config:?}", std::any::type_name::<K>()));
            let (device, counts) = counting();
            let stream = device.default_stream();
            let repeated = distinct_keys::<K>(n.div_ceil(2), 2).repeat(2);
            let input = Buffer::from_slice(&device, &repeated[..n]).unwrap();
            let before = counts.bytes.load(Relaxed);
            counts.most.store(before, Relaxed);
            let mut set = config.build_on(stream, &device, &input).unwrap();
            let (most, keeps) = (counts.most.load(Relaxed) - before, counts.bytes.load(Relaxed) - before);
            let kept = config.memory_bytes::<K>(n as u64).unwrap();
            assert_eq!((set.memory_bytes(), keeps, most), (kept, kept, kept));
            let slot = K::BITS as u64 / 8;
            assert_eq!(kept, (set.slots() * slot).next_multiple_of(8) + 72);
            assert_eq!(config.scratch_bytes::<K>(n as u64).unwrap(), 0);
            only(&counts.allocations, 0, || set.rebuild(stream, &input)).unwrap();
            let mut found = Buffer::zeroed(&device, n.div_ceil(32)).unwrap();
            only(&counts.allocations, 0, || set.contains_many_into(stream, &input, &mut found)).unwrap();
            let there: u32 = found.download(stream).unwrap().iter().map(|word| word.count_ones()).sum();
            assert_eq!(there as usize, n);
        }
    }
    for config in [default(), default().functions(2).slots_per_key(2.1), default().slots_per_key(1.03).restarts(500)] {
        with::<u32>(&config);
        with::<u64>(&config);
    }
}
