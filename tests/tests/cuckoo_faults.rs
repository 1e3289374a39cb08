//! Failures that come from the device: too little memory, a wrong device, a launch that fails; and what a map is afterwards.

use gpu_kernels::roofline::Copy;
use std::sync::atomic::Ordering::Relaxed;
use warpnest::{Buffer, CuckooConfig, CuckooMap, Device, Error};
use warpnest_tests::{assert_wrong_device, counting, distinct_keys, elsewhere, engines, faulty, null, says};

fn assert_out_of_memory(error: Error, device: &Device, asked: u64) {
    says(&error, &[&asked.to_string(), device.name(), "take less", "free buffers"]);
    let Error::OutOfMemory { asked: figure, free, device: name } = error else { panic!("{error:?}") };
    assert_eq!((figure, name.as_str()), (asked, device.name()));
    assert!(free < asked && free > 0, "{free} bytes free, {asked} asked for");
}

#[test]
fn a_table_larger_than_the_memory_is_refused_with_what_was_asked_and_what_is_free() {
    for engine in engines() {
        let device = &engine.device;
        // The largest table of wide slots has 64 GiB. Where there is room for it, only the buffers below are too large.
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
        // So many that their bytes cannot be counted.
        assert_out_of_memory(Buffer::<u64>::zeroed(device, usize::MAX).unwrap_err(), device, u64::MAX);
        assert_out_of_memory(Buffer::<u32>::zeroed(device, most * 4).unwrap_err(), device, u64::MAX);
        // The device goes on as before.
        let map = CuckooMap::build(device, &[1u32], &[2u32]).unwrap();
        assert_eq!(map.get_many(&[1, 2]).unwrap(), [Some(2), None]);
    }
}

#[test]
fn a_device_is_chosen_by_name_and_a_name_that_is_none_says_what_would_be() {
    assert_eq!("cpu".parse::<Device>().unwrap(), Device::cpu());
    assert!("best".parse::<Device>().is_ok());
    for name in ["", "gpu", "cpu:0", "cuda:", "cuda:-1", "cuda:x", "CPU"] {
        let error = name.parse::<Device>().unwrap_err();
        assert_eq!(error, Error::DeviceName { asked: name.to_owned() });
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
            Err(_) if cfg!(feature = "cuda") => &["driver"],
            Err(_) => &["feature `cuda`", "build it with that", "the CPU"],
        };
        says(&error, advice);
        says(&error, &[&ordinal.to_string()]);
        assert!(matches!(error, Error::NoDevice { ordinal: figure, .. } if figure == ordinal), "{error:?}");
    }
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    for engine in engines() {
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

        let build = |stream, keys, values| CuckooConfig::default().build_on(stream, here, keys, values);
        assert_wrong_device(build(foreign, &ours, &ours).unwrap_err(), "the stream", there, here);
        assert_wrong_device(build(stream, &theirs, &ours).unwrap_err(), "the buffer of keys", there, here);
        assert_wrong_device(build(stream, &ours, &theirs).unwrap_err(), "the buffer of values", there, here);

        let map = build(stream, &ours, &ours).unwrap();
        assert_wrong_device(map.get_many_on(stream, &theirs).unwrap_err(), a_buffer, there, here);
        assert_wrong_device(map.get_many_on(foreign, &ours).unwrap_err(), a_buffer, here, there);
        let mut found = Buffer::zeroed(there, 1).unwrap();
        assert_wrong_device(map.contains_many_into(stream, &ours, &mut found).unwrap_err(), a_buffer, there, here);
        let answers = map.get_many_on(stream, &ours).unwrap();
        assert_wrong_device(answers.download(foreign).unwrap_err(), a_buffer, here, there);
        assert_eq!(answers.download(stream).unwrap(), [Some(1), Some(2)]);
    }
}

#[test]
fn a_rebuild_with_something_of_another_device_leaves_the_map_as_it_was() {
    for engine in engines() {
        let (here, there) = (&engine.device, &elsewhere());
        let (stream, foreign) = (here.default_stream(), there.default_stream());
        let keys: Vec<u32> = distinct_keys(100, 3);
        let (ours, theirs) = (Buffer::from_slice(here, &keys).unwrap(), Buffer::from_slice(there, &keys).unwrap());
        let mut map = CuckooConfig::default().build(here, &keys, &keys).unwrap();
        let report = map.report().clone();
        assert_wrong_device(map.rebuild(foreign, &ours, &ours).unwrap_err(), "the stream", there, here);
        assert_wrong_device(map.rebuild(stream, &theirs, &ours).unwrap_err(), "the buffer of keys", there, here);
        assert_wrong_device(map.rebuild(stream, &ours, &theirs).unwrap_err(), "the buffer of values", there, here);
        let expected: Vec<Option<u32>> = keys.iter().map(|&key| Some(key)).collect();
        assert_eq!(map.get_many(&keys).unwrap(), expected, "on {}", here.name());
        assert_eq!((map.len(), map.report()), (100, &report));
    }
}

#[test]
fn a_grid_with_too_many_blocks_is_refused_and_one_with_none_does_nothing() {
    let limit = i32::MAX as u32;
    for engine in engines() {
        let nowhere = Copy { source: null(), target: null(), words: u64::MAX };
        let stream = engine.device.default_stream();
        for threads in [limit as u64 * 256 + 1, u64::MAX] {
            // SAFETY: the launch is refused.
            let error = unsafe { stream.launch(&nowhere, threads, &[], &[]) }.unwrap_err();
            assert_eq!(error, Error::GridTooLarge { threads, block: 256, limit });
            says(&error, &[&threads.to_string(), "256", &limit.to_string(), "in several batches"]);
        }
        // SAFETY: no thread runs.
        unsafe { stream.launch(&nowhere, 0, &[], &[]) }.unwrap();
        stream.synchronize().unwrap();
    }
}

#[test]
fn whichever_launch_of_a_rebuild_fails_the_map_is_empty_and_can_be_built_again() {
    let (device, good_launches) = faulty();
    let (old, mut new): (Vec<u32>, Vec<u32>) = (distinct_keys(300, 1), distinct_keys(200, 2));
    // Repeated keys, so that all the kernels of a build run; and the key with a cell of its own.
    new.extend_from_within(..100);
    new[7] = u32::MAX;
    let new_values: Vec<u64> = (0..300).collect();
    let stream = device.default_stream();
    let (keys, values) =
        (Buffer::from_slice(&device, &new).unwrap(), Buffer::from_slice(&device, &new_values).unwrap());
    let mut kernels = Vec::new();
    for good in 0.. {
        good_launches.store(u32::MAX, Relaxed);
        let mut map = CuckooConfig::default().build(&device, &old, &[5u64; 300]).unwrap();
        good_launches.store(good, Relaxed);
        let rebuilt = map.rebuild(stream, &keys, &values);
        good_launches.store(u32::MAX, Relaxed);
        if let Err(error) = &rebuilt {
            let Error::Kernel { kernel, .. } = error else { panic!("{error}") };
            kernels.push(kernel.clone());
            let once: Vec<u32> = old.iter().chain(&new).copied().collect();
            assert_eq!(map.get_many(&once).unwrap(), vec![None; 600], "after {kernel} failed");
            assert_eq!((map.len(), map.to_pairs().unwrap()), (0, vec![]));
            map.rebuild(stream, &keys, &values).unwrap();
        }
        let last: std::collections::HashMap<u32, u64> = new.iter().copied().zip(0..).collect();
        let expected: Vec<Option<u64>> = new.iter().map(|key| last.get(key).copied()).collect();
        assert_eq!(map.get_many(&new).unwrap(), expected);
        if rebuilt.is_ok() {
            break;
        }
    }
    let names = ["cuckoo_insert", "cuckoo_census", "cuckoo_last", "cuckoo_place_values"];
    assert_eq!(kernels, names.map(|name| format!("{name}_u32_u64")));
}

#[test]
fn only_repeated_keys_need_memory_in_a_rebuild_and_without_it_the_map_is_empty() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let unique: Vec<u32> = distinct_keys(300, 1);
    let repeated: Vec<u32> = unique[..150].repeat(2);
    let [unique, repeated] = [unique, repeated].map(|keys| Buffer::from_slice(&device, &keys).unwrap());
    let mut map = CuckooConfig::default().build_on(stream, &device, &unique, &unique).unwrap();
    let mut answers = map.get_many_on(stream, &unique).unwrap();
    let mut found = Buffer::zeroed(&device, 300usize.div_ceil(32)).unwrap();

    counts.allocations.store(0, Relaxed);
    map.rebuild(stream, &unique, &unique).unwrap();
    map.get_many_into(stream, &unique, &mut answers).unwrap();
    map.contains_many_into(stream, &unique, &mut found).unwrap();
    assert!(answers.download(stream).unwrap().iter().all(Option::is_some));
    assert!(matches!(map.get_many(&[1]), Err(Error::OutOfMemory { .. })));
    let error = map.rebuild(stream, &repeated, &repeated).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert_eq!((map.len(), map.to_pairs().unwrap()), (0, vec![]));
    map.get_many_into(stream, &unique, &mut answers).unwrap();
    assert_eq!(answers.download(stream).unwrap(), [None; 300]);

    counts.allocations.store(u32::MAX, Relaxed);
    map.rebuild(stream, &repeated, &repeated).unwrap();
    assert_eq!(map.len(), 150);
}
