//! The values of a column as words that kernels add and compare.

use crate::types::Scalar;

/// How the values of a column are added and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ColumnParams {
    /// The bits that are flipped in a word whose highest bit is set, before it is compared.
    pub flip_negative: u64,
    /// The bits that are flipped in every word before it is compared.
    pub flip: u64,
    /// The bits above a 32-bit word whose highest bit is set, when it is added to a 64-bit sum.
    pub sign: u64,
}

impl ColumnParams {
    /// Returns how unsigned integers are added and compared.
    pub const fn unsigned() -> Self {
        Self { flip_negative: 0, flip: 0, sign: 0 }
    }

    /// Returns how signed integers of `bits` bits are added and compared.
    pub const fn signed(bits: u32) -> Self {
        Self { flip_negative: 0, flip: 1 << (bits - 1), sign: if bits == 32 { !0 << 32 } else { 0 } }
    }

    /// Returns how floating-point numbers of `bits` bits are compared: in the total order of IEEE
    /// 754, from the negative NaNs to the positive ones. Their words are not added.
    pub const fn float(bits: u32) -> Self {
        let highest = 1 << (bits - 1);
        Self { flip_negative: highest - 1, flip: highest, sign: 0 }
    }

    /// Returns the word by which a value is compared: its unsigned order is that of the values.
    #[inline(always)]
    pub fn ordered<W: Scalar>(self, word: W) -> W {
        word ^ self.flip_of(word) ^ W::from_u64(self.flip)
    }

    /// Returns the value whose [`ColumnParams::ordered`] this is.
    #[inline(always)]
    pub fn unordered<W: Scalar>(self, ordered: W) -> W {
        let word = ordered ^ W::from_u64(self.flip);
        word ^ self.flip_of(word)
    }

    /// Returns the 64-bit word that is added to a sum.
    #[inline(always)]
    pub fn widened<W: Scalar>(self, word: W) -> u64 {
        word.to_u64() | if is_negative(word) { self.sign } else { 0 }
    }

    #[inline(always)]
    fn flip_of<W: Scalar>(self, word: W) -> W {
        if is_negative(word) { W::from_u64(self.flip_negative) } else { W::default() }
    }
}

#[inline(always)]
fn is_negative<W: Scalar>(word: W) -> bool {
    word.bits_from(W::BITS - 1) != 0
}

#[cfg(test)]
mod tests {
    use super::ColumnParams;

    #[test]
    fn words_are_in_the_order_of_their_values() {
        let floats = [-f32::NAN, f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN];
        let words = floats.map(f32::to_bits);
        let column = ColumnParams::float(32);
        assert!(words.is_sorted_by_key(|&word| column.ordered(word)));
        assert!(words.iter().all(|&word| column.unordered(column.ordered(word)) == word));
        let words = [i64::MIN, -7, -1, 0, 5, i64::MAX].map(|value| value as u64);
        let column = ColumnParams::signed(64);
        assert!(words.is_sorted_by_key(|&word| column.ordered(word)));
        assert!(words.iter().all(|&word| column.unordered(column.ordered(word)) == word));
        assert!([0u32, 9, u32::MAX].iter().all(|&word| ColumnParams::unsigned().ordered(word) == word));
    }

    #[test]
    fn only_negative_integers_are_widened_by_ones() {
        assert_eq!(ColumnParams::signed(32).widened(-5i32 as u32), -5i64 as u64);
        assert_eq!(ColumnParams::signed(32).widened(5u32), 5);
        assert_eq!(ColumnParams::signed(64).widened(-5i64 as u64), -5i64 as u64);
        assert_eq!(ColumnParams::unsigned().widened(u32::MAX), u32::MAX as u64);
    }
}
