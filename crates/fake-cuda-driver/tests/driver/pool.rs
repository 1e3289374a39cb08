//! Tests of the pool, which reuses the memory of dropped buffers after the work that uses it,
//! without a wait. All work is deferred until a call waits for it, so a missing order causes a
//! wrong result.

use crate::{Session, without_waiting};
use fake_cuda_driver::TOTAL_MEMORY;
use warpnest::{Buffer, Device, Error, PageMap, Stream};

/// The bytes of a block, which are more than the largest part of a segment.
const BLOCK: usize = 5 << 20;

/// Returns a device whose work is deferred.
fn deferred(session: &Session) -> Device {
    let device = session.device(0);
    session.driver.defer(true);
    device
}

/// Returns a buffer of `length` zero bytes.
fn bytes(device: &Device, length: usize) -> Buffer<u8> {
    Buffer::zeroed(device, length).unwrap()
}

#[test]
fn memory_is_used_again_without_a_call_that_waits() {
    let session = Session::new();
    let device = deferred(&session);
    for length in [1, 1000, 512 << 10, BLOCK] {
        drop(bytes(&device, length));
        let calls = ["cuMemAlloc_v2", "cuMemFree_v2"].map(|call| session.driver.calls(call));
        without_waiting(&session, || {
            for spare in [0, length / 16, 0] {
                let buffer = bytes(&device, length - spare);
                drop(buffer);
            }
        });
        assert_eq!(calls, ["cuMemAlloc_v2", "cuMemFree_v2"].map(|call| session.driver.calls(call)), "{length}");
    }
    let pool = device.pool();
    assert_eq!((pool.kept, pool.limit), (6 << 20, TOTAL_MEMORY as u64 / 8));
    assert!(pool.held > pool.kept && pool.most_held >= pool.held, "{pool:?}");
    device.trim_pool();
    assert_eq!((device.pool().held, device.pool().kept), (0, 0));
}

#[test]
fn small_buffers_share_an_allocation_of_the_driver() {
    let session = Session::new();
    let device = session.device(0);
    // This download allocates the stream's readback buffer.
    bytes(&device, 4).download(device.default_stream()).unwrap();
    let before = session.held(&device).allocations;
    let mut buffers: Vec<Buffer<u32>> = (0..1000).map(|i| Buffer::from_slice(&device, &[i; 100]).unwrap()).collect();
    assert_eq!(session.held(&device).allocations, before + 1);
    for (i, buffer) in (0..).zip(&buffers) {
        assert_eq!(buffer.download(device.default_stream()).unwrap(), [i; 100]);
    }
    // The segment is kept while one of its buffers is left.
    buffers.truncate(1);
    assert_eq!(session.held(&device).allocations, before + 1);
    assert_eq!(buffers[0].download(device.default_stream()).unwrap(), [0; 100]);
    buffers.clear();
    assert_eq!(session.held(&device).allocations, before);
}

/// Returns two buffers of bytes, with a copy from the first to the second queued on a stream.
fn copied(stream: &Stream, length: usize, byte: u8) -> [Buffer<u8>; 2] {
    let [mut first, mut copy] = [(); 2].map(|()| bytes(&stream.device(), length));
    first.fill(stream, byte).unwrap();
    // If the memory were reused now, the copy would read the new bytes.
    stream.synchronize().unwrap();
    copy.copy_from(stream, &first).unwrap();
    [first, copy]
}

#[test]
fn work_of_another_stream_gets_other_memory() {
    let session = Session::new();
    for length in [800, BLOCK] {
        let device = deferred(&session);
        let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
        let [first, copy] = copied(&one, length, 7);
        drop(first);
        let mut second = bytes(&two.device(), length);
        // The first buffer's memory is kept for work of its own stream.
        assert_eq!(device.pool().kept, if length == BLOCK { 6 << 20 } else { 0 });
        second.fill(&two, 8).unwrap();
        two.synchronize().unwrap();
        assert_eq!(copy.download(&one).unwrap(), vec![7; length]);
        assert_eq!(second.download(&two).unwrap(), vec![8; length]);
    }
}

#[test]
fn memory_that_is_all_there_is_left_is_used_again_behind_the_work_of_another_stream() {
    let session = Session::new();
    let device = deferred(&session);
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let [first, copy] = copied(&one, BLOCK, 7);
    let mut all = Vec::new();
    while let Ok(buffer) = Buffer::<u8>::zeroed(&device, BLOCK) {
        all.push(buffer);
    }
    drop(first);
    let mut second = bytes(&two.device(), BLOCK);
    second.fill(&two, 8).unwrap();
    two.synchronize().unwrap();
    assert!(copy.download(&one).unwrap() == vec![7; BLOCK], "the copy is of what was written later");
}

#[test]
fn answers_on_another_stream_than_the_tables_wait_for_what_used_their_memory() {
    let session = Session::new();
    let device = deferred(&session);
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let keys: Vec<u32> = (0..200).collect();
    let map = PageMap::build(&one.device(), &keys, &keys).unwrap();
    let [queries, others] = [&keys[..100], &keys[100..]].map(|keys| Buffer::from_slice(&device, keys).unwrap());
    let mut copy = Buffer::<u32>::zeroed(&device, 100).unwrap();
    let answers = map.get_many_on(&one, &queries).unwrap();
    copy.copy_from(&one, answers.values()).unwrap();
    drop(answers);
    let answers = map.get_many_on(&two, &others).unwrap();
    two.synchronize().unwrap();
    assert_eq!(copy.download(&one).unwrap(), keys[..100]);
    assert_eq!(answers.values().download(&two).unwrap(), keys[100..]);
}

#[test]
fn all_is_given_back_before_an_allocation_fails() {
    let session = Session::new();
    let device = session.device(0);
    drop((0..8).map(|i| bytes(&device, BLOCK + i * (4 << 20))).collect::<Vec<_>>());
    assert!(device.pool().kept > 0);
    let free = device.memory().unwrap().free as usize;
    let all = bytes(&device, free - (8 << 20));
    assert_eq!(device.pool().kept, 0);
    drop(all);
    for length in [TOTAL_MEMORY + 1, usize::MAX - 9] {
        let error = Buffer::<u8>::zeroed(&device, length).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { asked, .. } if asked == length as u64), "{error:?}");
    }
}

#[test]
fn no_more_is_kept_than_the_limit_and_what_was_kept_for_longest_goes_first() {
    let session = Session::new();
    let device = session.device(0);
    device.set_pool_limit(3 * BLOCK);
    let calls = session.driver.calls("cuMemAlloc_v2");
    let (one, two, three) = (bytes(&device, 2 * BLOCK), bytes(&device, BLOCK), bytes(&device, BLOCK));
    drop(one);
    drop(two);
    assert!(device.pool().kept <= 3 * BLOCK as u64);
    drop(three);
    assert!(device.pool().kept <= 3 * BLOCK as u64);
    drop((bytes(&device, BLOCK), bytes(&device, BLOCK)));
    assert_eq!(session.driver.calls("cuMemAlloc_v2"), calls + 3);
    drop(bytes(&device, 2 * BLOCK));
    assert_eq!(session.driver.calls("cuMemAlloc_v2"), calls + 4);

    device.set_pool_limit(0);
    assert_eq!((device.pool().held, device.pool().kept), (0, 0));
    let before = session.driver.held(0).allocations;
    let (small, large) = (bytes(&device, 10), bytes(&device, BLOCK));
    assert_eq!(session.driver.held(0).allocations, before + 2);
    drop((small, large));
    assert_eq!(session.driver.held(0).allocations, before);
}

#[test]
fn memory_whose_address_is_known_is_used_again_when_all_work_has_ended() {
    let session = Session::new();
    let device = deferred(&session);
    let waits = || session.driver.calls("cuCtxSynchronize");
    let before = waits();
    let part = bytes(&device, 1000);
    let part_address = part.address();
    drop(part);
    // There is other memory of the size.
    assert_ne!(bytes(&device, 1000).address(), part_address);
    let blocks = [(); 2].map(|()| bytes(&device, BLOCK));
    let addresses = [blocks[0].address(), blocks[1].address()];
    drop(blocks);
    assert_eq!((waits(), device.pool().kept), (before, 12 << 20));
    // One wait is enough for all.
    let again = [(); 2].map(|()| bytes(&device, BLOCK));
    assert_eq!(waits(), before + 1);
    assert!(again.iter().all(|block| addresses.contains(&block.address())));
    drop(again);
    // What is put aside counts with what is kept, which gives way to it.
    device.set_pool_limit(3 * BLOCK);
    let (kept, known) = ([(); 2].map(|()| bytes(&device, BLOCK)), bytes(&device, BLOCK));
    known.address();
    drop(kept);
    let waited = waits();
    drop(known);
    assert_eq!((waits(), device.pool().kept), (waited, 12 << 20));
    // More than the limit is not put aside.
    let known = [(); 3].map(|()| bytes(&device, BLOCK));
    let waited = waits();
    assert!(known.iter().all(|known| known.address() != 0));
    drop(known);
    assert!(waits() > waited);
    assert_eq!(device.pool().kept, 12 << 20);
}

#[test]
fn events_are_recorded_again() {
    let session = Session::new();
    let device = deferred(&session);
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let [first, mut copy] = [(); 2].map(|()| bytes(&device, 800));
    let mut copy_both = || {
        copy.copy_from(&one, &first).unwrap();
        copy.copy_from(&two, &first).unwrap();
    };
    (0..3).for_each(|_| copy_both());
    let (made, recorded) = (session.driver.calls("cuEventCreate"), session.driver.calls("cuEventRecord"));
    (0..10).for_each(|_| copy_both());
    assert_eq!(session.driver.calls("cuEventCreate"), made);
    assert_eq!(session.driver.calls("cuEventRecord"), recorded + 20);
}

#[test]
fn memory_does_not_collect_the_uses_of_its_earlier_owners() {
    let session = Session::new();
    let device = deferred(&session);
    let streams = [(); 2].map(|()| device.stream().unwrap());
    let keys: Vec<u32> = (0..200).collect();
    let map = PageMap::build(&device, &keys, &keys).unwrap();
    let mut waits_of_rounds = Vec::new();
    for round in 0..30 {
        let before = ["cuStreamWaitEvent", "cuEventQuery"].map(|call| session.driver.calls(call));
        // The queries are copied on one stream, and read on another one.
        let queries = Buffer::from_slice(&streams[0].device(), &keys).unwrap();
        let answers = map.get_many_on(&streams[round % 2], &queries).unwrap();
        assert_eq!(answers.values().download(&streams[1]).unwrap(), keys);
        let after = ["cuStreamWaitEvent", "cuEventQuery"].map(|call| session.driver.calls(call));
        waits_of_rounds.push([after[0] - before[0], after[1] - before[1]]);
    }
    assert_eq!(waits_of_rounds[10..12], waits_of_rounds[28..]);
}

#[test]
fn work_of_the_legacy_stream_needs_no_event() {
    let session = Session::new();
    let device = deferred(&session);
    let stream = device.legacy_stream().unwrap();
    let records = || session.driver.calls("cuEventRecord");
    let before = records();
    let mut copy = Buffer::<u8>::zeroed(&stream.device(), BLOCK).unwrap();
    copy.fill(&stream, 7).unwrap();
    assert_eq!(records(), before);
    // Another stream waits for it, and the drop does not destroy the stream.
    let other = device.stream().unwrap();
    assert!(copy.download(&other).unwrap() == vec![7; BLOCK]);
    assert!(records() > before);
    let destroyed = session.driver.calls("cuStreamDestroy_v2");
    drop((copy, stream));
    assert_eq!(session.driver.calls("cuStreamDestroy_v2"), destroyed);
}

#[test]
fn tables_are_built_changed_and_dropped_on_streams_in_turn_with_the_same_memory() {
    let session = Session::new();
    let device = deferred(&session);
    let streams = [(); 3].map(|()| device.stream().unwrap());
    let mut kept = Vec::new();
    for round in 0..12u32 {
        let stream = &streams[round as usize % 3];
        let keys: Vec<u32> = (0..200).map(|i| i * 7 + round).collect();
        let mut map = PageMap::build(&stream.device(), &keys, &keys).unwrap();
        map.erase_many(&keys[..100]).unwrap();
        let queries = Buffer::from_slice(&stream.device(), &keys).unwrap();
        kept.push((map.get_many_on(stream, &queries).unwrap(), keys, round));
        // The next map uses the dropped map's memory, although the lookup is not done yet.
        drop((map, queries));
    }
    for (answers, keys, round) in kept {
        let expected: Vec<_> = keys.iter().enumerate().map(|(i, &key)| (i >= 100).then_some(key)).collect();
        assert_eq!(answers.download(&streams[0]).unwrap(), expected, "{round}");
    }
}
