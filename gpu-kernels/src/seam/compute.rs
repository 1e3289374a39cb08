//! Operations of single threads that the back ends implement differently.

use super::backend;
use super::word::Word;
use super::work::{LaneWork, Work};

/// Returns `word` so that the compiler knows nothing about its value. A thread then keeps this word
/// in a register, not the words that it was computed from. Otherwise LLVM would take packed words
/// apart, and delay computing values until after a barrier, which takes more registers.
#[inline(always)]
pub fn opaque(word: u32) -> u32 {
    backend::opaque(word)
}

/// Returns the upper half of a product. A GPU has one instruction for this, which LLVM does not
/// find.
#[inline(always)]
pub fn upper_product(a: u32, b: u32) -> u32 {
    backend::upper_product(a, b)
}

/// Returns the sum of a product and `addend`, wrapping. A GPU has one instruction for this, which
/// LLVM does not find either.
#[inline(always)]
pub fn wide_product(a: u32, b: u32, addend: u64) -> u64 {
    backend::wide_product(a, b, addend)
}

/// Returns the square root, rounded to the nearest number. A GPU has an instruction for this, which
/// `core` does not offer.
#[inline(always)]
pub fn square_root(number: f64) -> f64 {
    backend::square_root(number)
}

/// Compares four words with `other` in the bits that `mask` has set. For each word `i` that is
/// equal, some of the four bits from `4 · i` to `4 · i + 3` are set in the result.
#[inline(always)]
pub fn equal_of_four<T: Word>(words: [T; 4], mask: T, other: T) -> u32 {
    T::equal_of_four(words, mask, other)
}

/// Runs `work`. A CPU that has wider vectors than the baseline runs a version that is compiled for
/// them.
#[inline(always)]
pub fn vectorized<W: Work>(work: W) -> W::Output {
    backend::vectorized(work)
}

/// Runs `work` as [`vectorized`] does, for work that compares by [`Lanes`](super::Lanes).
#[inline(always)]
pub fn vectorized_by_lanes<W: LaneWork>(work: W) -> W::Output {
    backend::vectorized_by_lanes(work)
}

/// Lets other threads run while this thread waits for a word that another block is about to write.
#[inline(always)]
pub fn pause() {
    backend::pause();
}
