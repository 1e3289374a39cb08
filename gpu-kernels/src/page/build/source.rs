//! The pairs from which a page is built, and their division among the threads of a block.

use crate::page::form::Layout;
use crate::seam::Global;
use crate::split::bins;
use crate::split::pairs::{AT_ONCE, Pairs, in_order};
use crate::types::{KeyWord, Payload, Scalar};

/// The count of threads of a block.
pub(in crate::page) const THREADS: usize = 384;

/// The most pairs that a thread reads at a time.
pub(in crate::page) const MAX_READ_AHEAD: usize = 4;

/// Returns the count of pairs that a thread reads at a time: 16 bytes of keys, and 16 of values.
#[inline(always)]
pub(in crate::page) const fn read<K: KeyWord, V: Payload>() -> usize {
    MAX_READ_AHEAD * 32 / <K::PackedWord<V> as Scalar>::BITS as usize
}

/// The arrays that hold the pairs of all pages.
#[derive(Clone, Copy)]
pub struct Sources<K: KeyWord, V: Payload> {
    pub keys: Global<K>,
    pub values: Global<V::Word>,
    pub counts: Global<u32>,
    pub starts: Global<u32>,
    /// The distance between the first pairs of adjacent pages, used if `counts` is not null. The
    /// pairs of page `p` begin at `p` times this.
    pub page_capacity: u64,
    /// The count of all pairs.
    pub pairs: u64,
    pub layout: Layout,
    /// Whether the pairs come from a split, so that their keys are mixed already, and the pairs are
    /// stored as [`Pairs`].
    pub split: bool,
}

impl<K: KeyWord, V: Payload> Sources<K, V> {
    /// Returns the pairs of page `page`.
    #[inline(always)]
    pub fn page(&self, page: u64) -> Source<'_, K, V> {
        let (first, pairs) = if !self.counts.is_null() {
            bins::with_capacity(self.counts, self.page_capacity, page)
        } else if !self.starts.is_null() {
            bins::side_by_side(self.starts, page)
        } else {
            (0, self.pairs as u32)
        };
        Source { all: self, first: first as u32, pairs }
    }
}

/// The pairs of one page.
#[derive(Clone, Copy)]
pub struct Source<'s, K: KeyWord, V: Payload> {
    all: &'s Sources<K, V>,
    /// The index of the page's first pair. Indices and offsets of pairs fit in 32 bits.
    first: u32,
    pub pairs: u32,
}

impl<K: KeyWord, V: Payload> Source<'_, K, V> {
    #[inline(always)]
    fn number(&self, pair: u32) -> u64 {
        (self.first + pair) as u64
    }

    /// Returns the value of a pair if pairs are in order, or 0 if there are no values.
    #[inline(always)]
    pub fn value(&self, pair: u64) -> V::Word {
        if self.all.values.is_null() {
            return Default::default();
        }
        self.all.values.load_read_only(self.number(pair as u32))
    }

    #[inline(always)]
    pub fn mixed(&self, key: K) -> K {
        let Layout { a, b, .. } = self.all.layout;
        if self.all.split { key } else { key.mixed(a, b) }
    }

    /// Returns the entry of a pair that was spilled to a list, in unpacked form.
    #[inline(always)]
    pub fn unpacked<const REPEATS: bool>(&self, entry: V::PackedEntry) -> Entry<K, K::PackedWord<V>> {
        Entry::whole::<V>(entry).unwrap_or_else(|| self.entry::<REPEATS>(entry.to_u64() as u32))
    }

    /// Does [`Source::unpacked`] in the form of [`Source::entry_in_turn`].
    #[inline(always)]
    pub fn unpacked_in_turn<const REPEATS: bool>(&self, entry: V::PackedEntry) -> Entry<K, K::PackedWord<V>> {
        Entry::whole::<V>(entry).unwrap_or_else(|| self.entry_in_turn::<REPEATS>(entry.to_u64() as u32))
    }

    /// Returns the entry of a pair.
    #[inline(always)]
    pub fn entry<const REPEATS: bool>(&self, pair: u32) -> Entry<K, K::PackedWord<V>> {
        let (key, value) = self.pair::<REPEATS>(pair);
        Entry { pair, mixed: self.mixed(key), value_word: self.value_word::<REPEATS>(pair, value) }
    }

    /// Returns the entry of a pair for one thread that inserts pairs in their order. It contains
    /// the value itself.
    #[inline(always)]
    pub fn entry_in_turn<const REPEATS: bool>(&self, pair: u32) -> Entry<K, K::PackedWord<V>> {
        let (key, value) = self.pair::<REPEATS>(pair);
        let value = if const { in_order::<REPEATS, V>() } { self.value(pair as u64) } else { value };
        Entry { pair, mixed: self.mixed(key), value_word: Scalar::from_u64(value.to_u64()) }
    }

    /// Returns a pair. The value is loaded only if the page needs it.
    #[inline(always)]
    fn pair<const REPEATS: bool>(&self, pair: u32) -> (K, V::Word) {
        let pairs = Pairs::<REPEATS, K, V>::new(self.all.keys, self.all.values);
        let pair = self.number(pair);
        if self.all.split { pairs.load(pair) } else { pairs.load_apart(pair) }
    }

    /// Returns a thread's first pairs as [`Source::load`] does, without waiting for the page's
    /// count of pairs. If the page has fewer pairs, the result contains unspecified words.
    #[inline(always)]
    pub fn load_first<const REPEATS: bool>(&self, thread: u32) -> ([K; MAX_READ_AHEAD], [V::Word; MAX_READ_AHEAD]) {
        let room = if self.all.counts.is_null() { self.pairs } else { self.all.page_capacity as u32 };
        self.load_below::<REPEATS>(thread, room)
    }

    /// Returns a thread's pairs, starting at `first`, as far as there are pairs. Values are loaded
    /// only if the page needs them.
    #[inline(always)]
    pub fn load<const REPEATS: bool>(&self, first: u32) -> ([K; MAX_READ_AHEAD], [V::Word; MAX_READ_AHEAD]) {
        self.load_below::<REPEATS>(first, self.pairs)
    }

    /// Returns the mixed keys and the values of the pairs starting at `first`. Elements after the
    /// last pair are unspecified.
    #[inline(always)]
    pub fn load_mixed<const REPEATS: bool>(&self, first: u32) -> ([K; AT_ONCE], [V::Word; AT_ONCE]) {
        let pairs = Pairs::<REPEATS, K, V>::new(self.all.keys, self.all.values);
        let (number, here) = (self.number(first), self.pairs.saturating_sub(first).min(AT_ONCE as u32));
        let (mut keys, mut values) = pairs.load_many(number, here, !self.all.split);
        if const { in_order::<REPEATS, V>() } && !self.all.values.is_null() {
            let all = self.all.values.offset(number);
            if here == AT_ONCE as u32 {
                for i in 0..AT_ONCE {
                    values[i] = all.load_read_only(i as u64);
                }
            } else {
                for i in 0..here as usize {
                    values[i] = all.load_read_only(i as u64);
                }
            }
        }
        for key in &mut keys {
            *key = self.mixed(*key);
        }
        (keys, values)
    }

    #[inline(always)]
    fn load_below<const REPEATS: bool>(
        &self,
        first: u32,
        end: u32,
    ) -> ([K; MAX_READ_AHEAD], [V::Word; MAX_READ_AHEAD]) {
        let (mut keys, mut values) = ([K::default(); MAX_READ_AHEAD], [<V::Word>::default(); MAX_READ_AHEAD]);
        for i in 0..read::<K, V>() {
            let pair = first + (i * THREADS) as u32;
            if pair < end {
                (keys[i], values[i]) = self.pair::<REPEATS>(pair);
            }
        }
        (keys, values)
    }

    /// Returns the word that a page in shared memory contains for a pair's value. If the order of
    /// pairs matters, it is the pair's index plus 1. The greatest index of a key remains, and is
    /// replaced by the value at the end.
    #[inline(always)]
    pub fn value_word<const REPEATS: bool>(&self, pair: u32, value: V::Word) -> K::PackedWord<V> {
        if const { in_order::<REPEATS, V>() } {
            Scalar::from_u64(pair as u64 + 1)
        } else {
            Scalar::from_u64(value.to_u64())
        }
    }
}

/// A pair that needs a slot.
#[derive(Clone, Copy)]
pub struct Entry<K, W> {
    pub pair: u32,
    pub mixed: K,
    /// The word that is stored in the page for the pair's value.
    pub value_word: W,
}

impl<K: KeyWord, W: Scalar> Entry<K, W> {
    /// Returns the entry that a packed word contains, or `None` if the word is the index of a pair.
    #[inline(always)]
    fn whole<V: Payload>(entry: V::PackedEntry) -> Option<Self> {
        let entry = entry.to_u64();
        if V::VALUE_BITS == 0 && K::BITS == 32 {
            Some(Self { pair: 0, mixed: K::from_u64(entry), value_word: Scalar::from_u64(0) })
        } else if W::BITS == 32 {
            Some(Self { pair: 0, mixed: K::from_u64(entry >> 32), value_word: Scalar::from_u64(entry) })
        } else {
            None
        }
    }

    /// Returns the entry in one word: the mixed key and the value if they fit, or the pair's index.
    #[inline(always)]
    pub fn packed<V: Payload>(&self) -> V::PackedEntry {
        Scalar::from_u64(if W::BITS != 32 {
            self.pair as u64
        } else if V::VALUE_BITS == 0 {
            self.mixed.to_u64()
        } else {
            self.mixed.to_u64() << 32 | self.value_word.to_u64()
        })
    }
}
