//! Samples of saved tables of every kind. A test loads each file, queries and changes each table
//! that loads, and saves it again.

mod layered;
mod maps;
mod sample;
mod sets;

pub use layered::{compacting, multi, rows};
pub use maps::{Own, built, built_with, changing, changing_with};
pub use sample::{Contents, Sample, is_fault, value};
pub use sets::{changing_set, set};

use warpnest::design::HashFamily;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{
    CompactingConfig, CuckooConfig, CuckooMap, Device, Error, ExtendibleConfig, LinearConfig, LinearMap, MultiConfig,
    PageConfig, PageMap, Result, SortedConfig, TwoLevelConfig, TwoLevelMap,
};

/// Returns the samples of all kinds of tables that the device supports with keys `K` and values
/// `V`; each table has `n` keys.
pub fn samples<K: Key, V: Value>(device: &Device, n: usize) -> Vec<Sample> {
    let seed = 42;
    let linear = LinearConfig::default().seed(seed);
    let extendible = ExtendibleConfig::default().segments(2).buckets(4).records(8).seed(seed);
    // Crafted files of few keys should not make large directories.
    let extendible = if n < 1000 { extendible.max_segments(1 << 12) } else { extendible };
    let family = HashFamily::CUDPP;
    let two_level = TwoLevelConfig::default().seed(seed).statistics();
    let samples = [
        built::<K, V, _>(device, "page map", PageConfig::default().seed(seed), n),
        built::<K, V, _>(device, "full page map", PageConfig::default().load(0.95).assume_unique(), n),
        changing_with::<K, V, _>(device, "changed page map", PageConfig::default().seed(seed), n, of_page),
        built_with::<K, V, _>(device, "cuckoo map", CuckooConfig::default().seed(seed).statistics(), n, of_cuckoo),
        built::<K, V, _>(device, "cuckoo map of weak hashes", CuckooConfig::default().functions(3).hash(family), n),
        built_with::<K, V, _>(device, "two-level map", two_level, n, of_two_level),
        built::<K, V, _>(device, "sorted map", SortedConfig::default(), n),
        set::<K, _>(device, "page set", PageConfig::default().seed(seed), n),
        set::<K, _>(device, "cuckoo set", CuckooConfig::default().seed(seed).assume_unique(), n),
        changing_set::<K, _>(device, "changed page set", PageConfig::default().seed(seed), n),
        changing_with::<K, V, _>(device, "linear map", linear.clone(), n, of_linear),
        changing::<K, V, _>(device, "linear map with linear probing", linear.linear_probing().load(0.9), n),
        changing::<K, V, _>(device, "extendible map", extendible.clone(), n),
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
        rows::<K, [u32; 2], _>(device, "extendible row map", extendible, n),
    ];
    let can_be = |sample: Result<Sample>| match sample {
        Err(Error::NoWideAtomics { .. }) => None,
        sample => Some(sample.unwrap_or_else(|error| panic!("{n} keys: {error}"))),
    };
    samples.into_iter().filter_map(can_be).collect()
}

fn of_page<K: Key, V: Value>(map: &mut PageMap<K, V>, contents: Contents, keys: &[K], values: &[V]) -> Result<()> {
    contents.after(map.reserve(keys.len() + 100))?;
    contents.after(map.insert_many(keys, values))?;
    Ok(())
}

fn of_cuckoo<K: Key, V: Value>(map: &mut CuckooMap<K, V>, contents: Contents, _: &[K], _: &[V]) -> Result<()> {
    contents.after(map.table().probe_lengths()).map(drop)
}

fn of_two_level<K: Key, V: Value>(map: &mut TwoLevelMap<K, V>, contents: Contents, _: &[K], _: &[V]) -> Result<()> {
    contents.after(map.table().probe_lengths()).map(drop)
}

fn of_linear<K: Key, V: Value>(map: &mut LinearMap<K, V>, contents: Contents, keys: &[K], values: &[V]) -> Result<()> {
    contents.after(map.table().probe_lengths())?;
    contents.after(map.replace_many(keys, values))?;
    contents.after(map.get_or_insert_many(keys, values))?;
    contents.after(map.drop_tombstones())?;
    contents.after(map.reserve(100))?;
    Ok(())
}

/// The size of the header, and the alignment of sections, in bytes.
pub const PAGE: usize = 4096;
/// The most values that a header has space for: numbers and lengths of sections.
const MAX_NUMBERS: usize = 500;
/// The size of a chunk, in bytes.
pub const CHUNK: usize = 1 << 20;

/// Returns the ranges of the data of a file's sections, up to the first section that is longer than
/// the file.
pub fn sections(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (numbers, count) = (short(16), short(20));
    let (mut at, mut sections) = (PAGE, Vec::new());
    if numbers.saturating_add(count) > MAX_NUMBERS {
        return sections;
    }
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

/// Makes all checksums of a file right again, as the author of a crafted file would. Lengths that
/// do not fit the file are left as they are.
pub fn repair(bytes: &mut [u8]) {
    if bytes.len() < PAGE {
        return;
    }
    let hash = |seed: u64, bytes: &[u8]| twox_hash::XxHash3_64::oneshot_with_seed(seed, bytes);
    let seal = hash(0, &bytes[..PAGE - 8]);
    bytes[PAGE - 8..PAGE].copy_from_slice(&seal.to_le_bytes());
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
