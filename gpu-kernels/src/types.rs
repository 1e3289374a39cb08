//! The types that tables take: 32- and 64-bit unsigned keys and values.

use crate::seam::Word;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// What keys and values have in common: an unsigned word, moved to and from 64 bits without loss.
pub trait Scalar: Word + sealed::Sealed + Eq + Ord + core::hash::Hash + core::fmt::Debug + core::fmt::Display {
    /// Size in bits.
    const BITS: u32;
    /// Place of this type in the kernels' name tables: 0 for `u32`, 1 for `u64`.
    const INDEX: usize;
    /// The word with every bit set.
    const ALL_ONES: Self;
    /// Zero-extends to 64 bits.
    fn to_u64(self) -> u64;
    /// 32 bits from bit `shift` on, which must be one of the word's.
    fn bits_from(self, shift: u32) -> u32;
    /// Takes the low bits of `wide`.
    fn from_u64(wide: u64) -> Self;
}

macro_rules! scalar {
    ($word:ty, $index:literal) => {
        impl Scalar for $word {
            const BITS: u32 = <$word>::BITS;
            const INDEX: usize = $index;
            const ALL_ONES: Self = <$word>::MAX;
            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn bits_from(self, shift: u32) -> u32 {
                (self >> shift) as u32
            }
            #[inline(always)]
            fn from_u64(wide: u64) -> Self {
                wide as $word
            }
        }
    };
}
scalar!(u32, 0);
scalar!(u64, 1);

/// A key of a table: `u32` or `u64`. Every value of the type is a legal key.
pub trait Key: Scalar {
    /// A mix of the key whose every bit depends on every bit of the key, under two random words (`b` is used as an odd
    /// multiplier). The shifts and the first multiplier are those of published bijective mixers: for 32 bits C. Wellons'
    /// hash-prospector (0x21f0aaad), for 64 bits J. Maiga's "mx3" (0xe9846af9b1a615d).
    fn mix(self, a: u64, b: u64) -> u32;

    /// `a·k + b` before the reduction by a prime; `wrapping` computes it modulo 2^32 or 2^64, the key's own width.
    fn linear(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64;

    /// `(a ^ k) + b` before the reduction by a prime, in the arithmetic of [`Key::linear`].
    fn xor(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64;
}

/// A value of a table: `u32` or `u64`. Every value of the type is legal.
pub trait Value: Scalar {}
impl Value for u32 {}
impl Value for u64 {}

impl Key for u32 {
    #[inline(always)]
    fn mix(self, a: u64, b: u64) -> u32 {
        let mut x = self ^ a as u32;
        x ^= x >> 16;
        x = x.wrapping_mul(0x21f0_aaad);
        x ^= x >> 15;
        x = x.wrapping_mul(b as u32 | 1);
        x ^ x >> 15
    }
    #[inline(always)]
    fn linear(self, a: u64, b: u64, _residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        // Exact: a, b and k are below 2^32, so the sum is below 2^64.
        let sum = a * self as u64 + b;
        if wrapping { sum as u32 as u64 } else { sum }
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64, _residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        let sum = (a ^ self as u64) + b;
        if wrapping { sum as u32 as u64 } else { sum }
    }
}

impl Key for u64 {
    #[inline(always)]
    fn mix(self, a: u64, b: u64) -> u32 {
        let mut x = self ^ a;
        x ^= x >> 32;
        x = x.wrapping_mul(0x0e98_46af_9b1a_615d);
        x ^= x >> 32;
        x = x.wrapping_mul(b | 1);
        ((x ^ x >> 28) >> 32) as u32
    }
    #[inline(always)]
    fn linear(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        // Exact: the key is reduced first, which changes nothing modulo the prime and keeps the product below 2^64.
        if wrapping { a.wrapping_mul(self).wrapping_add(b) } else { a * residue(self) + b }
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        if wrapping { (a ^ self).wrapping_add(b) } else { residue(a ^ self) + b }
    }
}
