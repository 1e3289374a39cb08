//! The types that tables take: 32- and 64-bit unsigned keys and values.
//!
//! Tables with a [`Payload`] beside each key are maps or sets, and their kernels have entry points
//! for both. Keys are mixed by a bijection ([`KeyWord::mixed`]), so code that stores mixed keys, or
//! a part of them, can compute the keys.

use crate::seam::{AtomicWord, Global, Lanes, Word};
use core::ops::{BitAnd, BitOr, BitXor, Not, Shl, Shr};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for u128 {}
    impl Sealed for super::Nothing {}
    impl Sealed for super::Columns {}
}

/// The common properties of keys and values: an unsigned word, converted to and from 64 bits
/// without loss.
pub trait Scalar:
    Word
    + sealed::Sealed
    + Eq
    + Ord
    + core::hash::Hash
    + core::fmt::Debug
    + core::fmt::Display
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The size in bits.
    const BITS: u32;
    /// The index of this type in the kernels' name tables: 0 for `u32`, 1 for `u64`.
    const INDEX: usize;
    /// The word with every bit set.
    const ALL_ONES: Self;
    /// The word that consists of two such words.
    type Double: Double<Half = Self>;
    /// Zero-extends to 64 bits.
    fn to_u64(self) -> u64;
    /// Returns the 32 bits starting at bit `shift`, which must be the index of one of the word's
    /// bits.
    fn bits_from(self, shift: u32) -> u32;
    /// Takes the low bits of `wide`.
    fn from_u64(wide: u64) -> Self;
    /// Returns the index of the part that contains the word, if the range of words is divided into
    /// `whole` equal parts.
    fn scaled(self, whole: u32) -> u32;
    /// Returns the index of the part as [`Scalar::scaled`] does, with a `whole` as wide as the
    /// word.
    fn scaled_wide(self, whole: Self) -> Self;
    /// Returns the position of the word within its part, if the range is divided as in
    /// [`Scalar::scaled`]. The position is scaled to the whole range.
    fn within_part(self, whole: u32) -> Self;
    /// Returns the count of zeros below the lowest bit that is set.
    fn low_zeros(self) -> u32;
}

macro_rules! scalar {
    ($word:ty, $twice:ty, $index:literal) => {
        impl Scalar for $word {
            const BITS: u32 = <$word>::BITS;
            const INDEX: usize = $index;
            const ALL_ONES: Self = <$word>::MAX;
            type Double = $twice;
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
            #[inline(always)]
            fn scaled(self, whole: u32) -> u32 {
                ((self as $twice * whole as $twice) >> <$word>::BITS) as u32
            }
            #[inline(always)]
            fn scaled_wide(self, whole: Self) -> Self {
                ((self as $twice * whole as $twice) >> <$word>::BITS) as $word
            }
            #[inline(always)]
            fn within_part(self, whole: u32) -> Self {
                self.wrapping_mul(whole as $word)
            }
            #[inline(always)]
            fn low_zeros(self) -> u32 {
                self.trailing_zeros()
            }
        }
    };
}
scalar!(u32, u64, 0);
scalar!(u64, u128, 1);

/// A word of two halves that threads change as a whole: `u64` of two `u32`, or `u128` of two `u64`.
pub trait Double: AtomicWord + Eq + core::fmt::Debug + sealed::Sealed {
    /// The type of half of the word.
    type Half: KeyWord + ValueWord;
    /// The array of such words that has 32 bytes, a sector of the GPU's memory. One thread reads it
    /// as fast as one word.
    type Sector: Copy + AsRef<[Self]>;
    /// The count of words of a sector.
    const IN_SECTOR: u32;
    /// The word with every bit set.
    const ALL_ONES: Self;

    /// Returns the word that consists of two halves.
    fn of(upper: Self::Half, lower: Self::Half) -> Self;
    /// Returns the upper half.
    fn upper(self) -> Self::Half;
    /// Returns the lower half.
    fn lower(self) -> Self::Half;

    /// Reads the words of a sector, whose first word has index `first`. No thread of this launch
    /// may write these words.
    fn read_sector(memory: Global<Self>, first: u64) -> Self::Sector;
    /// Loads the words of a sector while other threads may be changing them. Each word is whole,
    /// but the words may be of different moments.
    fn load_sector_relaxed(memory: Global<Self>, first: u64) -> Self::Sector;

    /// The array of such words that has 64 bytes, a line of a CPU's cache.
    type Line: Copy + AsRef<[Self]>;
    /// Loads the words of a line, whose first word has index `first`. No other thread may write
    /// them concurrently.
    fn load_line(memory: Global<Self>, first: u64) -> Self::Line;
    /// Loads the words of a line while other threads may be changing them, as
    /// [`Double::load_sector_relaxed`] does.
    fn load_line_relaxed(memory: Global<Self>, first: u64) -> Self::Line;
    /// Compares the words of a line, with vectors if the CPU has them. In the result, bit `i` tells
    /// whether the upper half of word `i` is `upper`. Bit `8 + i` tells whether all bits of word
    /// `i` are set, and bit `16 + i` whether all bits of its upper half are set.
    fn compare_line(lanes: impl Lanes, line: Self::Line, upper: Self::Half) -> u32;
}

/// A key of a table: `u32` or `u64`. Every value of the type is a legal key.
pub trait KeyWord: Scalar {
    /// The word type for the keys and values of a table that stores both in words of one type. It
    /// is the wider of the two types.
    type PackedWord<V: Payload>: KeyWord + ValueWord;

    /// Returns the image of the key under a bijection by two random words, in which every bit
    /// depends on every bit of the key. `b` is used as an odd multiplier. The shifts and the first
    /// multiplier are from published bijective mixers: for 32 bits C. Wellons' hash-prospector
    /// (0x21f0aaad), for 64 bits J. Maiga's "mx3" (0xe9846af9b1a615d).
    fn mixed(self, a: u64, b: u64) -> Self;

    /// Returns the key whose [`KeyWord::mixed`] is this word.
    #[inline(always)]
    fn unmixed(self, a: u64, b: u64) -> Self {
        self.unmixed_by(a, inverse_multiplier(b))
    }

    /// Does [`KeyWord::unmixed`] with the [`inverse_multiplier`] of `b`.
    fn unmixed_by(self, a: u64, inverse_of_b: u64) -> Self;

    /// Returns the upper 32 bits of [`KeyWord::mixed`].
    #[inline(always)]
    fn mix(self, a: u64, b: u64) -> u32 {
        self.mixed(a, b).bits_from(Self::BITS - 32)
    }

    /// Returns the sum `a·k + b` before the reduction by a prime. If `wrapping` is true, it is
    /// computed modulo 2^32 or 2^64, the key's own width.
    fn linear(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64;

    /// Returns the sum `(a ^ k) + b` before the reduction by a prime, in the arithmetic of
    /// [`KeyWord::linear`].
    fn xor(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64;
}

/// A value of a table: `u32` or `u64`. Every value of the type is legal.
pub trait ValueWord: Scalar + Payload<Word = Self> {}
impl ValueWord for u32 {}
impl ValueWord for u64 {}

/// The payload that a table keeps beside a key: a [`ValueWord`], or [`Nothing`] in a set.
pub trait Payload: sealed::Sealed + Copy + core::fmt::Debug + Send + Sync + 'static {
    /// The value type; for [`Nothing`] a word that is neither read nor written.
    type Word: ValueWord;
    /// The count of bits of the value, or 0 if there is no value.
    const VALUE_BITS: u32;
    /// Whether there are several values, in a list of columns. Then `VALUE_BITS` is 0.
    const IS_LIST: bool = false;
    /// The index of this type in the names of the kernels that take any payload.
    const PAYLOAD_INDEX: usize;
    /// The [`KeyWord::PackedWord`] of a 32-bit key and this payload.
    type PackedWith32: KeyWord + ValueWord;
    /// The word for a pair of a 32-bit key and this payload, if one word can contain both. For any
    /// other pair it contains the pair's index.
    type PackedEntry: Scalar;
    /// The word type of a cuckoo table's slots: 64 bits wide if there is a value, else as wide as
    /// the key.
    type SlotWord<K: KeyWord>: Scalar;
}
impl Payload for u32 {
    type Word = u32;
    const VALUE_BITS: u32 = 32;
    const PAYLOAD_INDEX: usize = 0;
    type PackedWith32 = u32;
    type PackedEntry = u64;
    type SlotWord<K: KeyWord> = u64;
}
impl Payload for u64 {
    type Word = u64;
    const VALUE_BITS: u32 = 64;
    const PAYLOAD_INDEX: usize = 1;
    type PackedWith32 = u64;
    type PackedEntry = u64;
    type SlotWord<K: KeyWord> = u64;
}

/// The payload of a set: no value beside the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nothing;
impl Payload for Nothing {
    type Word = u32;
    const VALUE_BITS: u32 = 0;
    const PAYLOAD_INDEX: usize = 2;
    type PackedWith32 = u32;
    type PackedEntry = u32;
    type SlotWord<K: KeyWord> = K;
}

/// The payload of rows with several values, which are in a list ([`columns`](crate::columns)) of
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns;
impl Payload for Columns {
    type Word = u32;
    const VALUE_BITS: u32 = 0;
    const IS_LIST: bool = true;
    const PAYLOAD_INDEX: usize = 3;
    type PackedWith32 = u32;
    type PackedEntry = u32;
    type SlotWord<K: KeyWord> = K;
}

/// What a row has beside its key: a value, nothing, or [`Columns`].
pub trait Row: Payload {}
impl<V: Payload> Row for V {}

/// The [`Payload::Word`] of `V`, for the arguments of kernels.
pub type WordOf<V> = <V as Payload>::Word;

/// The [`Payload::SlotWord`] of `V` beside keys `K`.
pub type SlotWordOf<K, V> = <V as Payload>::SlotWord<K>;

/// Returns the inverse of `odd`, an odd number, modulo 2^64 and therefore modulo 2^32, too. Each of
/// Newton's steps doubles the count of correct bits; in the lowest three bits `odd` is its own
/// inverse.
#[inline(always)]
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut bits = 3;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// Returns the inverse of the odd multiplier that [`KeyWord::mixed`] makes of `b`. Code that
/// unmixes many keys passes it as an argument, since LLVM may compute it again for each key.
#[inline(always)]
pub const fn inverse_multiplier(b: u64) -> u64 {
    inverse(b | 1)
}

const MIX32: u32 = 0x21f0_aaad;
const MIX64: u64 = 0x0e98_46af_9b1a_615d;

impl KeyWord for u32 {
    type PackedWord<V: Payload> = V::PackedWith32;

    #[inline(always)]
    fn mixed(self, a: u64, b: u64) -> u32 {
        let mut x = self ^ a as u32;
        x ^= x >> 16;
        x = x.wrapping_mul(MIX32);
        x ^= x >> 15;
        x = x.wrapping_mul(b as u32 | 1);
        x ^ x >> 15
    }
    #[inline(always)]
    fn unmixed_by(self, a: u64, inverse_of_b: u64) -> u32 {
        // Undoing a shift by less than half of the width takes two more shifts.
        let mut x = self ^ self >> 15 ^ self >> 30;
        x = x.wrapping_mul(inverse_of_b as u32);
        x = x ^ x >> 15 ^ x >> 30;
        x = x.wrapping_mul(const { inverse(MIX32 as u64) as u32 });
        x ^ x >> 16 ^ a as u32
    }
    #[inline(always)]
    fn linear(self, a: u64, b: u64, _residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        // The sum is exact: a, b and k are below 2^32, so it is below 2^64.
        let sum = a * self as u64 + b;
        if wrapping { sum as u32 as u64 } else { sum }
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64, _residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        let sum = (a ^ self as u64) + b;
        if wrapping { sum as u32 as u64 } else { sum }
    }
}

impl KeyWord for u64 {
    type PackedWord<V: Payload> = u64;

    #[inline(always)]
    fn mixed(self, a: u64, b: u64) -> u64 {
        let mut x = self ^ a;
        x ^= x >> 32;
        x = x.wrapping_mul(MIX64);
        x ^= x >> 32;
        x = x.wrapping_mul(b | 1);
        x ^ x >> 28
    }
    #[inline(always)]
    fn unmixed_by(self, a: u64, inverse_of_b: u64) -> u64 {
        let mut x = self ^ self >> 28 ^ self >> 56;
        x = x.wrapping_mul(inverse_of_b);
        x ^= x >> 32;
        x = x.wrapping_mul(const { inverse(MIX64) });
        x ^ x >> 32 ^ a
    }
    #[inline(always)]
    fn linear(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        // The sum is exact: the key is reduced first, which changes nothing modulo the prime and
        // keeps the product below 2^64.
        if wrapping { a.wrapping_mul(self).wrapping_add(b) } else { a * residue(self) + b }
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64, residue: impl Fn(u64) -> u64, wrapping: bool) -> u64 {
        if wrapping { (a ^ self).wrapping_add(b) } else { residue(a ^ self) + b }
    }
}
