//! The single-level cuckoo table of Alcantara et al., *Building an Efficient Hash Table on the GPU*
//! (GPU Computing Gems, Jade edition, 2011, chapter 4).
//!
//! Every key has one slot under each of 2 to 5 hash functions and is in one of them. A build lets
//! every thread insert one pair by atomic exchanges, passing evicted pairs on ([`Insert`]). A
//! lookup reads at most as many slots as there are functions ([`Find`]). docs/cuckoo.md describes
//! all of it.
//!
//! **Layout.** See [`slots`](crate::table::slots). The exchanges move a pair that fits one word as
//! a whole. Otherwise they move the key alone, and [`StoreValues`] writes the values afterwards
//! (the alternative in Alcantara 2011, §4.3.1.2).
//!
//! **Sets** (Alcantara 2011, §4.4) are tables whose payload is [`Nothing`](crate::types::Nothing).
//! They use the same kernels, but [`Census`] also erases copies of keys ([`fillers`]).
//!
//! Read `build`, then `repeats`, and `find`. `unpack` writes all pairs out, `inspect` measures.

mod build;
pub mod fillers;
mod find;
mod inspect;
mod repeats;
mod unpack;

pub(crate) use build::has_earlier_copy;
pub use build::{Census, Insert, InsertParams, next_slot};
pub use find::{Find, FindParams};
pub use inspect::Histogram;
pub use repeats::{Last, PairsParams, StoreValues};
pub use unpack::{Unpack, UnpackParams};

pub use crate::table::slots::{EMPTY, Slot, packed, slot_bytes, slot_words};

use crate::hash::HashFunctions;
use crate::seam::Global;
use crate::table::slots::Slots;
use crate::types::{KeyWord, Payload, WordOf};

/// The words beside the slots: results of a build, and the cell of the key that is all ones.
pub mod header {
    /// The state of the key that is all ones: 1 + the index of its last pair, or 0 if the table
    /// does not have it.
    pub const CELL: u64 = crate::table::slots::cell::HELD;
    /// The value of that key.
    pub const CELL_VALUE: u64 = crate::table::slots::cell::VALUE;
    /// The flag of a set, where that key has no value: 1 if a thread dropped its copy of a key on
    /// seeing another one in the table.
    pub const DROPPED: u64 = CELL_VALUE;
    /// The flag of failure: 1 if an eviction chain passed its limit: the build failed.
    pub const FAILED: u64 = 2;
    /// The flag of repeated keys: 1 if a key was met twice.
    pub const REPEATED: u64 = 3;
    /// The count of keys that the slots hold (counted by `Census`).
    pub const KEYS: u64 = 4;
    /// The most exchanges that inserting one pair took.
    pub const LONGEST: u64 = 5;
    /// The count of all exchanges.
    pub const EXCHANGES: u64 = 6;
    /// The count of words.
    pub const WORDS: usize = 7;
}

/// A table as kernels hold it: its slots and its hash functions.
#[derive(Clone, Copy, Debug)]
pub struct Table<K: KeyWord, V: Payload> {
    slots: Slots<K, V>,
    functions: HashFunctions,
}

impl<K: KeyWord, V: Payload> Table<K, V> {
    /// Returns the table of `functions.slots()` slots at `words`.
    #[inline(always)]
    pub fn new(words: Global<Slot<K, V>>, functions: HashFunctions) -> Self {
        Self { slots: Slots::new(words), functions }
    }

    /// Returns the hash functions.
    #[inline(always)]
    pub fn functions(&self) -> &HashFunctions {
        &self.functions
    }

    /// Returns the slot of `key` that lookups find, while other threads may be changing values.
    #[inline(always)]
    fn position(&self, key: K) -> Option<u32> {
        let verdict = |slot| Slots::<K, V>::verdict(self.slots.item_at(slot), key, slot);
        self.functions.search(key, verdict).flatten()
    }

    /// Returns the value of `key`, or any word for a set: at most one probe a hash function
    /// (Alcantara 2011, §4.3.2). No thread of the launch may change the table. The key that is all
    /// ones is not found here but in the [`header`].
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<WordOf<V>> {
        self.functions.search(key, |slot| self.slots.probe(slot, key)).flatten()
    }
}
