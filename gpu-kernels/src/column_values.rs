//! The values of a column as words that kernels can add and compare.

use crate::types::Scalar;

/// The numbers that are added to a column's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Addition {
    /// The values themselves, as integers of 64 bits. Sums wrap.
    Integer,
    /// The upper halves of 64-bit integers. With the wrapping sum of the integers, their sum
    /// determines the exact sum.
    UpperHalf,
    /// The values, as `f64`.
    Float,
}

/// The parameters by which the values of a column are added and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ColumnParams {
    /// The bits that are flipped in a word whose highest bit is set, before it is compared.
    pub flip_negative: u64,
    /// The bits that are flipped in every word before it is compared.
    pub flip: u64,
    /// The bits above a 32-bit word whose highest bit is set, when it is added to a 64-bit sum.
    pub sign: u64,
    /// The distance by which the order is rotated, so that the NaNs at both ends are together at
    /// one end.
    pub nans: u64,
    /// What is added to sums, an [`Addition`].
    pub addition: u64,
}

impl ColumnParams {
    /// Returns the parameters for unsigned integers.
    pub const fn unsigned() -> Self {
        Self { flip_negative: 0, flip: 0, sign: 0, nans: 0, addition: Addition::Integer as u64 }
    }

    /// Returns the parameters for signed integers of `bits` bits.
    pub const fn signed(bits: u32) -> Self {
        let sign = if bits == 32 { !0 << 32 } else { 0 };
        Self { flip: 1 << (bits - 1), sign, ..Self::unsigned() }
    }

    /// Returns the parameters for floating-point numbers of `bits` bits: -0 is less than 0, and a
    /// NaN is the least or the greatest value only if all values are NaNs.
    pub const fn float(bits: u32) -> Self {
        let highest = 1 << (bits - 1);
        // This is the count of NaNs of one sign.
        let nans = (1 << if bits == 32 { 23 } else { 52 }) - 1;
        Self { flip_negative: highest - 1, flip: highest, sign: 0, nans, addition: Addition::Float as u64 }
    }

    /// Returns the same parameters, except that the upper halves of the values are added.
    #[must_use]
    pub const fn with_upper_halves(self) -> Self {
        Self { addition: Addition::UpperHalf as u64, ..self }
    }

    /// Returns the same parameters, except that a NaN is both the least and the greatest value.
    #[must_use]
    pub const fn with_nans_first(self) -> Self {
        Self { nans: self.nans.wrapping_neg(), ..self }
    }

    /// Returns the rank of a value in a search for the least value, which has the greatest rank.
    #[inline(always)]
    pub fn min_rank<W: Scalar>(self, word: W) -> W {
        turned(!self.ordered(word), self.nans)
    }

    /// Returns the rank of a value in a search for the greatest value, which has the greatest rank.
    #[inline(always)]
    pub fn max_rank<W: Scalar>(self, word: W) -> W {
        turned(self.ordered(word), self.nans)
    }

    /// Returns the value whose [`ColumnParams::min_rank`] is `rank`.
    #[inline(always)]
    pub fn of_min_rank<W: Scalar>(self, rank: W) -> W {
        self.unordered(!turned(rank, self.nans.wrapping_neg()))
    }

    /// Returns the value whose [`ColumnParams::max_rank`] is `rank`.
    #[inline(always)]
    pub fn of_max_rank<W: Scalar>(self, rank: W) -> W {
        self.unordered(turned(rank, self.nans.wrapping_neg()))
    }

    /// Returns a word whose unsigned order is the order of the values. For floating-point numbers
    /// this is the total order of IEEE 754, from the negative NaNs to the positive ones.
    #[inline(always)]
    fn ordered<W: Scalar>(self, word: W) -> W {
        word ^ self.flip_of(word) ^ W::from_u64(self.flip)
    }

    #[inline(always)]
    fn unordered<W: Scalar>(self, ordered: W) -> W {
        let word = ordered ^ W::from_u64(self.flip);
        word ^ self.flip_of(word)
    }

    /// Returns whether sums are sums of floating-point numbers.
    #[inline(always)]
    pub fn adds_floats(self) -> bool {
        self.addition == Addition::Float as u64
    }

    /// Returns what is added to a sum: the bits of an integer or of an `f64`.
    #[inline(always)]
    pub fn addend<W: Scalar>(self, word: W) -> u64 {
        if self.adds_floats() {
            let value =
                if W::BITS == 32 { f32::from_bits(word.bits_from(0)) as f64 } else { f64::from_bits(word.to_u64()) };
            value.to_bits()
        } else if self.addition == Addition::UpperHalf as u64 {
            self.upper_half(word)
        } else {
            self.widened(word)
        }
    }

    /// Returns a sum of two [`ColumnParams::addend`]s, or of two sums of them.
    #[inline(always)]
    pub fn sum(self, a: u64, b: u64) -> u64 {
        if self.adds_floats() { (f64::from_bits(a) + f64::from_bits(b)).to_bits() } else { a.wrapping_add(b) }
    }

    /// Returns the value as `f64`, the nearest one for integers.
    #[inline(always)]
    pub fn number<W: Scalar>(self, word: W) -> f64 {
        if self.adds_floats() {
            f64::from_bits(self.addend(word))
        } else if self.flip != 0 {
            self.widened(word) as i64 as f64
        } else {
            self.widened(word) as f64
        }
    }

    /// Returns the integer as 64-bit word.
    #[inline(always)]
    pub fn widened<W: Scalar>(self, word: W) -> u64 {
        word.to_u64() | if is_negative(word) { self.sign } else { 0 }
    }

    /// Returns the upper half of a 64-bit integer, extended to 64 bits.
    #[inline(always)]
    fn upper_half<W: Scalar>(self, word: W) -> u64 {
        let word = word.to_u64();
        if self.flip == 0 { word >> 32 } else { (word as i64 >> 32) as u64 }
    }

    #[inline(always)]
    fn flip_of<W: Scalar>(self, word: W) -> W {
        if is_negative(word) { W::from_u64(self.flip_negative) } else { W::default() }
    }
}

#[inline(always)]
fn turned<W: Scalar>(word: W, by: u64) -> W {
    W::from_u64(word.to_u64().wrapping_add(by))
}

#[inline(always)]
fn is_negative<W: Scalar>(word: W) -> bool {
    word.bits_from(W::BITS - 1) != 0
}

#[cfg(test)]
mod tests {
    use super::ColumnParams;
    use crate::types::Scalar;

    /// Checks that ranks are in the order of the values, and that values are recovered from their
    /// ranks.
    fn check<W: Scalar>(column: ColumnParams, ascending: &[W]) {
        assert!(ascending.is_sorted_by_key(|&word| column.max_rank(word)));
        assert!(ascending.iter().rev().is_sorted_by_key(|&word| column.min_rank(word)));
        for &word in ascending {
            assert_eq!(column.of_min_rank(column.min_rank(word)), word);
            assert_eq!(column.of_max_rank(column.max_rank(word)), word);
        }
    }

    #[test]
    fn ranks_are_in_the_order_of_values() {
        check(ColumnParams::unsigned(), &[0u32, 9, u32::MAX]);
        check(ColumnParams::signed(64), &[i64::MIN, -7, -1, 0, 5, i64::MAX].map(|value| value as u64));
        let numbers = [f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-40, 2.0, f32::INFINITY].map(f32::to_bits);
        check(ColumnParams::float(32), &numbers);
        check(ColumnParams::float(32).with_nans_first(), &numbers);
        assert_eq!(ColumnParams::unsigned().max_rank(7u32), 7);
    }

    /// Checks NaNs of both signs, with the least and the greatest payload.
    #[test]
    fn nans_are_behind_all_numbers_or_before_them() {
        for nan in [1, u64::MAX >> 12].map(|payload| 0x7ff << 52 | payload) {
            for nan in [nan, nan | 1 << 63] {
                assert!(f64::from_bits(nan).is_nan());
                let [ignored, first] = [ColumnParams::float(64), ColumnParams::float(64).with_nans_first()];
                for number in [f64::NEG_INFINITY, -0.0, 1.0, f64::INFINITY].map(f64::to_bits) {
                    assert!(ignored.min_rank(nan) < ignored.min_rank(number));
                    assert!(ignored.max_rank(nan) < ignored.max_rank(number));
                    assert!(first.min_rank(nan) > first.min_rank(number));
                    assert!(first.max_rank(nan) > first.max_rank(number));
                }
                assert_eq!(ignored.of_min_rank(ignored.min_rank(nan)), nan);
                assert_eq!(first.of_max_rank(first.max_rank(nan)), nan);
            }
        }
    }

    #[test]
    fn upper_halves_keep_their_sign() {
        assert_eq!(ColumnParams::signed(64).upper_half(-1i64 as u64), u64::MAX);
        assert_eq!(ColumnParams::unsigned().upper_half(u64::MAX), u32::MAX as u64);
    }

    #[test]
    fn values_are_numbers() {
        assert_eq!(ColumnParams::signed(32).number(-5i32 as u32), -5.0);
        assert_eq!(ColumnParams::signed(64).number(-5i64 as u64), -5.0);
        assert_eq!(ColumnParams::unsigned().number(u64::MAX), 2f64.powi(64));
        assert_eq!(ColumnParams::float(32).number((-1.5f32).to_bits()), -1.5);
        assert_eq!(ColumnParams::float(64).number(0.1f64.to_bits()), 0.1);
    }

    #[test]
    fn only_negative_integers_are_widened_by_ones() {
        assert_eq!(ColumnParams::signed(32).widened(-5i32 as u32), -5i64 as u64);
        assert_eq!(ColumnParams::signed(32).widened(5u32), 5);
        assert_eq!(ColumnParams::signed(64).widened(-5i64 as u64), -5i64 as u64);
        assert_eq!(ColumnParams::unsigned().widened(u32::MAX), u32::MAX as u64);
    }
}
