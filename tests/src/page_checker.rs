//! Invariants of the words of a page map or set, read by a decoder of its own.

use crate::page_words::{Shape, Words};
use gpu_kernels::page::{Layout, MAX_CANDIDATES, MIN_CANDIDATES};
use gpu_kernels::types::{Nothing, Payload, Scalar, WordOf};
use std::collections::{HashMap, HashSet};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Buffer, Device, PageMap, PageSet};

/// Returns the lowest mixed key whose home is `bucket`. The share of mixed keys below it equals the
/// share of buckets below `bucket`.
fn first_of(bucket: u64, buckets: u64, key_bits: u32) -> u128 {
    ((bucket as u128) << key_bits).div_ceil(buckets as u128)
}

/// Decodes the first `pages` pages of a table with `layout`, or says what is wrong with them. Keys
/// without values get the value 0. Words after those pages are ignored.
pub fn pairs_of_pages<K: Key, V: Payload>(
    layout: &Layout,
    words: &[u64],
    pages: u32,
) -> Result<HashMap<K, WordOf<V>>, String> {
    let table = Table::of::<K, V>(layout, words, pages)?;
    let mut pairs = HashMap::new();
    let mut slot_of = HashMap::new();
    for at in table.words.slots(layout.page_buckets as u64 * pages as u64) {
        let tag = table.words.tag(at);
        if tag == 0 {
            continue;
        }
        let fail = |what: String| format!("bucket {}, slot {}: {what}", at.0, at.1);
        let place = table.place_of::<K, V>(at.0, tag).map_err(fail)?;
        let key: K = table.key_of::<K, V>(&place).map_err(fail)?;
        table.check_path(&place).map_err(|wrong| fail(format!("key {key} {wrong}")))?;
        if let Some((bucket, slot)) = slot_of.insert(key, at) {
            return Err(fail(format!("key {key} is in bucket {bucket}, slot {slot}, too")));
        }
        pairs.insert(key, Scalar::from_u64(table.words.value(at)));
    }
    Ok(pairs)
}

/// The first pages of a table.
struct Table<'t> {
    layout: &'t Layout,
    words: Words<&'t [u64]>,
    /// The count of buckets of the whole table.
    buckets: u64,
}

/// The location of a pair, decoded from its bucket and its tag.
struct Place {
    page_first: u64,
    home: u64,
    home_in_page: u32,
    remainder: u64,
    /// The index of the bucket among the key's candidates.
    number: u32,
}

impl<'t> Table<'t> {
    /// Checks the sizes of words and layout.
    fn of<K: Key, V: Payload>(layout: &'t Layout, words: &'t [u64], pages: u32) -> Result<Self, String> {
        let bits = <K::PackedWord<V> as Scalar>::BITS;
        let page_buckets = layout.page_buckets as u64;
        let (all, here) = (page_buckets << layout.page_bits, page_buckets * pages as u64);
        if page_buckets < 4 || !page_buckets.is_multiple_of(2) || pages as u64 > 1 << layout.page_bits {
            return Err(format!("{pages} pages of {page_buckets} buckets in {layout:?}"));
        }
        let least = (1u128 << K::BITS).div_ceil(all as u128) as u64;
        let remainders = if bits == 32 { least } else { least.next_power_of_two() };
        if layout.remainders != remainders {
            return Err(format!("{} remainders for {all} buckets", layout.remainders));
        }
        if layout.candidates < MIN_CANDIDATES || layout.candidates > MAX_CANDIDATES {
            return Err(format!("{} candidates", layout.candidates));
        }
        let words = Words { words, bits, shape: Shape::of(layout.slots, bits)? };
        if words.shape.is_of_keys_alone() != (V::VALUE_BITS == 0) {
            return Err(format!("buckets have {} slots, and values of {} bits", layout.slots, V::VALUE_BITS));
        }
        if (words.words.len() as u64) < here * 8 * bits as u64 / 64 {
            return Err(format!("{} words are too few for {here} buckets", words.words.len()));
        }
        if remainders * layout.candidates as u64 >= 1 << words.shape.tag_bits {
            return Err(format!(
                "{remainders} remainders of {} candidates are too many for the tag",
                layout.candidates
            ));
        }
        Ok(Self { layout, words, buckets: all })
    }

    /// Returns the location that the tag in a slot of a bucket encodes.
    fn place_of<K: Key, V: Payload>(&self, bucket: u64, tag: u64) -> Result<Place, String> {
        let (layout, page_buckets) = (self.layout, self.layout.page_buckets as u64);
        let (number, remainder) = ((tag - 1) / layout.remainders, (tag - 1) % layout.remainders);
        if number >= layout.candidates as u64 {
            return Err(format!("tag {tag:#x} says candidate {number}"));
        }
        let number = number as u32;
        if layout.untag(<K::PackedWord<V>>::from_u64(tag)) != (Scalar::from_u64(remainder), number) {
            return Err(format!("the layout reads another candidate or remainder from tag {tag:#x}"));
        }
        let page_first = bucket / page_buckets * page_buckets;
        let in_page = (bucket - page_first) as u32;
        let home = page_first + layout.home_of(in_page, remainder, number) as u64;
        let home_in_page = (home - page_first) as u32;
        if home_in_page >= layout.page_buckets
            || layout.candidate(home_in_page, remainder, number) as u64 + page_first != bucket
        {
            return Err(format!("it is not candidate {number} of its home {home}"));
        }
        Ok(Place { page_first, home, home_in_page, remainder, number })
    }

    /// Returns the only key with this home and remainder.
    fn key_of<K: Key, V: Payload>(&self, place: &Place) -> Result<K, String> {
        let &Place { home, home_in_page, remainder, .. } = place;
        let (layout, all, remainders) = (self.layout, self.buckets, self.layout.remainders);
        let (first, next) = (first_of(home, all, K::BITS), first_of(home + 1, all, K::BITS));
        let wide = if self.words.bits == 32 {
            // This is the lowest mixed key whose relative offset in the home's range is at least
            // the remainder's share.
            let part = ((remainder as u128) << 32).div_ceil(remainders as u128);
            (((home as u128) << 32) + part).div_ceil(all as u128)
        } else {
            // This is the one mixed key, starting at the home's first, whose low bits are the
            // remainder.
            first + (remainder.wrapping_sub(first as u64) & (remainders - 1)) as u128
        };
        let says = || ((wide as u64).wrapping_mul(all) % (1 << 32) * remainders) >> 32;
        if wide >= next || self.words.bits == 32 && says() != remainder {
            return Err(format!("no key with home {home} has remainder {remainder:#x}"));
        }
        let mixed = K::from_u64(wide as u64);
        let key = mixed.unmixed(layout.a, layout.b);
        let decoded: K = layout.mixed_of::<K, K::PackedWord<V>>(home as u32, remainder);
        if decoded != mixed || key.mixed(layout.a, layout.b) != mixed {
            return Err(format!("key {key} has the mixed key {mixed}, and the layout finds {decoded}"));
        }
        let again: K::PackedWord<V> = layout.remainder(mixed);
        if (layout.home_in_page(mixed), again.to_u64()) != (home_in_page, remainder) {
            return Err(format!("key {key} is not at home in bucket {home} with remainder {remainder:#x}"));
        }
        Ok(key)
    }

    /// Checks that a lookup that starts at a key's home reaches the key's bucket.
    fn check_path(&self, place: &Place) -> Result<(), String> {
        let &Place { page_first, home, home_in_page, remainder, number } = place;
        if number > 0 && !self.words.lets_through(home, remainder) {
            return Err(format!("left bucket {home}, whose filter does not say so"));
        }
        let earlier = (0..number).map(|earlier| self.layout.candidate(home_in_page, remainder, earlier));
        let mut earlier = earlier.map(|candidate| page_first + candidate as u64);
        match earlier.find(|&bucket| self.layout.holes == 0 && !self.words.is_full(bucket)) {
            Some(bucket) => Err(format!("passed by bucket {bucket}, which is not full")),
            None => Ok(()),
        }
    }
}

/// Compares the found pairs with the expected pairs.
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

/// Says what is wrong with the set, given that its keys should be the keys of `reference`.
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

/// Says what is wrong with the map, given that its pairs should be the pairs of `reference`.
pub fn check_page_map<K: Key, V: Value>(map: &PageMap<K, V>, reference: &HashMap<K, V>) -> Result<(), String> {
    same_pairs(&pairs_of_map(map)?, reference)
}
