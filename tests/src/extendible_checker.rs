//! Invariants of the memory of an extendible map, read by a decoder of its own.

use gpu_kernels::extendible::{Layout, WordOf};
use gpu_kernels::types::Scalar;
use std::collections::{HashMap, HashSet};
use warpnest::ExtendibleMap;
use warpnest::types::{WordKey as Key, WordValue as Value};

/// The count of buckets in a page, which is also the count of 64-bit words that precede their
/// records.
const PAGE: u64 = 1024;
const HEADER_WORDS: u64 = 2;
/// The count of 64-bit words in a line.
const LINE: u64 = 8;

/// The contents of an extendible map.
#[derive(Debug)]
pub struct Found<K, V> {
    /// All pairs.
    pub pairs: HashMap<K, V>,
    /// The count of slots whose removed keys left tombstones.
    pub tombstones: u64,
    /// The depth of each bucket, by the bucket's index.
    pub depths: HashMap<u32, u32>,
    /// For each segment, whether it shares its bucket table with another segment.
    pub shared: Vec<bool>,
}

/// The words of the map's buffers, each buffer with its address.
struct Memory(Vec<(u64, Vec<u64>)>);

impl Memory {
    fn words(&self, address: u64, words: u64) -> Result<&[u64], String> {
        let at = self
            .0
            .iter()
            .find(|(first, buffer)| *first <= address && address + 8 * words <= first + 8 * buffer.len() as u64);
        let (first, buffer) = at.ok_or_else(|| format!("{words} words at {address:#x} are in no buffer of the map"))?;
        let from = ((address - first) / 8) as usize;
        Ok(&buffer[from..from + words as usize])
    }
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)*) => {
        if !$condition {
            return Err(format!($($message)*));
        }
    };
}

/// Decodes the map and checks all its invariants.
pub fn check_extendible_map<K: Key, V: Value>(map: &ExtendibleMap<K, V>) -> Result<Found<K, V>, String> {
    let read = Read::of(map).map_err(|error| error.to_string())?;
    let reached = read.check_directory()?;
    let tables = read.check_tables()?;
    let report = map.table().report();
    ensure!(
        report.bucket_tables == tables.len() as u64,
        "{} tables are reported, {} there",
        report.bucket_tables,
        tables.len()
    );
    ensure!(
        report.buckets == reached.len() as u64,
        "{} buckets are reported, {} reached",
        report.buckets,
        reached.len()
    );
    // The parts do not overlap and together cover the whole range.
    let covered: u64 = reached.values().map(|&(_, depth)| (1u64 << 32) >> depth).sum();
    ensure!(covered == (read.layout.roots as u64) << 32, "the buckets have {covered:#x} of the range");
    let mut found = read.check_records(&reached)?;
    ensure!(map.len() == found.pairs.len(), "{} keys, and the map says {}", found.pairs.len(), map.len());
    found.shared = read.segments.iter().map(|&segment| tables[&table_of(segment).0].len() > 1).collect();
    Ok(found)
}

/// The begin and the depth of each bucket's part of the range, by the bucket's index.
type Parts = HashMap<u32, (u64, u32)>;

/// All words of a map, read from its device.
struct Read {
    layout: Layout,
    segments: Vec<u64>,
    pages: Vec<u64>,
    memory: Memory,
}

/// Returns the address of a segment's bucket table, and its depth.
fn table_of(segment: u64) -> (u64, u32) {
    (segment & ((1 << 56) - 1), (segment >> 56) as u32)
}

impl Read {
    fn of<K: Key, V: Value>(map: &ExtendibleMap<K, V>) -> warpnest::Result<Self> {
        let (stream, table) = (map.device().default_stream(), map.table());
        let buffers = table.memory().map(|buffer| Ok((buffer.address() as u64, buffer.download(stream)?)));
        Ok(Self {
            layout: table.layout(),
            segments: table.segments().download(stream)?,
            pages: table.page_addresses().download(stream)?,
            memory: Memory(buffers.collect::<warpnest::Result<_>>()?),
        })
    }

    /// Returns the address of a bucket's page, and the bucket's header in it.
    fn header(&self, bucket: u32) -> Result<(u64, &[u64]), String> {
        let page = self.pages.get(bucket as usize / PAGE as usize);
        let &page = page.ok_or_else(|| format!("there is no page of bucket {bucket}"))?;
        Ok((page, self.memory.words(page + 8 * HEADER_WORDS * (bucket as u64 % PAGE), HEADER_WORDS)?))
    }

    /// Checks that every entry of the directory leads to a bucket whose part of the range contains
    /// it.
    fn check_directory(&self) -> Result<Parts, String> {
        let Self { layout, segments, .. } = self;
        let (groups, entries) = (layout.roots as u64 >> layout.table_bits, 1u64 << layout.table_bits);
        let expected = groups << layout.depth;
        ensure!(segments.len() as u64 == expected, "{} segments at depth {}", segments.len(), layout.depth);
        let mut reached = HashMap::new();
        for (number, &segment) in segments.iter().enumerate() {
            let (address, depth) = table_of(segment);
            ensure!(depth <= layout.depth, "segment {number} is deeper than the directory: {depth}");
            let first = number as u64 % (groups << depth);
            ensure!(
                segments[first as usize] == segment,
                "segments {number} and {first} should share a table of depth {depth}"
            );
            let (group, bits) = (number as u64 % groups, (number as u64 / groups) as u32);
            let words = self.memory.words(address, entries / 2)?;
            for entry in 0..entries {
                let bucket = (words[entry as usize / 2] >> (32 * (entry % 2))) as u32;
                let hash_position = (group * entries + entry) << 32 | bits.reverse_bits() as u64;
                let part = self.check_entry(bucket, hash_position, depth);
                reached.insert(bucket, part.map_err(|wrong| format!("segment {number}, entry {entry}: {wrong}"))?);
            }
        }
        Ok(reached)
    }

    /// Checks the bucket that a directory entry leads to, and returns the bucket's part of the
    /// range.
    fn check_entry(&self, bucket: u32, hash_position: u64, depth: u32) -> Result<(u64, u32), String> {
        let (_, header) = self.header(bucket)?;
        let (begin, local) = (header[0], header[1] as u32 & 0xff);
        ensure!(header[1] & 0xff00 == 0, "bucket {bucket} is free or merged");
        ensure!(local <= depth, "bucket {bucket} of depth {local} is in a table of depth {depth}");
        let span = (1u64 << 32) >> local;
        ensure!(
            begin % span == 0 && (begin..begin + span).contains(&hash_position),
            "bucket {bucket} has {begin:#x}.. of depth {local}, and {hash_position:#x} is elsewhere"
        );
        Ok((begin, local))
    }

    /// Checks that the count of segments that share a bucket table follows from the table's depth.
    /// Returns the segments of each table.
    fn check_tables(&self) -> Result<HashMap<u64, Vec<usize>>, String> {
        let depth = self.layout.depth;
        let mut tables: HashMap<u64, Vec<usize>> = HashMap::new();
        for (number, &segment) in self.segments.iter().enumerate() {
            tables.entry(table_of(segment).0).or_default().push(number);
        }
        for (address, sharing) in &tables {
            let (_, local) = table_of(self.segments[sharing[0]]);
            ensure!(
                sharing.len() == 1 << (depth - local),
                "{} segments share the table at {address:#x} of depth {local}",
                sharing.len()
            );
        }
        let deepest = self.segments.iter().map(|&segment| table_of(segment).1).max().unwrap_or(0);
        ensure!(deepest == depth, "the directory has depth {depth}, and no table more than {deepest}");
        Ok(tables)
    }

    /// Checks the records of all buckets.
    fn check_records<K: Key, V: Value>(&self, reached: &Parts) -> Result<Found<K, V>, String> {
        let mut found = Found { pairs: HashMap::new(), tombstones: 0, depths: HashMap::new(), shared: Vec::new() };
        let words = self.layout.lines as u64 * LINE;
        for (&bucket, &part) in reached {
            found.depths.insert(bucket, part.1);
            let (page, header) = self.header(bucket)?;
            let at = page + 8 * (HEADER_WORDS * PAGE + bucket as u64 % PAGE * words);
            let records = check_bucket(&self.layout, self.memory.words(at, words)?, part, &mut found)
                .map_err(|wrong| format!("bucket {bucket}: {wrong}"))?;
            let said = header[1] >> 32;
            ensure!(said == records, "bucket {bucket} has {records} records, and its header says {said}");
        }
        Ok(found)
    }
}

/// Checks a bucket and returns its count of records.
fn check_bucket<K: Key, V: Value>(
    layout: &Layout,
    words: &[u64],
    (begin, depth): (u64, u32),
    found: &mut Found<K, V>,
) -> Result<u64, String> {
    let bits = <WordOf<K, V> as Scalar>::BITS;
    let of_line = 256 / bits as usize;
    let word =
        |number: usize| if bits == 64 { words[number] } else { words[number / 2] >> (32 * (number % 2)) & 0xffff_ffff };
    let key = |line: usize, slot: usize| word(line * 2 * of_line + slot);
    let ones = K::ALL_ONES.to_u64();
    let [empty, removed] = if begin >> 32 == 0 { [ones, ones - 1] } else { [0, 1] };
    let lines = layout.lines as usize;
    let has_empty = |line: usize| (0..of_line).any(|slot| key(line, slot) == empty);
    let mut records = 0;
    let mut seen = HashSet::new();
    for (line, slot) in (0..lines).flat_map(|line| (0..of_line).map(move |slot| (line, slot))) {
        let word_key = key(line, slot);
        if word_key == empty {
            continue;
        }
        if word_key == removed {
            found.tombstones += 1;
            continue;
        }
        records += 1;
        ensure!(word_key <= ones, "{word_key:#x} is no key");
        ensure!(seen.insert(word_key), "mixed key {word_key:#x} is there twice");
        let hash_position = (word_key >> (K::BITS - 32)) * layout.roots as u64;
        ensure!(
            (begin..begin + ((1u64 << 32) >> depth)).contains(&hash_position),
            "mixed key {word_key:#x} belongs elsewhere"
        );
        // On the probe path to the key, no line before the key's own line has an empty slot.
        let hashed = (word_key as u32).wrapping_mul(0x9e37_79b1) as u64;
        let home = ((hashed * lines as u64) >> 32) as usize;
        let mut at = home;
        while at != line {
            ensure!(
                !has_empty(at),
                "mixed key {word_key:#x} in line {line} is cut off by line {at}, its home is {home}"
            );
            at = (at + 1) % lines;
        }
        let key = K::from_u64(word_key).unmixed(layout.a, layout.b);
        let value = V::from_u64(word(line * 2 * of_line + of_line + slot));
        ensure!(found.pairs.insert(key, value).is_none(), "key {key} is in two buckets");
    }
    Ok(records)
}
