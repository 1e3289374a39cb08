//! Memory for the CPU engine's shared arrays: each array has its own memory, which is reused.

use gpu_kernels::seam::Shared;
use gpu_kernels::seam::cpu::SharedStorage;

#[test]
fn arrays_of_one_block_do_not_overlap_and_the_next_block_gets_their_memory() {
    // In a new thread, no other test has used the memory.
    std::thread::spawn(|| {
        for round in 0..3 {
            let mut small = SharedStorage::<u32>::new(5);
            let mut large = SharedStorage::<u64>::new(1000);
            // SAFETY: both arrays are as long as their handles say, and outlive the handles, which
            // stay on this thread.
            let (few, many) = unsafe { (small.handle(5), large.handle(1000)) };
            // The words are zeros at first, and then the previous block's.
            let left = if round == 0 { 0 } else { 9 };
            assert!((0..5).all(|i| few.get(i) == left) && (0..1000).all(|i| many.get(i) == left as u64));
            (0..5).for_each(|i| few.set(i, 9));
            (0..1000).for_each(|i| many.set(i, 7));
            assert!((0..5).all(|i| few.get(i) == 9));
            (0..1000).for_each(|i| many.set(i, 9));
        }
    })
    .join()
    .unwrap();
}
