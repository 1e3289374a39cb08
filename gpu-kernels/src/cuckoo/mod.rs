//! The single-level cuckoo table of Alcantara et al., *Building an Efficient Hash Table on the GPU*
//! (GPU Computing Gems, Jade edition, 2011, chapter 4).
//!
//! Every key has one slot under each of 2 to 5 hash functions and is stored in one of them. In a
//! build every thread inserts one pair by atomic exchanges, and then inserts the pair that was
//! evicted ([`Insert`]). A lookup reads at most as many slots as there are functions ([`Find`]).
//! docs/cuckoo.md describes the design.
//!
//! **Layout.** See [`slots`](crate::table::slots). A pair that fits one word is exchanged as a
//! whole. Otherwise only keys are exchanged, and [`StoreValues`] writes the values afterwards (the
//! alternative in Alcantara 2011, §4.3.1.2).
//!
//! **Sets** (Alcantara 2011, §4.4) are tables whose payload is [`Nothing`](crate::types::Nothing).
//! They use the same kernels, but [`Census`] also erases copies of keys ([`fillers`]).
//!
//! Read `build`, then `repeats`, and `find`. `unpack` writes all pairs out, and `inspect` counts
//! the probes that keys need.

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

/// The words beside the slots: the results of a build, and the cell of the key that is all ones.
pub mod header {
    /// The state of the key that is all ones: 1 + the index of its last pair, or 0 if the table
    /// does not have it.
    pub const CELL: u64 = crate::table::slots::cell::HELD;
    /// The value of that key.
    pub const CELL_VALUE: u64 = crate::table::slots::cell::VALUE;
    /// 1 if a thread dropped its copy of a key because it saw another copy in the table. Only for a
    /// set, where the key that is all ones has no value.
    pub const DROPPED: u64 = CELL_VALUE;
    /// 1 if an eviction chain was longer than its limit, so that the build failed.
    pub const FAILED: u64 = 2;
    /// 1 if a key occurred twice.
    pub const REPEATED: u64 = 3;
    /// The count of keys in the slots, which `Census` computes.
    pub const KEYS: u64 = 4;
    /// The most exchanges that the insertion of one pair took.
    pub const LONGEST: u64 = 5;
    /// The count of all exchanges.
    pub const EXCHANGES: u64 = 6;
    /// The count of words.
    pub const WORDS: usize = 7;
}

/// A table as an argument of kernels: its slots and its hash functions.
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

    /// Returns the slot in which lookups find `key`, while other threads may be changing values.
    #[inline(always)]
    fn position(&self, key: K) -> Option<u32> {
        let verdict = |slot| Slots::<K, V>::verdict(self.slots.item_at(slot), key, slot);
        self.functions.search(key, verdict).flatten()
    }

    /// Returns the value of `key`, or an unspecified word for a set. It takes at most one probe per
    /// hash function (Alcantara 2011, §4.3.2). No thread of the launch may change the table. The
    /// key that is all ones is not found here; it is in the [`header`].
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<WordOf<V>> {
        self.functions.search(key, |slot| self.slots.probe(slot, key)).flatten()
    }
}
