//! The seam between GPU and CPU: all that differs between them is in this module, a folder or file
//! for each back end.
//!
//! * [`Block`] and [`Tile`]: who runs, and where they wait for each other.
//! * [`Shared`]: memory of one block. [`Global`] and [`Atomic`]: memory of the device.
//! * [`kernel!`](crate::kernel): declares a kernel once, for both.
//!
//! Tiles smaller than a warp, and the narrow and wide scopes, have no user yet: they are for the
//! bucketed tables and for tables that several devices share. They are tested on every back end
//! that runs here.
//!
//! There are three back ends: `gpu` (the NVPTX target), [`cpu`] and [`checked`]. On `cpu` a block
//! runs on one thread of the CPU, its threads one after the other. On `checked` they run in
//! shuffled order, and conflicts within a phase are reported.

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

/// Returns `word`, about which the compiler then knows nothing. A thread then keeps this word and
/// not the ones that it was made of. Otherwise LLVM would take packed words apart, and delay
/// computing what is used after a barrier, which takes more registers.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    backend::opaque(word)
}

/// The constant [`Block::IN_TURN`] of a block's type, where that has no name.
#[inline(always)]
pub fn in_turn<B: Block>(_: &B) -> bool {
    B::IN_TURN
}

/// Compares four words with `other`, in the bits of `mask`. For each word `i` that is equal, some
/// of the four bits from `4 · i` on are set.
#[inline(always)]
pub fn equal_of_four<T: Word>(words: [T; 4], mask: T, other: T) -> u32 {
    T::equal_of_four(words, mask, other)
}

/// The work that [`vectorized`] runs.
pub trait Work {
    /// The result type.
    type Output;
    /// Runs the work. It must be possible to inline all that it calls, so it has no closures that
    /// LLVM may leave as calls.
    fn run(self) -> Self::Output;
}

/// Runs `work`. On a CPU with wider vectors than every CPU has, it runs code compiled for these.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    backend::vectorized(work)
}

/// Lets other threads run while this thread waits for a word that another block is about to write.
#[inline(always)]
pub fn pause() {
    backend::pause();
}
