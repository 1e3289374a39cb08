//! Functions that combine a new value of a key with the value that the key has.

use crate::column_values::ColumnParams;
use crate::primitives::reduce::SumKind;
use crate::types::Scalar;

/// The kind of a function that combines two values of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FoldKind {
    /// Their sum, in the width of the values. A sum of integers wraps.
    Sum = 0,
    /// The lesser value, or the number if the other value is a NaN.
    Min = 1,
    /// The greater value, or the number if the other value is a NaN.
    Max = 2,
}

/// A function of two numbers of a type, encoded in a word. Its lowest four bits are
/// [`Fold::CLASS`]. Above them are the [`FoldKind`], the [`SumKind`] of the numbers, and in the
/// upper half the count of bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Fold(u32);

const KIND_SHIFT: u32 = 4;
const NUMBER_SHIFT: u32 = 8;
const BITS_SHIFT: u32 = 16;

impl Fold {
    /// The lowest four bits of every such word, which distinguish it from the indices of other
    /// operations.
    pub const CLASS: u32 = 4;

    /// Returns the function of two numbers of `bits` bits: 32 or 64.
    pub const fn new(kind: FoldKind, numbers: SumKind, bits: u32) -> Self {
        Self(Self::CLASS | (kind as u32) << KIND_SHIFT | (numbers as u32) << NUMBER_SHIFT | bits << BITS_SHIFT)
    }

    /// Returns the function that a word encodes, if it is a function of numbers of `bits` bits.
    #[inline(always)]
    pub fn of_word(word: u32, bits: u32) -> Option<Self> {
        let (kind, number) = (word >> KIND_SHIFT & 0xf, word >> NUMBER_SHIFT & 0xff);
        let is_one = kind <= FoldKind::Max as u32 && number <= SumKind::Float as u32;
        if word & 0xf == Self::CLASS && is_one && word >> BITS_SHIFT == bits { Some(Self(word)) } else { None }
    }

    /// Returns the word that encodes the function.
    #[inline(always)]
    pub const fn word(self) -> u32 {
        self.0
    }

    /// Returns whether the function adds.
    #[inline(always)]
    pub const fn is_sum(self) -> bool {
        self.0 >> KIND_SHIFT & 0xf == FoldKind::Sum as u32
    }

    /// Returns whether the function returns the lesser number.
    #[inline(always)]
    pub const fn is_min(self) -> bool {
        self.0 >> KIND_SHIFT & 0xf == FoldKind::Min as u32
    }

    /// Returns the kind of the numbers.
    #[inline(always)]
    pub const fn numbers(self) -> SumKind {
        let number = self.0 >> NUMBER_SHIFT & 0xff;
        if number == SumKind::Float as u32 {
            SumKind::Float
        } else if number == SumKind::Signed as u32 {
            SumKind::Signed
        } else {
            SumKind::Unsigned
        }
    }

    /// Returns the parameters by which the numbers are compared.
    #[inline(always)]
    pub const fn column(self) -> ColumnParams {
        let bits = self.0 >> BITS_SHIFT;
        match self.numbers() {
            SumKind::Unsigned => ColumnParams::unsigned(),
            SumKind::Signed => ColumnParams::signed(bits),
            SumKind::Float => ColumnParams::float(bits),
        }
    }

    /// Combines two numbers, which may be stored in wider words.
    #[inline(always)]
    pub fn of<W: Scalar>(self, held: W, value: W) -> W {
        if W::BITS == 64 && self.0 >> BITS_SHIFT == 32 {
            W::from_u64(self.of_narrow(held.bits_from(0), value.bits_from(0)) as u64)
        } else if W::BITS == 64 {
            W::from_u64(self.of_wide(held.to_u64(), value.to_u64()))
        } else {
            W::from_u64(self.of_narrow(held.bits_from(0), value.bits_from(0)) as u64)
        }
    }

    #[inline(always)]
    fn of_narrow(self, held: u32, value: u32) -> u32 {
        match (self.is_sum(), self.numbers()) {
            (true, SumKind::Float) => (f32::from_bits(held) + f32::from_bits(value)).to_bits(),
            (true, _) => held.wrapping_add(value),
            (false, _) => self.selected(held, value),
        }
    }

    #[inline(always)]
    fn of_wide(self, held: u64, value: u64) -> u64 {
        match (self.is_sum(), self.numbers()) {
            (true, SumKind::Float) => (f64::from_bits(held) + f64::from_bits(value)).to_bits(),
            (true, _) => held.wrapping_add(value),
            (false, _) => self.selected(held, value),
        }
    }

    #[inline(always)]
    fn selected<W: Scalar>(self, held: W, value: W) -> W {
        let column = self.column();
        let is_better = if self.is_min() {
            column.min_rank(value) > column.min_rank(held)
        } else {
            column.max_rank(value) > column.max_rank(held)
        };
        if is_better { value } else { held }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fold, FoldKind, SumKind};

    #[test]
    fn numbers_are_combined_as_their_type_does() {
        let fold = |kind, numbers, bits| Fold::new(kind, numbers, bits);
        let (sum, min, max) = (FoldKind::Sum, FoldKind::Min, FoldKind::Max);
        assert_eq!(fold(sum, SumKind::Unsigned, 32).of(u32::MAX, 3u32), 2);
        assert_eq!(fold(sum, SumKind::Signed, 32).of(-5i32 as u32, 3u32), -2i32 as u32);
        assert_eq!(fold(min, SumKind::Signed, 32).of(3u32, -5i32 as u32), -5i32 as u32);
        assert_eq!(fold(max, SumKind::Unsigned, 32).of(3u32, -5i32 as u32), -5i32 as u32);
        assert_eq!(fold(min, SumKind::Unsigned, 64).of(1 << 40, u64::MAX), 1 << 40);
        let [half, minus_one] = [0.5f32, -1.0].map(f32::to_bits);
        assert_eq!(fold(sum, SumKind::Float, 32).of(half, half), 1f32.to_bits());
        assert_eq!(fold(max, SumKind::Float, 32).of(minus_one, half), half);
        for kind in [min, max] {
            for nan in [f32::NAN, -f32::NAN].map(f32::to_bits) {
                assert_eq!(fold(kind, SumKind::Float, 32).of(nan, half), half);
                assert_eq!(fold(kind, SumKind::Float, 32).of(minus_one, nan), minus_one);
            }
        }
        assert_eq!(fold(min, SumKind::Float, 64).of((-0.0f64).to_bits(), 0f64.to_bits()), (-0.0f64).to_bits());
    }

    #[test]
    fn narrow_numbers_in_wide_words_stay_narrow() {
        let sum = Fold::new(FoldKind::Sum, SumKind::Unsigned, 32);
        assert_eq!(sum.of(u32::MAX as u64, 3u64), 2);
        let min = Fold::new(FoldKind::Min, SumKind::Signed, 32);
        assert_eq!(min.of(7u64, -1i32 as u32 as u64), -1i32 as u32 as u64);
    }

    #[test]
    fn a_word_stands_for_a_function_of_numbers_of_one_width() {
        let fold = Fold::new(FoldKind::Max, SumKind::Float, 64);
        assert_eq!(Fold::of_word(fold.word(), 64), Some(fold));
        assert_eq!(Fold::of_word(fold.word(), 32), None);
        assert!((0..4).all(|operation| Fold::of_word(operation, 0).is_none()));
        assert!([0x0040_0034, 0x0040_0304].into_iter().all(|word| Fold::of_word(word, 64).is_none()));
    }
}
