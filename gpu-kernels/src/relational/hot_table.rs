//! The table of hot keys: read-only while rows are looked up, small enough for shared memory.
//!
//! Each key has three slots, as in a cuckoo table, and is in one of them, or left out. No bit tells
//! whether a slot is occupied: an empty one holds a copy of some hot key. A lookup takes the first
//! of a key's slots that holds the key. So of all slots with a key only the one that its lookup
//! leads to ever gets rows, and whatever a table holds, no row is counted for another key.

use crate::types::KeyWord;

/// The 32-bit words of shared memory for a block's table and aggregates.
pub const WORDS: u32 = 12_224;

/// The most slots of a table: of keys of 32 bits alone.
pub const MAX_SLOTS: u32 = WORDS;

/// The multiple that a number of slots is of, so that arrays of 64-bit words can follow.
const SLOT_UNIT: u32 = 32;

/// The most copies of each slot's aggregates, as a power of two: one for each lane.
const MAX_COPY_BITS: u32 = 5;

/// The slots for each hot key, if there is shared memory for them.
const SLOTS_PER_KEY: u32 = 3;

/// The result of a lookup of a key that is not hot.
pub const NO_SLOT: u32 = u32::MAX;

/// The hash functions and sizes of a table of hot keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HotTable {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The number of slots, a multiple of 32.
    pub slots: u32,
    /// The aggregates of a slot are kept 2^`copy_bits` times, so that lanes with equal keys add to
    /// different words.
    pub copy_bits: u32,
}

impl HotTable {
    /// Returns the most keys that a table has slots for, where a key takes `key_words` 32-bit words
    /// and the aggregates of a slot take `group_words`.
    #[inline(always)]
    pub fn capacity(key_words: u32, group_words: u32) -> u32 {
        // Three hash functions fill a table up to .917.
        most_slots(key_words, group_words) / 20 * 17
    }

    /// Returns the table for `keys` keys, which are no more than [`HotTable::capacity`].
    #[inline(always)]
    pub fn of(a: u64, b: u64, keys: u32, key_words: u32, group_words: u32) -> Self {
        let most = most_slots(key_words, group_words);
        let slots = (keys * SLOTS_PER_KEY).next_multiple_of(SLOT_UNIT).clamp(SLOT_UNIT, most);
        let mut copy_bits = 0;
        while copy_bits < MAX_COPY_BITS && slots * key_words + ((slots * group_words) << (copy_bits + 1)) <= WORDS {
            copy_bits += 1;
        }
        Self { a, b, slots, copy_bits }
    }

    /// Returns the number of copies of all slots' aggregates.
    #[inline(always)]
    pub fn copies(&self) -> u32 {
        self.slots << self.copy_bits
    }

    /// Returns the slots of a key.
    #[inline(always)]
    pub fn choices<K: KeyWord>(&self, key: K) -> [u32; 3] {
        let mixed = key.mixed(self.a, self.b);
        let (high, low) = (mixed.bits_from(K::BITS - 32), mixed.bits_from(0));
        // Of a 64-bit key the second choice depends on other bits than the first.
        let words = [
            high,
            low.wrapping_mul(0x9e37_79b1),
            low.wrapping_mul(0x85eb_ca77).wrapping_add(high.wrapping_mul(0xc2b2_ae3c)),
        ];
        words.map(|word| ((word as u64 * self.slots as u64) >> 32) as u32)
    }

    /// Returns the slot that a key's rows are counted at, or [`NO_SLOT`].
    #[inline(always)]
    pub fn find<K: KeyWord>(&self, key: K, held: impl Fn(u32) -> K) -> u32 {
        let [first, second, third] = self.choices(key);
        // A slot is read only by the lanes that need it, which leaves the others fewer conflicts.
        if held(first) == key {
            first
        } else if held(second) == key {
            second
        } else if held(third) == key {
            third
        } else {
            NO_SLOT
        }
    }
}

#[inline(always)]
fn most_slots(key_words: u32, group_words: u32) -> u32 {
    WORDS / (key_words + group_words) / SLOT_UNIT * SLOT_UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_shared_memory_and_have_slots_for_all_keys() {
        for key_words in [1, 2] {
            for group_words in [0, 1, 2, 3, 7] {
                let capacity = HotTable::capacity(key_words, group_words);
                for keys in 0..=capacity {
                    let table = HotTable::of(1, 2, keys, key_words, group_words);
                    assert!(table.slots * key_words + table.copies() * group_words <= WORDS, "{table:?}");
                    assert!(table.slots * 17 / 20 >= keys && table.slots.is_multiple_of(SLOT_UNIT), "{table:?}");
                }
                assert_eq!(HotTable::of(1, 2, 1, key_words, group_words).copy_bits, MAX_COPY_BITS);
            }
        }
    }
}
