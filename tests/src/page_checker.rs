//! Invariants of the words of a page map or set, read by a decoder of its own.

use gpu_kernels::page::{Layout, MAX_CANDIDATES, MIN_CANDIDATES};
use gpu_kernels::types::{Nothing, Payload, Scalar, WordOf};
use std::collections::{HashMap, HashSet};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, PageMap, PageSet};

/// The fields of a bucket of eight words, as drawn in `form.rs`.
struct Shape {
    slots: usize,
    tag_words: usize,
    tags_of_word: usize,
    tag_bits: u32,
    /// The word and the bit of each class of remainders.
    filters: Vec<(usize, u32)>,
}

impl Shape {
    fn of(slots: u32, word_bits: u32) -> Result<Self, String> {
        let [tag_words, tags_of_word, tag_bits] = match (slots, word_bits) {
            (6, 32) => [2, 3, 10],
            (5, 32) => [3, 2, 16],
            (4, _) => [4, 1, word_bits as usize - 1],
            // Keys alone.
            (24, 32) => [8, 3, 10],
            (15, 32) => [8, 2, 16],
            (8, _) => [8, 1, word_bits as usize - 1],
            _ => return Err(format!("no bucket has {slots} slots and words of {word_bits} bits")),
        };
        let filters = match slots {
            6 | 24 => (0..tag_words).flat_map(|word| [(word, 30), (word, 31)]).collect(),
            5 | 15 => (16..32).map(|bit| (tag_words - 1, bit)).collect(),
            _ => (0..tag_words).map(|word| (word, word_bits - 1)).collect(),
        };
        Ok(Self { slots: slots as usize, tag_words, tags_of_word, tag_bits: tag_bits as u32, filters })
    }
}

/// The words of a table as its kernels see them: of 32 or 64 bits.
struct Words<'w> {
    words: &'w [u64],
    bits: u32,
    shape: Shape,
}

impl Words<'_> {
    fn word(&self, bucket: u64, number: usize) -> u64 {
        let at = bucket as usize * 8 + number;
        if self.bits == 64 { self.words[at] } else { self.words[at / 2] >> (at % 2 * 32) & 0xffff_ffff }
    }

    fn tag(&self, bucket: u64, slot: usize) -> u64 {
        let shift = (slot % self.shape.tags_of_word) as u32 * self.shape.tag_bits;
        self.word(bucket, slot / self.shape.tags_of_word) >> shift & ((1 << self.shape.tag_bits) - 1)
    }

    /// Returns the value in a slot, or 0 if buckets have none.
    fn value(&self, bucket: u64, slot: usize) -> u64 {
        if self.shape.tag_words == 8 { 0 } else { self.word(bucket, self.shape.tag_words + slot) }
    }

    fn is_full(&self, bucket: u64) -> bool {
        (0..self.shape.slots).all(|slot| self.tag(bucket, slot) != 0)
    }

    fn lets_through(&self, bucket: u64, remainder: u64) -> bool {
        let (word, bit) = self.shape.filters[remainder as usize % self.shape.filters.len()];
        self.word(bucket, word) >> bit & 1 == 1
    }
}

/// Returns the first mixed key whose home is `bucket`. The share of mixed keys below it is that of
/// the buckets below.
fn first_of(bucket: u64, buckets: u64, key_bits: u32) -> u128 {
    ((bucket as u128) << key_bits).div_ceil(buckets as u128)
}

/// Decodes the first `pages` pages of a table with `layout`, or says what is wrong with them. Keys
/// alone have values of 0. Words after those pages are ignored.
pub fn pairs_of_pages<K: Key, V: Payload>(
    layout: &Layout,
    words: &[u64],
    pages: u32,
) -> Result<HashMap<K, WordOf<V>>, String> {
    let word_bits = <K::PackedWord<V> as Scalar>::BITS;
    let page_buckets = layout.page_buckets as u64;
    let (all, here) = (page_buckets << layout.page_bits, page_buckets * pages as u64);
    if page_buckets < 4 || !page_buckets.is_multiple_of(2) || pages as u64 > 1 << layout.page_bits {
        return Err(format!("{pages} pages of {page_buckets} buckets in {layout:?}"));
    }
    let least = (1u128 << K::BITS).div_ceil(all as u128) as u64;
    let remainders = if word_bits == 32 { least } else { least.next_power_of_two() };
    if layout.remainders != remainders {
        return Err(format!("{} remainders for {all} buckets", layout.remainders));
    }
    if layout.candidates < MIN_CANDIDATES || layout.candidates > MAX_CANDIDATES {
        return Err(format!("{} candidates", layout.candidates));
    }
    let words = Words { words, bits: word_bits, shape: Shape::of(layout.slots, word_bits)? };
    if (words.shape.tag_words == 8) != (V::VALUE_BITS == 0) {
        return Err(format!("buckets have {} slots, and values of {} bits", layout.slots, V::VALUE_BITS));
    }
    if (words.words.len() as u64) < here * 8 * word_bits as u64 / 64 {
        return Err(format!("{} words are too few for {here} buckets", words.words.len()));
    }
    if remainders * layout.candidates as u64 >= 1 << words.shape.tag_bits {
        return Err(format!("{remainders} remainders of {} candidates are too many for the tag", layout.candidates));
    }
    let mut pairs = HashMap::new();
    let mut slot_of = HashMap::new();
    for bucket in 0..here {
        for slot in 0..words.shape.slots {
            let tag = words.tag(bucket, slot);
            if tag == 0 {
                continue;
            }
            let fail = |what: String| Err(format!("bucket {bucket}, slot {slot}: {what}"));
            let (number, remainder) = ((tag - 1) / layout.remainders, (tag - 1) % layout.remainders);
            if number >= layout.candidates as u64 {
                return fail(format!("tag {tag:#x} says candidate {number}"));
            }
            let number = number as u32;
            if layout.untag(<K::PackedWord<V>>::from_u64(tag)) != (Scalar::from_u64(remainder), number) {
                return fail(format!("the layout reads another candidate or remainder from tag {tag:#x}"));
            }
            let page_first = bucket / page_buckets * page_buckets;
            let in_page = (bucket - page_first) as u32;
            let home = page_first + layout.home_of(in_page, remainder, number) as u64;
            let home_in_page = (home - page_first) as u32;
            if home_in_page >= layout.page_buckets
                || layout.candidate(home_in_page, remainder, number) as u64 + page_first != bucket
            {
                return fail(format!("it is not candidate {number} of its home {home}"));
            }
            let (first, next) = (first_of(home, all, K::BITS), first_of(home + 1, all, K::BITS));
            let wide = if word_bits == 32 {
                // The first mixed key whose offset in the home's share of all is at least the
                // remainder's.
                let part = ((remainder as u128) << 32).div_ceil(remainders as u128);
                (((home as u128) << 32) + part).div_ceil(all as u128)
            } else {
                // The one mixed key from the home's first on whose low bits are the remainder.
                first + (remainder.wrapping_sub(first as u64) & (remainders - 1)) as u128
            };
            let says = || ((wide as u64).wrapping_mul(all) % (1 << 32) * remainders) >> 32;
            if wide >= next || word_bits == 32 && says() != remainder {
                return fail(format!("no key with home {home} has remainder {remainder:#x}"));
            }
            let mixed = K::from_u64(wide as u64);
            let key = mixed.unmixed(layout.a, layout.b);
            let decoded: K = layout.mixed_of::<K, K::PackedWord<V>>(home as u32, remainder);
            if decoded != mixed || key.mixed(layout.a, layout.b) != mixed {
                return fail(format!("key {key} has the mixed key {mixed}, and the layout finds {decoded}"));
            }
            let again: K::PackedWord<V> = layout.remainder(mixed);
            if (layout.home_in_page(mixed), again.to_u64()) != (home_in_page, remainder) {
                return fail(format!("key {key} is not at home in bucket {home} with remainder {remainder:#x}"));
            }
            if number > 0 && !words.lets_through(home, remainder) {
                return fail(format!("key {key} left bucket {home}, whose filter does not say so"));
            }
            for earlier in 0..number {
                let candidate = page_first + layout.candidate(home_in_page, remainder, earlier) as u64;
                if layout.holes == 0 && !words.is_full(candidate) {
                    return fail(format!("key {key} passed by bucket {candidate}, which is not full"));
                }
            }
            if let Some((bucket, slot)) = slot_of.insert(key, (bucket, slot)) {
                return fail(format!("key {key} is in bucket {bucket}, slot {slot}, too"));
            }
            pairs.insert(key, Scalar::from_u64(words.value(bucket, slot)));
        }
    }
    Ok(pairs)
}

/// Compares the pairs that were found with those that were expected.
pub fn same_pairs<K: Key, V: Scalar>(found: &HashMap<K, V>, expected: &HashMap<K, V>) -> Result<(), String> {
    for (key, value) in found {
        match expected.get(key) {
            None => return Err(format!("key {key} should not be there")),
            Some(right) if right != value => return Err(format!("key {key} has value {value} instead of {right}")),
            Some(_) => {}
        }
    }
    match expected.keys().find(|key| !found.contains_key(key)) {
        Some(key) => Err(format!("key {key} is nowhere")),
        None => Ok(()),
    }
}

/// Decodes the pairs of the map, or says what is wrong with its words.
pub fn pairs_of_map<K: Key, V: Value>(map: &PageMap<K, V>) -> Result<HashMap<K, V>, String> {
    let pairs = pairs_of_words::<K, V>(map.device(), map.table().layout(), map.table().words(), map.table().slots())?;
    match (map.len(), map.is_empty()) {
        said if said == (pairs.len(), pairs.is_empty()) => Ok(pairs),
        said => Err(format!("there are {} pairs, and the map says {said:?}", pairs.len())),
    }
}

/// Says what is wrong with the set, given that its keys should be those of `reference`.
pub fn check_page_set<K: Key>(set: &PageSet<K>, reference: &HashSet<K>) -> Result<(), String> {
    let keys =
        pairs_of_words::<K, Nothing>(set.device(), set.table().layout(), set.table().words(), set.table().slots())?;
    if (set.len(), set.is_empty()) != (keys.len(), keys.is_empty()) {
        return Err(format!("there are {} keys, and the set says {}, {}", keys.len(), set.len(), set.is_empty()));
    }
    same_pairs(&keys, &reference.iter().map(|&key| (key, 0)).collect())
}

fn pairs_of_words<K: Key, V: Payload>(
    device: &Device,
    layout: &Layout,
    words: &Buffer<u64>,
    slots: u64,
) -> Result<HashMap<K, WordOf<V>>, String> {
    let words = words.download(device.default_stream()).map_err(|error| error.to_string())?;
    let pairs = pairs_of_pages::<K, V>(layout, &words, layout.pages())?;
    if slots != (layout.slots as u64 * layout.page_buckets as u64) << layout.page_bits {
        return Err(format!("the table says it has {slots} slots"));
    }
    Ok(pairs)
}

/// Says what is wrong with the map, given that its pairs should be those of `reference`.
pub fn check_page_map<K: Key, V: Value>(map: &PageMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
    same_pairs(&pairs_of_map(map)?, reference)
}
