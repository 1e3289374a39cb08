//! Buffers, devices and answers on every engine: data that was written is read back.
//! `runtime/streams.rs` tests the order of work.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use warpnest::cuckoo::CuckooReport;
use warpnest::design::BulkMap;
use warpnest::design::Design;
use warpnest::error::InputError;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    Answers, Buffer, CuckooConfig, CuckooMap, Device, Error, Event, ExtendibleMap, LinearMap, PageMap, SortedMap,
    Stream, TwoLevelMap,
};
use warpnest_tests::{TestEngine, counting, distinct_keys, engines, only, parameterized};

/// Returns the sizes to try. Some are around 512 and 1,024 words, because larger buffers take other
/// paths to the host.
fn sizes(engine: &TestEngine) -> [usize; 12] {
    [0, 1, 2, 3, 31, 64, 512, 513, 1001, 1024, 1025, engine.max_items]
}

#[parameterized(each_width)]
fn words_come_back_as_they_went<K: Key>() {
    for engine in engines() {
        let device = &engine.device;
        let stream = device.stream().unwrap();
        for size in sizes(engine) {
            let (first, second): (Vec<K>, Vec<K>) = (distinct_keys(size, 1), distinct_keys(size, 2));
            let mut buffer = Buffer::from_slice(device, &first).unwrap();
            assert_eq!((buffer.len(), buffer.is_empty()), (size, size == 0));
            assert_eq!(buffer.download(&stream).unwrap(), first, "{size} on {}", device.name());
            buffer.upload(&stream, &second).unwrap();
            assert_eq!(buffer.download(device.default_stream()).unwrap(), second);

            let mut zeroed = Buffer::<K>::zeroed(device, size).unwrap();
            assert_eq!(zeroed.download(&stream).unwrap(), vec![K::default(); size]);
            for byte in [0xff, 0, 0x5a] {
                zeroed.fill(&stream, byte).unwrap();
                let word = K::from_u64(u64::from_ne_bytes([byte; 8]));
                assert_eq!(zeroed.download(&stream).unwrap(), vec![word; size]);
            }
            zeroed.copy_from(&stream, &buffer).unwrap();
            buffer.fill(&stream, 1).unwrap();
            assert_eq!(zeroed.download(&stream).unwrap(), second, "a copy is its own");
        }
    }
}

#[parameterized]
fn buffers_do_not_overlap_and_begin_at_multiples_of_256(engine: &TestEngine) {
    let buffers: Vec<Buffer<u32>> =
        (0..20).map(|size| Buffer::from_slice(&engine.device, &vec![size as u32; size]).unwrap()).collect();
    for (size, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.address() % 256, 0);
        assert_eq!(buffer.download(engine.device.default_stream()).unwrap(), vec![size as u32; size]);
    }
    let mut ends: Vec<(usize, usize)> =
        buffers.iter().map(|buffer| (buffer.address(), buffer.address() + (4 * buffer.len()).max(1))).collect();
    ends.sort_unstable();
    assert!(ends.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ends:x?}");
}

#[parameterized]
fn copies_between_different_lengths_are_refused_and_change_nothing(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut buffer = Buffer::from_slice(device, &[1u64, 2, 3]).unwrap();
    for length in [0, 2, 4] {
        let slice = vec![9; length];
        let error = buffer.upload(stream, &slice).unwrap_err();
        let expected = |first| {
            Error::Input(InputError::LengthsDiffer {
                first,
                first_length: length as u64,
                second: "the buffer",
                second_length: 3,
            })
        };
        assert_eq!(error, expected("the slice"));
        let error = buffer.copy_from(stream, &Buffer::from_slice(device, &slice).unwrap()).unwrap_err();
        assert_eq!(error, expected("the source"));
    }
    assert_eq!(buffer.download(stream).unwrap(), [1, 2, 3]);
}

#[test]
fn a_clone_of_a_device_is_the_same_device() {
    for (i, engine) in engines().iter().enumerate() {
        let (device, clone) = (&engine.device, engine.device.clone());
        assert_eq!(&clone, device);
        assert_eq!(format!("{:?}", clone.default_stream()), format!("{:?}", device.default_stream()));
        assert_eq!(clone.name(), device.name());
        for (j, other) in engines().iter().enumerate() {
            assert_eq!(&other.device == device, i == j);
        }
        // Both are one device, so their work mixes, and memory outlives the handle that allocated
        // it.
        let mut buffer = Buffer::from_slice(&clone, &[1u32, 2]).unwrap();
        drop(clone);
        buffer.copy_from(device.default_stream(), &Buffer::from_slice(device, &[3, 4]).unwrap()).unwrap();
        assert_eq!(buffer.download(&device.stream().unwrap()).unwrap(), [3, 4]);
        let memory = device.memory().unwrap();
        assert!(memory.free > 0 && memory.free <= memory.total, "{memory:?}");
    }
    assert_eq!(Device::cpu(), Device::cpu());
}

#[parameterized]
fn absent_keys_get_the_value_0_and_bits_past_the_last_query_are_0(engine: &TestEngine) {
    let device = &engine.device;
    let keys: Vec<u32> = distinct_keys(300, 1);
    let values: Vec<u64> = keys.iter().map(|&key| !(key as u64)).collect();
    // A pair fits into one 64-bit word, so the linear map works on every engine.
    let mut linear = LinearMap::new(device).unwrap();
    linear.insert_many(&keys, &keys).unwrap();
    let mut extendible = ExtendibleMap::new(device).unwrap();
    extendible.insert_many(&keys, &values).unwrap();
    answers_of(&CuckooMap::build(device, &keys, &values).unwrap(), &keys, &values);
    answers_of(&TwoLevelMap::build(device, &keys, &values).unwrap(), &keys, &values);
    answers_of(&PageMap::build(device, &keys, &values).unwrap(), &keys, &values);
    answers_of(&SortedMap::build(device, &keys, &values).unwrap(), &keys, &values);
    answers_of(&linear, &keys, &keys);
    answers_of(&extendible, &keys, &values);
}

fn answers_of<V: Value, D: Design>(map: &BulkMap<u32, V, D>, keys: &[u32], values: &[V]) {
    let (device, stream) = (map.device(), map.device().default_stream());
    let reference: HashMap<u32, V> = keys.iter().copied().zip(values.iter().copied()).collect();
    for length in [1, 2, 31, 32, 33, 95, 96, 97, 255, 256, 257, 300] {
        // With the same buffers, first all queries are found, then every third one, and then none.
        let mut answers = Answers::new(device, length).unwrap();
        let mut found = Buffer::zeroed(device, length.div_ceil(32)).unwrap();
        for absent in [|_: usize| false, |i: usize| !i.is_multiple_of(3), |_: usize| true] {
            let queries: Vec<u32> =
                (0..length).map(|i| if absent(i) { keys[i] ^ 0x8000_0001 } else { keys[i] }).collect();
            let expected: Vec<V> = queries.iter().map(|key| reference.get(key).copied().unwrap_or_default()).collect();
            let mut bits = vec![0u32; length.div_ceil(32)];
            let there = |key: &u32| reference.contains_key(key);
            queries.iter().enumerate().filter(|(_, key)| there(key)).for_each(|(i, _)| bits[i / 32] |= 1 << (i % 32));
            let queries = Buffer::from_slice(device, &queries).unwrap();

            map.get_many_into(stream, &queries, &mut answers).unwrap();
            assert_eq!((answers.len(), answers.is_empty()), (length, false));
            assert_eq!(answers.values().download(stream).unwrap(), expected, "{length} on {}", device.name());
            assert_eq!(answers.found().download(stream).unwrap(), bits, "{length} on {}", device.name());
            let fresh = map.get_many_on(stream, &queries).unwrap();
            assert_eq!(fresh.found().download(stream).unwrap(), bits);
            assert_eq!(fresh.download(stream).unwrap(), answers.download(stream).unwrap());

            found.fill(stream, 0xff).unwrap();
            map.contains_many_into(stream, &queries, &mut found).unwrap();
            assert_eq!(found.download(stream).unwrap(), bits, "{length} on {}", device.name());
        }
    }
    let none = map.get_many_on(stream, &Buffer::from_slice(device, &[]).unwrap()).unwrap();
    assert_eq!((none.len(), none.is_empty(), none.found().len()), (0, true, 0));
    assert_eq!(none.download(stream).unwrap(), []);
}

#[test]
fn what_users_hold_may_be_sent_to_and_shared_with_other_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Device>();
    shared::<Stream>();
    shared::<Event>();
    shared::<Buffer<u32>>();
    shared::<Buffer<u64>>();
    shared::<Answers<u64>>();
    shared::<CuckooMap<u32, u64>>();
    shared::<CuckooConfig>();
    shared::<CuckooReport>();
    shared::<Error>();
}

#[parameterized]
fn several_host_threads_look_up_in_one_map_at_the_same_time(engine: &TestEngine) {
    let device = &engine.device;
    let n = engine.max_items.min(1 << 16);
    let keys: Vec<u64> = distinct_keys(2 * n, 6);
    let map: CuckooMap<u64, u32> = CuckooMap::build(device, &keys[..n], &vec![7; n]).unwrap();
    let shared_queries = Buffer::from_slice(device, &keys).unwrap();
    let expected: Vec<Option<u32>> = (0..2 * n).map(|i| (i < n).then_some(7)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (map, keys, shared_queries, expected) = (&map, &keys, &shared_queries, &expected);
            scope.spawn(move || {
                let stream = device.stream().unwrap();
                for round in 0..3 {
                    let answers = map.get_many_on(&stream, shared_queries).unwrap();
                    assert_eq!(&answers.download(&stream).unwrap(), expected, "thread {thread}, round {round}");
                    // All threads also use the single default stream.
                    let from = thread * n / 4;
                    assert_eq!(map.get_many(&keys[from..]).unwrap(), expected[from..]);
                    let built = CuckooMap::build(device, &keys[..n / 4], &vec![thread as u32; n / 4]).unwrap();
                    assert_eq!(built.get_many(&keys[..n / 4]).unwrap(), vec![Some(thread as u32); n / 4]);
                }
            });
        }
    });
}

#[parameterized]
fn a_resized_buffer_keeps_what_stays_and_adds_zeros(engine: &TestEngine) {
    let device = &engine.device;
    let stream = &device.stream().unwrap();
    let mut reference: Vec<u64> = distinct_keys(300, 5);
    let mut buffer = Buffer::from_slice(device, &reference).unwrap();
    for length in [300, 7, 8, 0, 1, 299, 300, 301, 375, 1000, 999, 5, 1001] {
        let (address, capacity) = (buffer.address(), buffer.capacity());
        buffer.resize(stream, length).unwrap();
        reference.resize(length, 0);
        assert_eq!(buffer.len(), length);
        assert_eq!(buffer.download(stream).unwrap(), reference);
        assert_eq!(length <= capacity, buffer.address() == address, "{length} in {capacity}");
        assert_eq!(buffer.capacity(), if length <= capacity { capacity } else { length + length / 4 });
        assert_eq!(buffer.get(stream, length / 2).unwrap(), reference.get(length / 2).copied());
        assert_eq!(buffer.get(stream, length).unwrap(), None);
        // Bytes beyond the length must not reappear when the buffer grows.
        buffer.fill(stream, 0x77).unwrap();
        reference.fill(u64::from_ne_bytes([0x77; 8]));
    }
}

#[test]
fn a_buffer_that_cannot_grow_stays_as_it_is() {
    let (device, counts) = counting();
    let stream = device.default_stream();
    let mut buffer = Buffer::from_slice(&device, &[1u32, 2, 3]).unwrap();
    // The first allocation requests spare capacity and fails; a second one requests only the needed
    // capacity.
    only(&counts.allocations, 0, || {
        counts.once.store(true, Relaxed);
        buffer.resize(stream, 100).unwrap();
        counts.once.store(false, Relaxed);
    });
    assert_eq!(buffer.capacity(), 100);
    only(&counts.allocations, 0, || {
        for length in [101, usize::MAX] {
            assert!(matches!(buffer.resize(stream, length), Err(Error::OutOfMemory { .. })));
        }
    });
    assert_eq!(buffer.download(stream).unwrap()[..4], [1, 2, 3, 0]);
    assert_eq!(buffer.len(), 100);
}
