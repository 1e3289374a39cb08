//! The two-level table of Alcantara et al., *Real-Time Parallel Hashing on the GPU* (2009), whose
//! phases Sahu, *Two Phase Cuckoo's Hashing on GPU* (2015), describes one by one.
//!
//! A first-level hash function sends every key to one of many buckets, as in the perfect hashing of
//! Fredman, Komlós and Szemerédi (1984). A bucket is small enough to be built in shared memory. It
//! is a parallel cuckoo hash with a few sub-tables ([`BuildBuckets`]), whose functions depend on
//! the bucket's own seed. A lookup reads at most one slot in each sub-table ([`Find`]).
//! docs/two-level.md describes the design.
//!
//! **Layout.** The slots ([`slots`](crate::table::slots)) are ordered by bucket, and within a
//! bucket by sub-table. Beside them are the seeds of the buckets.
//!
//! A radix partition puts the pairs in the order of their buckets. `starts` finds where each bucket
//! begins, `build` makes its sub-tables, `find` looks keys up, and `inspect` counts keys.

mod build;
mod find;
mod inspect;
mod starts;

pub use build::{BuildBuckets, BuildParams, MAX_IN_BUCKET, MAX_SLOTS};
pub use find::{Find, FindParams};
pub use inspect::Histogram;
pub use starts::{BucketStarts, KEYS as KEYS_OF_STARTS, StartsParams};

use crate::hash::{Family, HashFunctions, MAX_FUNCTIONS, NO_SLOT};
use crate::seam::Global;
use crate::table::slots::{Slot, Slots};
use crate::types::{KeyWord, ValueWord};

/// The most sub-tables of a bucket.
pub const MAX_SUB_TABLES: usize = 4;

/// The words beside the slots: the results of a build, and the cell of the key that is all ones.
pub mod header {
    /// 1 if the table has the key that is all ones.
    pub const CELL: u64 = crate::table::slots::cell::HELD;
    /// The value of that key.
    pub const CELL_VALUE: u64 = crate::table::slots::cell::VALUE;
    /// 1 if a bucket got more items than its capacity.
    pub const OVERFLOW: u64 = 2;
    /// The count of buckets that could not be built with any of the seeds that they tried.
    pub const FAILED: u64 = 3;
    /// The count of pairs whose key a later pair has too.
    pub const REPEATS: u64 = 4;
    /// The count of seeds that were tried and failed.
    pub const RESEEDED: u64 = 5;
    /// The most rounds that building a bucket took, if rounds are counted.
    pub const MAX_ROUNDS: u64 = 6;
    /// The rounds of all buckets, if rounds are counted.
    pub const ROUNDS: u64 = 7;
    /// The count of words.
    pub const WORDS: usize = 8;
}

/// The layout of a table: its hash functions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Layout {
    /// The hash functions of the first level. The first of them maps a key to its bucket.
    pub buckets: HashFunctions,
    /// The family of functions onto the slots of a sub-table, with one function for each sub-table.
    pub slot_hashes: Family,
}

/// The constants with which a bucket's seed is combined for each sub-table. The first three pairs
/// are from (Sahu 2015), which has no fourth sub-table.
const SEEDED: [[u32; 2]; MAX_SUB_TABLES] = [[0xffff, 0xcba9], [0x7531, 0xbeef], [0xd9f1, 0x337a], [0x5a4d, 0x86c3]];

impl Layout {
    /// Returns the count of slots of a bucket.
    #[inline(always)]
    pub fn bucket_slots(&self) -> u32 {
        self.slot_hashes.count() * self.slot_hashes.slots()
    }

    /// Returns the bucket of `key`.
    #[inline(always)]
    pub fn bucket<K: KeyWord>(&self, key: K) -> u32 {
        self.buckets.slot(0, key)
    }

    /// Returns the slot of `key` in sub-table `table` (a constant once loops are unrolled),
    /// relative to the first slot of its bucket, whose seed is `seed`. Returns [`NO_SLOT`] if there
    /// are fewer sub-tables.
    #[inline(always)]
    pub fn slot_in_bucket<K: KeyWord>(&self, seed: u32, table: usize, key: K) -> u32 {
        if table as u32 >= self.slot_hashes.count() {
            return NO_SLOT;
        }
        let [a, b] = SEEDED[table];
        let constants = [(seed ^ a) as u64, (seed ^ b) as u64];
        table as u32 * self.slot_hashes.slots() + self.slot_hashes.slot(constants, key)
    }
}

/// A table as an argument of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Table<K: KeyWord, V: ValueWord> {
    slots: Slots<K, V>,
    seeds: Global<u32>,
    layout: Layout,
}

impl<K: KeyWord, V: ValueWord> Table<K, V> {
    /// Returns the table whose slots are at `words` and whose seeds are at `seeds`.
    #[inline(always)]
    pub fn new(words: Global<Slot<K, V>>, seeds: Global<u32>, layout: Layout) -> Self {
        Self { slots: Slots::new(words), seeds, layout }
    }

    /// Returns the slots of `key`, in the order in which lookups read them, and [`NO_SLOT`] after
    /// the last one.
    #[inline(always)]
    pub fn slots_of(&self, key: K) -> [u32; MAX_FUNCTIONS] {
        let bucket = self.layout.bucket(key);
        let seed = self.seeds.load_read_only(bucket as u64);
        let first = bucket * self.layout.bucket_slots();
        let mut slots = [NO_SLOT; MAX_FUNCTIONS];
        for table in 0..MAX_SUB_TABLES {
            let slot_in_bucket = self.layout.slot_in_bucket(seed, table, key);
            if slot_in_bucket != NO_SLOT {
                slots[table] = first + slot_in_bucket;
            }
        }
        slots
    }

    /// Returns the value of `key`, by at most one probe per sub-table. No thread of the launch may
    /// change the table. The key that is all ones is not found here; it is in the [`header`].
    #[inline(always)]
    pub fn get(&self, key: K) -> Option<V> {
        let slots = self.slots_of(key);
        let mut answer = None;
        // The loop uses an index, since on the GPU an array that is iterated over by value is put
        // on the stack.
        for table in 0..MAX_SUB_TABLES {
            if answer.is_none() && slots[table] != NO_SLOT {
                answer = self.slots.probe(slots[table], key);
            }
        }
        answer.flatten()
    }
}
