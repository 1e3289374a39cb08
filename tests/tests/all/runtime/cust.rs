//! Sharing memory and streams with `cust`. The refusal of a CPU device is tested wherever the
//! feature `cust` links, and the rest on machines with a GPU.

use ::cust::memory::{AsyncCopyDestination, DeviceBuffer, DevicePointer, DeviceSlice};
use warpnest::error::InputError;
use warpnest::{Buffer, CuckooMap, Device, Error};
use warpnest_tests::{distinct_keys, engines, only_cuda};

/// Returns the CUDA device, with its context current on this thread as `cust` requires, or `None`
/// if there is no device.
fn cuda() -> Option<&'static Device> {
    let device =
        engines().iter().map(|engine| &engine.device).find(|device| device.default_stream().cust().is_some())?;
    // The context is retained once for each test, and current until its thread ends.
    std::mem::forget(::cust::quick_init().unwrap());
    Some(device)
}

fn assert_refused<T: std::fmt::Debug>(done: Result<T, Error>, device: &Device) {
    let error = done.unwrap_err();
    assert!(error.to_string().contains("a CUDA device"), "{error}");
    let Error::WrongDevice { found, expected, .. } = error else { panic!("{error:?}") };
    assert_eq!((found.as_str(), expected.as_str()), (device.name(), "a CUDA device"));
}

#[test]
fn a_device_that_is_not_cuda_shares_nothing_with_cust_and_says_so() {
    let devices = engines().iter().map(|engine| &engine.device);
    for device in devices.filter(|device| device.default_stream().cust().is_none()) {
        let stream = device.stream().unwrap();
        assert!(stream.cust().is_none());
        let mut buffer = Buffer::from_slice(device, &[1u32, 2]).unwrap();
        // SAFETY: neither closure accesses anything.
        let (lent, lent_mut) = unsafe {
            (
                buffer.lend::<()>(&stream, |_, _| panic!("nothing to lend")),
                buffer.lend_mut::<()>(&stream, |_, _| panic!("nothing to lend")),
            )
        };
        assert_refused(lent, device);
        assert_refused(lent_mut, device);
        assert_eq!(buffer.download(&stream).unwrap(), [1, 2]);
        assert_refused(buffer.into_cust().map(|_| ()), device);
        // SAFETY: the slice has no elements, so nobody accesses or frees any.
        let empty = || unsafe { DeviceBuffer::<u32>::from_raw_parts(DevicePointer::null(), 0) };
        // SAFETY: there are no copies of the slice.
        assert_refused(unsafe { Buffer::from_cust(device, empty()) }, device);
        // SAFETY: the slice has no elements.
        let slice = unsafe { DeviceSlice::<u32>::from_raw_parts(DevicePointer::null(), 0) };
        // SAFETY: nobody uses the slice.
        let borrowed = unsafe { Buffer::borrow_cust::<()>(device, &slice, |_| panic!("nothing to borrow")) };
        assert_refused(borrowed, device);
    }
    let devices = engines().iter().filter(|engine| engine.device.default_stream().cust().is_none());
    assert_eq!(devices.count(), if only_cuda() { 0 } else { 4 });
}

#[test]
fn a_buffer_that_is_lent_shows_what_other_streams_wrote_before() {
    let Some(device) = cuda() else { return };
    let (writer, reader) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = Buffer::<u32>::zeroed(device, 1 << 22).unwrap();
    for round in 1..=20u8 {
        buffer.fill(&writer, round).unwrap();
        let mut host = vec![0; buffer.len()];
        // SAFETY: the copy is asynchronous and on the given stream; `host` lives until it is done.
        let seen = unsafe {
            buffer.lend(&reader, |slice, stream| {
                slice.async_copy_to(&mut host, stream).unwrap();
                stream.synchronize().unwrap();
                host
            })
        };
        assert!(seen.unwrap().iter().all(|&word| word == u32::from_ne_bytes([round; 4])), "round {round}");
    }
}

#[test]
fn work_that_cust_queues_on_a_lent_buffer_comes_before_later_work_of_other_streams() {
    let Some(device) = cuda() else { return };
    let (writer, reader) = (device.stream().unwrap(), device.stream().unwrap());
    let mut buffer = Buffer::<u32>::zeroed(device, 1 << 22).unwrap();
    let mut copy = Buffer::<u32>::zeroed(device, 1 << 22).unwrap();
    for round in 1..=20 {
        // SAFETY: the slice is used asynchronously on the given stream; the buffer orders later
        // work after it.
        let lent = unsafe { buffer.lend_mut(&writer, |slice, stream| slice.set_32_async(round, stream)) };
        lent.unwrap().unwrap();
        copy.copy_from(&reader, &buffer).unwrap();
        assert!(copy.download(&reader).unwrap().iter().all(|&word| word == round), "round {round}");
    }
    let cpu = Device::cpu();
    // SAFETY: the closure accesses nothing.
    let foreign = unsafe { buffer.lend(cpu.default_stream(), |_, _| ()) }.unwrap_err();
    assert!(matches!(foreign, Error::WrongDevice { .. }), "{foreign}");
}

#[test]
fn a_buffer_taken_over_from_cust_serves_as_any_other() {
    let Some(device) = cuda() else { return };
    let keys: Vec<u64> = distinct_keys(5000, 1);
    // SAFETY: there are no copies of the slice.
    let taken = unsafe { Buffer::from_cust(device, DeviceBuffer::from_slice(&keys).unwrap()) }.unwrap();
    assert_eq!(taken.len(), 5000);
    let stream = device.stream().unwrap();
    assert_eq!(taken.download(&stream).unwrap(), keys);
    let map = warpnest::CuckooConfig::default().build(&stream.device(), &taken, &taken).unwrap();
    drop(taken);
    assert_eq!(map.get_many(&keys).unwrap(), keys.iter().map(|&key| Some(key)).collect::<Vec<_>>());
}

#[test]
fn a_buffer_given_to_cust_has_all_that_was_queued_for_it() {
    let Some(device) = cuda() else { return };
    let stream = device.stream().unwrap();
    for round in 1..=20u8 {
        let mut buffer = Buffer::<u32>::zeroed(device, 1 << 22).unwrap();
        buffer.fill(&stream, round).unwrap();
        let given = buffer.into_cust().unwrap();
        assert!(given.as_host_vec().unwrap().iter().all(|&word| word == u32::from_ne_bytes([round; 4])));
        // The slice becomes a buffer again. SAFETY: there are no copies of the slice.
        let back = unsafe { Buffer::from_cust(device, given) }.unwrap();
        assert_eq!(back.download(&stream).unwrap()[77], u32::from_ne_bytes([round; 4]));
    }
}

#[test]
fn a_borrowed_cust_buffer_answers_queries_and_stays_custs() {
    let Some(device) = cuda() else { return };
    let keys: Vec<u32> = distinct_keys(4000, 1);
    let map = CuckooMap::build(device, &keys[..2000], &keys[..2000]).unwrap();
    let stream = device.stream().unwrap();
    let theirs = DeviceBuffer::from_slice(&keys).unwrap();
    // SAFETY: nobody else uses the memory meanwhile.
    let answers =
        unsafe { Buffer::borrow_cust(device, &theirs, |queries| map.get_many_on(&stream, queries).unwrap()) }.unwrap();
    let expected: Vec<Option<u32>> = keys.iter().enumerate().map(|(i, &key)| (i < 2000).then_some(key)).collect();
    assert_eq!(answers.download(&stream).unwrap(), expected);
    assert_eq!(theirs.as_host_vec().unwrap(), keys, "it was not freed");
    assert!(stream.cust().is_some());
}

#[test]
fn empty_buffers_go_back_and_forth() {
    let Some(device) = cuda() else { return };
    let given = Buffer::<u64>::zeroed(device, 0).unwrap().into_cust().unwrap();
    assert!(given.is_empty());
    // SAFETY: the memory is empty, so nobody else uses it.
    let (borrowed, taken) = unsafe {
        let borrowed = Buffer::borrow_cust(device, &given, |buffer| buffer.download(device.default_stream()).unwrap());
        (borrowed, Buffer::from_cust(device, given).unwrap())
    };
    assert_eq!(borrowed.unwrap(), [0; 0]);
    assert_eq!(taken.download(device.default_stream()).unwrap(), [0; 0]);
}

#[test]
fn a_cust_slice_that_begins_in_the_middle_of_16_bytes_is_refused() {
    let Some(device) = cuda() else { return };
    let numbers: Vec<u32> = (0..10_000).collect();
    let whole = DeviceBuffer::from_slice(&numbers).unwrap();
    for first in [1, 2, 3] {
        // SAFETY: nobody else uses the memory meanwhile.
        let error = unsafe { Buffer::borrow_cust(device, &whole.index(first..), |_| ()) }.unwrap_err();
        assert!(matches!(error, Error::Input(InputError::Misaligned { alignment: 16, .. })), "{error:?}");
        assert!(error.to_string().contains("or copy it"), "{error}");
    }
    let part = whole.index(4..);
    // SAFETY: nobody else uses the memory meanwhile.
    let kept = unsafe { Buffer::borrow_cust(device, &part, |part| part.download(device.default_stream()).unwrap()) };
    assert_eq!(kept.unwrap(), numbers[4..]);
}
