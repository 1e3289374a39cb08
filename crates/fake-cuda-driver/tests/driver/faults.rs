//! Tests in which each call of the driver fails in turn.

use crate::{Session, assert_tells, work};
use fake_cuda_driver::Fault;
use warpnest::{Device, Error, ExtendibleMap};

/// Runs `work` once for every `step`th call, and makes that call fail. `device` returns the device
/// for each run, with or without loaded kernels. Returns the count of runs that failed.
fn each_call(session: &Session, device: impl Fn() -> Device, fault: Fault, work: work::Work, step: usize) -> u64 {
    let mut failed = 0;
    for before in (0..).step_by(step) {
        let device = device();
        session.driver.plant(fault.skipping(before));
        let done = work(&device, &mut || ());
        if session.driver.clear() {
            assert_eq!(done, Ok(()), "no call failed");
            break;
        }
        if let Err(error) = done {
            assert_tells(&error, fault.code);
            failed += 1;
        }
        // The failure did not damage the device.
        let checked = work::buffers(&device, &mut || ());
        assert_eq!(checked, Ok(()), "{fault:?} after {before} calls");
        session.driver.set_current(0);
    }
    failed
}

/// Returns the name and the function of each piece of work, and the step between failing calls.
fn works() -> impl Iterator<Item = (&'static str, work::Work, usize)> {
    work::ALL.into_iter().map(|(name, work)| (name, work, if name == "extendible map" { 11 } else { 1 }))
}

#[test]
fn whichever_call_finds_no_memory_it_is_out_of_memory() {
    let session = Session::new();
    let device = session.device(0);
    for (name, work, step) in works() {
        let failed = each_call(&session, || device.clone(), Fault::after(0, 2), work, step);
        assert!(failed > 5, "{name}: {failed} calls failed");
    }
}

#[test]
fn whichever_call_fails_its_number_is_told_even_if_nobody_knows_it() {
    let session = Session::new();
    let device = session.device(1);
    for (name, work, step) in works() {
        let failed = each_call(&session, || device.clone(), Fault::after(0, 4242), work, step);
        assert!(failed > 5, "{name}: {failed} calls failed");
    }
}

#[test]
fn a_context_that_cannot_be_made_current_is_an_error() {
    let session = Session::new();
    let device = session.device(0);
    for call in ["cuCtxGetCurrent", "cuCtxSetCurrent"] {
        let failed = each_call(&session, || device.clone(), Fault::next(call, 4242), work::streams, 1);
        assert!(failed > 10, "{call}: {failed} calls failed");
    }
}

#[test]
fn whichever_call_of_a_first_use_fails_the_next_use_is_whole() {
    let session = Session::new();
    let failed = each_call(&session, || session.device(0), Fault::after(0, 999), work::page, 1);
    assert!(failed > 30, "{failed} calls failed");
}

#[test]
fn an_insertion_into_an_extendible_map_that_fails_loses_nothing_or_says_that_the_map_is_empty() {
    let session = Session::new();
    let device = session.device(0);
    let (keys, values) = work::pairs(0, 120);
    let fresh = || {
        let mut map = work::small(&device).unwrap();
        map.insert_many(&keys[..60], &values[..60]).unwrap();
        map
    };
    let insert = |map: &mut ExtendibleMap<u32, u32>| map.insert_many(&keys[60..], &values[60..]);
    // The first kernels are slow in the interpreter, and the last kernels change the table. So
    // fewer of the first calls are tried.
    let mut map = fresh();
    let start = session.driver.working_calls();
    insert(&mut map).unwrap();
    let calls = session.driver.working_calls() - start;
    let mut map = fresh();
    let (mut kept, mut emptied) = (0, 0);
    for before in (0..calls * 2 / 3).step_by(15).chain(calls * 2 / 3..calls) {
        let code = if before % 4 < 2 { 2 } else { 4242 };
        session.driver.plant(Fault::after(before, code));
        let inserted = insert(&mut map);
        if session.driver.clear() {
            // Memory that an earlier insertion allocated is reused, so later insertions make fewer
            // calls.
            assert_eq!(inserted, Ok(60));
            break;
        }
        let expected = match &inserted {
            Ok(added) => {
                assert_eq!(*added, 60);
                120
            }
            Err(error) => {
                assert_tells(error, code);
                assert_eq!(matches!(error, Error::Emptied { .. }), map.is_empty(), "{error}");
                map.len()
            }
        };
        assert_eq!(map.len(), expected);
        match expected {
            0 => emptied += 1,
            60 => kept += 1,
            _ => assert_eq!(inserted, Ok(60)),
        }
        let found = map.get_many(&keys).unwrap();
        for (i, found) in found.into_iter().enumerate() {
            assert_eq!(found, (i < expected as usize).then_some(values[i]), "{code} after {before}: {i}");
        }
        if expected != 60 {
            map.clear().unwrap();
            map.insert_many(&keys[..60], &values[..60]).unwrap();
        }
    }
    assert!(kept > 5 && emptied > 3, "kept {kept}, emptied {emptied}");
}

#[test]
fn the_message_of_a_driver_without_memory_for_itself_says_so() {
    let session = Session::new();
    let device = session.device(0);
    session.driver.plant(Fault::next("cuStreamCreate", 2));
    let error = device.stream().unwrap_err();
    let Error::OutOfMemory { asked: 0, free, .. } = error else { panic!("{error:?}") };
    assert!(free > 0 && error.to_string().contains("for the driver itself"), "{error}");
    session.driver.plant(Fault::next("cuMemAlloc_v2", 2).lasting());
    let error = warpnest::Buffer::<u32>::zeroed(&device, 25).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { asked: 100, .. }), "{error:?}");
    session.driver.clear();
    let error = warpnest::Buffer::<u64>::zeroed(&device, fake_cuda_driver::TOTAL_MEMORY).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error:?}");
}

#[test]
fn without_page_locked_memory_words_come_by_a_copy() {
    let session = Session::new();
    for call in ["cuMemAllocHost_v2", "cuMemHostGetDevicePointer_v2"] {
        let device = session.device(0);
        session.driver.plant(Fault::next(call, 2));
        work::buffers(&device, &mut || ()).unwrap();
        assert!(!session.driver.clear(), "{call} was not called");
        let copies = session.driver.calls("cuMemcpyDtoHAsync_v2");
        let buffer = warpnest::Buffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
        session.driver.plant(Fault::next(call, 2));
        assert_eq!(buffer.download(&device.stream().unwrap()).unwrap(), [1, 2, 3]);
        assert_eq!(session.driver.calls("cuMemcpyDtoHAsync_v2"), copies + 1);
    }
}

#[test]
fn words_that_do_not_come_are_an_error_and_not_a_wait_for_ever() {
    let session = Session::new();
    let device = session.device(0);
    let stream = device.stream().unwrap();
    let buffer = warpnest::Buffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
    assert_eq!(buffer.download(&stream).unwrap(), [1, 2, 3]);
    session.driver.plant(Fault::next(fake_cuda_driver::IN_KERNEL, 719));
    assert_tells(&buffer.download(&stream).unwrap_err(), 719);
    drop((buffer, stream, device));

    let device = session.device(0);
    session.driver.defer(true);
    let stream = device.stream().unwrap();
    let buffer = warpnest::Buffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
    session.driver.plant(Fault::next(fake_cuda_driver::IN_KERNEL, 719));
    assert_tells(&buffer.download(&stream).unwrap_err(), 719);
}
