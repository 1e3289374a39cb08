//! Machine words that kernels compute with, and words that kernels change atomically as a whole.

use super::access::{AddedWord, GlobalWord, WholeWord};
use super::backend;
use crate::plain::Plain;

/// A machine word that kernels load, store and change atomically: `u32` or `u64`.
pub trait Word: AtomicNumber + GlobalWord + backend::SharedWord {
    /// Returns the sum, wrapping.
    fn plus(self, other: Self) -> Self;
    /// Returns the bits of the sum of two floating-point numbers, which are given by their bits.
    fn plus_float(self, other: Self) -> Self;
    /// Returns the difference, wrapping.
    fn minus(self, other: Self) -> Self;
    /// Returns the bits that are set in either word.
    fn either(self, other: Self) -> Self;
    /// Returns the result of [`equal_of_four`](super::equal_of_four).
    fn equal_of_four(words: [Self; 4], mask: Self, other: Self) -> u32;
}
impl Word for u32 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn plus_float(self, other: Self) -> Self {
        (f32::from_bits(self) + f32::from_bits(other)).to_bits()
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn either(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn equal_of_four(words: [u32; 4], mask: u32, other: u32) -> u32 {
        backend::equal_of_four(words, mask, other)
    }
}
impl Word for u64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn plus_float(self, other: Self) -> Self {
        (f64::from_bits(self) + f64::from_bits(other)).to_bits()
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }
    #[inline(always)]
    fn either(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn equal_of_four(words: [u64; 4], mask: u64, other: u64) -> u32 {
        let bit = |i: usize| ((words[i] & mask == other) as u32) << (4 * i);
        bit(0) | bit(1) | bit(2) | bit(3)
    }
}

/// A word that threads load, exchange and compare-and-exchange as a whole: `u32`, `u64`, `f32`,
/// `f64`, or `u128` where the GPU has atomics of 128 bits (compute capability 9.0).
pub trait AtomicWord: WholeWord + Plain + PartialEq + Default {}
impl AtomicWord for u32 {}
impl AtomicWord for u64 {}
impl AtomicWord for u128 {}
impl AtomicWord for f32 {}
impl AtomicWord for f64 {}

/// A number that threads can add to atomically: `u32`, `u64`, `f32` or `f64`.
pub trait AtomicNumber: AtomicWord + AddedWord {}
impl AtomicNumber for u32 {}
impl AtomicNumber for u64 {}
impl AtomicNumber for f32 {}
impl AtomicNumber for f64 {}
