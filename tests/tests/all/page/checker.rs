//! The checker of page maps can fail: every kind of damage to a table's words is found, and words
//! without a meaning are ignored.

use gpu_kernels::page::Layout;
use gpu_kernels::types::{Nothing, Payload, Scalar, WordOf};
use std::collections::HashMap;
use warpnest::types::WordKey as Key;
use warpnest::{Device, PageConfig, PageMap};
use warpnest_tests::distinct_keys;
use warpnest_tests::maps::holds;
use warpnest_tests::page_checker::{check_page_map, pairs_of_pages, same_pairs};
use warpnest_tests::pages::{Pages, key_of_page};

/// A table on the host, to be damaged.
struct Table<K: Key, V: Payload> {
    layout: Layout,
    words: Vec<u64>,
    pages: u32,
    pairs: HashMap<K, WordOf<V>>,
}

impl<K: Key, V: Payload> Table<K, V> {
    /// Returns the checker's verdict.
    fn wrong(&self) -> Result<(), String> {
        same_pairs(&pairs_of_pages::<K, V>(&self.layout, &self.words, self.pages)?, &self.pairs)
    }

    fn bits(&self) -> usize {
        <K::PackedWord<V> as Scalar>::BITS as usize
    }

    /// Returns the numbers of tag words and slots in a bucket, of tags in a word, and of bits in a
    /// tag.
    fn shape(&self) -> (usize, usize, usize, usize) {
        match self.layout.slots {
            6 => (2, 6, 3, 10),
            5 => (3, 5, 2, 16),
            24 => (8, 24, 3, 10),
            15 => (8, 15, 2, 16),
            8 => (8, 8, 1, self.bits() - 1),
            _ => (4, 4, 1, self.bits() - 1),
        }
    }

    fn get(&self, bucket: usize, word: usize) -> u64 {
        let at = bucket * 8 + word;
        if self.bits() == 64 { self.words[at] } else { self.words[at / 2] >> (at % 2 * 32) & u32::MAX as u64 }
    }

    fn set(&mut self, bucket: usize, word: usize, to: u64) {
        let at = bucket * 8 + word;
        if self.bits() == 64 {
            self.words[at] = to;
        } else {
            let shift = at % 2 * 32;
            self.words[at / 2] = self.words[at / 2] & !((u32::MAX as u64) << shift) | to << shift;
        }
    }

    fn tag(&self, (bucket, slot): (usize, usize)) -> u64 {
        let (_, _, tags, bits) = self.shape();
        self.get(bucket, slot / tags) >> (slot % tags * bits) & ((1 << bits) - 1)
    }

    fn set_tag(&mut self, (bucket, slot): (usize, usize), tag: u64) {
        let (_, _, tags, bits) = self.shape();
        let (word, shift) = (slot / tags, slot % tags * bits);
        let rest = self.get(bucket, word) & !(((1 << bits) - 1) << shift);
        self.set(bucket, word, rest | tag << shift);
    }

    fn value_at(&self, (bucket, slot): (usize, usize)) -> (usize, usize) {
        (bucket, self.shape().0 + slot)
    }

    /// Returns the slots whose tags satisfy `of`.
    fn slots(&self, of: impl Fn(u64) -> bool) -> Vec<(usize, usize)> {
        let buckets = (self.layout.page_buckets * self.pages) as usize;
        let all = (0..buckets).flat_map(|bucket| (0..self.shape().1).map(move |slot| (bucket, slot)));
        all.filter(|&slot| of(self.tag(slot))).collect()
    }

    /// Damages a copy such that the checker must report `says`.
    fn damaged(&self, says: &[&str], damage: impl FnOnce(&mut Self)) {
        let mut copy =
            Self { layout: self.layout, words: self.words.clone(), pages: self.pages, pairs: self.pairs.clone() };
        damage(&mut copy);
        let found = copy.wrong().expect_err(&format!("{says:?} was not found with {} slots", self.layout.slots));
        assert!(says.iter().any(|says| found.contains(says)), "{found:?} should say one of {says:?}");
    }
}

/// Returns a table of two pages with so many pairs that many are not at home.
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
        // Not one after the other in the page.
        keys.sort_unstable_by_key(|key| key.mixed(1, 2));
        keys.truncate(slots as usize * 20 * 9 / 10);
        pages.push(keys.iter().map(|&key| (key, value(!key.to_u64()))).collect());
    }
    let built = Pages::<K, V>::build(&device, layout, &pages, true).unwrap();
    let words = built.words.download(device.default_stream()).unwrap();
    Table { layout, words, pages: 2, pairs: pages.into_iter().flatten().collect() }
}

fn damage_is_found<K: Key, V: Payload>(page_bits: u32, slots: u32) {
    let whole = table::<K, V>(page_bits, slots);
    assert_eq!(whole.wrong(), Ok(()));
    let layout = whole.layout;
    let untag = |tag: u64| ((tag - 1) % layout.remainders, ((tag - 1) / layout.remainders) as u32);
    let tag_of = |remainder: u64, number: u32| remainder + number as u64 * layout.remainders + 1;
    let (full, free) = (whole.slots(|tag| tag != 0), whole.slots(|tag| tag == 0));
    let away = whole.slots(|tag| tag != 0 && untag(tag).1 > 0);
    assert!(!free.is_empty() && away.len() > 1, "{} slots are free, {} pairs away", free.len(), away.len());

    for &slot in full.iter().step_by(7) {
        let named = format!("bucket {}, slot {}", slot.0, slot.1);
        let tag = whole.tag(slot);
        let (remainder, number) = untag(tag);
        let bits = whole.shape().3;
        whole.damaged(&[&named, "says candidate"], |table| table.set_tag(slot, (1 << bits) - 1));
        // Another remainder is another key, or none.
        let other = (remainder + layout.remainders / 2) % layout.remainders;
        whole.damaged(&["should not be there", "no key", "filter", "not full", "too"], |table| {
            table.set_tag(slot, tag_of(other, number));
        });
        // A slot that is emptied: its pair is nowhere, and others may have passed by.
        whole.damaged(&["is nowhere", "not full"], |table| table.set_tag(slot, 0));
        let (bucket, word) = whole.value_at(slot);
        if V::VALUE_BITS != 0 {
            whole.damaged(&["has value"], |table| {
                let value = table.get(bucket, word);
                table.set(bucket, word, value ^ 1);
            });
        }
        // The same tag in a free slot of the same bucket, if there is one, is the same key.
        if let Some(&twin) = free.iter().find(|twin| twin.0 == slot.0) {
            whole.damaged(&["too"], |table| {
                table.set_tag(twin, tag);
                let ((bucket, word), (from, at)) = (table.value_at(twin), table.value_at(slot));
                if V::VALUE_BITS != 0 {
                    table.set(bucket, word, table.get(from, at));
                }
            });
        }
        // Another candidate's number is another key, unless both are one bucket: its home is
        // elsewhere.
        let home = |number: u32| layout.home_of(slot.0 as u32 % 20, remainder, number);
        for other in (0..layout.candidates).filter(|&other| home(other) != home(number)) {
            let says = ["should not be there", "no key", "filter", "not full", "too", "is nowhere"];
            whole.damaged(&says, |table| table.set_tag(slot, tag_of(remainder, other)));
        }
    }
    for &slot in &away {
        let tag = whole.tag(slot);
        let page_first = slot.0 as u32 / 20 * 20;
        let (remainder, number) = untag(tag);
        let home = layout.home_of(slot.0 as u32 - page_first, remainder, number);
        // All of the home's filter bits are cleared.
        whole.damaged(&["filter does not say so"], |table| {
            let home = (page_first + home) as usize;
            let (tag_words, _, tags, bits) = table.shape();
            for word in 0..tag_words {
                let count = tags.min(table.shape().1 - word * tags);
                let kept = table.get(home, word) & ((1 << (count * bits)) - 1);
                table.set(home, word, kept);
            }
        });
        for earlier in 0..number {
            let bucket = (page_first + layout.candidate(home, remainder, earlier)) as usize;
            let all = 0..whole.shape().1;
            whole.damaged(&["which is not full"], |table| {
                // Without the bucket's own pairs, so that nothing else is missed first.
                all.for_each(|slot| table.set_tag((bucket, slot), 0));
            });
        }
    }
    // Two pages that are exchanged hold other keys.
    whole.damaged(&["should not be there", "no key"], |table| {
        let words = table.bits() * 20 * 8 / 64;
        let (first, second) = table.words.split_at_mut(words);
        first.swap_with_slice(&mut second[..words]);
    });
    whole.damaged(&["too few"], |table| table.words.truncate(10));
    whole.damaged(&["remainders"], |table| table.layout.remainders += 1);
    whole.damaged(&["candidates"], |table| table.layout.candidates = 8);
    whole.damaged(&["pages of"], |table| table.layout.page_buckets += 1);
    let other_slots = match slots {
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

    // Values of empty slots, and words behind the pages, mean nothing; nor does a filter bit too
    // many.
    let mut other = whole;
    for &slot in free.iter().filter(|_| V::VALUE_BITS != 0) {
        let (bucket, word) = other.value_at(slot);
        other.set(bucket, word, 0x5555_5555);
    }
    let behind = (other.bits() * 40 * 8) / 64;
    other.words[behind..].fill(u64::MAX);
    assert_eq!(other.wrong(), Ok(()));
    if slots == 5 {
        for bucket in 0..40 {
            let word = other.get(bucket, 2);
            other.set(bucket, 2, word | 0xffff_0000);
        }
        assert_eq!(other.wrong(), Ok(()));
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
