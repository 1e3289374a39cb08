//! The array format of pairs between two splits, or between a split and the build of a page.

use crate::seam::Global;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// Returns whether the order of pairs matters. It does if keys may be repeated and have values,
/// since then the last value of a key wins.
#[inline(always)]
pub const fn in_order<const REPEATS: bool, V: Payload>() -> bool {
    REPEATS && V::VALUE_BITS != 0
}

/// The count of pairs or queries that a CPU core reads and processes as a group: the count of found
/// bits in a word.
pub const AT_ONCE: usize = 32;

/// An array of pairs with mixed keys, or of keys alone.
///
/// Key and value are stored side by side if they have the same width. The part of a tile for a bin
/// is then one run of twice the length. That matters because short runs make writing slow.
///
/// Keys and values are stored apart if their widths differ, or if pairs are kept in order. In
/// order, pages are built from the keys alone, and read their values at the end by random accesses.
#[derive(Clone, Copy)]
pub struct Pairs<const REPEATS: bool, K, V: Payload> {
    keys: Global<K>,
    values: Global<WordOf<V>>,
}

impl<const REPEATS: bool, K: KeyWord, V: Payload> Pairs<REPEATS, K, V> {
    /// Whether key and value are stored side by side.
    pub const SIDE_BY_SIDE: bool = !REPEATS && K::BITS == V::VALUE_BITS;

    /// Returns the pairs that begin at `keys`. Values that are stored apart begin at `values`.
    #[inline(always)]
    pub fn new(keys: Global<K>, values: Global<V::Word>) -> Self {
        Self { keys, values }
    }

    /// Loads a pair that is read once. The value is not loaded if pairs are in order.
    #[inline(always)]
    pub fn load(&self, pair: u64) -> (K, V::Word) {
        if Self::SIDE_BY_SIDE {
            let [key, value] = self.keys.load_pair_streaming(2 * pair);
            (key, Scalar::from_u64(value.to_u64()))
        } else {
            self.load_apart(pair)
        }
    }

    /// Returns the pair as [`Pairs::load`] does, from keys and values that are stored apart, as
    /// they are in the input of a build.
    #[inline(always)]
    pub fn load_apart(&self, pair: u64) -> (K, V::Word) {
        let wanted = !REPEATS && V::VALUE_BITS != 0;
        let value = if wanted { self.values.load_streaming(pair) } else { Default::default() };
        (self.keys.load_streaming(pair), value)
    }

    /// Returns the `here` pairs starting at index `first`, at most `AT_ONCE`, for a CPU core. They
    /// are read by [`Pairs::load_apart`] if `apart` is true, or by [`Pairs::load`].
    #[inline(always)]
    pub fn load_many(&self, first: u64, here: u32, apart: bool) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
        if here < AT_ONCE as u32 {
            return self.load_few(first, here, apart);
        }
        let (mut keys, mut values) = ([K::default(); AT_ONCE], [<V::Word>::default(); AT_ONCE]);
        // These are plain loops, since closures are not always inlined and are then not compiled
        // for vectors.
        if apart {
            for i in 0..AT_ONCE {
                (keys[i], values[i]) = self.load_apart(first + i as u64);
            }
        } else {
            for i in 0..AT_ONCE {
                (keys[i], values[i]) = self.load(first + i as u64);
            }
        }
        (keys, values)
    }

    /// Returns the result of [`Pairs::load_many`] for fewer than `AT_ONCE` pairs. It is a separate
    /// function, so that the loops over whole groups have constant lengths. It takes `self` by
    /// value, so that the caller's arguments stay in registers.
    #[cold]
    #[inline(never)]
    fn load_few(self, first: u64, here: u32, apart: bool) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
        let (mut keys, mut values) = ([K::default(); AT_ONCE], [<V::Word>::default(); AT_ONCE]);
        for i in 0..here as usize {
            let pair = first + i as u64;
            (keys[i], values[i]) = if apart { self.load_apart(pair) } else { self.load(pair) };
        }
        (keys, values)
    }

    /// Writes a pair, if key and value are stored side by side.
    #[inline(always)]
    pub fn store(&self, pair: u64, key: K, value: V::Word) {
        self.keys.store_pair(2 * pair, [key, K::from_u64(value.to_u64())]);
    }
}
