//! Buffers on memory that somebody else owns, on engines that share the host's memory and on
//! others. The fake driver tests the order of streams (`crates/fake-cuda-driver`).

use std::ptr::null_mut;
use warpnest::error::InputError;
use warpnest::{Buffer, Device, Error, PageMap};
use warpnest_tests::{distinct_keys, elsewhere, parameterized, the_cpu_engine, values};

/// Returns a buffer on all memory of another buffer.
///
/// # Safety
/// The rules of [`Buffer::from_foreign`] apply.
unsafe fn on(device: &Device, memory: &Buffer<u32>) -> Buffer<u32> {
    // SAFETY: as the caller promises.
    unsafe { Buffer::from_foreign(device, memory.address(), memory.len()) }.unwrap()
}

#[test]
fn a_vec_is_used_in_place() {
    let Some(engine) = the_cpu_engine() else { return };
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let keys: Vec<u32> = distinct_keys(3000, 1);
    let map = PageMap::build(device, &keys[..2000], &values::<u32>(2000)).unwrap();
    // Words of 16 bytes give the memory the required alignment.
    let mut theirs: Vec<[u128; 1]> = vec![[0]; 750];
    let address = theirs.as_mut_ptr().expose_provenance();
    // SAFETY: this is memory for 3000 words, and nothing else uses it meanwhile.
    let mut buffer = unsafe { Buffer::<u32>::from_foreign(device, address, 3000) }.unwrap();
    assert_eq!((buffer.address(), buffer.len(), buffer.capacity()), (address, 3000, 3000));
    buffer.upload(stream, &keys).unwrap();
    let answers = map.get_many_on(stream, &buffer).unwrap();
    buffer.hand_back(stream).unwrap();
    assert_eq!(bytemuck::cast_slice::<_, u32>(&theirs), keys);
    // No buffer uses the memory any more.
    theirs.fill([7]);
    drop(theirs);
    let expected: Vec<_> = values::<u32>(2000).into_iter().map(Some).chain([None; 1000]).collect();
    assert_eq!(answers.download(stream).unwrap(), expected);
}

#[parameterized]
fn answers_are_written_where_the_memory_is(device: &Device) {
    let stream = &device.stream().unwrap();
    let keys: Vec<u32> = distinct_keys(500, 2);
    let map = PageMap::build(device, &keys, &values::<u32>(500)).unwrap();
    let [theirs, found] = [keys.clone(), vec![0; 500]].map(|words| Buffer::from_slice(device, &words).unwrap());
    // SAFETY: the owners are not used meanwhile, and streams wait for each other.
    unsafe {
        let (queries, mut output) = (on(device, &theirs), on(device, &found));
        stream.wait_for_foreign(null_mut()).unwrap();
        let answers = map.get_many_on(stream, &queries).unwrap();
        output.copy_from(stream, answers.values()).unwrap();
        output.hand_back(stream).unwrap();
        drop(queries);
        stream.release_to_foreign(null_mut()).unwrap();
    }
    // The owner does not know of this work, so the same stream must read it.
    assert_eq!(found.download(stream).unwrap(), values::<u32>(500));
    assert_eq!(theirs.download(stream).unwrap(), keys);
}

#[parameterized]
fn a_buffer_that_needs_more_memory_leaves_that_of_others_as_it_is(device: &Device) {
    let stream = device.default_stream();
    let theirs = Buffer::from_slice(device, &[1u32, 2, 3, 4]).unwrap();
    // SAFETY: the owner is not used meanwhile.
    let mut buffer = unsafe { on(device, &theirs) };
    buffer.resize(stream, 6).unwrap();
    assert_ne!(buffer.address(), theirs.address());
    buffer.fill(stream, 9).unwrap();
    assert_eq!(buffer.len(), 6);
    assert_eq!(theirs.download(stream).unwrap(), [1, 2, 3, 4]);
}

#[parameterized]
fn memory_that_kernels_cannot_read_is_refused_and_an_empty_buffer_is_anywhere(device: &Device) {
    let stream = device.default_stream();
    let theirs = Buffer::from_slice(device, &[1u32, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    for bytes in [1, 4, 8, 12, 15, 17] {
        let address = theirs.address() + bytes;
        // SAFETY: no buffer is created.
        let error = unsafe { Buffer::<u32>::from_foreign(device, address, 1) }.unwrap_err();
        assert_eq!(error, Error::Input(InputError::Misaligned { address: address as u64, alignment: 16 }));
    }
    // SAFETY: the owner is not used meanwhile.
    let back = unsafe { Buffer::<u32>::from_foreign(device, theirs.address() + 16, 4) }.unwrap();
    assert_eq!(back.download(stream).unwrap(), [5, 6, 7, 8]);
    let map = PageMap::build(device, &[1u32], &[2u32]).unwrap();
    for address in [0, 1, 5, usize::MAX] {
        // SAFETY: there are no elements.
        let mut none = unsafe { Buffer::<u32>::from_foreign(device, address, 0) }.unwrap();
        assert_eq!((none.len(), none.capacity()), (0, 0));
        none.fill(stream, 1).unwrap();
        none.upload(stream, &[]).unwrap();
        assert_eq!(none.download(stream).unwrap(), [0; 0]);
        assert_eq!(map.get_many_on(stream, &none).unwrap().download(stream).unwrap(), []);
        assert_eq!(none.slice(..).unwrap().len(), 0);
        none.hand_back(stream).unwrap();
    }
}

#[parameterized]
fn a_stream_of_another_device_takes_nothing_back(device: &Device) {
    let theirs = Buffer::from_slice(device, &[1u32, 2]).unwrap();
    // SAFETY: the owner is not used meanwhile.
    let buffer = unsafe { on(device, &theirs) };
    let error = buffer.hand_back(elsewhere().default_stream()).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { .. }), "{error:?}");
    assert_eq!(theirs.download(device.default_stream()).unwrap(), [1, 2]);
}
