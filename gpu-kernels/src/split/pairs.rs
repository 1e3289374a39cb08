//! The array format of pairs between a split and the next one, or the build of a page.

use crate::seam::Global;
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// Returns whether the order of pairs matters: it does if keys may be repeated and have values, of
/// which the last one counts.
#[inline(always)]
pub const fn in_order<const REPEATS: bool, V: Payload>() -> bool {
    REPEATS && V::VALUE_BITS != 0
}

/// The count of pairs, or queries, that a block whose threads take turns reads and processes
/// together: as many as a word of found-bits has.
pub const AT_ONCE: usize = 32;

/// An array of pairs with mixed keys, or of keys alone.
///
/// Key and value are stored side by side if they have one width. What a tile of a split has for a
/// bin is then one run of twice the length, and short runs are what writing costs.
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

    /// Returns the pairs that begin at `keys`; if their values are stored apart, these begin at
    /// `values`.
    #[inline(always)]
    pub fn new(keys: Global<K>, values: Global<V::Word>) -> Self {
        Self { keys, values }
    }

    /// Loads a pair that is read once, with its value unless pairs are in order.
    #[inline(always)]
    pub fn load(&self, pair: u64) -> (K, V::Word) {
        if Self::SIDE_BY_SIDE {
            let [key, value] = self.keys.load_pair_streaming(2 * pair);
            (key, Scalar::from_u64(value.to_u64()))
        } else {
            self.load_apart(pair)
        }
    }

    /// Returns the pair as [`Pairs::load`] reads it, from keys and values that are stored apart in
    /// any case, as the input's keys and values are.
    #[inline(always)]
    pub fn load_apart(&self, pair: u64) -> (K, V::Word) {
        let wanted = !REPEATS && V::VALUE_BITS != 0;
        let value = if wanted { self.values.load_streaming(pair) } else { Default::default() };
        (self.keys.load_streaming(pair), value)
    }

    /// Returns the pairs that begin at index `first`, `AT_ONCE` or the `here` that there are, for a
    /// block whose threads take turns. They are read as by [`Pairs::load`] or, if they are stored
    /// apart in any case, [`Pairs::load_apart`].
    #[inline(always)]
    pub fn load_many(&self, first: u64, here: u32, apart: bool) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
        if here < AT_ONCE as u32 {
            return self.load_few(first, here, apart);
        }
        let (mut keys, mut values) = ([K::default(); AT_ONCE], [<V::Word>::default(); AT_ONCE]);
        // These are plain loops: closures are not always inlined, and then not compiled for
        // vectors.
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

    /// Returns the pairs of [`Pairs::load_many`] if there are few. It is a function of its own so
    /// that the loops over many have constant lengths, and takes `self` by value so that the
    /// caller's arguments stay in registers.
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

    /// Writes a pair; only if key and value are stored side by side.
    #[inline(always)]
    pub fn store(&self, pair: u64, key: K, value: V::Word) {
        self.keys.store_pair(2 * pair, [key, K::from_u64(value.to_u64())]);
    }
}
