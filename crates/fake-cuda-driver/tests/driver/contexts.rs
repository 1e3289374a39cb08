//! Tests that every call leaves the current context of a thread as it found it.

use crate::{Session, work};
use warpnest::{Buffer, Device, PageMap};

/// A context that belongs to no library.
const FOREIGN: usize = 0xf00;

#[test]
fn every_call_and_every_drop_leaves_the_context_that_it_found() {
    let session = Session::new();
    let device = session.device(0);
    for current in [FOREIGN, 0] {
        session.driver.set_current(current);
        for (name, work) in work::ALL {
            work(&device, &mut || assert_eq!(session.driver.current(), current, "{name}")).unwrap();
            assert_eq!(session.driver.current(), current, "{name}: drops");
        }
        device.load_kernels().unwrap();
        assert_eq!(session.driver.current(), current);
        // One device is created here, and a lost device is created anew.
        drop(session.device(1));
        assert_eq!(session.driver.current(), current);
    }
}

#[test]
fn a_call_that_fails_leaves_the_context_that_it_found() {
    let session = Session::new();
    let device = session.device(0);
    // With work of another stream, events are recorded.
    let other = device.stream().unwrap();
    drop(Buffer::<u32>::zeroed(&other.device(), 1).unwrap());
    session.driver.set_current(FOREIGN);
    for call in ["cuMemAlloc_v2", "cuStreamCreate", "cuEventCreate", "cuLaunchKernel", "cuMemcpyHtoDAsync_v2"] {
        session.driver.plant(fake_cuda_driver::Fault::next(call, 999));
        let (keys, values) = work::pairs(0, 20);
        let built = device.stream().and_then(|_| PageMap::build(&device, &keys, &values).map(drop));
        assert!(built.is_err(), "{call}");
        assert_eq!(session.driver.current(), FOREIGN, "{call}");
    }
}

#[test]
fn where_the_context_is_current_already_nothing_is_set() {
    let session = Session::new();
    let device = session.device(0);
    let (keys, values) = work::pairs(0, 20);
    let map = PageMap::build(&device, &keys, &values).unwrap();
    let queries = Buffer::from_slice(&device, &keys).unwrap();
    let stream = device.stream().unwrap();
    map.get_many_on(&stream, &queries).unwrap();
    session.driver.set_current(primary(&device));
    let (set, all) = (session.driver.calls("cuCtxSetCurrent"), session.driver.all_calls());
    map.get_many_on(&stream, &queries).unwrap();
    assert_eq!(session.driver.calls("cuCtxSetCurrent"), set);
    assert!(session.driver.all_calls() > all);
}

/// Returns the primary context of a device, according to `cudarc`.
fn primary(_device: &Device) -> usize {
    cudarc::driver::CudaContext::new(0).unwrap().cu_ctx() as usize
}

#[test]
fn what_is_dropped_on_a_thread_without_a_context_is_gone() {
    let session = Session::new();
    let device = session.device(0);
    let dropped = || {
        let stream = device.stream().unwrap();
        let event = stream.record().unwrap();
        let buffer = Buffer::<u32>::zeroed(&device, 1000).unwrap();
        assert_eq!(buffer.download(&stream).unwrap(), [0; 1000]);
        std::thread::spawn(move || drop((stream, event, buffer))).join().unwrap();
        session.held(&device)
    };
    // The device's own stream keeps the event that was waited for first.
    let (before, after) = (dropped(), dropped());
    assert_eq!((before.streams, before.events, before.allocations), (after.streams, after.events, after.allocations));
}
