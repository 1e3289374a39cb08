//! A stable radix partition by any bit field, and a radix sort made of such partitions: one
//! histogram of all digits, then one pass per digit. This follows Adinets and Merrill, *Onesweep: A
//! Faster Least Significant Digit Radix Sort for GPUs* (2022).
//!
//! A pass moves the items to the offsets of their digits, in the order of the input
//! ([`Partition`]). [`Histogram`] counts the digits of all passes in one reading of the keys. An
//! exclusive [`Scan`](crate::primitives::scan::Scan) over the counts gives the offset where each
//! digit's items begin.
//!
//! `partition_plan` contains the sizes, `partition` the pass, and `tile` the ordering of a block's
//! tile, which splits use too. `partition_in_turn` processes a tile with one thread.

mod histogram;
mod partition;
mod partition_in_turn;
mod partition_plan;
pub(crate) mod tile;

pub use histogram::{Histogram, HistogramParams, MAX_COUNTERS};
pub use partition::Partition;
pub use partition_plan::{PORTION, PartitionParams, state_words, state_words_of_tiles};
pub use tile::tile;

use crate::hash::HashFunctions;
use crate::types::{KeyWord, Scalar};

/// The most bits of a digit.
pub const MAX_BITS: u32 = 10;

/// The most bits of a digit on CPU cores.
pub const MAX_BITS_IN_TURN: u32 = 11;

/// The word that digits are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DigitOf {
    /// The key.
    Key = 0,
    /// The bucket to which the first hash function maps the key.
    Bucket = 1,
    /// The key [`mixed`](KeyWord::mixed) with the first function's constants. A pass writes the
    /// keys mixed, so later passes take their digits from [`DigitOf::Key`].
    MixedKey = 2,
}

/// The bits of a key, or of a word derived from it, that form a digit.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Digit {
    /// The hash functions; the first gives a key its bucket.
    pub functions: HashFunctions,
    /// The source of the digit, a [`DigitOf`].
    pub of: u32,
    /// The digit's lowest bit.
    pub shift: u32,
    /// The count of bits: 1 to [`MAX_BITS`], or to [`MAX_BITS_IN_TURN`] on CPU cores.
    pub bits: u32,
    /// An unused field, which fills the struct up.
    pub padding: u32,
}

impl Digit {
    /// Returns the digit that consists of `bits` bits of the key itself, beginning with bit
    /// `shift`.
    pub const fn of_key(shift: u32, bits: u32) -> Self {
        Self { functions: HashFunctions::NONE, of: DigitOf::Key as u32, shift, bits, padding: 0 }
    }

    /// Returns the word that the digits of `key` are taken from.
    #[inline(always)]
    fn word<K: KeyWord>(&self, key: K) -> u64 {
        if self.of == DigitOf::Key as u32 {
            key.to_u64()
        } else if self.of == DigitOf::MixedKey as u32 {
            self.functions.mixed_key(0, key).to_u64()
        } else {
            self.functions.slot(0, key) as u64
        }
    }

    /// Returns the digit in `word`, computed in the word's own width.
    #[inline(always)]
    fn field<S: Scalar>(&self, word: S) -> u32 {
        word.bits_from(self.shift) & (self.bins() - 1)
    }

    /// Mixes the keys if the digits are taken from mixed keys.
    #[inline(always)]
    fn mix<K: KeyWord, const N: usize>(&self, keys: &mut [K; N]) {
        if self.of == DigitOf::MixedKey as u32 {
            for i in 0..N {
                keys[i] = self.functions.mixed_key(0, keys[i]);
            }
        }
    }

    /// Returns the digits of many keys, which must be mixed already if digits are taken from mixed
    /// keys. `of` is checked once, not for each key: on the GPU the loops are unrolled, and the
    /// executed path should be short.
    #[inline(always)]
    fn of_each<K: KeyWord, const N: usize>(&self, keys: &[K; N]) -> [u32; N] {
        let mut digits = [0; N];
        if self.of != DigitOf::Bucket as u32 {
            for i in 0..N {
                digits[i] = self.field(keys[i]);
            }
        } else if self.functions.is_mix() {
            for i in 0..N {
                digits[i] = self.field(self.functions.mixed(0, keys[i]));
            }
        } else {
            for i in 0..N {
                digits[i] = self.field(self.functions.slot(0, keys[i]));
            }
        }
        digits
    }

    /// Returns the count of values of the digit.
    #[inline(always)]
    pub fn bins(&self) -> u32 {
        1 << self.bits
    }
}
