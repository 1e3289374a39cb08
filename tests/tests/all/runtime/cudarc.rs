//! Sharing memory and streams with `cudarc` on a CUDA device, if there is one. The fake driver
//! tests the order of work (`crates/fake-cuda-driver`); here the real driver frees memory that the
//! other library allocated.

use ::cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use std::collections::HashSet;
use std::sync::Arc;
use warpnest::{Buffer, Device, PageMap, Stream};
use warpnest_tests::{distinct_keys, engines};

/// Returns the CUDA device and two streams of `cudarc` on it, or `None` if there is no device.
fn cuda() -> Option<(&'static Device, Arc<CudaStream>, Arc<CudaStream>)> {
    let first = Device::cuda(0).ok()?;
    let device = engines().iter().map(|engine| &engine.device).find(|&device| *device == first)?;
    let context = CudaContext::new(0).unwrap();
    Some((device, context.new_stream().unwrap(), context.new_stream().unwrap()))
}

/// The size of a buffer that is so large that work on it still runs when the next work is queued.
const WORDS: usize = 1 << 22;

#[test]
fn slices_go_back_and_forth_with_what_was_queued_for_them() {
    let Some((device, one, two)) = cuda() else { return };
    let ours = device.stream().unwrap();
    let mut addresses = HashSet::new();
    for round in 1..=20u8 {
        let word = u32::from_ne_bytes([round; 4]);
        let mut slice: CudaSlice<u32> = one.alloc_zeros(WORDS).unwrap();
        two.memcpy_htod(&vec![word; WORDS], &mut slice).unwrap();
        let mut buffer = Buffer::from_cudarc(device, slice).unwrap();
        addresses.insert(buffer.address());
        assert!(buffer.download(&ours).unwrap().iter().all(|&found| found == word), "round {round}");
        buffer.fill(&ours, round + 1).unwrap();
        let slice = buffer.into_cudarc(&one).unwrap();
        let word = u32::from_ne_bytes([round + 1; 4]);
        assert!(two.clone_dtoh(&slice).unwrap().iter().all(|&found| found == word), "round {round}");
    }
    // Freed memory is soon allocated again on the stream that freed it, and memory that is not
    // freed is never reused. The device's free memory tells nothing, because other tests allocate
    // memory at the same time.
    assert!(addresses.len() <= 10, "it was not freed: {} slices are in different places", addresses.len());
}

#[test]
fn what_is_borrowed_and_lent_is_read_before_it_is_written_again() {
    let Some((device, one, two)) = cuda() else { return };
    let keys: Vec<u32> = distinct_keys(WORDS, 1);
    let map = PageMap::build(device, &keys[..1000], &keys[..1000]).unwrap();
    let ours = Stream::from_cudarc(device, device_stream(&one)).unwrap();
    for round in 0..10 {
        let mut slice = one.clone_htod(&keys).unwrap();
        let view = slice.as_view();
        let answers = Buffer::borrow_cudarc(device, &view, |queries| map.get_many_on(&ours, queries).unwrap()).unwrap();
        two.memset_zeros(&mut slice).unwrap();
        let found = answers.download(&ours).unwrap();
        assert!((0..WORDS).all(|i| found[i] == (i < 1000).then_some(keys[i])), "round {round}");

        let mut buffer = Buffer::<u32>::zeroed(device, WORDS).unwrap();
        buffer.fill(&ours, 5).unwrap();
        buffer.lend_cudarc(&two, |view| two.memcpy_dtod(&view, &mut slice)).unwrap().unwrap();
        buffer.fill(&ours, 6).unwrap();
        assert!(one.clone_dtoh(&slice).unwrap().iter().all(|&word| word == 0x0505_0505), "round {round}");
        buffer.lend_cudarc_mut(&two, |mut view| one.memset_zeros(&mut view)).unwrap().unwrap();
        assert!(buffer.download(&ours).unwrap().iter().all(|&word| word == 0), "round {round}");
    }
}

/// Returns another stream of the same context.
fn device_stream(stream: &Arc<CudaStream>) -> Arc<CudaStream> {
    stream.context().new_stream().unwrap()
}
