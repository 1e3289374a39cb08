//! Hashes of rows: polynomials over a prime field.
//!
//! A row is a sequence of numbers: one for a word of 4 bytes, two for a word of 8 bytes. A text has
//! its length, and two numbers for each 8 bytes, the last of which may be incomplete. These
//! numbers, after a leading 1, are the coefficients of a polynomial. The hash is its value at a
//! random point of the field with 2^61 - 1 elements, mixed by a bijection.
//!
//! Lengths come before texts, so different rows have different polynomials, whatever the lengths.
//! The difference of two polynomials has at most as many zeros as the longer row has numbers. So
//! two rows with at most `n` numbers have equal hashes for at most `n` of the 2^61 - 1 points.

use super::text::Texts;
use crate::seam::{Block, Global};
use crate::types::{KeyWord, Scalar};

/// The count of elements of the field: the Mersenne prime 2^61 - 1, modulo which products are
/// reduced by shifts and additions.
pub const PRIME: u64 = (1 << 61) - 1;

/// The scalar arguments of a launch that hashes a column.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HashParams {
    /// The count of rows.
    pub rows: u64,
    /// The random point, below [`PRIME`].
    pub point: u64,
    /// The square of the point, modulo [`PRIME`].
    pub square: u64,
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The mask of the bits that are kept of the final hashes.
    pub mask: u64,
    /// 1 for the first column, or 0 for other columns, which continue the hashes of the columns
    /// before.
    pub is_first: u32,
    /// 1 for the last column, after which hashes are mixed.
    pub is_last: u32,
}

/// Returns a number below 2^63 that is congruent to a product modulo [`PRIME`]. The product must be
/// below 2^123.
#[inline(always)]
fn folded(product: u128) -> u64 {
    (product as u64 & PRIME) + (product >> 61) as u64
}

/// Returns a number of at most [`PRIME`] + 7 that is congruent to `sum`.
#[inline(always)]
fn folded_sum(sum: u64) -> u64 {
    (sum & PRIME) + (sum >> 61)
}

impl HashParams {
    /// Returns the value of a row's polynomial before this column.
    #[inline(always)]
    fn begin(&self, hashes: Global<u64>, row: u64) -> u64 {
        if self.is_first != 0 { 1 } else { hashes.load_streaming(row) }
    }

    /// Returns the value of the polynomial after one more number, which is below 2^61. Values are
    /// at most [`PRIME`] + 7.
    #[inline(always)]
    fn with(&self, value: u64, number: u64) -> u64 {
        folded_sum(folded(value as u128 * self.point as u128) + number)
    }

    /// Returns the value of the polynomial after both halves of a word.
    #[inline(always)]
    fn with_halves(&self, value: u64, word: u64) -> u64 {
        // The sum is below 2^64, since the first summand is below 3 · 2^61, and the second below
        // 2^61 + 2^32.
        let squared = folded(value as u128 * self.square as u128);
        let lower = folded((word as u32 as u64) as u128 * self.point as u128);
        folded_sum(squared + lower + (word >> 32))
    }

    /// Stores the value of the polynomial after a column.
    #[inline(always)]
    fn end(&self, hashes: Global<u64>, row: u64, value: u64) {
        let value = if value >= PRIME { value - PRIME } else { value };
        let last = if self.is_last != 0 { value.mixed(self.a, self.b) & self.mask } else { value };
        hashes.store_streaming(row, last);
    }
}

kernel! {
    /// Continues the hash of each row with a column of words. One thread hashes a row.
    HashWords<W: Scalar>, "hash_words", threads 256;
    { words: Global<W>, hashes: Global<u64>, plan: HashParams }
}

impl<W: Scalar> HashWords<W> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let plan = args.plan;
        block.each_item(plan.rows, |row| {
            let word = args.words.load_streaming(row).to_u64();
            let value = plan.begin(args.hashes, row);
            let value = if W::BITS == 32 { plan.with(value, word) } else { plan.with_halves(value, word) };
            plan.end(args.hashes, row, value);
        });
    }
}

kernel! {
    /// Continues the hash of each row with a column of texts. One thread hashes a row.
    ///
    /// There is one offset more than rows. The offsets ascend, and are at most the count of bytes.
    HashTexts<O: Scalar>, "hash_texts", threads 256;
    { offsets: Global<O>, bytes: Global<u64>, hashes: Global<u64>, plan: HashParams }
}

impl<O: Scalar> HashTexts<O> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let plan = args.plan;
        let texts = Texts { offsets: args.offsets, bytes: args.bytes };
        block.each_item(plan.rows, |row| {
            let text = texts.text(row);
            let mut value = plan.with(plan.begin(args.hashes, row), text.length);
            let mut words = text.words();
            // At most as many steps as words of the text.
            while words.left != 0 {
                value = plan.with_halves(value, words.next());
            }
            plan.end(args.hashes, row, value);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{HashParams, PRIME};

    /// Returns the value of the polynomial after a number, computed by divisions.
    fn with(value: u64, point: u64, number: u64) -> u64 {
        ((value as u128 * point as u128 + number as u128) % PRIME as u128) as u64
    }

    #[test]
    fn values_are_those_of_the_polynomial_and_stay_in_bounds() {
        let extremes = [0, 1, 2, u32::MAX as u64, 1 << 60, PRIME - 1];
        let words = [0, 1, u32::MAX as u64, 1 << 32, u64::MAX, 0xdead_beef_0123_4567];
        for point in extremes {
            let square = (point as u128 * point as u128 % PRIME as u128) as u64;
            let plan = HashParams { rows: 0, point, square, a: 0, b: 0, mask: 0, is_first: 1, is_last: 0 };
            for value in extremes.into_iter().chain([PRIME, PRIME + 7]) {
                for word in words {
                    let number = word % PRIME;
                    let one = plan.with(value, number);
                    assert!(one <= PRIME + 7 && one % PRIME == with(value, point, number));
                    let two = plan.with_halves(value, word);
                    let expected = with(with(value, point, word as u32 as u64), point, word >> 32);
                    assert!(two <= PRIME + 7 && two % PRIME == expected);
                }
            }
        }
    }
}
