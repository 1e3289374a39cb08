//! A dictionary for one thread: the keys in the order of their insertion, and a hash table of their
//! ids with linear probing.
//!
//! The table starts small and grows, so that the keys of a skewed input stay in the nearest cache.

use crate::seam::{Global, Work};
use crate::types::KeyWord;

/// The binary logarithm of the count of slots of a new table.
pub(super) const FIRST_BITS: u32 = 10;
/// The binary logarithm of the factor by which a table grows.
const GROWTH_BITS: u32 = 2;
/// The binary logarithm of the most slots of a table that fits in a near cache.
const NEAR_BITS: u32 = 15;
/// The count of rows whose keys are hashed, and whose slots are prefetched, before the first is
/// looked up.
pub(super) const GROUP: usize = 128;

/// Returns the binary logarithm of the most slots of a table for `rows` rows. Some slots are free
/// even if all keys are distinct.
pub fn most_bits(rows: u64) -> u32 {
    (rows + rows / 2 + 1).next_power_of_two().trailing_zeros().max(FIRST_BITS)
}

/// The hash function of dictionaries.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Hash {
    /// The first random word of [`KeyWord::mixed`].
    pub a: u64,
    /// The second random word.
    pub b: u64,
    /// The count of leading bits that the hashes of all keys of a dictionary share.
    pub skipped: u32,
    /// An unused field.
    pub padding: u32,
}

impl Hash {
    #[inline(always)]
    pub(super) fn of<K: KeyWord>(&self, key: K) -> K {
        key.mixed(self.a, self.b)
    }

    /// Returns the first slot of a key with this hash in a table of 2^`bits` slots.
    #[inline(always)]
    fn home<K: KeyWord>(&self, mixed: K, bits: u32) -> u64 {
        mixed.to_u64() << (64 - K::BITS + self.skipped) >> (64 - bits)
    }
}

/// The keys, their ids and the table.
#[derive(Clone, Copy)]
pub(super) struct Dictionary<K: KeyWord> {
    /// The ids plus 1, or 0 in a free slot.
    pub slots: Global<u32>,
    /// The keys by their ids.
    pub keys: Global<K>,
    pub hash: Hash,
    /// The binary logarithms of the count of slots, and of the most slots for which there is
    /// memory. The latter are more than there are keys.
    pub bits: u32,
    pub most_bits: u32,
    /// The count of keys.
    pub length: u32,
}

impl<K: KeyWord> Dictionary<K> {
    /// Returns a dictionary without keys, in memory of any contents. Its table has 2^`bits` slots
    /// at first.
    #[inline(always)]
    pub fn new(slots: Global<u32>, keys: Global<K>, hash: Hash, (bits, most_bits): (u32, u32)) -> Self {
        let bits = bits.min(most_bits);
        clear(slots, bits);
        Self { slots, keys, hash, bits, most_bits, length: 0 }
    }

    #[inline(always)]
    fn next(&self, slot: u64) -> u64 {
        (slot + 1) & ((1 << self.bits) - 1)
    }

    /// Returns the id of a key, and whether it is new.
    #[inline(always)]
    fn id_of(&mut self, key: K, mixed: K) -> (u32, bool) {
        let mut at = self.hash.home(mixed, self.bits);
        // At most as many steps as slots: there are more slots than keys, so an empty one ends the
        // loop.
        loop {
            let id_plus_one = self.slots.load(at);
            if id_plus_one == 0 {
                return (self.insert(key, mixed, at), true);
            }
            if self.keys.load(id_plus_one as u64 - 1) == key {
                return (id_plus_one - 1, false);
            }
            at = self.next(at);
        }
    }

    /// Inserts a key that is absent, for which `at` is the first free slot. Returns its id.
    #[inline(always)]
    fn insert(&mut self, key: K, mixed: K, mut at: u64) -> u32 {
        if self.length as u64 >= 1 << self.bits >> 1 && self.bits < self.most_bits {
            *self = grown(*self);
            at = self.free_slot(mixed);
        }
        let id = self.length;
        self.slots.store(at, id + 1);
        self.keys.store(id as u64, key);
        self.length = id + 1;
        id
    }

    #[inline(always)]
    fn free_slot(&self, mixed: K) -> u64 {
        let mut at = self.hash.home(mixed, self.bits);
        // At most as many steps as slots: there are more slots than keys, so an empty one ends the
        // loop.
        while self.slots.load(at) != 0 {
            at = self.next(at);
        }
        at
    }
}

#[inline(always)]
fn clear(slots: Global<u32>, bits: u32) {
    for slot in 0..1 << bits {
        slots.store(slot, 0);
    }
}

/// Returns the dictionary with a larger table. It is a separate function that takes and returns the
/// dictionary by value, so that the caller's dictionary stays in registers.
#[cold]
#[inline(never)]
fn grown<K: KeyWord>(mut dictionary: Dictionary<K>) -> Dictionary<K> {
    dictionary.bits = dictionary.most_bits.min(dictionary.bits + GROWTH_BITS);
    clear(dictionary.slots, dictionary.bits);
    for id in 0..dictionary.length {
        let at = dictionary.free_slot(dictionary.hash.of(dictionary.keys.load(id as u64)));
        dictionary.slots.store(at, id + 1);
    }
    dictionary
}

/// Rows, and what is computed for them: the id of each row's key if `IDS`, and the sum of the
/// weights of each key's rows if `COUNTS`. Each row has weight 1 unless `WEIGHTED`.
///
/// Keys and weights may be in the dictionary's own arrays, after the dictionary's last key. The
/// output is the dictionary with the rows' keys.
pub(super) struct Rows<const IDS: bool, const COUNTS: bool, const WEIGHTED: bool, K: KeyWord> {
    pub dictionary: Dictionary<K>,
    pub keys: Global<K>,
    pub weights: Global<u32>,
    pub ids: Global<u32>,
    pub counts: Global<u32>,
    pub rows: u64,
}

impl<const IDS: bool, const COUNTS: bool, const WEIGHTED: bool, K: KeyWord> Work for Rows<IDS, COUNTS, WEIGHTED, K> {
    type Output = Dictionary<K>;

    #[inline(always)]
    fn run(self) -> Dictionary<K> {
        let Self { mut dictionary, keys, weights, ids, counts, rows } = self;
        let mut mixed = [K::default(); GROUP];
        let mut first = 0;
        while first < rows {
            let here = (rows - first).min(GROUP as u64) as usize;
            for i in 0..here {
                mixed[i] = dictionary.hash.of(keys.load(first + i as u64));
            }
            if dictionary.bits > NEAR_BITS {
                prefetch(&dictionary, &mixed);
            }
            for i in 0..here {
                let row = first + i as u64;
                let key = keys.load(row);
                let (id, is_new) = dictionary.id_of(key, mixed[i]);
                if COUNTS {
                    let weight = if WEIGHTED { weights.load(row) } else { 1 };
                    if is_new {
                        counts.store(id as u64, 0);
                    }
                    counts.store(id as u64, counts.load(id as u64) + weight);
                }
                if IDS {
                    ids.store(row, id);
                }
            }
            first += GROUP as u64;
        }
        dictionary
    }
}

/// Prefetches the first slots of keys with these hashes, and then the keys whose ids are in these
/// slots.
#[inline(always)]
fn prefetch<K: KeyWord>(dictionary: &Dictionary<K>, mixed: &[K; GROUP]) {
    for i in 0..GROUP {
        dictionary.slots.prefetch(dictionary.hash.home(mixed[i], dictionary.bits));
    }
    for i in 0..GROUP {
        let id_plus_one = dictionary.slots.load(dictionary.hash.home(mixed[i], dictionary.bits));
        dictionary.keys.prefetch(id_plus_one as u64);
    }
}
