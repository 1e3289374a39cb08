//! Tests of the checker of page maps: it finds every kind of damage to a table's words, and ignores
//! words without a meaning.

use gpu_kernels::page::Layout;
use gpu_kernels::types::{Nothing, Payload, Scalar, WordOf};
use std::collections::HashMap;
use warpnest::types::WordKey as Key;
use warpnest::{Device, PageConfig, PageMap};
use warpnest_tests::distinct_keys;
use warpnest_tests::maps::holds;
use warpnest_tests::page_checker::{check_page_map, pairs_of_pages, same_pairs};
use warpnest_tests::page_words::{Shape, Slot, Words};
use warpnest_tests::pages::{Pages, key_of_page};

/// A table on the host, which tests damage.
#[derive(Clone)]
struct Table<K: Key, V: Payload> {
    layout: Layout,
    words: Words<Vec<u64>>,
    pages: u32,
    pairs: HashMap<K, WordOf<V>>,
}

impl<K: Key, V: Payload> Table<K, V> {
    /// Returns the checker's verdict.
    fn wrong(&self) -> Result<(), String> {
        same_pairs(&pairs_of_pages::<K, V>(&self.layout, &self.words.words, self.pages)?, &self.pairs)
    }

    /// Returns the count of 64-bit words of `buckets` buckets.
    fn words_of(&self, buckets: usize) -> usize {
        self.words.bits as usize * buckets * 8 / 64
    }

    /// Returns the remainder and the candidate's index that a tag encodes.
    fn untag(&self, tag: u64) -> (u64, u32) {
        ((tag - 1) % self.layout.remainders, ((tag - 1) / self.layout.remainders) as u32)
    }

    fn tag_of(&self, remainder: u64, number: u32) -> u64 {
        remainder + number as u64 * self.layout.remainders + 1
    }

    /// Returns the slots whose tags satisfy `of`.
    fn slots(&self, of: impl Fn(u64) -> bool) -> Vec<Slot> {
        let all = self.words.slots(self.layout.page_buckets as u64 * self.pages as u64);
        all.filter(|&slot| of(self.words.tag(slot))).collect()
    }

    /// Damages a copy; the checker must then report one of `says`.
    fn damaged(&self, says: &[&str], damage: impl FnOnce(&mut Self)) {
        let mut copy = self.clone();
        damage(&mut copy);
        let found = copy.wrong().expect_err(&format!("{says:?} was not found with {} slots", self.layout.slots));
        assert!(says.iter().any(|says| found.contains(says)), "{found:?} should say one of {says:?}");
    }
}

/// Returns a table of two pages with so many pairs that many are not in their home bucket.
fn table<K: Key, V: Payload>(page_bits: u32, slots: u32) -> Table<K, V> {
    let device = Device::cpu();
    let layout = Layout::new::<K, V>(11, 22, page_bits, 20);
    assert_eq!(layout.slots, slots);
    let value = |bits: u64| <V::Word>::from_u64(if V::VALUE_BITS == 0 { 0 } else { bits });
    let mut pages: Vec<Vec<(K, V::Word)>> = Vec::new();
    for page in 0..2 {
        let bits = distinct_keys::<u64>(3000, 7 + page as u64);
        let mut keys: Vec<K> = bits.into_iter().map(|bits| key_of_page(&layout, page, bits)).collect();
        keys.sort_unstable();
        keys.dedup();
        // The keys must not be sequential in the page.
        keys.sort_unstable_by_key(|key| key.mixed(1, 2));
        keys.truncate(slots as usize * 20 * 9 / 10);
        pages.push(keys.iter().map(|&key| (key, value(!key.to_u64()))).collect());
    }
    let built = Pages::<K, V>::build(&device, layout, &pages, true).unwrap();
    let words = built.words.download(device.default_stream()).unwrap();
    let bits = <K::PackedWord<V> as Scalar>::BITS;
    let words = Words { words, bits, shape: Shape::of(slots, bits).unwrap() };
    Table { layout, words, pages: 2, pairs: pages.into_iter().flatten().collect() }
}

fn damage_is_found<K: Key, V: Payload>(page_bits: u32, slots: u32) {
    let whole = table::<K, V>(page_bits, slots);
    assert_eq!(whole.wrong(), Ok(()));
    let (full, free) = (whole.slots(|tag| tag != 0), whole.slots(|tag| tag == 0));
    let away = whole.slots(|tag| tag != 0 && whole.untag(tag).1 > 0);
    assert!(!free.is_empty() && away.len() > 1, "{} slots are free, {} pairs away", free.len(), away.len());
    full.iter().step_by(7).for_each(|&slot| damage_to_a_slot_is_found(&whole, slot, &free));
    away.iter().for_each(|&slot| damage_to_a_path_is_found(&whole, slot));
    damage_to_all_is_found(&whole);
    what_means_nothing_is_ignored(whole, &free);
}

/// Damages a slot with a pair.
fn damage_to_a_slot_is_found<K: Key, V: Payload>(whole: &Table<K, V>, slot: Slot, free: &[Slot]) {
    let layout = whole.layout;
    let named = format!("bucket {}, slot {}", slot.0, slot.1);
    let tag = whole.words.tag(slot);
    let (remainder, number) = whole.untag(tag);
    let all_ones = (1 << whole.words.shape.tag_bits) - 1;
    whole.damaged(&[&named, "says candidate"], |table| table.words.set_tag(slot, all_ones));
    // Another remainder means another key, or none.
    let other = (remainder + layout.remainders / 2) % layout.remainders;
    whole.damaged(&["should not be there", "no key", "filter", "not full", "too"], |table| {
        table.words.set_tag(slot, whole.tag_of(other, number));
    });
    // The pair of an emptied slot is missing, and other pairs may have passed its bucket.
    whole.damaged(&["is nowhere", "not full"], |table| table.words.set_tag(slot, 0));
    if V::VALUE_BITS != 0 {
        whole.damaged(&["has value"], |table| table.words.set_value(slot, whole.words.value(slot) ^ 1));
    }
    // A copy of the tag in a free slot of the same bucket, if there is one, repeats the key.
    if let Some(&twin) = free.iter().find(|twin| twin.0 == slot.0) {
        whole.damaged(&["too"], |table| {
            table.words.set_tag(twin, tag);
            table.words.set_value(twin, whole.words.value(slot));
        });
    }
    // Another candidate's index means another home and thus another key, unless both candidates are
    // the same bucket.
    let home = |number: u32| layout.home_of(slot.0 as u32 % 20, remainder, number);
    for other in (0..layout.candidates).filter(|&other| home(other) != home(number)) {
        let says = ["should not be there", "no key", "filter", "not full", "too", "is nowhere"];
        whole.damaged(&says, |table| table.words.set_tag(slot, whole.tag_of(remainder, other)));
    }
}

/// Damages the buckets that a lookup reads before it reaches a pair outside its home bucket.
fn damage_to_a_path_is_found<K: Key, V: Payload>(whole: &Table<K, V>, slot: Slot) {
    let page_first = slot.0 as u32 / 20 * 20;
    let (remainder, number) = whole.untag(whole.words.tag(slot));
    let home = whole.layout.home_of(slot.0 as u32 - page_first, remainder, number);
    whole.damaged(&["filter does not say so"], |table| table.words.set_filter((page_first + home) as u64, false));
    for earlier in 0..number {
        let bucket = (page_first + whole.layout.candidate(home, remainder, earlier)) as u64;
        whole.damaged(&["which is not full"], |table| {
            // All pairs of the bucket are removed, so the bucket is not full.
            (0..table.words.shape.slots).for_each(|slot| table.words.set_tag((bucket, slot), 0));
        });
    }
}

/// Damages the table as a whole.
fn damage_to_all_is_found<K: Key, V: Payload>(whole: &Table<K, V>) {
    // If two pages are swapped, each has the other one's keys.
    whole.damaged(&["should not be there", "no key"], |table| {
        let page = table.words_of(20);
        let (first, second) = table.words.words.split_at_mut(page);
        first.swap_with_slice(&mut second[..page]);
    });
    whole.damaged(&["too few"], |table| table.words.words.truncate(10));
    whole.damaged(&["remainders"], |table| table.layout.remainders += 1);
    whole.damaged(&["candidates"], |table| table.layout.candidates = 8);
    whole.damaged(&["pages of"], |table| table.layout.page_buckets += 1);
    let other_slots = match whole.layout.slots {
        4 | 6 => 5,
        5 => 6,
        8 => 15,
        _ => 8,
    };
    whole.damaged(&[""], |table| table.layout.slots = other_slots);
    whole.damaged(&["should not be there", "no key"], |table| table.layout.a ^= 1);
    whole.damaged(&["should not be there"], |table| {
        let key = *table.pairs.keys().next().unwrap();
        table.pairs.remove(&key);
    });
    whole.damaged(&["is nowhere"], |table| {
        table.pairs.insert(key_of_page(&table.layout, 0, 99), <V::Word>::from_u64(1));
    });
}

/// Changes values of empty slots and words after the pages, and sets too many filter bits.
fn what_means_nothing_is_ignored<K: Key, V: Payload>(mut table: Table<K, V>, free: &[Slot]) {
    free.iter().for_each(|&slot| table.words.set_value(slot, 0x5555_5555));
    let behind = table.words_of(40);
    table.words.words[behind..].fill(u64::MAX);
    assert_eq!(table.wrong(), Ok(()));
    if table.layout.slots == 5 {
        (0..40).for_each(|bucket| table.words.set_filter(bucket, true));
        assert_eq!(table.wrong(), Ok(()));
    }
}

#[test]
fn damage_to_a_bucket_of_four_slots_is_found() {
    damage_is_found::<u32, u32>(2, 4);
    damage_is_found::<u32, u64>(3, 4);
    damage_is_found::<u64, u32>(4, 4);
    damage_is_found::<u64, u64>(1, 4);
}

#[test]
fn damage_to_a_bucket_of_five_or_six_slots_is_found() {
    damage_is_found::<u32, u32>(15, 5);
    damage_is_found::<u32, u32>(21, 6);
}

#[test]
fn damage_to_a_bucket_of_keys_alone_is_found() {
    damage_is_found::<u32, Nothing>(2, 8);
    damage_is_found::<u32, Nothing>(15, 15);
    damage_is_found::<u32, Nothing>(21, 24);
    damage_is_found::<u64, Nothing>(3, 8);
}

#[test]
fn a_map_with_a_word_too_many_or_too_few_pairs_is_not_what_it_should_be() {
    let device = Device::cpu();
    let keys: Vec<u32> = distinct_keys(1000, 3);
    let map: PageMap<u32, u32> = PageConfig::default().seed(1).build(&device, &keys, &keys).unwrap();
    let mut reference: HashMap<u32, u32> = keys.iter().map(|&key| (key, key)).collect();
    assert_eq!(check_page_map(&map, &reference), Ok(()));
    reference.insert(keys[5], !keys[5]);
    assert!(check_page_map(&map, &reference).unwrap_err().contains(&format!("key {} has value", keys[5])));
    reference.remove(&keys[5]);
    assert!(check_page_map(&map, &reference).unwrap_err().contains(&format!("key {} should not", keys[5])));
    holds(&map, &keys, &keys);
    let fewer = std::panic::AssertUnwindSafe(|| holds(&map, &keys[1..], &keys[1..]));
    assert!(std::panic::catch_unwind(fewer).is_err());
}
