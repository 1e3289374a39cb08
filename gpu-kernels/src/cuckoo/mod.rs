//! The single-level cuckoo table of Alcantara et al., *Building an Efficient Hash Table on the GPU* (GPU Computing Gems,
//! Jade edition, 2011, chapter 4).
//!
//! Every key has one slot under each of 2 to 5 hash functions and sits in one of them. A build lets every thread insert one
//! pair by atomic exchanges, passing evicted pairs on ([`Insert`]); a lookup reads at most as many slots as there are
//! functions ([`Find`]). docs/cuckoo.md has the whole.
//!
//! **Layout.** A slot of 32-bit keys and values is one 64-bit word: the key above, the value below (section 4.3.1.2). Any
//! other pair takes two words, the key's and then the value's; the exchanges move the key alone, and [`PlaceValues`] puts
//! the values in afterwards (the alternative that the section names). [`EMPTY`] marks an empty slot: as a word of a 32-bit
//! pair it is the key [`Scalar::ALL_ONES`](crate::types::Scalar::ALL_ONES), which therefore lives in a cell of the
//! [`header`] instead, so that no key and no value is reserved.

mod build;
mod find;
mod inspect;
mod repeats;

pub use build::{Census, Insert, InsertPlan};
pub use find::{Find, FindPlan};
pub use inspect::{Histogram, Unplaceable};
pub use repeats::{Last, PairsPlan, PlaceValues};

use crate::hash::HashFunctions;
use crate::seam::Global;
use crate::types::{Key, Value};
use core::marker::PhantomData;

/// The word of an empty slot.
pub const EMPTY: u64 = u64::MAX;

/// The words beside the slots: what a build found out, and the cell of the key that is all ones.
pub mod header {
    /// 1 if an eviction chain passed its limit: the build failed.
    pub const FAILED: u64 = 0;
    /// 1 if a key was met twice.
    pub const REPEATED: u64 = 1;
    /// How many keys the slots hold (counted by `Census`).
    pub const KEYS: u64 = 2;
    /// The most exchanges that placing one pair took.
    pub const LONGEST: u64 = 3;
    /// All exchanges.
    pub const EXCHANGES: u64 = 4;
    /// For the key that is all ones: 1 + the index of its last pair, or 0 if the table does not have it.
    pub const CELL: u64 = 5;
    /// The value of that key.
    pub const CELL_VALUE: u64 = 6;
    /// 1 if `Unplaceable` found a key that no constants can place.
    pub const UNPLACEABLE: u64 = 7;
    /// That key.
    pub const UNPLACEABLE_KEY: u64 = 8;
    /// The number of words.
    pub const WORDS: usize = 9;
}

/// A slot of a table of `K` to `V`: [`slot_words`] words. It stands only behind a pointer.
#[derive(Debug)]
pub struct Slot<K, V>(PhantomData<(K, V)>);

/// A table as kernels hold it: where its slots are, and its hash functions.
#[derive(Clone, Copy, Debug)]
pub struct Table<K, V> {
    words: Global<u64>,
    functions: HashFunctions,
    types: PhantomData<(K, V)>,
}

/// Whether a pair fits one word.
pub const fn packed<K: Key, V: Value>() -> bool {
    K::BITS == 32 && V::BITS == 32
}

/// Words of a slot.
pub const fn slot_words<K: Key, V: Value>() -> u64 {
    if packed::<K, V>() { 1 } else { 2 }
}

impl<K: Key, V: Value> Table<K, V> {
    /// The table of `functions.slots()` slots at `words`.
    #[inline(always)]
    pub fn new(words: Global<Slot<K, V>>, functions: HashFunctions) -> Self {
        Self { words: words.cast(), functions, types: PhantomData }
    }

    /// The hash functions.
    #[inline(always)]
    pub fn functions(&self) -> &HashFunctions {
        &self.functions
    }

    /// What an exchange moves for a pair: the pair if it fits one word, else its key.
    #[inline(always)]
    fn item(key: K, value: V) -> u64 {
        if packed::<K, V>() { key.to_u64() << 32 | value.to_u64() } else { key.to_u64() }
    }

    #[inline(always)]
    fn key_of(item: u64) -> K {
        K::from_u64(if packed::<K, V>() { item >> 32 } else { item })
    }

    #[inline(always)]
    fn word_of(slot: u32) -> u64 {
        slot as u64 * slot_words::<K, V>()
    }

    /// Says that `slot` will be accessed soon.
    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        self.words.prefetch(Self::word_of(slot));
    }

    /// The first word of a slot, which other threads may be changing.
    #[inline(always)]
    fn item_at(&self, slot: u32) -> u64 {
        self.words.atomic(Self::word_of(slot)).load()
    }

    #[inline(always)]
    fn exchange(&self, slot: u32, item: u64) -> u64 {
        self.words.atomic(Self::word_of(slot)).exchange(item)
    }

    /// Gives the key in `slot` its value. Other threads may read the slot.
    #[inline(always)]
    fn store_value(&self, slot: u32, key: K, value: V) {
        if packed::<K, V>() {
            self.words.atomic(Self::word_of(slot)).store(Self::item(key, value));
        } else {
            // Atomic, because a promise of unique keys may be broken: then several threads write.
            self.words.atomic(Self::word_of(slot) + 1).store(value.to_u64());
        }
    }

    /// The slot of `key` that lookups find, while other threads may be changing values.
    #[inline(always)]
    fn position(&self, key: K) -> Option<u32> {
        self.functions.search(key, |slot| Self::verdict(self.item_at(slot), key, slot)).flatten()
    }

    /// The value of `key`: at most one probe a hash function (section 4.3.2). No thread of the launch may change the table,
    /// and the key that is all ones is not found here but in the [`header`].
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        self.functions.search(key, |slot| self.probe(slot, key)).flatten()
    }

    /// Reads `slot`, which no thread of the launch may change, in one access: the value of `key`, absent for certain, or
    /// (`None`) go on.
    #[inline(always)]
    fn probe(&self, slot: u32, key: K) -> Option<Option<V>> {
        let (item, value) = if packed::<K, V>() {
            let word = self.words.load_read_only(Self::word_of(slot));
            (word, word & 0xffff_ffff)
        } else {
            let [item, value] = self.words.load_pair_read_only(Self::word_of(slot));
            (item, value)
        };
        Self::verdict(item, key, V::from_u64(value))
    }

    /// What a probe that read `item` says: found, absent for certain, or (`None`) go on.
    ///
    /// A key starts at its first slot and leaves a slot only when another key takes it, and no slot becomes empty again. So
    /// behind an empty slot a key cannot be.
    #[inline(always)]
    fn verdict<T>(item: u64, key: K, found: T) -> Option<Option<T>> {
        if item == EMPTY {
            return Some(None);
        }
        (Self::key_of(item) == key).then_some(Some(found))
    }
}
