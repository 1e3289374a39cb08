//! The file of an extendible table: its directory, the headers of its buckets, and their records.
//!
//! Segments refer to bucket tables, and these to buckets. The header of a bucket says which part of
//! the hash range it has. All of this is checked. The file has indices instead of addresses.

use super::directory::Directory;
use super::pool::Pool;
use super::shape::Shape;
use super::table::Table;
use super::work::Work;
use super::{Extendible, ExtendibleTable};
use crate::error::FileError;
use crate::table::file::{Collected, Incoming, Loading, Parts, Section, Target, as_words};
use crate::table::raw::StoredTable;
use crate::{Buffer, Device, Error, Result, Stream};
use gpu_kernels::extendible::bucket::{free_words, records_of_line};
use gpu_kernels::extendible::{BucketHeader, Layout, PAGE, State, WordOf, span};
use gpu_kernels::types::{KeyWord, ValueWord};
use rayon::slice::ParallelSliceMut;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The count of 64-bit words of a bucket's header.
const HEADER: u64 = 2;

impl<K: KeyWord, V: ValueWord> StoredTable for ExtendibleTable<K, V> {
    fn set_device(&mut self, device: &Device) {
        self.device = device.clone();
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        self.check()?;
        let Self { config, table, .. } = self;
        let Extendible { segments, buckets, records, max_segments } = config.design;
        parts.table(self.length, config);
        parts.numbers([segments as u64, buckets as u64, records as u64, max_segments]);
        parts.numbers(table.constants);
        parts.numbers([table.directory.depth() as u64, table.directory.table_count() as u64]);
        parts.numbers([table.used, self.unmerged as u64]);

        let numbers = table.directory.dense_numbers();
        parts.section(Section::of_host(numbers.iter().flat_map(|number| number.to_le_bytes()).collect()));
        parts.section(table.of_each_bucket(0, HEADER));
        let (of_table, places) = (table.shape.table_words(), table.tables.places());
        parts.section(table.directory.tables().fold(Section::new(), |section, number| {
            let (chunk, first) = places[number as usize];
            section.with(chunk, first..first + of_table)
        }));
        parts.section(table.of_each_bucket(HEADER * PAGE, table.shape.bucket_words()));
        Ok(())
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        let (length, config) = incoming.table(|incoming| {
            let (segments, buckets, records) = (incoming.short()?, incoming.short()?, incoming.short()?);
            Ok(Extendible { segments, buckets, records, max_segments: incoming.number()? })
        })?;
        let no_such = |_: Error| FileError::inconsistent("no extendible table has its configuration");
        let shape = config.shape::<K, V>().map_err(no_such)?;
        let constants = [incoming.number()?, incoming.number()?];
        let (depth, tables, used) = (incoming.short()?, incoming.short()?, incoming.number()?);
        let unmerged = incoming.flag()?;
        let segments = (shape.groups as u64) << depth.min(shape.max_depth);
        if depth > shape.max_depth || tables as u64 > segments || crate::error::check_slots(used).is_err() {
            return Err(FileError::inconsistent("there is no extendible table with so many segments and buckets"));
        }
        let device = incoming.device.clone();

        let mut numbers = Collected::<u32>::default();
        incoming.section(segments.saturating_mul(4), &mut numbers, &|_, _| Ok(()))?;
        let directory = Directory::from_dense_numbers(shape.groups, depth, tables, numbers.words());
        let directory =
            directory.ok_or_else(|| FileError::inconsistent("its segments share bucket tables as none do"))?;

        let mut headers = Collected::<[u64; 2]>::default();
        incoming.section(8 * HEADER * used, &mut headers, &|_, _| Ok(()))?;
        let headers = headers.words();
        let header_of = |&[first, state]: &[u64; 2]| BucketHeader { first, state: State(state) };
        let free = check_headers(headers.iter().map(header_of), &shape, depth, length);
        let free = free.map_err(FileError::inconsistent)?;

        let layout = Table::<K, V>::layout_of(constants, &shape, depth);
        let ranges = directory.ranges(&layout);
        let table_bits = 2 + shape.table_bits;
        let mut entries = Loading::<u64>::new(&device, shape.table_words().saturating_mul(tables as u64))?;
        incoming.section(entries.bytes(), &mut entries, &|at, bytes| {
            for (number, at) in as_words::<u32>(bytes).iter().zip((at..).step_by(4)) {
                let (first, depth) = ranges[(at >> table_bits) as usize];
                let first = first + ((at & ((1 << table_bits) - 1)) >> 2 << 32);
                let leads = |header: BucketHeader| header.first <= first && first + span(depth) <= header.end();
                let header = headers.get(*number as usize).map(header_of);
                if !header.is_some_and(|header| header.state.is_live() && leads(header)) {
                    return Err("a bucket table names a bucket of another part of the range");
                }
            }
            Ok(())
        })?;

        let mut records = Filling { pages: Pool::empty(&device, shape.page_words()), shape, headers: &headers };
        let of_bucket = 8 * shape.bucket_words();
        let counted: Vec<AtomicU32> = headers.iter().map(|_| AtomicU32::new(0)).collect();
        incoming.section(of_bucket * used, &mut records, &|at, bytes| {
            let (mut at, mut left) = (at, bytes);
            while !left.is_empty() {
                let (number, within) = ((at / of_bucket) as usize, at % of_bucket);
                let (here, rest) = left.split_at(left.len().min((of_bucket - within) as usize));
                let header = header_of(&headers[number]);
                if header.state.is_live() {
                    let records = records_in::<K, WordOf<K, V>>(here, &header, &layout)?;
                    counted[number].fetch_add(records, Relaxed);
                }
                (at, left) = (at + here.len() as u64, rest);
            }
            Ok(())
        })?;
        let right = |(header, counted): (BucketHeader, AtomicU32)| {
            !header.state.is_live() || header.state.records() == counted.into_inner()
        };
        if !headers.iter().map(header_of).zip(counted).all(right) {
            return Err(FileError::inconsistent("a bucket has another number of records than its header says"));
        }

        let pages = records.pages;
        let entries = Pool::of(&device, shape.table_words(), entries.done()?);
        let mut free_numbers = vec![0; pages.units() * PAGE as usize];
        free_numbers[..free.len()].copy_from_slice(&free);
        let free = (Buffer::from_slice(&device, &free_numbers)?, free.len() as u64);
        let table = Table::of_parts(&device, shape, constants, directory, (entries, pages), used, free)?;
        Self::load_kernels(&device)?;
        let work = Work::new(&device)?;
        Ok(Self { device, config, table, length, broken: None, unmerged, work })
    }
}

/// The pages of a table whose records are being read. A page gets its headers with its first
/// records.
struct Filling<'h> {
    pages: Pool,
    shape: Shape,
    headers: &'h [[u64; 2]],
}

impl Target for Filling<'_> {
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        let buckets = bytes.div_ceil(8 * self.shape.bucket_words());
        if self.pages.reserve(Shape::pages(buckets))? {
            // Other threads put bytes on streams that do not wait for earlier uses of the memory.
            self.pages.quiesce()?;
        }
        Ok(())
    }

    fn put(&self, stream: &Stream, at: u64, mut bytes: &[u8]) -> Result<()> {
        let (mut at, of_page) = (at, 8 * self.shape.bucket_words() * PAGE);
        while !bytes.is_empty() {
            let (page, within) = (at / of_page, at % of_page);
            let (here, rest) = bytes.split_at(bytes.len().min((of_page - within) as usize));
            let start = self.pages.addresses()[page as usize];
            let records = start + 8 * HEADER * PAGE + within;
            // SAFETY: the page has memory for these bytes, behind the headers of its buckets. No
            // other work uses the page yet, and other threads write to other bytes.
            unsafe { stream.queue().upload(here, records as usize)? };
            if within == 0 {
                let headers = &self.headers[(page * PAGE) as usize..];
                let headers = bytemuck::cast_slice(&headers[..headers.len().min(PAGE as usize)]);
                // SAFETY: as above.
                unsafe { stream.queue().upload(headers, start as usize)? };
            }
            (at, bytes) = (at + here.len() as u64, rest);
        }
        Ok(())
    }
}

/// Counts the records in some lines of a bucket.
fn records_in<K: KeyWord, W: KeyWord>(
    lines: &[u8],
    header: &BucketHeader,
    layout: &Layout,
) -> Result<u32, &'static str> {
    let [empty, removed] = free_words(header.first >> 32 == 0, K::ALL_ONES.to_u64()).map(W::from_u64);
    // The 32-bit hashes with positions in the bucket's part of the range: `hashes` hashes from
    // `low`.
    let roots = layout.roots as u64;
    let low = header.first.div_ceil(roots);
    let hashes = header.end().div_ceil(roots) - low;
    let (mut records, mut elsewhere) = (0, false);
    for line in as_words::<W>(lines).chunks_exact(2 * records_of_line::<W>() as usize) {
        // The loop has no branches, so that several keys are checked at once.
        for &key in &line[..records_of_line::<W>() as usize] {
            let hash = key.bits_from(K::BITS - 32);
            let held = (key != empty) & (key != removed);
            records += held as u32;
            elsewhere |= held & (hash.wrapping_sub(low as u32) as u64 >= hashes);
            if K::BITS < W::BITS {
                elsewhere |= held & (key.to_u64() > K::ALL_ONES.to_u64());
            }
        }
    }
    if elsewhere { Err("a bucket has a key of another part of the range") } else { Ok(records) }
}

/// Checks that the buckets' parts cover the range without gaps, and that no bucket is deeper than
/// the directory. Returns the free indices of buckets.
fn check_headers(
    headers: impl ExactSizeIterator<Item = BucketHeader>,
    shape: &Shape,
    depth: u32,
    length: u64,
) -> Result<Vec<u32>, &'static str> {
    let (mut free, mut live, mut records) = (Vec::new(), Vec::with_capacity(headers.len()), 0);
    for (header, number) in headers.zip(0..) {
        let state = header.state;
        if state == State::FREE {
            free.push(number);
        } else if state != State::live(state.depth(), state.records())
            || state.depth() > depth
            || state.records() > shape.records
            || header.first >> 32 >= shape.roots as u64
            || header.first % span(state.depth()) != 0
        {
            return Err("a bucket has a part of the range that none has, or too many records");
        } else {
            records += state.records() as u64;
            live.push((header.first, header.end()));
        }
    }
    live.par_sort_unstable();
    let mut end = 0;
    for (first, its_end) in live {
        if first != end {
            return Err("its buckets are no parts of the range that make up the whole");
        }
        end = its_end;
    }
    match end == (shape.roots as u64) << 32 && records == length {
        true => Ok(free),
        false => Err("its buckets are not the whole range, or have another number of records"),
    }
}
