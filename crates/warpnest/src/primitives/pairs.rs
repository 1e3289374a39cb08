//! The arrays of pairs that radix passes read and write.

use crate::runtime::machine::Machine;
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// The arrays of keys and of their values.
#[derive(Debug)]
pub(crate) struct Pairs<K, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<WordOf<V>>,
}

impl<K, V: Payload> Clone for Pairs<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V: Payload> Copy for Pairs<K, V> {}

impl<K: KeyWord, V: Payload> Pairs<K, V> {
    /// The most words in [`Pairs::words`] that are only padding for alignment.
    pub(crate) const MAX_PADDING: u64 = 4;

    /// Returns the count of 64-bit words that `items` pairs take. Each of the two arrays is aligned
    /// to two words.
    pub(crate) fn words(items: u64) -> u64 {
        Self::keys_words(items) + (items * V::VALUE_BITS as u64).div_ceil(128) * 2
    }

    fn keys_words(items: u64) -> u64 {
        (items * K::BITS as u64).div_ceil(128) * 2
    }

    /// Returns the arrays for `items` pairs in the memory that begins at `words`, which must be
    /// aligned to 16 bytes.
    pub(crate) fn at(words: Global<u64>, items: u64) -> Self {
        Self { keys: words.cast(), values: words.offset(Self::keys_words(items)).cast() }
    }
}

/// The memory to which passes write.
#[derive(Debug)]
pub(crate) enum Storage<K, V: Payload> {
    /// Two arrays.
    Arrays(Pairs<K, V>),
    /// A block of [`Pairs::words`] words, which begins at this address.
    Words(Global<u64>),
}

impl<K: KeyWord, V: Payload> Storage<K, V> {
    /// Returns the arrays of `items` pairs.
    pub(crate) fn pairs(&self, items: u64) -> Pairs<K, V> {
        match *self {
            Self::Arrays(pairs) => pairs,
            Self::Words(words) => Pairs::at(words, items),
        }
    }

    /// Returns the arrays of pairs between two passes. On a CPU each key is stored next to its
    /// value there, so that a pair is in one cache line. This needs [`Storage::Words`], and keys as
    /// wide as values.
    pub(crate) fn between_passes(&self, items: u64, machine: Machine) -> Pairs<K, V> {
        match *self {
            Self::Words(words) if machine.runs_in_order() && K::BITS == V::VALUE_BITS => {
                Pairs { keys: words.cast(), values: words.cast::<WordOf<V>>().offset(1) }
            }
            _ => self.pairs(items),
        }
    }
}
