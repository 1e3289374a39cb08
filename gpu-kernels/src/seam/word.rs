//! Machine words, and what a back end must offer to access them.

use super::{Scope, backend};
use crate::plain::Plain;

/// A machine word that kernels load, store and change atomically: `u32` or `u64`.
pub trait Word: AtomicWord + GlobalWord + backend::SharedWord {
    /// The sum, wrapping.
    fn plus(self, other: Self) -> Self;
    /// The difference, wrapping.
    fn minus(self, other: Self) -> Self;
    /// The bits that are set in either word.
    fn either(self, other: Self) -> Self;
    /// The comparison of [`equal_of_four`](super::equal_of_four).
    fn equal_of_four(words: [Self; 4], mask: Self, other: Self) -> u32;
}
impl Word for u32 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
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

/// A word that threads load, exchange, and compare and exchange as a whole: `u32`, `u64`, or `u128`
/// where the GPU has atomics of 128 bits (compute capability 9.0).
pub trait AtomicWord: WholeWord + Plain + PartialEq + Default {}
impl AtomicWord for u32 {}
impl AtomicWord for u64 {}
impl AtomicWord for u128 {}

/// The accesses to the device's memory that each back end implements. Only
/// [`Global`](super::Global) and [`Atomic`](super::Atomic) use them, and their methods say what
/// each does.
///
/// # Safety
/// The methods access `at`, which must be allocated and aligned; the plain ones must not race.
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait WholeWord: Sized {
    fn prefetch(at: *const Self);
    unsafe fn load_streaming(at: *const Self) -> Self;
    unsafe fn load_read_only(at: *const Self) -> Self;
    unsafe fn atomic_load<S: Scope>(at: *mut Self) -> Self;
    unsafe fn atomic_exchange<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn atomic_compare_exchange<S: Scope>(at: *mut Self, expected: Self, value: Self) -> Self;
}

/// The further accesses to words of 32 and 64 bits.
///
/// # Safety
/// As for [`WholeWord`].
#[allow(clippy::missing_safety_doc, missing_docs)]
pub trait GlobalWord: Sized {
    fn prefetch_far(at: *const Self);
    unsafe fn load_pair_read_only(at: *const Self) -> [Self; 2];
    unsafe fn load_pair_streaming(at: *const Self) -> [Self; 2];
    unsafe fn atomic_load_pair(at: *mut Self) -> [Self; 2];
    unsafe fn store_pair(at: *mut Self, values: [Self; 2]);
    unsafe fn load_four(at: *const Self) -> [Self; 4];
    unsafe fn load_four_read_only(at: *const Self) -> [Self; 4];
    unsafe fn load_four_streaming(at: *const Self) -> [Self; 4];
    unsafe fn store_streaming(at: *mut Self, value: Self);
    unsafe fn store_four_streaming(at: *mut Self, values: [Self; 4]);
    unsafe fn atomic_store<S: Scope>(at: *mut Self, value: Self);
    unsafe fn atomic_add<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn atomic_max<S: Scope>(at: *mut Self, value: Self) -> Self;
}
