//! Tests of the checker of extendible maps: it finds every kind of damage to a map's memory, and
//! ignores words without a meaning.

use gpu_kernels::extendible::{PAGE, Segment, State, WordOf};
use gpu_kernels::types::Scalar;
use std::collections::HashMap;
use warpnest::design::Extendible;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Device, ExtendibleMap};
use warpnest_tests::changing::{pairs, values};
use warpnest_tests::extendible_checker::check_extendible_map;
use warpnest_tests::extendible_parts::{small, spread};
use warpnest_tests::maps::{Checked, equals};
use warpnest_tests::parameterized;

/// A map on the CPU engine, which tests damage.
struct Damaged<K: Key, V: Value> {
    map: ExtendibleMap<K, V>,
    there: HashMap<K, V>,
}

/// A slot: the index of its bucket, and its index in the bucket.
type Slot = (u64, u64);

impl<K: Key, V: Value> Damaged<K, V> {
    /// Creates a map whose root 1 is split to depth 1 and root 5 to depth 3. The bucket of root 2
    /// has one empty slot.
    fn new() -> Self {
        let mut map: ExtendibleMap<K, V> = small().records(16).create(&Device::cpu()).unwrap();
        let part = |root, path, n| spread::<K>(&map.table().layout(), root, path, n);
        let keys = [part(1, "", 17), part(5, "01", 17), part(2, "", 15), part(0, "", 6), part(7, "", 6)].concat();
        map.insert_many(&keys, &values(&keys)).unwrap();
        assert_eq!(map.table().report().global_depth, 3);
        Self { map, there: pairs(&keys) }
    }

    /// Returns the 64-bit word at an address of the map's memory.
    fn word(&mut self, address: u64) -> &mut u64 {
        let buffers = self.map.table().memory().chain([self.map.table().segments(), self.map.table().page_addresses()]);
        let ends = |first: u64, words: usize| first..first + 8 * words as u64;
        assert!(buffers.map(|buffer| ends(buffer.address() as u64, buffer.len())).any(|all| all.contains(&address)));
        // SAFETY: the engine's memory is the host's, the word is in a buffer of the map, all work
        // on it is done, and the map is borrowed.
        unsafe { &mut *std::ptr::with_exposed_provenance_mut(address as usize) }
    }

    fn segment(&mut self, number: usize) -> &mut u64 {
        let first = self.map.table().segments().address();
        self.word((first + 8 * number) as u64)
    }

    /// Returns the entry of a bucket table for a hash position: the word with this entry and
    /// another one, and the entry's shift in the word.
    fn entry(&mut self, hash_position: u64) -> (&mut u64, u32) {
        let layout = self.map.table().layout();
        let segment = Segment(*self.segment(layout.segment(hash_position, layout.depth) as usize));
        let entry = layout.entry(hash_position);
        (self.word(segment.address() + 4 * (entry & !1)), 32 * (entry as u32 & 1))
    }

    /// Returns the bucket for a hash position.
    fn bucket(&mut self, hash_position: u64) -> u64 {
        let (word, shift) = self.entry(hash_position);
        *word >> shift & 0xffff_ffff
    }

    fn page(&self) -> u64 {
        self.map.table().page_addresses().download(self.map.device().default_stream()).unwrap()[0]
    }

    /// Returns a bucket's header: the start of its part of the range, and its state.
    fn header(&mut self, bucket: u64) -> [u64; 2] {
        let at = self.page() + 16 * bucket;
        [*self.word(at), *self.word(at + 8)]
    }

    fn state(&mut self, bucket: u64) -> &mut u64 {
        let at = self.page() + 16 * bucket + 8;
        self.word(at)
    }

    fn wide() -> bool {
        <WordOf<K, V> as Scalar>::BITS == 64
    }

    /// Returns the count of slots in a line. A line has all their keys and then all their values.
    fn of_line() -> u64 {
        if Self::wide() { 4 } else { 8 }
    }

    /// Returns the 64-bit word that contains a word of a bucket, and the latter's shift in it.
    fn word_of(&mut self, (bucket, slot): Slot, is_value: bool) -> (&mut u64, u32) {
        let lines = self.map.table().layout().lines as u64;
        let number =
            slot / Self::of_line() * 2 * Self::of_line() + slot % Self::of_line() + is_value as u64 * Self::of_line();
        let at = self.page() + 16 * PAGE + 64 * lines * bucket;
        if Self::wide() {
            (self.word(at + 8 * number), 0)
        } else {
            (self.word(at + number / 2 * 8), 32 * (number as u32 % 2))
        }
    }

    fn get(&mut self, slot: Slot, is_value: bool) -> u64 {
        let (word, shift) = self.word_of(slot, is_value);
        if Self::wide() { *word } else { *word >> shift & 0xffff_ffff }
    }

    fn set(&mut self, slot: Slot, is_value: bool, to: u64) {
        let (word, shift) = self.word_of(slot, is_value);
        *word = if Self::wide() { to } else { *word & !(0xffff_ffff << shift) | to << shift };
    }

    /// Returns the words of the two kinds of free slots of a bucket: empty, and removed.
    fn free_words(&mut self, bucket: u64) -> [u64; 2] {
        let ones = K::ALL_ONES.to_u64();
        if self.header(bucket)[0] >> 32 == 0 { [ones, ones - 1] } else { [0, 1] }
    }

    /// Returns the empty slots of a bucket, or the others if `empty` is false.
    fn slots(&mut self, bucket: u64, empty: bool) -> Vec<Slot> {
        let [free, _] = self.free_words(bucket);
        (0..16).map(|slot| (bucket, slot)).filter(|&slot| (self.get(slot, false) == free) == empty).collect()
    }
}

/// Damages a map; the checker must then report `says`.
fn found<K: Key, V: Value>(says: &str, damage: impl FnOnce(&mut Damaged<K, V>)) {
    let mut damaged = Damaged::new();
    equals(&damaged.map, &damaged.there);
    damage(&mut damaged);
    let wrong = Extendible::check_table(&damaged.map, &damaged.there).expect_err(&format!("{says:?} was not found"));
    assert!(wrong.contains(says), "{wrong:?} should say {says:?}");
}

/// Hash positions in both buckets of root 1, in the deepest buckets of root 5, and in a root with
/// one bucket.
const LOWER: u64 = 1 << 32;
const UPPER: u64 = LOWER + (1 << 31);
const DEEP: u64 = (5 << 32) + (1 << 30);
const FULL: u64 = 2 << 32;

#[parameterized]
fn damage_to_the_directory_is_found<K: Key, V: Value>() {
    // `deep` is a segment of group 1 for root 5, whose bucket tables are deepest after the halvings
    // 01. The tables of group 0 have depth 1.
    let deep = |damaged: &mut Damaged<K, V>| damaged.map.table().layout().segment(DEEP, 3) as usize;
    found::<K, V>("are in no buffer of the map", |damaged| *damaged.segment(1) += 1 << 40);
    found::<K, V>("is deeper than the directory: 4", |damaged| {
        let number = deep(damaged);
        *damaged.segment(number) += 1 << 56;
    });
    found::<K, V>("should share a table of depth 1", |damaged| {
        let other = *damaged.segment(2);
        *damaged.segment(4) = other;
    });
    found::<K, V>("is in a table of depth", |damaged| {
        let number = deep(damaged);
        let there = *damaged.segment(number);
        // These are all segments that would share a table of that depth.
        (0..16).filter(|other| other % 8 == number % 8).for_each(|other| *damaged.segment(other) = there - (1 << 56));
    });
    for (first, second) in [(LOWER, UPPER), (LOWER, FULL), (DEEP, FULL)] {
        found::<K, V>("is elsewhere", |damaged| {
            let other = damaged.bucket(second);
            let bucket = damaged.bucket(first);
            let (word, shift) = damaged.entry(first);
            *word ^= (bucket ^ other) << shift;
        });
    }
    found::<K, V>("there is no page of bucket", |damaged| {
        let (word, shift) = damaged.entry(UPPER);
        *word |= 0x8000_0000 << shift;
    });
    // All segments of one table claim a greater depth than the table has.
    found::<K, V>("4 segments share the table", |damaged| {
        [0, 4, 8, 12].into_iter().for_each(|number| *damaged.segment(number) += 1 << 56);
    });
}

#[parameterized]
fn damage_to_what_is_known_of_a_bucket_is_found<K: Key, V: Value>() {
    for hash_position in [LOWER, UPPER, DEEP, FULL, 0, 7 << 32] {
        for by in [1, u64::MAX] {
            found::<K, V>("records, and its header says", |damaged| {
                let bucket = damaged.bucket(hash_position);
                *damaged.state(bucket) = damaged.state(bucket).wrapping_add(by << 32);
            });
        }
        found::<K, V>("is free or merged", |damaged| {
            let bucket = damaged.bucket(hash_position);
            *damaged.state(bucket) = State::FREE.0;
        });
        found::<K, V>("is in a table of depth", |damaged| {
            let bucket = damaged.bucket(hash_position);
            *damaged.state(bucket) += 5;
        });
    }
    found::<K, V>("is elsewhere", |damaged| {
        let bucket = damaged.bucket(UPPER);
        let at = damaged.page() + 16 * bucket;
        *damaged.word(at) -= 1 << 31;
    });
    // This header claims a larger part of the range than the bucket has.
    found::<K, V>("the buckets have", |damaged| {
        let bucket = damaged.bucket(LOWER);
        *damaged.state(bucket) -= 1;
    });
}

#[parameterized]
fn damage_to_the_records_is_found<K: Key, V: Value>() {
    for hash_position in [LOWER, UPPER, DEEP, FULL, 0] {
        found::<K, V>("is there twice", |damaged| {
            let bucket = damaged.bucket(hash_position);
            let (full, free) = (damaged.slots(bucket, false), damaged.slots(bucket, true));
            let key = damaged.get(full[0], false);
            damaged.set(free[0], false, key);
            *damaged.state(bucket) += 1 << 32;
        });
        found::<K, V>("belongs elsewhere", |damaged| {
            let (bucket, other) = (damaged.bucket(hash_position), damaged.bucket(7 << 32));
            let (free, full) = (damaged.slots(bucket, true)[0], damaged.slots(other, false)[0]);
            let key = damaged.get(full, false);
            damaged.set(free, false, key);
            *damaged.state(bucket) += 1 << 32;
        });
        // A key is missing, and its bucket's count of records is adjusted.
        found::<K, V>("keys, and the map says", |damaged| {
            let bucket = damaged.bucket(hash_position);
            let (slot, removed) = (damaged.slots(bucket, false)[0], damaged.free_words(bucket)[1]);
            damaged.set(slot, false, removed);
            *damaged.state(bucket) -= 1 << 32;
        });
        found::<K, V>("should have", |damaged| {
            let bucket = damaged.bucket(hash_position);
            let slot = damaged.slots(bucket, false)[0];
            let value = damaged.get(slot, true);
            damaged.set(slot, true, value ^ 1);
        });
    }
    // The key moves to another line, while its home line has empty slots.
    found::<K, V>("is cut off by line", |damaged| {
        let bucket = damaged.bucket(0);
        let (slot, free) = (damaged.slots(bucket, false)[0], damaged.slots(bucket, true));
        let (key, empty) = (damaged.get(slot, false), damaged.free_words(bucket)[0]);
        let behind =
            free.into_iter().find(|other| other.1 / Damaged::<K, V>::of_line() != slot.1 / Damaged::<K, V>::of_line());
        damaged.set(slot, false, empty);
        damaged.set(behind.unwrap(), false, key);
    });
    if K::BITS < V::BITS {
        found::<K, V>("is no key", |damaged| {
            let bucket = damaged.bucket(UPPER);
            let slot = damaged.slots(bucket, false)[0];
            let key = damaged.get(slot, false);
            damaged.set(slot, false, key | 1 << 32);
        });
    }
}

#[parameterized]
fn what_has_no_meaning_may_be_anything<K: Key, V: Value>() {
    let mut damaged = Damaged::<K, V>::new();
    for hash_position in [LOWER, UPPER, DEEP, FULL, 0] {
        let bucket = damaged.bucket(hash_position);
        for slot in damaged.slots(bucket, true) {
            damaged.set(slot, true, 0x5555_5555);
        }
        // A slot becomes a tombstone, with or without an empty slot in the same line. Neither
        // breaks a probe path.
        let (slot, removed) = (damaged.slots(bucket, true)[0], damaged.free_words(bucket)[1]);
        damaged.set(slot, false, removed);
    }
    // These words are in a bucket that does not exist.
    let used = damaged.map.table().report().buckets + 20;
    *damaged.state(used) = u64::MAX;
    damaged.set((used, 3), false, 77);
    equals(&damaged.map, &damaged.there);
    assert_eq!(check_extendible_map(&damaged.map).unwrap().tombstones, 5);
}
