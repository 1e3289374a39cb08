//! Looking up many keys by one thread, in tables whose keys have a few slots each.

use super::lookup::Lookup;
use super::slots::{Slots, cell};
use crate::hash::{MAX_FUNCTIONS, NO_SLOT};
use crate::seam::{Global, Work};
use crate::types::{KeyWord, Payload, WordOf};

/// The slots of a table's keys, in the order in which they are read.
pub trait Probed<K>: Copy {
    /// Prefetches the words from which the slots of `key` are computed.
    fn prefetch(&self, key: K);
    /// Returns slot `number` of `key`, or [`NO_SLOT`] after its last slot.
    fn slot(&self, number: usize, key: K) -> u32;
}

/// The count of queries that are answered as a group, a multiple of 32. It is large enough to hide
/// the latency of a read.
const TOGETHER: usize = 128;

/// The queries `first..end` of a lookup. `first` is a multiple of 32.
///
/// The first slots of all queries of a group are read, then the second slots of the queries that
/// are left, and so on. Each slot is prefetched one round before it is read. The list of these is
/// written without a branch, which would be unpredictable.
pub struct LookupInTurn<P, K: KeyWord, V: Payload> {
    pub lookup: Lookup<K, WordOf<V>>,
    pub slots: Slots<K, V>,
    pub header: Global<u64>,
    pub probed: P,
    pub first: u64,
    pub end: u64,
}

/// A group of queries and their answers. `left` contains the indices of the queries that are not
/// answered yet.
struct Group<K, W> {
    keys: [K; TOGETHER],
    answers: [W; TOGETHER],
    found: [u32; TOGETHER / 32],
    left: [u8; TOGETHER],
    slots: [u32; TOGETHER],
}

impl<P: Probed<K>, K: KeyWord, V: Payload> Work for LookupInTurn<P, K, V> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut group = Group {
            keys: [K::default(); TOGETHER],
            answers: [<WordOf<V>>::default(); TOGETHER],
            found: [0; TOGETHER / 32],
            left: [0; TOGETHER],
            slots: [0; TOGETHER],
        };
        let mut first = self.first;
        while first < self.end {
            let here = (self.end - first).min(TOGETHER as u64) as usize;
            self.seek(&mut group, first, here);
            let mut left = here;
            for number in 0..MAX_FUNCTIONS {
                if left == 0 {
                    break;
                }
                left = self.choose(&mut group, number, left);
                left = self.probe(&mut group, left);
            }
            self.write(&mut group, first, here);
            first += TOGETHER as u64;
        }
    }
}

impl<P: Probed<K>, K: KeyWord, V: Payload> LookupInTurn<P, K, V> {
    /// Reads the queries starting at index `first`.
    #[inline(always)]
    fn seek(&self, group: &mut Group<K, WordOf<V>>, first: u64, here: usize) {
        for query in 0..here {
            let key = self.lookup.queries.load_streaming(first + query as u64);
            self.probed.prefetch(key);
            group.keys[query] = key;
            group.left[query] = query as u8;
            group.answers[query] = <WordOf<V>>::default();
        }
        group.found = [0; TOGETHER / 32];
    }

    /// Computes and prefetches slot `number` of the `left` remaining keys. Returns the count of
    /// keys that have such a slot.
    #[inline(always)]
    fn choose(&self, group: &mut Group<K, WordOf<V>>, number: usize, left: usize) -> usize {
        let mut kept = 0;
        for entry in 0..left {
            let query = group.left[entry];
            let slot = self.probed.slot(number, group.keys[query as usize % TOGETHER]);
            self.slots.prefetch(if slot == NO_SLOT { 0 } else { slot });
            group.left[kept] = query;
            group.slots[kept] = slot;
            kept += (slot != NO_SLOT) as usize;
        }
        kept
    }

    /// Reads the slots of the remaining keys. Returns the count of keys that need another probe.
    #[inline(always)]
    fn probe(&self, group: &mut Group<K, WordOf<V>>, left: usize) -> usize {
        let mut kept = 0;
        for entry in 0..left {
            let query = group.left[entry] as usize % TOGETHER;
            let (item, value) = self.slots.pair_at(group.slots[entry]);
            // In an empty slot both key and value are all ones.
            let hit = Slots::<K, V>::key_of(item) == group.keys[query];
            if V::VALUE_BITS != 0 {
                group.answers[query] = if hit { value } else { group.answers[query] };
            }
            group.found[query / 32] |= (hit as u32) << (query % 32);
            group.left[kept] = query as u8;
            kept += (!hit && item != Slots::<K, V>::EMPTY) as usize;
        }
        kept
    }

    /// Answers the key that is all ones from the table's [`cell`], and writes all answers.
    #[inline(always)]
    fn write(&self, group: &mut Group<K, WordOf<V>>, first: u64, here: usize) {
        for query in 0..here {
            if group.keys[query] == K::ALL_ONES {
                let value = cell::value::<WordOf<V>>(self.header);
                group.answers[query] = value.unwrap_or_default();
                let bit = 1 << (query % 32);
                let found = group.found[query / 32] & !bit;
                group.found[query / 32] = if value.is_some() { found | bit } else { found };
            }
        }
        if !self.lookup.values.is_null() {
            for query in 0..here {
                self.lookup.values.store_streaming(first + query as u64, group.answers[query]);
            }
        }
        for word in 0..here.div_ceil(32) {
            self.lookup.found.store(first / 32 + word as u64, group.found[word]);
        }
    }
}
