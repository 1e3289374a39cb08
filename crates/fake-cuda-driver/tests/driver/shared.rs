//! Tests of memory and streams shared with `cudarc`, which uses the same driver. All work is
//! deferred until a call waits for it, so a missing event causes a wrong result.

use crate::{Session, without_waiting, work};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use std::sync::Arc;
use warpnest::error::InputError;
use warpnest::{Buffer, Device, Error, PageMap, Stream};

/// Returns a device and two streams of `cudarc` on it.
fn streams(session: &Session) -> (Device, Arc<CudaContext>, Arc<CudaStream>, Arc<CudaStream>) {
    let device = session.device(0);
    let context = CudaContext::new(0).unwrap();
    let (one, two) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    session.driver.set_current(0);
    session.driver.defer(true);
    (device, context, one, two)
}

#[test]
fn a_slice_that_is_taken_over_has_what_was_queued_for_it_and_is_freed() {
    let session = Session::new();
    let (device, _context, one, two) = streams(&session);
    let before = session.held(&device).allocations;
    let numbers: Vec<u32> = (0..3000).collect();
    let mut slice: CudaSlice<u32> = one.alloc_zeros(3000).unwrap();
    two.memcpy_htod(&numbers, &mut slice).unwrap();
    session.driver.set_current(0);
    let buffer = without_waiting(&session, || Buffer::from_cudarc(&device, slice)).unwrap();
    assert_eq!(buffer.download(&device.stream().unwrap()).unwrap(), numbers);
    drop(buffer);
    assert_eq!(session.held(&device).allocations, before);
}

#[test]
fn a_buffer_that_is_given_away_has_what_was_queued_for_it_on_every_stream() {
    let session = Session::new();
    let (device, _context, one, two) = streams(&session);
    let before = session.held(&device).allocations;
    let (ours, mut buffer) = (device.stream().unwrap(), Buffer::<u32>::zeroed(&device, 3000).unwrap());
    buffer.fill(&ours, 7).unwrap();
    let slice = without_waiting(&session, || buffer.into_cudarc(&one)).unwrap();
    // The copy uses another stream than above.
    assert_eq!(two.clone_dtoh(&slice).unwrap(), [0x0707_0707; 3000]);
    drop(slice);
    one.synchronize().unwrap();
    assert_eq!(session.held(&device).allocations, before);
    let empty = Buffer::<u32>::zeroed(&device, 0).unwrap().into_cudarc(&one).unwrap();
    assert_eq!(empty.len(), 0);
    let empty = Buffer::from_cudarc(&device, empty).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn a_view_that_is_borrowed_is_read_after_it_is_written_and_before_it_is_written_again() {
    let session = Session::new();
    let (device, _context, one, two) = streams(&session);
    let (keys, values) = work::pairs(0, 300);
    let map = PageMap::build(&device, &keys, &values).unwrap();
    let ours = device.stream().unwrap();
    let mut slice: CudaSlice<u32> = one.alloc_zeros(300).unwrap();
    two.memcpy_htod(&keys, &mut slice).unwrap();
    session.driver.set_current(0);
    let answers = without_waiting(&session, || {
        Buffer::borrow_cudarc(&device, &slice.as_view(), |keys| map.get_many_on(&ours, keys)).unwrap()
    });
    let answers = answers.unwrap();
    two.memset_zeros(&mut slice).unwrap();
    two.synchronize().unwrap();
    assert_eq!(answers.download(&ours).unwrap(), values.iter().copied().map(Some).collect::<Vec<_>>());
    assert_eq!(one.clone_dtoh(&slice).unwrap(), [0; 300]);

    let misaligned = Buffer::borrow_cudarc(&device, &slice.slice(1..), |_| ()).unwrap_err();
    assert!(matches!(misaligned, Error::Input(InputError::Misaligned { alignment: 16, .. })), "{misaligned:?}");
    let part = Buffer::borrow_cudarc(&device, &slice.slice(4..9), Buffer::len).unwrap();
    assert_eq!(part, 5);
    let none = Buffer::borrow_cudarc(&device, &slice.slice(4..4), Buffer::len).unwrap();
    assert_eq!(none, 0);
}

#[test]
fn a_buffer_that_is_lent_is_read_after_it_is_written_and_before_it_is_written_again() {
    let session = Session::new();
    let (device, _context, one, two) = streams(&session);
    let ours = device.stream().unwrap();
    let mut buffer = Buffer::<u64>::zeroed(&device, 1000).unwrap();
    let mut copy: CudaSlice<u64> = one.alloc_zeros(1000).unwrap();
    buffer.fill(&ours, 3).unwrap();
    session.driver.set_current(0);
    without_waiting(&session, || buffer.lend_cudarc(&one, |view| one.memcpy_dtod(&view, &mut copy))).unwrap().unwrap();
    buffer.fill(&ours, 4).unwrap();
    ours.synchronize().unwrap();
    assert_eq!(two.clone_dtoh(&copy).unwrap(), [0x0303_0303_0303_0303; 1000]);

    session.driver.set_current(0);
    // The work uses another stream than the passed one.
    without_waiting(&session, || buffer.lend_cudarc_mut(&one, |mut view| two.memset_zeros(&mut view)))
        .unwrap()
        .unwrap();
    assert_eq!(buffer.download(&ours).unwrap(), [0; 1000]);
    let before = session.held(&device);
    drop((buffer, copy));
    one.synchronize().unwrap();
    assert_eq!(session.held(&device).allocations, before.allocations - 2);
}

#[test]
fn streams_of_each_are_streams_of_the_other() {
    let session = Session::new();
    let (device, context, one, _two) = streams(&session);
    let held = session.held(&device).streams;
    let ours = without_waiting(&session, || Stream::from_cudarc(&device, one.clone())).unwrap();
    let (keys, values) = work::pairs(0, 100);
    let keys_there = Buffer::from_slice(&device, &keys).unwrap();
    let values_there = Buffer::from_slice(&device, &values).unwrap();
    let map: PageMap<u32, u32> =
        warpnest::PageConfig::default().build(&ours.device(), &keys_there, &values_there).unwrap();
    assert_eq!(map.get_many(&keys).unwrap(), values.iter().copied().map(Some).collect::<Vec<_>>());
    session.driver.set_current(0);
    drop((one, ours, map));
    assert_eq!(session.driver.current(), 0);
    assert_eq!(session.held(&device).streams, held - 1, "it lives as long as either, and the map on it");

    let ours = device.stream().unwrap();
    // SAFETY: the stream outlives all that uses it.
    let theirs = unsafe { ours.to_cudarc(&context) }.unwrap();
    let slice = theirs.clone_htod(&[5u32; 50]).unwrap();
    let buffer = Buffer::from_cudarc(&device, slice).unwrap();
    assert_eq!(buffer.download(&ours).unwrap(), [5; 50]);
    // The default stream can be converted, too.
    let default = Stream::from_cudarc(&device, context.default_stream()).unwrap();
    assert_eq!(buffer.download(&default).unwrap(), [5; 50]);
    let error = Stream::from_cudarc(&device, context.per_thread_stream()).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error:?}");
}

#[test]
fn what_is_in_another_context_or_on_the_cpu_is_refused() {
    let session = Session::new();
    let (device, context, one, _two) = streams(&session);
    let other = CudaContext::new(1).unwrap();
    let theirs = other.default_stream();
    let refused = |done: Result<(), Error>| {
        let error = done.unwrap_err();
        assert!(matches!(error, Error::WrongDevice { .. }), "{error:?}");
    };
    let mut buffer = Buffer::<u32>::zeroed(&device, 10).unwrap();
    refused(Stream::from_cudarc(&device, theirs.clone()).map(drop));
    refused(buffer.lend_cudarc(&theirs, |_| ()));
    refused(buffer.lend_cudarc_mut(&theirs, |_| ()));
    refused(buffer.into_cudarc(&theirs).map(drop));
    let slice = theirs.clone_htod(&[1u32]).unwrap();
    refused(Buffer::borrow_cudarc(&device, &slice.as_view(), |_| ()));
    refused(Buffer::from_cudarc(&device, slice).map(drop));
    // SAFETY: the call makes no stream.
    refused(unsafe { device.default_stream().to_cudarc(&other) }.map(drop));

    let cpu = Device::cpu();
    let mut buffer = Buffer::<u32>::zeroed(&cpu, 10).unwrap();
    refused(Stream::from_cudarc(&cpu, one.clone()).map(drop));
    refused(buffer.lend_cudarc(&one, |_| ()));
    refused(buffer.lend_cudarc_mut(&one, |_| ()));
    refused(buffer.into_cudarc(&one).map(drop));
    // SAFETY: the call makes no stream.
    refused(unsafe { cpu.default_stream().to_cudarc(&context) }.map(drop));
}
