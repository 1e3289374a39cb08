//! Tests of large copies through staging buffers, which are small here.

use crate::{Session, assert_tells, work};
use fake_cuda_driver::Fault;
use warpnest::low_level::{LargeCopies, Staging, set_large_copies};
use warpnest::{Buffer, Device, Error};

const UNIT: usize = 64;
const WORKERS: usize = 3;
const SETTINGS: LargeCopies =
    LargeCopies { min_bytes: 4 * UNIT, unit: UNIT, max_uploading: WORKERS, max_downloading: WORKERS };

/// Returns a device that treats copies of few bytes as large copies.
fn device(session: &Session) -> Device {
    let device = session.device(0);
    set_large_copies(&device, SETTINGS);
    device
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i / 7 + i + seed) as u8).collect()
}

/// Returns the current bytes of a buffer, without waiting for queued work.
fn memory_of(buffer: &Buffer<u8>) -> Vec<u8> {
    let first = std::ptr::with_exposed_provenance::<u8>(buffer.address());
    // SAFETY: the fake driver's memory is host memory, and the driver does no work except during a
    // call.
    unsafe { std::slice::from_raw_parts(first, buffer.len()) }.to_vec()
}

#[test]
fn copies_of_any_length_are_right_and_leave_what_is_beside_them() {
    let session = Session::new();
    let device = device(&session);
    let stream = device.stream().unwrap();
    for put_off in [false, true] {
        session.driver.defer(put_off);
        for [max_uploading, max_downloading] in [[0, 0], [1, 1], [2, 7], [7, 2]] {
            set_large_copies(&device, LargeCopies { max_uploading, max_downloading, ..SETTINGS });
            for units in [0, 1, 3, 4, 5, 6, 7, 13, 14, 15, 40] {
                for length in [(units * UNIT).saturating_sub(1), units * UNIT, units * UNIT + 1] {
                    // The copies begin at odd addresses.
                    let (host, mut back) = (bytes(length + 2, units), vec![9; length + 2]);
                    let mut buffer = Buffer::<u8>::zeroed(&device, length + 2).unwrap();
                    buffer.slice_mut(1..=length).unwrap().upload(&stream, &host[1..=length]).unwrap();
                    buffer.slice(1..=length).unwrap().download_into(&stream, &mut back[1..=length]).unwrap();
                    assert_eq!(back[1..=length], host[1..=length], "{length} bytes, {max_uploading} workers up");
                    assert_eq!([back[0], back[length + 1]], [9, 9]);
                    let all = buffer.download(&stream).unwrap();
                    assert_eq!((all[0], &all[1..=length], all[length + 1]), (0, &host[1..=length], 0));
                }
            }
        }
    }
}

#[test]
fn copies_come_after_what_was_queued_and_before_what_is_queued_later() {
    let session = Session::new();
    let device = device(&session);
    session.driver.defer(true);
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let host = bytes(50 * UNIT, 1);
    let mut buffer = Buffer::<u8>::zeroed(&device, host.len()).unwrap();
    let mut copy = Buffer::<u8>::zeroed(&device, host.len()).unwrap();
    for round in 1..5 {
        buffer.fill(&one, round).unwrap();
        assert_eq!(buffer.download(&two).unwrap(), vec![round; host.len()]);
        copy.copy_from(&two, &buffer).unwrap();
        buffer.upload(&one, &host).unwrap();
        assert_eq!(copy.download(&one).unwrap(), vec![round; host.len()]);
        copy.copy_from(&two, &buffer).unwrap();
        assert_eq!(copy.download(&one).unwrap(), host);
    }
}

#[test]
fn two_threads_copy_at_a_time() {
    let session = Session::new();
    let device = device(&session);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let device = &device;
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                let mut buffer = Buffer::<u8>::zeroed(device, 30 * UNIT).unwrap();
                for round in 0..50 {
                    let host = bytes(30 * UNIT, 2 * round + seed);
                    buffer.upload(&stream, &host).unwrap();
                    assert_eq!(buffer.download(&stream).unwrap(), host);
                }
            });
        }
    });
}

#[test]
fn an_upload_and_a_download_go_on_at_the_same_time() {
    let session = Session::new();
    let device = device(&session);
    let host: Vec<Vec<u8>> = (0..8).map(|seed| bytes(60 * UNIT, seed)).collect();
    let sources: Vec<_> = host.iter().map(|host| Buffer::from_slice(&device, host).unwrap()).collect();
    let mut target = Buffer::<u8>::zeroed(&device, 60 * UNIT).unwrap();
    let before = session.held(&device).allocations;
    std::thread::scope(|scope| {
        let (device, host) = (&device, &host);
        scope.spawn(move || {
            let stream = device.stream().unwrap();
            for host in host.iter().cycle().take(100) {
                target.upload(&stream, host).unwrap();
            }
            assert_eq!(target.download(&stream).unwrap(), host[99 % 8]);
        });
        let stream = device.stream().unwrap();
        for (source, host) in sources.iter().zip(host).cycle().take(100) {
            assert_eq!(source.download(&stream).unwrap(), *host);
        }
    });
    // Each direction has its own workers.
    assert_eq!(session.held(&device).allocations, before + WORKERS);
}

#[test]
fn the_memory_is_kept_for_the_next_copies_and_has_a_bound() {
    let session = Session::new();
    let device = device(&session);
    let mut buffer = Buffer::<u8>::zeroed(&device, 100 * UNIT).unwrap();
    let before = session.held(&device);
    let more = |workers: usize| {
        let held = session.held(&device);
        assert_eq!(held.allocations, before.allocations + workers);
    };
    let mut upload = |units: usize| {
        let host = bytes(units * UNIT, 0);
        buffer.slice_mut(..units * UNIT).unwrap().upload(device.default_stream(), &host).unwrap();
    };
    upload(3);
    more(0);
    upload(4);
    more(2);
    upload(100);
    more(WORKERS);
    let calls = session.driver.calls("cuMemAllocHost_v2");
    upload(50);
    upload(100);
    assert_eq!(session.driver.calls("cuMemAllocHost_v2"), calls);
    set_large_copies(&device, LargeCopies::default());
    more(0);
}

#[test]
fn without_page_locked_memory_or_from_it_a_copy_is_one_call_of_the_driver() {
    let session = Session::new();
    let device = device(&session);
    let stream = device.default_stream();
    let host = bytes(50 * UNIT, 3);
    let mut buffer = Buffer::<u8>::zeroed(&device, host.len()).unwrap();
    let copies = || ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"].map(|call| session.driver.calls(call));

    session.driver.plant(Fault::next("cuMemAllocHost_v2", 2).lasting());
    let [up, down] = copies();
    buffer.upload(stream, &host).unwrap();
    // A kernel reads back only whole words, so this length needs a copy by the driver.
    let mut back = vec![0; 49 * UNIT + 1];
    buffer.slice(..back.len()).unwrap().download_into(stream, &mut back).unwrap();
    assert_eq!((back[..] == host[..back.len()], copies()), (true, [up + 1, down + 1]));

    // The copy uses one worker if it gets only one.
    session.driver.clear();
    session.driver.plant(Fault::next("cuMemAllocHost_v2", 2).skipping(1).lasting());
    buffer.upload(stream, &bytes(50 * UNIT, 4)).unwrap();
    assert_eq!(copies(), [up + 51, down + 1]);
    assert_eq!(buffer.download(stream).unwrap(), bytes(50 * UNIT, 4));
    session.driver.clear();

    let mut locked = Staging::new(&device, 4 << 20).unwrap();
    let mut large = Buffer::<u8>::zeroed(&device, locked.len()).unwrap();
    locked.copy_from_slice(&bytes(4 << 20, 5));
    let [up, down] = copies();
    large.upload(stream, &locked).unwrap();
    locked.fill(0);
    large.download_into(stream, &mut locked).unwrap();
    assert_eq!((locked[..] == bytes(4 << 20, 5), copies()), (true, [up + 1, down + 1]));
}

#[test]
fn whichever_call_fails_no_copy_is_left_that_disturbs_a_later_one() {
    let session = Session::new();
    let device = device(&session);
    for put_off in [false, true] {
        for before in 0.. {
            let streams = [device.stream().unwrap(), device.stream().unwrap()];
            let host = bytes(20 * UNIT, before);
            let mut buffer = Buffer::<u8>::zeroed(&device, host.len()).unwrap();
            let mut other = Buffer::<u8>::zeroed(&device, host.len()).unwrap();
            buffer.download(&streams[0]).unwrap();
            session.driver.defer(put_off);
            session.driver.plant(Fault::after(before as u64, 4242));
            let mut back = vec![0; host.len()];
            let copied = buffer.upload(&streams[0], &host);
            let copied = copied.and_then(|()| buffer.download_into(&streams[0], &mut back));
            let is_over = session.driver.clear();
            match &copied {
                Ok(()) => assert!(back == host, "after {before} calls"),
                Err(error) => assert_tells(error, 4242),
            }
            let seen = (back.clone(), memory_of(&buffer));
            // Later copies on another stream are correct.
            let host = bytes(20 * UNIT, before + 100);
            other.upload(&streams[1], &host).unwrap();
            assert!(other.download(&streams[1]).unwrap() == host, "after {before} calls");
            streams[0].synchronize().unwrap();
            assert!(other.download(&streams[1]).unwrap() == host, "after {before} calls");
            // No work of the failed copy is left in the stream, unless the wait failed.
            let waited = !matches!(copied, Err(Error::Driver { call: "cuStreamSynchronize", .. }));
            assert!(back == seen.0 && (!waited || memory_of(&buffer) == seen.1), "{copied:?} after {before} calls");
            session.driver.defer(false);
            if is_over {
                assert!(before > 60, "{before} calls");
                break;
            }
        }
    }
    assert_eq!(work::buffers(&device, &mut || ()), Ok(()));
}

#[test]
fn memory_that_could_not_be_waited_for_is_not_used_again() {
    let session = Session::new();
    let device = device(&session);
    let mut buffer = Buffer::<u8>::zeroed(&device, 50 * UNIT).unwrap();
    let before = session.held(&device).allocations;
    // The first wait, which succeeds, is for earlier work.
    session.driver.plant(Fault::next("cuStreamSynchronize", 4242).skipping(1));
    assert_tells(&buffer.upload(device.default_stream(), &bytes(50 * UNIT, 0)).unwrap_err(), 4242);
    buffer.upload(device.default_stream(), &bytes(50 * UNIT, 1)).unwrap();
    assert_eq!(session.held(&device).allocations, before + 2 * WORKERS);
    assert_eq!(buffer.download(device.default_stream()).unwrap(), bytes(50 * UNIT, 1));
}
