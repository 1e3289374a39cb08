//! The pairs that a page is built from, and how the threads of a block share them.

use crate::page::form::Layout;
use crate::seam::Global;
use crate::split::bins;
use crate::split::pairs::{AT_ONCE, Pairs, in_order};
use crate::types::{KeyWord, Payload, Scalar};

/// The threads of a block.
pub(in crate::page) const THREADS: usize = 384;

/// The most pairs that a thread reads at once.
pub(in crate::page) const MAX_READ_AHEAD: usize = 4;

/// Returns the count of pairs that a thread reads at once: 16 bytes of keys, and of values.
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
    /// The start of a page's pairs, if `counts` says how many they are: for page `p` it is `p`
    /// times this.
    pub page_capacity: u64,
    /// The count of all pairs.
    pub pairs: u64,
    pub layout: Layout,
    /// Whether the pairs come from a split: then their keys are mixed already, and they are stored
    /// as [`Pairs`].
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
    /// The index of the page's first pair: indices and offsets of pairs fit in 32 bits.
    first: u32,
    pub pairs: u32,
}

impl<K: KeyWord, V: Payload> Source<'_, K, V> {
    #[inline(always)]
    fn number(&self, pair: u32) -> u64 {
        (self.first + pair) as u64
    }

    /// Returns the value of a pair that is in order; 0 if there are no values.
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

    /// Returns the entry of a pair that was spilled to a list, unpacked.
    #[inline(always)]
    pub fn unpacked<const REPEATS: bool>(&self, entry: V::PackedEntry) -> Entry<K, K::PackedWord<V>> {
        Entry::whole::<V>(entry).unwrap_or_else(|| self.entry::<REPEATS>(entry.to_u64() as u32))
    }

    /// Does [`Source::unpacked`] for [`Source::entry_in_turn`].
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

    /// Returns the entry of a pair for one thread that takes pairs in their order: it has the value
    /// itself.
    #[inline(always)]
    pub fn entry_in_turn<const REPEATS: bool>(&self, pair: u32) -> Entry<K, K::PackedWord<V>> {
        let (key, value) = self.pair::<REPEATS>(pair);
        let value = if const { in_order::<REPEATS, V>() } { self.value(pair as u64) } else { value };
        Entry { pair, mixed: self.mixed(key), value_word: Scalar::from_u64(value.to_u64()) }
    }

    /// Returns a pair, with its value if that is needed.
    #[inline(always)]
    fn pair<const REPEATS: bool>(&self, pair: u32) -> (K, V::Word) {
        let pairs = Pairs::<REPEATS, K, V>::new(self.all.keys, self.all.values);
        let pair = self.number(pair);
        if self.all.split { pairs.load(pair) } else { pairs.load_apart(pair) }
    }

    /// Returns the first pairs as [`Source::load`] reads them, or whatever is stored there if the
    /// page has fewer. So there is one wait for both the pairs and their count.
    #[inline(always)]
    pub fn load_first<const REPEATS: bool>(&self, thread: u32) -> ([K; MAX_READ_AHEAD], [V::Word; MAX_READ_AHEAD]) {
        let room = if self.all.counts.is_null() { self.pairs } else { self.all.page_capacity as u32 };
        self.load_below::<REPEATS>(thread, room)
    }

    /// Returns a thread's pairs, beginning at `first`, as far as there are any; values only if they
    /// are needed.
    #[inline(always)]
    pub fn load<const REPEATS: bool>(&self, first: u32) -> ([K; MAX_READ_AHEAD], [V::Word; MAX_READ_AHEAD]) {
        self.load_below::<REPEATS>(first, self.pairs)
    }

    /// Returns the mixed keys and the values of the pairs that begin at `first`. Elements beyond
    /// the last pair are unspecified.
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

    /// Returns the word that a page in shared memory holds for a pair's value. If the order of
    /// pairs matters, that is the pair's index plus 1, of which the greatest stays; it is replaced
    /// by the value in the end.
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
    /// The word that is stored for its value.
    pub value_word: W,
}

impl<K: KeyWord, W: Scalar> Entry<K, W> {
    /// Returns the entry that a word has as a whole; nothing if it is the index of a pair.
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

    /// Returns the entry in one word: what its insertion needs if that fits, else its index.
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
