//! The seam between GPU and CPU: all that differs between them is in this module, a folder or file for each back end.
//!
//! * [`Block`] and [`Tile`]: who runs, and where they wait for each other.
//! * [`Shared`]: memory of one block. [`Global`] and [`Atomic`]: memory of the device.
//! * [`kernel!`](crate::kernel): declares a kernel once, for both.
//!
//! Smaller tiles than a warp, and the narrow and wide scopes, have no user yet: the bucketed tables and those that
//! several devices share will be written with them. They are tested on every back end that runs here.
//!
//! Back ends: `gpu` (the NVPTX target), [`cpu`] (a block runs on one thread of the CPU, its threads one after the
//! other), [`checked`] (the same in shuffled order, reporting conflicts within a phase).

mod block;
mod global;
#[macro_use]
mod kernel;
mod word;

pub use backend::{IN_STEP, STAGED_TIMES};
pub use block::{Block, Shared, Tile, TileLocal};
pub use global::{Atomic, BlockScope, DeviceScope, Global, Scope, SystemScope};
pub use word::{AtomicWord, Word};

#[cfg(target_arch = "nvptx64")]
#[macro_use]
pub mod gpu;
#[cfg(target_arch = "nvptx64")]
use gpu::memory as backend;

#[cfg(not(target_arch = "nvptx64"))]
extern crate std;
#[cfg(not(target_arch = "nvptx64"))]
pub mod checked;
#[cfg(not(target_arch = "nvptx64"))]
#[macro_use]
pub mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
use cpu::memory as backend;
#[cfg(not(target_arch = "nvptx64"))]
pub use kernel::{CheckBlock, Entry, Kernel, RunBlocks};

/// `word`, of which the compiler then knows nothing. Says that a thread should keep this word and not the ones that it was made
/// of: LLVM would take packed words apart, and put off computing what is used after a barrier, which takes more registers.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    backend::opaque(word)
}

/// Which of the four words, as far as `mask` goes, equal `other`: for word `i` some of the four
/// bits from `4 · i` on.
#[inline(always)]
pub fn equal_of_four<T: Word>(words: [T; 4], mask: T, other: T) -> u32 {
    T::equal_of_four(words, mask, other)
}

/// What [`vectorized`] runs.
pub trait Work {
    /// What comes out.
    type Output;
    /// Does it. To be inlined with all that it calls, so without closures that LLVM may leave
    /// apart.
    fn run(self) -> Self::Output;
}

/// Runs `work`, on a CPU compiled for wider vectors than every CPU has, if this one has them.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    backend::vectorized(work)
}

/// Lets others run while this thread waits for a word that another block is about to write.
#[inline(always)]
pub fn pause() {
    backend::pause();
}
