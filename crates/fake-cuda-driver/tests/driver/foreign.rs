//! Tests of other libraries' memory and streams, given by address and handle. All work is deferred
//! until a call waits for it, so a missing event causes a wrong result.

use crate::{Session, waits, without_waiting, work};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use warpnest::error::InputError;
use warpnest::{Buffer, Device, Error, PageMap, Stream};

/// Returns a device whose work is deferred, and a buffer that stands for another library's memory.
fn deferred(session: &Session, length: usize) -> (Device, Buffer<u32>) {
    let device = session.device(0);
    let memory = Buffer::zeroed(&device, length).unwrap();
    device.default_stream().synchronize().unwrap();
    session.driver.set_current(0);
    session.driver.defer(true);
    (device, memory)
}

/// Returns a buffer on another buffer's memory. The uses of the two buffers are not ordered.
fn on(device: &Device, memory: &Buffer<u32>) -> Buffer<u32> {
    // SAFETY: the tests order the uses of `memory` by events, or expect the wrong results.
    unsafe { Buffer::from_foreign(device, memory.address(), memory.len()) }.unwrap()
}

/// Fills another library's memory on one of its streams, by the driver's own functions.
fn fill(device: &Device, theirs: &Stream, memory: &Buffer<u32>, byte: u8) {
    on(device, memory).slice_mut(..).unwrap().fill(theirs, byte).unwrap();
}

/// Returns how many events were recorded, and how often a stream was made to wait for an event.
fn events(session: &Session) -> [u64; 2] {
    ["cuEventRecord", "cuStreamWaitEvent"].map(|call| session.driver.calls(call))
}

#[test]
fn work_waits_for_a_stream_of_others_and_they_wait_for_it_and_the_host_for_neither() {
    let session = Session::new();
    let (device, mut memory) = deferred(&session, 300);
    let (theirs, ours) = (device.stream().unwrap(), device.stream().unwrap());
    let (keys, values) = work::pairs(0, 300);
    let map = PageMap::build(&device, &keys, &values).unwrap();
    let handle = work::handle(&theirs).unwrap();
    memory.upload(&theirs, &keys).unwrap();
    for round in 0..3 {
        let mut next = Buffer::<u32>::zeroed(&device, 300).unwrap();
        next.copy_from(&theirs, &memory).unwrap();
        let before = events(&session);
        let answers = without_waiting(&session, || {
            // SAFETY: the stream lives, and so does the memory, which is written on that stream.
            unsafe { ours.wait_for_foreign(handle) }.unwrap();
            assert_eq!(events(&session), [before[0] + 1, before[1] + 1]);
            let queries = on(&device, &next);
            let answers = map.get_many_on(&ours, &queries).unwrap();
            queries.hand_back(&ours).unwrap();
            let before = events(&session);
            // SAFETY: the stream lives.
            unsafe { ours.release_to_foreign(handle) }.unwrap();
            assert_eq!(events(&session), [before[0] + 1, before[1] + 1]);
            answers
        });
        // The fill would be done before the lookup if nothing made it wait.
        next.fill(&theirs, 0xee).unwrap();
        theirs.synchronize().unwrap();
        assert_eq!(answers.download(&ours).unwrap(), values.iter().copied().map(Some).collect::<Vec<_>>(), "{round}");
    }
}

#[test]
fn without_the_events_the_fake_driver_shows_that_nothing_is_ordered() {
    let session = Session::new();
    let (device, memory) = deferred(&session, 100);
    let (theirs, ours) = (device.stream().unwrap(), device.stream().unwrap());
    let handle = work::handle(&theirs).unwrap();
    let mut copy = Buffer::<u32>::zeroed(&device, 100).unwrap();
    let mut read = |waits: bool| {
        fill(&device, &device.stream().unwrap(), &memory, 1);
        let other = on(&device, &memory);
        let mut part = on(&device, &memory);
        part.fill(&theirs, 2).unwrap();
        if waits {
            // SAFETY: the stream lives.
            unsafe { ours.wait_for_foreign(handle) }.unwrap();
        }
        copy.copy_from(&ours, &other).unwrap();
        copy.download(&ours).unwrap()[99]
    };
    assert_eq!(read(false), 0x0101_0101);
    assert_eq!(read(true), 0x0202_0202);
}

#[test]
fn a_buffer_that_is_handed_back_holds_up_the_stream_and_is_not_waited_for() {
    let session = Session::new();
    let (device, memory) = deferred(&session, 200);
    let [one, two, last] = [(); 3].map(|()| device.stream().unwrap());
    let allocations = session.held(&device).allocations;
    let mut copies = [(); 2].map(|()| Buffer::<u32>::zeroed(&device, 200).unwrap());
    without_waiting(&session, || {
        let mut theirs = on(&device, &memory);
        theirs.fill(&one, 3).unwrap();
        // Both copies read the values that were written on the first stream.
        copies[0].copy_from(&one, &theirs).unwrap();
        copies[1].copy_from(&two, &theirs).unwrap();
        theirs.hand_back(&last).unwrap();
        let mut again = on(&device, &memory);
        again.fill(&last, 4).unwrap();
        again.hand_back(&last).unwrap();
    });
    last.synchronize().unwrap();
    for copy in &copies {
        assert_eq!(copy.download(&device.stream().unwrap()).unwrap(), [0x0303_0303; 200]);
    }
    assert_eq!(session.held(&device).allocations, allocations, "it was freed, or the copies share no memory");
    // The drop of a buffer waits for its work.
    let mut dropped = on(&device, &memory);
    dropped.fill(&one, 5).unwrap();
    let before = waits(&session);
    drop(dropped);
    assert!(waits(&session) > before);
    // An empty buffer has no memory, so it may have any address.
    let mut copy = Buffer::<u32>::zeroed(&device, 0).unwrap();
    without_waiting(&session, || {
        // SAFETY: the buffer has no elements.
        let none = unsafe { Buffer::<u32>::from_foreign(&device, 3, 0) }.unwrap();
        assert!(none.is_empty());
        copy.copy_from(&one, &none).unwrap();
        none.hand_back(&one).unwrap();
    });
}

#[test]
fn memory_of_the_librarys_own_that_is_handed_back_is_freed() {
    let session = Session::new();
    let device = session.device(0);
    let before = session.held(&device);
    let mut buffer = Buffer::<u32>::zeroed(&device, 100).unwrap();
    buffer.fill(device.default_stream(), 1).unwrap();
    buffer.hand_back(device.default_stream()).unwrap();
    assert_eq!(session.held(&device).allocations, before.allocations);
}

#[test]
fn the_default_stream_is_a_stream_of_others_by_null() {
    let session = Session::new();
    let (device, memory) = deferred(&session, 50);
    let ours = device.stream().unwrap();
    let before = events(&session);
    let theirs = without_waiting(&session, || {
        // SAFETY: the default stream lives, and nobody else uses the memory.
        unsafe { ours.wait_for_foreign(null_mut()) }.unwrap();
        let mut theirs = on(&device, &memory);
        theirs.fill(&ours, 9).unwrap();
        theirs
    });
    theirs.hand_back(&ours).unwrap();
    // SAFETY: as above.
    unsafe { ours.release_to_foreign(null_mut()) }.unwrap();
    assert!(events(&session)[1] >= before[1] + 2);
    assert_eq!(on(&device, &memory).download(&ours).unwrap(), [0x0909_0909; 50]);
}

#[test]
fn what_is_no_stream_or_not_where_kernels_can_read_it_is_an_error() {
    let session = Session::new();
    let device = session.device(0);
    let stream = device.default_stream();
    let held = session.held(&device);
    let handle: *mut c_void = without_provenance_mut(0x77);
    // SAFETY: the fake driver refuses handles that it did not create.
    let refused = unsafe { [stream.wait_for_foreign(handle), stream.release_to_foreign(handle)] };
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(error, Error::Driver { code: 400, .. }), "{error:?}");
    }
    assert_eq!(session.driver.violations().len(), 2);
    for address in [0x1_0001, 0x1_0004, 0x1_0008] {
        // SAFETY: the call makes no buffer.
        let error = unsafe { Buffer::<u32>::from_foreign(&device, address, 1) }.unwrap_err();
        assert_eq!(error, Error::Input(InputError::Misaligned { address: address as u64, alignment: 16 }));
    }
    assert_eq!(session.held(&device), held);
}
