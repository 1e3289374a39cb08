//! Pairs on their way from a split to the next one, or to their page.

use crate::seam::{Block, Global};
use crate::types::{Key, Payload, Scalar, WordOf};

/// Whether the order of pairs matters: if keys are repeated, and have values of which the last one counts.
#[inline(always)]
pub const fn in_order<const REPEATS: bool, V: Payload>() -> bool {
    REPEATS && V::VALUE_BITS != 0
}

/// Whether pages are built of the numbers of pairs, which give way to their values in the end: if
/// the order matters, and threads do not take pairs in that order anyway.
#[inline(always)]
pub const fn by_number<const REPEATS: bool, V: Payload, B: Block>() -> bool {
    in_order::<REPEATS, V>() && !B::IN_TURN
}

/// An array of pairs with mixed keys, or of keys alone.
///
/// Key and value stand side by side if they are of one width: what a tile of a split has for a bin is then one run of twice the
/// length, and short runs are what writing costs. They stand apart if their widths differ, or if they are kept in order: pages are then
/// built from the keys alone, and read their values at the end, here and there.
#[derive(Clone, Copy)]
pub struct Pairs<const REPEATS: bool, K, V: Payload> {
    keys: Global<K>,
    values: Global<WordOf<V>>,
}

impl<const REPEATS: bool, K: Key, V: Payload> Pairs<REPEATS, K, V> {
    /// Whether key and value stand side by side.
    pub const SIDE_BY_SIDE: bool = !REPEATS && K::BITS == V::VALUE_BITS;

    /// The pairs from `keys` on, whose values stand from `values` on if they stand apart.
    #[inline(always)]
    pub fn new(keys: Global<K>, values: Global<V::Word>) -> Self {
        Self { keys, values }
    }

    /// A pair that is read once; with its value, unless pairs are in order.
    #[inline(always)]
    pub fn load(&self, pair: u64) -> (K, V::Word) {
        if Self::SIDE_BY_SIDE {
            let [key, value] = self.keys.load_pair_streaming(2 * pair);
            (key, Scalar::from_u64(value.to_u64()))
        } else {
            self.load_apart(pair)
        }
    }

    /// [`Pairs::load`] from keys and values that stand apart in any case, as those of the input do.
    #[inline(always)]
    pub fn load_apart(&self, pair: u64) -> (K, V::Word) {
        let wanted = !REPEATS && V::VALUE_BITS != 0;
        let value = if wanted { self.values.load_streaming(pair) } else { Default::default() };
        (self.keys.load_streaming(pair), value)
    }

    /// Writes a pair; only if they are side by side.
    #[inline(always)]
    pub fn store(&self, pair: u64, key: K, value: V::Word) {
        self.keys.store_pair(2 * pair, [key, K::from_u64(value.to_u64())]);
    }
}
