//! Engines that test kernels of `warpnest`, and code that uses its devices, without a GPU.
//!
//! A kernel that `kernel!` declares is compiled for several back ends from one source. A test that
//! runs it on [`devices`] runs it on all of them:
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
//!     // For a kernel whose PTX is built, load it first: device.load(&KERNELS)?;
//! #     if !on_the_host(&device) { continue }
//!     let stream = device.default_stream();
//!     let mut words = Buffer::from_slice(&device, &[1u32, 2, 3])?;
//!     // SAFETY: the buffer has three words, and `items` is 3.
//!     unsafe { stream.launch(3, |uses| Square { words: uses.write(&mut words), items: 3 })? };
//!     assert_eq!(words.download(stream)?, [1, 4, 9], "{}", device.name());
//! }
//! # Ok::<(), warpnest::Error>(())
//! ```
//!
//! * [`Device::cpu`](warpnest::Device::cpu) runs each block on one thread of the CPU. It finds
//!   wrong results.
//! * [`checking`] runs the threads of each phase in a changing order, on shared memory that starts
//!   with random words. It finds words of shared memory that one thread writes and another uses in
//!   the same phase, and results that depend on the order of threads.
//! * [`interpreting`] and [`interpreting_baseline`] execute the PTX for Hopper and for every GPU,
//!   with threads interleaved at random. They find faults of the compiler, accesses outside of
//!   buffers, barriers that not all threads reach, and races between blocks.
//! * The first GPU comes last, if there is one and `warpnest` has its feature `cuda`. The feature
//!   `cuda` of this crate enables that feature.
//!
//! The interpreters execute some million instructions per second, so use a few hundred items.
//!
//! # What does not compile
//!
//! The index of a thread exists only inside of a closure that is passed to the block, and the block
//! is borrowed while the closure runs. So a barrier under a branch on the index does not compile:
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
//! [`planted`] is for host code. It returns a device any of whose operations can fail, once or
//! permanently, before or after it is done. [`planted::in_each_operation`] makes each operation of
//! a call fail in turn, and lets a test check the state after it.

pub mod checked;
pub mod interpreted;
pub mod planted;

use checked::CheckedRunner;
use interpreted::PtxRunner;
use warpnest::low_level::engine::{HostEngine, Runner};
use warpnest::{Device, Error};

/// Returns a device of each kind: the CPU, [`checking`], [`interpreting_baseline`],
/// [`interpreting`], and the first GPU if there is one and `warpnest` has its feature `cuda`. The
/// orders of threads depend on `seed`.
///
/// # Panics
/// Panics if there is a GPU that cannot be used, unless the reason is that it is missing or too
/// old.
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

/// Returns a device that executes the PTX for Hopper and later.
pub fn interpreting(seed: u64) -> Device {
    on(PtxRunner::hopper(seed))
}

/// Returns a device that executes the PTX for every GPU of compute capability 7.5 or later.
pub fn interpreting_baseline(seed: u64) -> Device {
    on(PtxRunner::baseline(seed))
}

/// Returns a device whose kernels `runner` runs.
pub fn on(runner: impl Runner) -> Device {
    Device::from_engine(HostEngine::new(runner)).expect("a host engine always has a queue")
}
