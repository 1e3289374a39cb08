//! Device failures and the state of a map afterwards: too little memory, a wrong device, and a
//! launch that fails.

use gpu_kernels::primitives::iota::{Iota, IotaParams};
use std::sync::atomic::Ordering::Relaxed;
use warpnest::cuckoo::CuckooReport;
use warpnest::error::{ConfigError, InputError};
use warpnest::{Buffer, CuckooConfig, CuckooMap, Device, Error};
use warpnest_tests::built::faults::{failing_allocations, failing_launches, memory_is_as_said};
use warpnest_tests::{TestEngine, assert_wrong_device, counting, distinct_keys, elsewhere, null, parameterized, says};

fn config() -> CuckooConfig {
    CuckooConfig::default().seed(2)
}

fn assert_out_of_memory(error: Error, device: &Device, asked: u64) {
    let figure = if asked == u64::MAX { "more bytes than any device has".to_owned() } else { format!("{asked} bytes") };
    says(&error, &[&figure, device.name(), "take less", "free buffers"]);
    let Error::OutOfMemory { asked: figure, free, total, device: name } = error else { panic!("{error:?}") };
    assert_eq!((figure, name.as_str()), (asked, device.name()));
    assert!(free < asked && (1..=total).contains(&free), "{free} bytes free of {total}, {asked} asked for");
}

#[parameterized]
fn a_table_larger_than_the_memory_is_refused_with_what_was_asked_and_what_is_free(engine: &TestEngine) {
    let device = &engine.device;
    // The largest table of 64-bit pairs has 64 GiB. If a device has enough memory for it, only the
    // buffers below are too large.
    let bytes = ((1 << 32) - 2) * 16;
    if device.memory().unwrap().free < bytes {
        let config = CuckooConfig::default().slots((1 << 32) - 2);
        assert_out_of_memory(config.build::<u64, u64>(device, &[], &[]).unwrap_err(), device, bytes);
        assert_out_of_memory(config.build::<u64, u32>(device, &[1], &[2]).unwrap_err(), device, bytes);
    }
    let more = (device.memory().unwrap().free + (8 << 30)) / 8;
    assert_out_of_memory(Buffer::<u64>::zeroed(device, more as usize).unwrap_err(), device, 8 * more);
    let most = usize::MAX / 8;
    assert_out_of_memory(Buffer::<u64>::zeroed(device, most).unwrap_err(), device, 8 * most as u64);
    // The bytes of these buffers exceed 64 bits.
    assert_out_of_memory(Buffer::<u64>::zeroed(device, usize::MAX).unwrap_err(), device, u64::MAX);
    assert_out_of_memory(Buffer::<u32>::zeroed(device, most * 4).unwrap_err(), device, u64::MAX);
    // The device still works.
    let map = CuckooMap::build(device, &[1u32], &[2u32]).unwrap();
    assert_eq!(map.get_many(&[1, 2]).unwrap(), [Some(2), None]);
}

#[test]
fn a_device_is_chosen_by_name_and_a_name_that_is_none_says_what_would_be() {
    assert_eq!("cpu".parse::<Device>().unwrap(), Device::cpu());
    assert!("best".parse::<Device>().is_ok());
    for name in ["", "gpu", "cpu:0", "cuda:", "cuda:-1", "cuda:x", "CPU"] {
        let error = name.parse::<Device>().unwrap_err();
        assert_eq!(error, Error::Config(ConfigError::DeviceName { asked: name.to_owned() }));
        assert!(error.to_string().contains("best, cpu, cuda or cuda:N"), "{error}");
    }
    assert!(matches!("cuda:9999".parse::<Device>(), Err(Error::NoDevice { ordinal: 9999, .. })));
}

#[test]
fn a_cuda_device_that_is_not_there_says_what_to_do() {
    for ordinal in [9999, u32::MAX] {
        let error = Device::cuda(ordinal).unwrap_err();
        let advice: &[&str] = match Device::cuda(0) {
            Ok(_) => &["numbered from 0"],
            Err(_) => &["driver"],
        };
        says(&error, advice);
        says(&error, &[&ordinal.to_string()]);
        assert!(matches!(error, Error::NoDevice { ordinal: figure, .. } if figure == ordinal), "{error:?}");
    }
}

#[parameterized]
fn what_belongs_to_another_device_is_refused(engine: &TestEngine) {
    let (here, there) = (&engine.device, &elsewhere());
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    let mut ours = Buffer::from_slice(here, &[1u32, 2]).unwrap();
    let mut theirs = Buffer::from_slice(there, &[3u32, 4]).unwrap();
    let a_buffer = "a buffer";

    assert_wrong_device(ours.upload(foreign, &[7, 8]).unwrap_err(), a_buffer, here, there);
    assert_wrong_device(ours.fill(foreign, 7).unwrap_err(), a_buffer, here, there);
    assert_wrong_device(ours.download(foreign).unwrap_err(), a_buffer, here, there);
    assert_wrong_device(ours.copy_from(stream, &theirs).unwrap_err(), a_buffer, there, here);
    assert_wrong_device(theirs.copy_from(stream, &ours).unwrap_err(), a_buffer, there, here);
    assert_eq!(ours.download(stream).unwrap(), [1, 2]);
    assert_eq!(theirs.download(foreign).unwrap(), [3, 4]);
}

#[parameterized]
fn a_grid_with_too_many_blocks_is_refused_and_one_with_none_does_nothing(engine: &TestEngine) {
    let limit = i32::MAX as u32;
    let plan = IotaParams { items: u64::MAX, first: 0, padding: 0 };
    let nowhere = || Iota { output: null(), plan };
    let stream = engine.device.default_stream();
    for threads in [limit as u64 * 256 + 1, u64::MAX] {
        // SAFETY: the launch is refused.
        let error = unsafe { stream.launch(threads as usize, |_| nowhere()) }.unwrap_err();
        assert_eq!(error, Error::Input(InputError::GridTooLarge { threads, block: 256, limit }));
        says(&error, &[&threads.to_string(), "256", &limit.to_string(), "in several batches"]);
    }
    // SAFETY: no thread runs.
    unsafe { stream.launch(0, |_| nowhere()) }.unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let mut keys: Vec<u32> = distinct_keys(200, 2);
    // Keys are repeated, so all kernels of a build run, and the key with a cell of its own is
    // included.
    keys.extend_from_within(..100);
    keys[7] = u32::MAX;
    // The slots are enough for the larger of the rebuilds.
    let kernels = failing_launches(&config().slots(375), &keys, |map| assert!(map.report().repeated_keys));
    let names = ["cuckoo_insert", "cuckoo_census", "cuckoo_last", "cuckoo_store_values"];
    assert_eq!(kernels, names.map(|name| format!("{name}_u32_u64")));
}

#[test]
fn the_one_allocation_of_a_rebuild_is_for_repeated_keys_and_if_it_fails_the_map_is_empty() {
    let unique: Vec<u64> = distinct_keys(300, 2);
    let repeated = unique[..150].repeat(2);
    for (keys, is_repeated) in [(unique, false), (repeated, true)] {
        let own = |report: &CuckooReport| assert_eq!(report.repeated_keys, is_repeated);
        assert_eq!(failing_allocations(&config().slots(375), &keys, |map| own(map.report())), is_repeated as usize);
    }
}

#[test]
fn a_build_takes_the_memory_that_was_said_beforehand_and_keeps_it() {
    for pairs in [0, 1, 2, 300, 4097, 100_000] {
        for config in [config(), config().assume_unique(), config().functions(2).slots_per_pair(2.1)] {
            memory_is_as_said(&config, pairs, |report| assert!(!report.repeated_keys));
        }
    }
}

#[test]
fn only_repeated_keys_need_memory_in_a_rebuild_and_without_it_the_map_is_empty() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let unique: Vec<u32> = distinct_keys(300, 1);
    let repeated: Vec<u32> = unique[..150].repeat(2);
    let [unique, repeated] = [unique, repeated].map(|keys| Buffer::from_slice(&device, &keys).unwrap());
    let mut map = CuckooConfig::default().build(&device, &unique, &unique).unwrap();
    let mut answers = map.get_many_on(stream, &unique).unwrap();
    let mut found = Buffer::zeroed(&device, 300usize.div_ceil(32)).unwrap();

    counts.allocations.store(0, Relaxed);
    map.rebuild(&unique, &unique).unwrap();
    map.get_many_into(stream, &unique, &mut answers).unwrap();
    map.contains_many_into(stream, &unique, &mut found).unwrap();
    assert!(answers.download(stream).unwrap().iter().all(Option::is_some));
    assert!(matches!(map.get_many(&[1]), Err(Error::OutOfMemory { .. })));
    let error = map.rebuild(&repeated, &repeated).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    map.get_many_into(stream, &unique, &mut answers).unwrap();
    assert_eq!(answers.download(stream).unwrap(), [None; 300]);

    counts.allocations.store(u32::MAX, Relaxed);
    assert_eq!((map.len(), map.to_pairs().unwrap()), (0, vec![]));
    map.rebuild(&repeated, &repeated).unwrap();
    assert_eq!(map.len(), 150);
}
