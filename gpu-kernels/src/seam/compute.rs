//! What threads compute or do by themselves, where the back ends differ.

use super::backend;
use super::word::Word;
use super::work::{LaneWork, Work};

/// Returns `word`, about which the compiler then knows nothing. A thread then keeps this word and
/// not the ones that it was made of. Otherwise LLVM would take packed words apart, and delay
/// computing what is used after a barrier, which takes more registers.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    backend::opaque(word)
}

/// Returns the upper half of a product. A GPU has one instruction for it, which LLVM does not find.
#[inline(always)]
pub fn upper_product(a: u32, b: u32) -> u32 {
    backend::upper_product(a, b)
}

/// Returns a product and `addend`, wrapping. A GPU has one instruction for it, as for
/// [`upper_product`].
#[inline(always)]
pub fn wide_product(a: u32, b: u32, addend: u64) -> u64 {
    backend::wide_product(a, b, addend)
}

/// Compares four words with `other`, in the bits of `mask`. For each word `i` that is equal, some
/// of the four bits from `4 · i` to `4 · i + 3` are set.
#[inline(always)]
pub fn equal_of_four<T: Word>(words: [T; 4], mask: T, other: T) -> u32 {
    T::equal_of_four(words, mask, other)
}

/// Runs `work`. On a CPU with wider vectors than every CPU has, it runs code compiled for these.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    backend::vectorized(work)
}

/// Does [`vectorized`] with work that compares by [`Lanes`](super::Lanes).
#[inline(always)]
pub fn vectorized_by_lanes<W: LaneWork>(work: W) -> W::Output {
    backend::vectorized_by_lanes(work)
}

/// Lets other threads run while this thread waits for a word that another block is about to write.
#[inline(always)]
pub fn pause() {
    backend::pause();
}
