//! The slots of cuckoo tables, and the probe of a slot.
//!
//! **Layout.** A slot of 32-bit keys and values is one 64-bit word with the key in the upper half
//! and the value in the lower half (Alcantara 2011, §4.3.1.2). A pair of any other types takes two
//! words, the key's and then the value's. In a set ([`Nothing`](crate::types::Nothing)) a slot is
//! one word of the key's own width. An empty slot contains [`Slots::EMPTY`], whose key would be
//! [`Scalar::ALL_ONES`]. That key is therefore kept in a cell of the table's header, so that no key
//! and no value is reserved.

use crate::seam::Global;
use crate::types::{KeyWord, Payload, Scalar, SlotWordOf, ValueWord, WordOf};
use core::marker::PhantomData;

/// The word of an empty slot, where words have 64 bits.
pub const EMPTY: u64 = u64::MAX;

/// The words of a table's header that contain the key that is all ones.
pub mod cell {
    use super::{Global, ValueWord};

    /// The index of the word that tells whether the table has the key. The word is 0 if it does
    /// not.
    pub const HELD: u64 = 0;
    /// The index of the word with the key's value.
    pub const VALUE: u64 = 1;

    /// Returns the value of the key that is all ones, or an unspecified word for a set, if the
    /// table with this header has the key. No thread of the launch may change the cell.
    #[inline(always)]
    pub fn value<V: ValueWord>(header: Global<u64>) -> Option<V> {
        (header.load_read_only(HELD) != 0).then(|| V::from_u64(header.load_read_only(VALUE)))
    }
}

/// A slot of a table of `K` to `V`: [`slot_words`] words of type [`Payload::SlotWord`]. It is only
/// the target type of pointers.
#[derive(Debug)]
pub struct Slot<K, V>(PhantomData<(K, V)>);

/// Returns whether a pair fits one word.
pub const fn packed<K: KeyWord, V: Payload>() -> bool {
    K::BITS == 32 && V::VALUE_BITS == 32
}

/// Returns the count of words of a slot.
pub const fn slot_words<K: KeyWord, V: Payload>() -> u64 {
    if packed::<K, V>() || V::VALUE_BITS == 0 { 1 } else { 2 }
}

/// Returns the count of bytes of a slot.
pub const fn slot_bytes<K: KeyWord, V: Payload>() -> u64 {
    slot_words::<K, V>() * size_of::<SlotWordOf<K, V>>() as u64
}

/// An array of slots as an argument of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Slots<K: KeyWord, V: Payload> {
    words: Global<SlotWordOf<K, V>>,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> Slots<K, V> {
    /// The first word of an empty slot.
    pub const EMPTY: SlotWordOf<K, V> = <SlotWordOf<K, V> as Scalar>::ALL_ONES;

    /// Returns the slots at `words`.
    #[inline(always)]
    pub fn new(words: Global<Slot<K, V>>) -> Self {
        Self { words: words.cast(), types: PhantomData }
    }

    /// Returns the first word of a pair: the pair if it fits one word, else its key.
    #[inline(always)]
    pub fn item(key: K, value: WordOf<V>) -> SlotWordOf<K, V> {
        Scalar::from_u64(if packed::<K, V>() { key.to_u64() << 32 | value.to_u64() } else { key.to_u64() })
    }

    /// Returns the key in the first word of a slot.
    #[inline(always)]
    pub fn key_of(item: SlotWordOf<K, V>) -> K {
        K::from_u64(if packed::<K, V>() { item.to_u64() >> 32 } else { item.to_u64() })
    }

    #[inline(always)]
    fn word_of(slot: u32) -> u64 {
        slot as u64 * slot_words::<K, V>()
    }

    /// Prefetches `slot`, which will be accessed soon.
    #[inline(always)]
    pub fn prefetch(&self, slot: u32) {
        self.words.prefetch(Self::word_of(slot));
    }

    /// Loads the first word of a slot, which other threads may be changing.
    #[inline(always)]
    pub fn item_at(&self, slot: u32) -> SlotWordOf<K, V> {
        self.words.atomic(Self::word_of(slot)).load()
    }

    /// Exchanges the first word of a slot for `item`. Returns the old word.
    #[inline(always)]
    pub fn exchange(&self, slot: u32, item: SlotWordOf<K, V>) -> SlotWordOf<K, V> {
        self.words.atomic(Self::word_of(slot)).exchange(item)
    }

    /// Writes the first word of a slot, which other threads may be reading.
    #[inline(always)]
    pub fn replace(&self, slot: u32, item: SlotWordOf<K, V>) {
        self.words.atomic(Self::word_of(slot)).store(item);
    }

    /// Writes the value of the key in `slot`. Other threads may read the slot.
    #[inline(always)]
    pub fn store_value(&self, slot: u32, key: K, value: WordOf<V>) {
        if packed::<K, V>() {
            self.words.atomic(Self::word_of(slot)).store(Self::item(key, value));
        } else {
            // The store is atomic, since several threads write if a promise of unique keys is
            // broken.
            self.words.atomic(Self::word_of(slot) + 1).store(Scalar::from_u64(value.to_u64()));
        }
    }

    /// Writes a whole slot that no other thread accesses.
    #[inline(always)]
    pub fn store(&self, slot: u32, [item, value]: [u64; 2]) {
        self.words.store_streaming(Self::word_of(slot), Scalar::from_u64(item));
        if slot_words::<K, V>() == 2 {
            self.words.store_streaming(Self::word_of(slot) + 1, Scalar::from_u64(value));
        }
    }

    /// Reads `slot` in one access. Returns the value of `key`, that the key is absent, or `None` if
    /// the next slot must be probed. No thread of the launch may change the slot.
    #[inline(always)]
    pub fn probe(&self, slot: u32, key: K) -> Option<Option<WordOf<V>>> {
        let (item, value) = if packed::<K, V>() {
            let word = self.words.load_read_only(Self::word_of(slot));
            (word, word.to_u64() & 0xffff_ffff)
        } else if V::VALUE_BITS == 0 {
            (self.words.load_read_only(Self::word_of(slot)), 0)
        } else {
            let [item, value] = self.words.load_pair_read_only(Self::word_of(slot));
            (item, value.to_u64())
        };
        Self::verdict(item, key, Scalar::from_u64(value))
    }

    /// Returns whether a probe that read `item` found the key or its absence, or `None` to probe
    /// the next slot.
    ///
    /// A key starts at its first slot and leaves a slot only when another key takes it, and no slot
    /// becomes empty again. So a key cannot be in a slot after an empty one.
    #[inline(always)]
    pub fn verdict<T>(item: SlotWordOf<K, V>, key: K, found: T) -> Option<Option<T>> {
        if item == Self::EMPTY {
            return Some(None);
        }
        (Self::key_of(item) == key).then_some(Some(found))
    }

    /// Returns the first word of a slot and its value. The value is unspecified if the slot is
    /// empty or there are keys alone. No other thread may change the slot.
    #[inline(always)]
    pub fn pair_at(&self, slot: u32) -> (SlotWordOf<K, V>, WordOf<V>) {
        if V::VALUE_BITS == 0 {
            return (self.words.load_streaming(Self::word_of(slot)), Scalar::from_u64(0));
        }
        if packed::<K, V>() {
            let item = self.words.load_streaming(Self::word_of(slot));
            return (item, Scalar::from_u64(item.to_u64() & u32::MAX as u64));
        }
        let [item, value] = self.words.load_pair_streaming(Self::word_of(slot));
        (item, Scalar::from_u64(value.to_u64()))
    }
}

impl<K: KeyWord, V: ValueWord> Slots<K, V> {
    /// Writes a slot whose first word is `item`, with another value if `value` is given. Other
    /// threads may read its key. A slot of one word is always written, so that the threads of a
    /// warp write whole sectors.
    #[inline(always)]
    pub fn put_back(&self, slot: u32, item: SlotWordOf<K, V>, value: Option<V>) {
        match value {
            Some(value) => self.store_value(slot, Self::key_of(item), value),
            None if packed::<K, V>() => self.replace(slot, item),
            None => {}
        }
    }
}
