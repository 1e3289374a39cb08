//! The table of hot keys. It is small enough for shared memory, and read-only while rows are looked
//! up.
//!
//! Each key has three slots, as in a cuckoo table, and is in one of them, or left out. No bit tells
//! whether a slot is occupied: an empty slot contains a copy of some hot key. A lookup returns the
//! first of a key's slots that contains the key. So only one of the slots with a key ever gets
//! rows, and no row is counted for another key, whatever a table contains.
//!
//! If more keys are hot than fit one block, a table has parts, and each key belongs to one of them.
//! A block has one part, and leaves the rows of other parts to the blocks that read the same rows.
//!
//! [`hot`](super::hot) looks rows up in this table. The aggregates of the slots are in `on_chip`.

use super::copies::{Copies, SPARE};
use crate::seam::{Shared, opaque, upper_product, wide_product};
use crate::types::KeyWord;

/// The divisor of every count of slots, so that arrays of 64-bit words can follow.
const SLOT_UNIT: u32 = 32;

/// The counts of slots and copies that a table has, if there is memory for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HotShare {
    /// The count of slots for each hot key.
    pub slots: u32,
    /// The fewest slots, a multiple of 32.
    pub least_slots: u32,
    /// The binary logarithm of the most copies of each slot's aggregates.
    pub copy_bits: u32,
}

impl HotShare {
    /// The share for a GPU, with a copy for each lane.
    pub const OF_LANES: Self = Self { slots: 3, least_slots: SLOT_UNIT, copy_bits: 5 };
    /// The share for a CPU core. There a key that is not in its first slot costs a mispredicted
    /// branch, and an addition waits for the addition before it.
    pub const OF_A_CORE: Self = Self { slots: 16, least_slots: 8 * SLOT_UNIT, copy_bits: 2 };
}

/// The result of a lookup of a key that is not hot.
pub const NO_SLOT: u32 = u32::MAX;

/// The hash functions and sizes of a table of hot keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HotTable {
    /// The odd factor of a key's lower 32 bits.
    pub low: u32,
    /// The odd factor of a key's upper 32 bits, if it has more than 32.
    pub high: u32,
    /// The count of slots of a part, which is a multiple of 32.
    pub slots: u32,
    /// The binary logarithm of the count of copies of a slot's aggregates, if all slots have the
    /// same count. There are several, so that lanes with equal keys add to different words.
    pub copy_bits: u32,
    /// The count of copies of all aggregates of a part, including the [`SPARE`] ones for rows
    /// without a slot, which are the last.
    pub aggregates: u32,
    /// Whether each slot has a word that tells its [`Copies`]: 0 or 1. Then only slots with keys
    /// have copies, and frequent keys have more.
    pub is_placed: u32,
    /// The binary logarithm of the count of parts.
    pub part_bits: u32,
    /// An unused field: 0.
    pub padding: u32,
}

impl HotTable {
    /// Returns the count of slots of all parts.
    #[inline(always)]
    pub fn all_slots(&self) -> u32 {
        self.slots << self.part_bits
    }

    /// Returns the part of a folded key. It is independent of the first slot.
    #[inline(always)]
    pub fn part(&self, folded: u32) -> u32 {
        folded & ((1 << self.part_bits) - 1)
    }

    /// Returns the same table, with words in 32-bit registers.
    #[inline(always)]
    pub fn in_registers(self) -> Self {
        let Self { low, high, slots, copy_bits, .. } = self;
        Self { low: opaque(low), high: opaque(high), slots: opaque(slots), copy_bits: opaque(copy_bits), ..self }
    }

    /// Returns the count of 32-bit words before the aggregates.
    #[inline(always)]
    pub fn words_before<K: KeyWord>(&self) -> u32 {
        self.slots * (K::BITS / 32 + self.is_placed)
    }

    /// Returns the copies of a slot of a table in `words`.
    #[inline(always)]
    pub(super) fn copies_of<K: KeyWord>(&self, words: impl Shared<u32>, slot: u32) -> Copies {
        if self.is_placed != 0 {
            Copies(words.get(self.slots * (K::BITS / 32) + slot))
        } else {
            Copies::new(slot << self.copy_bits, self.copy_bits)
        }
    }

    /// Returns the word of a key from which its slots are computed: the folded halves of a product.
    /// Few instructions are more important here than independent slots, since a key without a slot
    /// is just not hot.
    #[inline(always)]
    pub fn folded<K: KeyWord>(&self, key: K) -> u32 {
        let mut sum = wide_product(key.bits_from(0), self.low, 0);
        if K::BITS == 64 {
            sum = wide_product(key.bits_from(K::BITS - 32), self.high, sum);
        }
        sum as u32 ^ (sum >> 32) as u32
    }

    /// Returns the slot of a folded key by choice `CHOICE`, 0 to 2.
    #[inline(always)]
    pub fn slot<const CHOICE: usize>(&self, folded: u32) -> u32 {
        upper_product(folded.wrapping_mul([1, 0x9e37_79b1, 0x85eb_ca77][CHOICE]), self.slots)
    }

    /// Returns the slots of a key.
    #[inline(always)]
    pub fn choices<K: KeyWord>(&self, key: K) -> [u32; 3] {
        let folded = self.folded(key);
        [self.slot::<0>(folded), self.slot::<1>(folded), self.slot::<2>(folded)]
    }

    /// Returns the slot of a part in which a key's rows are counted, or [`NO_SLOT`].
    #[inline(always)]
    pub fn find<K: KeyWord>(&self, part: u32, key: K, held: impl Fn(u32) -> K) -> u32 {
        let folded = self.folded(key);
        if self.part(folded) != part {
            return NO_SLOT;
        }
        let first = self.slot::<0>(folded);
        if held(first) == key { first } else { self.find_further(key, folded, held) }
    }

    /// Returns the slot of a key that is not in its first slot, or [`NO_SLOT`].
    #[inline(always)]
    pub fn find_further<K: KeyWord>(&self, key: K, folded: u32, held: impl Fn(u32) -> K) -> u32 {
        // A slot is read only by the lanes that need it, so that the other lanes have fewer bank
        // conflicts.
        let (second, third) = (self.slot::<1>(folded), self.slot::<2>(folded));
        if held(second) == key {
            second
        } else if held(third) == key {
            third
        } else {
            NO_SLOT
        }
    }
}

/// The most hot keys of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HotCapacity {
    /// The most hot keys of a table with one part if these are all keys of a sample. Three hash
    /// functions fill a part up to .917.
    pub all: u32,
    /// The most hot keys of a table with several parts, if these are nearly all keys of the rows.
    pub in_parts: u32,
    /// The most hot keys if there are other keys. They fit a small table, with which more threads
    /// run. In a nearly full table a key with many rows might find no slot. It is better that a few
    /// more keys with few rows are not hot.
    pub some: u32,
}

/// The memory that a slot takes, and the memory that there is for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct HotSizes {
    /// The count of 32-bit words of a key.
    pub key_words: u32,
    /// The count of 32-bit words of the aggregates of a slot.
    pub group_words: u32,
    /// The count of 32-bit words of a block if a multiprocessor runs several blocks.
    pub small: u32,
    /// The count of 32-bit words of a block if a multiprocessor runs only this block.
    pub large: u32,
    /// The counts of slots and copies of a table.
    pub share: HotShare,
    /// Whether slots may be placed. That takes another access on chip for each row, so it is for
    /// additions that wait for others at the same address, as additions of floating-point numbers
    /// do.
    pub places: bool,
    /// The binary logarithm of the most parts.
    pub most_part_bits: u32,
}

/// The share of its mean count of keys that a part may have more.
const PART_DEVIATION: u32 = 32;

/// The share of the memory of a table with placed slots that is for the copies of frequent keys.
const SHARE_OF_COPIES: u32 = 8;

impl HotSizes {
    /// Returns the most hot keys of a table.
    #[inline(always)]
    pub fn capacity(&self) -> HotCapacity {
        let [large, small] = [self.large, self.small].map(|words| self.most_slots(words));
        let some = if self.places { self.placed_keys(self.large) } else { small / 4 * 3 };
        let all = large / 8 * 7;
        HotCapacity { all, in_parts: (all - all / PART_DEVIATION) << self.most_part_bits, some }
    }

    /// Returns the most keys of a table in `words` with placed slots, if there are 4 slots for 3
    /// keys.
    #[inline(always)]
    fn placed_keys(&self, words: u32) -> u32 {
        let for_keys =
            words - words / SHARE_OF_COPIES - SPARE * self.group_words - 4 * SLOT_UNIT * (self.key_words + 1);
        for_keys * 3 / (4 * (self.key_words + 1) + 3 * self.group_words)
    }

    /// Returns whether a table of `keys` keys is a large one.
    #[inline(always)]
    pub fn is_large(&self, keys: u32) -> bool {
        keys > if self.places { self.placed_keys(self.small) } else { self.most_slots(self.small) / 4 * 3 }
    }

    /// Returns the most slots of all parts of a table of any size.
    #[inline(always)]
    pub fn max_slots(&self) -> u32 {
        self.most_slots(self.large) << self.most_part_bits
    }

    /// Returns a table for `keys` keys, at most [`HotSizes::capacity`], with hash functions from
    /// the word `random`.
    #[inline(always)]
    pub fn table(&self, random: u64, keys: u32) -> HotTable {
        let all = self.capacity().all;
        if keys <= all {
            return self.part(random, keys);
        }
        let most_of_part = all - all / PART_DEVIATION;
        let part_bits = keys.div_ceil(most_of_part).next_power_of_two().ilog2();
        let mean = keys >> part_bits;
        HotTable { part_bits, ..self.part(random, mean + mean / (PART_DEVIATION - 1)) }
    }

    /// Returns a table with one part for `keys` keys.
    #[inline(always)]
    fn part(&self, random: u64, keys: u32) -> HotTable {
        let words = if self.is_large(keys) { self.large } else { self.small };
        let HotShare { slots, least_slots, copy_bits: most_copy_bits } = self.share;
        let most_slots = self.most_slots(words);
        let slots = (keys * slots).next_multiple_of(SLOT_UNIT).max(least_slots).min(most_slots);
        let taken = |copy_bits: u32| slots * self.key_words + ((slots << copy_bits) + SPARE) * self.group_words;
        let mut copy_bits = 0;
        while copy_bits < most_copy_bits && taken(copy_bits + 1) <= words {
            copy_bits += 1;
        }
        let (low, high) = (random as u32 | 1, (random >> 32) as u32 | 1);
        let aggregates = (slots << copy_bits) + SPARE;
        let table = HotTable { low, high, slots, copy_bits, aggregates, is_placed: 0, part_bits: 0, padding: 0 };
        let is_placed = self.places && copy_bits < most_copy_bits && keys <= self.placed_keys(words);
        if is_placed { self.placed(table, keys, words) } else { table }
    }

    /// Returns a table for `keys` keys in `words`, at most [`HotSizes::placed_keys`], whose slots
    /// are placed.
    #[inline(always)]
    fn placed(&self, table: HotTable, keys: u32, words: u32) -> HotTable {
        let slot_words = self.key_words + 1;
        let for_slots = words - words / SHARE_OF_COPIES - (keys + SPARE) * self.group_words;
        let most_slots = (for_slots / slot_words / SLOT_UNIT * SLOT_UNIT).min(self.most_slots(self.large));
        let slots = (keys * self.share.slots).next_multiple_of(SLOT_UNIT).max(self.share.least_slots).min(most_slots);
        let fit = (words - slots * slot_words) / self.group_words;
        let aggregates = fit.min((keys << self.share.copy_bits) + SPARE) & !1;
        HotTable { slots, copy_bits: 0, aggregates, is_placed: 1, ..table }
    }

    #[inline(always)]
    fn most_slots(&self, words: u32) -> u32 {
        (words - SPARE * self.group_words) / (self.key_words + self.group_words) / SLOT_UNIT * SLOT_UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_shared_memory_and_have_slots_for_all_keys() {
        for (key_words, group_words) in [1, 2].into_iter().flat_map(|keys| [0, 1, 2, 3, 7].map(|group| (keys, group))) {
            let shares = [HotShare::OF_LANES, HotShare::OF_A_CORE];
            let memory = [(8_000, 12_000), (12_000, 12_000), (19_000, 57_856)];
            let shares = shares.map(|share| (share, false)).into_iter().chain([(HotShare::OF_LANES, group_words != 0)]);
            for ((share, places), (small, large)) in shares.flat_map(|share| memory.map(|memory| (share, memory))) {
                let most_part_bits = if places { 2 } else { 0 };
                let sizes = HotSizes { key_words, group_words, small, large, share, places, most_part_bits };
                for keys in 0..=sizes.capacity().in_parts {
                    let table = sizes.table(2, keys);
                    let words = if sizes.is_large(keys) { large } else { small };
                    assert!(table.part_bits <= most_part_bits && table.all_slots() <= sizes.max_slots(), "{table:?}");
                    let keys = keys >> table.part_bits;
                    let keys = if table.part_bits == 0 { keys } else { keys + keys / PART_DEVIATION };
                    let of_keys = table.slots * (key_words + table.is_placed);
                    assert!(of_keys + table.aggregates * group_words <= words, "{table:?}");
                    assert!(table.slots * 7 / 8 >= keys && table.slots.is_multiple_of(SLOT_UNIT), "{table:?}");
                    assert!(table.is_placed == 0 || table.aggregates >= keys + SPARE, "{keys} keys: {table:?}");
                    assert!(table.aggregates.is_multiple_of(2), "{table:?}");
                }
                let HotCapacity { some, .. } = sizes.capacity();
                let table = sizes.table(2, some);
                assert!(table.is_placed == places as u32 && some > 0, "{some} keys: {table:?}");
                assert_eq!(sizes.table(2, 1).copy_bits, share.copy_bits);
            }
        }
    }
}
