//! A kernel whose threads race on shared memory, and what the engines make of it.

use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global, Shared};
use warpnest::{Buffer, Device, Error, Result};

/// The threads of a block.
const THREADS: u32 = 64;

kernel! {
    /// Writes to each thread's word the number of the next thread.
    NextThread<>, "next_thread", threads 64, shared numbers: u32 = 64;
    { output: Global<u32>, waits: u32 }
}

impl NextThread {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, numbers: B::Shared<u32>) {
        let mut nothing = block.local(|_| ());
        let next = |thread: u32| self.output.store(thread as u64, numbers.get((thread + 1) % THREADS));
        if self.waits == 1 {
            block.phase(&mut nothing, |thread, _| numbers.set(thread, thread));
            block.each(&mut nothing, |thread, _| next(thread));
        } else {
            // Nothing waits until the other thread has written its number.
            block.each(&mut nothing, |thread, _| {
                numbers.set(thread, thread);
                next(thread);
            });
        }
    }
}

fn numbers(device: &Device, waits: bool) -> Result<Vec<u32>> {
    let mut output = Buffer::zeroed(device, THREADS as usize)?;
    // SAFETY: there is a word for each thread of the one block.
    unsafe {
        let kernel = device
            .default_stream()
            .launch(1, |uses| NextThread { output: uses.write(&mut output), waits: waits as u32 });
        kernel?;
    }
    output.download(device.default_stream())
}

#[test]
fn the_checking_engine_finds_a_race_and_none_where_threads_wait() {
    let device = warpnest_testing::checking(7);
    let expected: Vec<u32> = (1..=THREADS).map(|thread| thread % THREADS).collect();
    assert_eq!(numbers(&device, true).unwrap(), expected);
    let error = numbers(&device, false).unwrap_err();
    assert!(matches!(&error, Error::Kernel { fault, .. } if fault.contains("conflict")), "{error}");
}

#[test]
fn a_kernel_of_no_module_is_not_interpreted_and_the_error_names_its_package() {
    let error = numbers(&warpnest_testing::interpreting(7), true).unwrap_err();
    assert!(matches!(&error, Error::Kernel { fault, .. } if fault.contains("warpnest-testing")), "{error}");
}
