//! Engines that test kernels of `warpnest` without a GPU, and what depends on its devices.
//!
//! A kernel that `kernel!` declares is one source for several back ends. So a test that runs it on
//! [`devices`] runs it in every way that there is:
//!
//! ```
//! use gpu_kernels::{kernel, seam::{Block, Global}};
//! use warpnest::Buffer;
//!
//! kernel! {
//!     /// Squares a word a thread.
//!     Square<>, "square", threads 64;
//!     { words: Global<u32>, items: u64 }
//! }
//!
//! impl Square {
//!     #[inline(always)]
//!     fn run<B: Block>(self, block: &mut B) {
//!         let args = self;
//!         let first = block.first_thread();
//!         let mut nothing = block.local(|_| ());
//!         block.each(&mut nothing, |thread, _| {
//!             let item = first + thread as u64;
//!             if item < args.items {
//!                 args.words.store(item, args.words.load(item).pow(2));
//!             }
//!         });
//!     }
//! }
//!
//! # fn on_the_host(device: &warpnest::Device) -> bool { !device.name().starts_with("PTX") }
//! for device in warpnest_testing::devices(1) {
//!     // A kernel whose PTX is built: device.load(&KERNELS)?;
//! #     if !on_the_host(&device) { continue }
//!     let stream = device.default_stream();
//!     let mut words = Buffer::from_slice(&device, &[1u32, 2, 3])?;
//!     // SAFETY: there are as many words.
//!     unsafe { stream.launch(3, |uses| Square { words: uses.write(&mut words), items: 3 })? };
//!     assert_eq!(words.download(stream)?, [1, 4, 9], "{}", device.name());
//! }
//! # Ok::<(), warpnest::Error>(())
//! ```
//!
//! * [`Device::cpu`](warpnest::Device::cpu) runs each block on one thread of the CPU, and finds
//!   wrong results.
//! * [`checking`] runs the threads of each phase in an order that changes, on shared memory that
//!   starts with random words. It finds words of shared memory that two threads use in one phase,
//!   one of them writing, and whatever depends on the order of threads.
//! * [`interpreting`] and [`interpreting_baseline`] execute the PTX for Hopper and for every GPU,
//!   with threads interleaved at random. They find what a compiler has made of a kernel, accesses
//!   outside of buffers, barriers that not all threads reach, and races between blocks that show.
//! * The first GPU comes last, if there is one and `warpnest` has its feature `cuda`, which the
//!   feature `cuda` of this crate turns on.
//!
//! The interpreters execute some million instructions a second: give them a few hundred items.
//!
//! # What does not compile
//!
//! The number of a thread exists only inside of a closure that is given to the block, and the block
//! is borrowed meanwhile. So no barrier can stand under a branch on it:
//!
//! ```compile_fail,E0500
//! use gpu_kernels::{kernel, seam::Block};
//!
//! kernel! {
//!     /// Waits for the other half of the block, which never comes.
//!     Wrong<>, "wrong", threads 64;
//!     { items: u64 }
//! }
//!
//! impl Wrong {
//!     #[inline(always)]
//!     fn run<B: Block>(self, block: &mut B) {
//!         let mut nothing = block.local(|_| ());
//!         block.each(&mut nothing, |thread, _| {
//!             if thread < 32 {
//!                 block.sync();
//!             }
//!         });
//!     }
//! }
//! ```
//!
//! # Faults
//!
//! [`planted`] is for host code: a device any of whose operations can fail, once or from then on,
//! before or after it is done. [`planted::in_each_operation`] lets each operation of a call fail in
//! turn, and shows what is left.

pub mod checked;
pub mod interpreted;
pub mod planted;

use checked::CheckedRunner;
use interpreted::PtxRunner;
use warpnest::low_level::engine::{HostEngine, Runner};
use warpnest::{Device, Error};

/// Returns a device of each kind: the CPU, [`checking`], [`interpreting_baseline`],
/// [`interpreting`], and the first GPU if there is one and `warpnest` has its feature `cuda`.
/// Orders of threads follow from `seed`.
///
/// # Panics
/// If there is a GPU that cannot be used for another reason than that it is missing or too old.
pub fn devices(seed: u64) -> Vec<Device> {
    let mut devices = vec![Device::cpu(), checking(seed), interpreting_baseline(seed), interpreting(seed)];
    match Device::cuda(0) {
        Ok(device) => devices.push(device),
        Err(Error::NoDevice { .. }) => {}
        Err(error) => panic!("the GPU cannot be used: {error}"),
    }
    devices
}

/// Returns a device that finds conflicts between the threads of a block.
pub fn checking(seed: u64) -> Device {
    on(CheckedRunner::new(seed))
}

/// Returns a device that executes PTX for Hopper and later.
pub fn interpreting(seed: u64) -> Device {
    on(PtxRunner::hopper(seed))
}

/// Returns a device that executes the PTX for every GPU from compute capability 7.5 on.
pub fn interpreting_baseline(seed: u64) -> Device {
    on(PtxRunner::baseline(seed))
}

/// Returns a device whose launches a runner does.
pub fn on(runner: impl Runner) -> Device {
    Device::from_engine(HostEngine::new(runner)).expect("a host engine always has a queue")
}
