//! Samples of saved tables, one of each kind, and what is done with a file of each: it is loaded,
//! and whatever loads is asked, changed and saved again.

use crate::distinct_keys;
use crate::rows::{Row, check, rows_of};
use std::collections::HashMap;
use std::fmt;
use warpnest::design::{Builds, Changes, Design, Ids, Sets};
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    BulkMap, BulkSet, CompactingConfig, CompactingTable, Config, CuckooConfig, Device, Error, ExtendibleConfig,
    HashFamily, LinearConfig, MultiConfig, MultiMap, PageConfig, Result, RowMap, SortedConfig, TwoLevelConfig,
};

/// The use of a file: all that can be done with the table in it.
type Use = dyn Fn(&Device, &[u8], Contents) -> Result<()>;

/// What is known of the contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// The sample's: all answers must be right.
    Same,
    /// Any: whatever the answers are, nothing may panic or be accessed that is not the table's.
    Any,
}

/// A saved table.
pub struct Sample {
    /// The kind of table, and what is particular about this one.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    uses: Box<Use>,
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} bytes", self.name, self.bytes.len())
    }
}

impl Sample {
    /// Loads a file on a device and does with the table all that can be done.
    pub fn use_on(&self, device: &Device, bytes: &[u8], contents: Contents) -> Result<()> {
        (self.uses)(device, bytes, contents)
    }
}

/// Returns the value of key `i` of a sample.
pub fn value<V: Value>(i: usize) -> V {
    V::from_u64((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x55)
}

/// Returns the pairs of the samples: different keys, among them the lowest and the highest.
fn pairs<K: Key, V: Value>(n: usize) -> (Vec<K>, Vec<V>) {
    let mut keys: Vec<K> = distinct_keys(n, 77);
    for (i, extreme) in [K::ALL_ONES, K::from_u64(0)].into_iter().enumerate() {
        if i < n && !keys.contains(&extreme) {
            keys[i] = extreme;
        }
    }
    (keys, (0..n).map(value).collect())
}

fn save(save: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    save(&mut bytes)?;
    Ok(bytes)
}

/// Asks a map all that any map can be asked.
fn ask<K: Key, V: Value, D: Design>(
    map: &BulkMap<K, V, D>,
    bytes: &[u8],
    reference: &HashMap<K, V>,
    contents: Contents,
) -> Result<()> {
    let absent = distinct_keys::<K>(40, 0xabc).into_iter();
    let queries: Vec<K> = reference.keys().copied().chain(absent).collect();
    let answers = map.get_many(&queries)?;
    let found = map.contains_many(&queries)?;
    let pairs = map.to_pairs()?;
    let copy = map.try_clone()?;
    let of_copy = copy.get_many(&queries)?;
    let saved = save(|to| map.save(to))?;
    if contents == Contents::Same {
        let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
        assert!(answers == expected && of_copy == expected, "the answers differ");
        assert!(found.iter().zip(&expected).all(|(&found, expected)| found == expected.is_some()));
        assert_eq!((map.len(), pairs.len()), (reference.len(), reference.len()));
        assert_eq!(&pairs.into_iter().collect::<HashMap<_, _>>(), reference);
        assert!(saved == bytes, "a table that is loaded and saved again has the same file");
    }
    Ok(())
}

/// Returns the sample of a map that is built in one go.
pub fn built<K: Key, V: Value, D: Builds>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    let (keys, values) = pairs::<K, V>(n);
    let map = config.build(device, &keys, &values)?;
    let bytes = save(|to| map.save(to))?;
    let report = map.report().clone();
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = BulkMap::<K, V, D>::load(device, bytes)?;
        let reference: HashMap<K, V> = keys.iter().copied().zip(values.iter().copied()).collect();
        ask(&map, bytes, &reference, contents)?;
        if contents == Contents::Same {
            assert_eq!(*map.report(), report);
            // It can be built anew, as if it had been built here.
            let more: Vec<K> = distinct_keys(2 * n + 3, 5);
            let values: Vec<V> = (0..more.len()).map(value).collect();
            match map.rebuild(&more, &values) {
                Ok(()) => {
                    assert_eq!(map.get_many(&more)?, values.iter().copied().map(Some).collect::<Vec<_>>());
                }
                // A cuckoo map keeps its slots.
                Err(Error::Config(_)) => map.rebuild(&more[..n], &values[..n])?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what}, {} and {} bits", K::BITS, V::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a set.
pub fn set<K: Key, D: Sets>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    let set = config.build_set(device, &keys)?;
    let bytes = save(|to| set.save(to))?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut set = BulkSet::<K, D>::load(device, bytes)?;
        let absent = distinct_keys::<K>(40, 0xabc).into_iter().filter(|key| !keys.contains(key));
        let queries: Vec<K> = keys.iter().copied().chain(absent).collect();
        let found = set.contains_many(&queries)?;
        let (mut all, copy) = (set.to_keys()?, set.try_clone()?);
        let of_copy = copy.contains_many(&queries)?;
        let saved = save(|to| set.save(to))?;
        // A crafted configuration may take any time to build sets by.
        if contents == Contents::Same {
            let expected: Vec<bool> = (0..queries.len()).map(|i| i < keys.len()).collect();
            assert!(found == expected && of_copy == expected, "the answers differ");
            let mut keys = keys.clone();
            keys.sort_unstable();
            all.sort_unstable();
            assert!(all == keys && set.len() == n && saved == bytes);
            assert_eq!(set.union(&copy)?.len(), n);
            assert_eq!(set.difference(&copy)?.len(), 0);
            set.rebuild(&keys[..n / 2])?;
            assert_eq!(set.len(), n / 2);
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what} of {} bits", K::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a map that changes: keys came and went, so that there are removed ones.
pub fn changing<K: Key, V: Value, D: Changes>(
    device: &Device,
    what: &str,
    config: Config<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, values) = pairs::<K, V>(n);
    let mut map = config.create(device)?;
    // In batches, so that some of the tables grow.
    for (keys, values) in keys.chunks(n.div_ceil(3).max(1)).zip(values.chunks(n.div_ceil(3).max(1))) {
        map.insert_many(keys, values)?;
    }
    let gone = n / 4;
    map.remove_many(&keys[n - gone..])?;
    let bytes = save(|to| map.save(to))?;
    let kept = n - gone;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = BulkMap::<K, V, D>::load(device, bytes)?;
        let mut reference: HashMap<K, V> = keys[..kept].iter().copied().zip(values.iter().copied()).collect();
        ask(&map, bytes, &reference, contents)?;
        // It goes on changing: new keys, enough of them that it grows, other values, removals.
        let more: Vec<K> = distinct_keys(3 * n + 20, 1_234_567);
        let new: Vec<V> = (0..more.len()).map(|i| value(i + 1000)).collect();
        for (keys, values) in more.chunks(n + 7).zip(new.chunks(n + 7)) {
            map.insert_many(keys, values)?;
            reference.extend(keys.iter().copied().zip(values.iter().copied()));
        }
        let leaving: Vec<K> = keys[..kept / 2].iter().chain(&more[n..]).copied().collect();
        let answers = map.remove_many(&leaving)?;
        if contents == Contents::Same {
            let expected: Vec<Option<V>> = leaving.iter().map(|key| reference.remove(key)).collect();
            // Of a key that is removed twice, one of the two is answered.
            assert_eq!(answers.iter().flatten().count(), expected.iter().flatten().count());
            let queries: Vec<K> = keys.iter().chain(&more).copied().collect();
            let expected: Vec<Option<V>> = queries.iter().map(|key| reference.get(key).copied()).collect();
            assert!(map.get_many(&queries)? == expected && map.len() == reference.len());
        } else {
            map.to_pairs()?;
        }
        map.shrink_to_fit()?;
        let pairs = map.to_pairs()?;
        if contents == Contents::Same {
            assert_eq!(pairs.into_iter().collect::<HashMap<_, _>>(), reference);
        }
        map.clear()?;
        map.insert_many(&more, &new)?;
        assert!(contents == Contents::Any || map.len() == more.len());
        Ok(())
    };
    Ok(Sample { name: format!("{what}, {} and {} bits", K::BITS, V::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a compacting table.
pub fn compacting<K: Key, D: Ids>(
    device: &Device,
    what: &str,
    config: CompactingConfig<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    // Half of the rows have keys that came before.
    let rows: Vec<K> = keys.iter().chain(&keys[..n / 2]).copied().collect();
    let table = config.build(device, &rows)?;
    let bytes = save(|to| table.save(to))?;
    let ids = table.get_many(&keys)?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut table = CompactingTable::<K, D>::load(device, bytes)?;
        let (found, all) = (table.get_many(&keys)?, table.to_pairs()?);
        let asked: Vec<u32> = (0..n as u32 + 5).chain([u32::MAX]).collect();
        let back = table.keys_of_many(&asked)?;
        let saved = save(|to| table.save(to))?;
        if contents == Contents::Same {
            assert!(found == ids && all.len() == n && saved == bytes);
            for (key, id) in keys.iter().zip(&ids) {
                let id = id.expect("each key has an id") as usize;
                assert_eq!((back[id], all[id].0), (Some(*key), *key));
            }
            assert!(back[n..].iter().all(Option::is_none));
            table.rebuild(&keys[..n / 2])?;
            assert_eq!(table.len(), n / 2);
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what} of {} bits", K::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a row map: keys came and went, so that rows are free.
pub fn rows<K: Key, R: Row, D: Changes>(device: &Device, what: &str, config: Config<D>, n: usize) -> Result<Sample> {
    let (keys, _) = pairs::<K, u32>(n);
    let mut map: RowMap<K, R, D> = config.create_rows(device)?;
    map.insert_many(&keys, &rows_of(n, 5))?;
    map.erase_many(&keys[n - n / 4..])?;
    let bytes = save(|to| map.save(to))?;
    let kept = n - n / 4;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = RowMap::<K, R, D>::load(device, bytes)?;
        let mut reference: HashMap<K, R> = keys[..kept].iter().copied().zip(rows_of(n, 5)).collect();
        let copy = map.try_clone()?;
        let saved = save(|to| copy.save(to))?;
        let right = |map: &RowMap<K, R, D>, reference: &HashMap<K, R>, queries: &[K]| {
            if contents == Contents::Same {
                check(map, reference, queries).unwrap();
            }
        };
        right(&map, &reference, &keys);
        assert!(contents == Contents::Any || saved == bytes, "a map that is loaded and saved again has the same file");
        // Free rows are used again, and then others are added.
        let more: Vec<K> = distinct_keys(n / 2 + 3, 1_234_567);
        let new = rows_of(more.len(), 77);
        map.insert_many(&more, &new)?;
        reference.extend(more.iter().copied().zip(new));
        right(&map, &reference, &keys);
        assert!(contents == Contents::Any || map.rows().len() == map.len().max(n));
        map.remove_many(&more[2..])?;
        reference.retain(|key, _| !more[2..].contains(key));
        map.shrink_to_fit()?;
        right(&map, &reference, &keys);
        map.to_pairs()?;
        map.clear()?;
        map.insert_many(&keys, &rows_of(n, 9))?;
        assert!(contents == Contents::Any || map.len() == n);
        Ok(())
    };
    Ok(Sample { name: format!("{what}, {} bits and {} bytes", K::BITS, size_of::<R>()), bytes, uses: Box::new(uses) })
}

/// Returns the sample of a multimap, where key `i` has `1 + i mod 3` values.
pub fn multi<K: Key, V: Value, D: Ids>(
    device: &Device,
    what: &str,
    config: MultiConfig<D>,
    n: usize,
) -> Result<Sample> {
    let (keys, _) = pairs::<K, V>(n);
    let of_all: Vec<(K, V)> =
        keys.iter().enumerate().flat_map(|(i, &key)| (0..1 + i % 3).map(move |j| (key, value(3 * i + j)))).collect();
    let (all_keys, values): (Vec<K>, Vec<V>) = of_all.into_iter().unzip();
    let map = config.build(device, &all_keys, &values)?;
    let bytes = save(|to| map.save(to))?;
    let uses = move |device: &Device, bytes: &[u8], contents: Contents| {
        let mut map = MultiMap::<K, V, D>::load(device, bytes)?;
        let absent = distinct_keys::<K>(40, 0xabc).into_iter().filter(|key| !keys.contains(key));
        let queries: Vec<K> = keys.iter().copied().chain(absent).collect();
        let counts = map.count_many(&queries)?;
        let saved = save(|to| map.save(to))?;
        let found = map.retrieve_many(&queries)?;
        let pairs = map.to_pairs()?;
        if contents == Contents::Same {
            for (i, of_key) in found.iter().enumerate() {
                let expected: Vec<V> = match i {
                    i if i < n => (0..1 + i % 3).map(|j| value(3 * i + j)).collect(),
                    _ => Vec::new(),
                };
                assert_eq!((of_key, counts[i] as usize), (&expected[..], expected.len()));
            }
            assert!(pairs.len() == all_keys.len() && saved == bytes);
            map.rebuild(&all_keys[..n / 2], &values[..n / 2])?;
            assert_eq!(map.len(), n / 2);
        }
        Ok(())
    };
    Ok(Sample { name: format!("{what}, {} and {} bits", K::BITS, V::BITS), bytes, uses: Box::new(uses) })
}

/// Returns the samples of all kinds of tables of such keys and values, with `n` keys each, as far
/// as the device can have them.
pub fn samples<K: Key, V: Value>(device: &Device, n: usize) -> Vec<Sample> {
    let seed = 42;
    let linear = LinearConfig::default().seed(seed);
    let extendible = ExtendibleConfig::default().segments(2).buckets(4).records(8).seed(seed);
    // Crafted files of few keys should not make large directories.
    let extendible = if n < 1000 { extendible.max_segments(1 << 12) } else { extendible };
    let family = HashFamily::CUDPP;
    let samples = [
        built::<K, V, _>(device, "page map", PageConfig::default().seed(seed), n),
        built::<K, V, _>(device, "full page map", PageConfig::default().load(0.95).assume_unique(), n),
        changing::<K, V, _>(device, "changed page map", PageConfig::default().seed(seed), n),
        built::<K, V, _>(device, "cuckoo map", CuckooConfig::default().seed(seed).statistics(), n),
        built::<K, V, _>(device, "cuckoo map of weak hashes", CuckooConfig::default().functions(3).hash(family), n),
        built::<K, V, _>(device, "two-level map", TwoLevelConfig::default().seed(seed).statistics(), n),
        built::<K, V, _>(device, "sorted map", SortedConfig::default(), n),
        set::<K, _>(device, "page set", PageConfig::default().seed(seed), n),
        set::<K, _>(device, "cuckoo set", CuckooConfig::default().seed(seed).assume_unique(), n),
        changing::<K, V, _>(device, "linear map", linear.clone(), n),
        changing::<K, V, _>(device, "linear map with linear probing", linear.linear_probing().load(0.9), n),
        changing::<K, V, _>(device, "extendible map", extendible, n),
        compacting::<K, _>(device, "compacting table", CompactingConfig::default(), n),
        compacting::<K, _>(
            device,
            "compacting table on cuckoo, in order",
            CompactingConfig::on(CuckooConfig::default().seed(seed)).in_order_of_appearance(),
            n,
        ),
        multi::<K, V, _>(device, "multimap", MultiConfig::on(PageConfig::default().seed(seed)), n),
        multi::<K, V, _>(device, "multimap on cuckoo", MultiConfig::on(CuckooConfig::default().seed(seed)), n),
        rows::<K, [u32; 5], _>(device, "row map", PageConfig::default().seed(seed), n),
        rows::<K, [u64; 3], _>(device, "linear row map", LinearConfig::default().seed(seed), n),
    ];
    let can_be = |sample: Result<Sample>| match sample {
        Err(Error::NoWideAtomics { .. }) => None,
        sample => Some(sample.unwrap_or_else(|error| panic!("{n} keys: {error}"))),
    };
    samples.into_iter().filter_map(can_be).collect()
}

/// The bytes of the header, and of what sections are padded to.
pub const PAGE: usize = 4096;
/// The bytes of a chunk.
pub const CHUNK: usize = 1 << 20;

/// Returns where the sections are in a file: the range of the data of each, up to one that is
/// longer than the file.
pub fn sections(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (numbers, count) = (short(16), short(20));
    let (mut at, mut sections) = (PAGE, Vec::new());
    for section in 0..count {
        let length = 32 + 8 * (numbers + section);
        let length = u64::from_le_bytes(bytes[length..length + 8].try_into().unwrap()) as usize;
        if length > bytes.len() {
            break;
        }
        sections.push(at..at + length);
        at += (length.next_multiple_of(8) + 8 * length.div_ceil(CHUNK)).next_multiple_of(PAGE);
    }
    sections
}

/// Makes all checksums of a file right again, as whoever crafts a file does. Lengths that do not
/// fit the file are left as they are.
pub fn repair(bytes: &mut [u8]) {
    if bytes.len() < PAGE {
        return;
    }
    let hash = |seed: u64, bytes: &[u8]| twox_hash::XxHash3_64::oneshot_with_seed(seed, bytes);
    let seal = hash(0, &bytes[..PAGE - 8]);
    bytes[PAGE - 8..PAGE].copy_from_slice(&seal.to_le_bytes());
    let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    if short(16).saturating_add(short(20)) > 500 {
        return;
    }
    for data in sections(bytes) {
        let checksums = data.end.next_multiple_of(8);
        if bytes.len() < checksums + 8 * data.len().div_ceil(CHUNK) {
            return;
        }
        for (chunk, start) in data.clone().step_by(CHUNK).enumerate() {
            let end = data.end.min(start + CHUNK);
            let checksum = hash(seal.wrapping_add(start as u64), &bytes[start..end]);
            bytes[checksums + 8 * chunk..][..8].copy_from_slice(&checksum.to_le_bytes());
        }
    }
}
