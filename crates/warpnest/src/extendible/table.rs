//! The memory of a map: pages of buckets, bucket tables and the segment table. It is created and
//! packed here.

use super::directory::{Copy, Directory};
use super::pool::Pool;
use super::shape::Shape;
use crate::runtime::stream::Batch;
use crate::table::file::Section;
use crate::{Buffer, Device, Error, Result, Stream};
use gpu_kernels::extendible::{
    BuildLeaves, BuildParams, CopyParams, CopyTables, InspectParams, Layout, PAGE, Pages, Redirect, RedirectParams,
    Release, ReleaseParams, Repack, Segment, counts, root_leaf,
};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, ValueWord};
use std::marker::PhantomData;

/// The address lists through which kernels access a table.
pub(super) struct Lists<K, V> {
    pub segments: Global<u64>,
    pub pages: Global<Pages<K, V>>,
}

/// A table on a device.
#[derive(Debug)]
pub(super) struct Table<K, V> {
    pub device: Device,
    pub shape: Shape,
    pub constants: [u64; 2],
    pub directory: Directory,
    /// The segment table, whose elements are [`Segment`]s.
    pub segments: Buffer<u64>,
    pub tables: Pool,
    pub pages: Pool,
    /// The address of each page.
    pub page_addresses: Buffer<u64>,
    /// The indices of free buckets, in the first `free` elements.
    pub free_numbers: Buffer<u32>,
    /// The count of free indices.
    pub free: u64,
    /// The count of indices of buckets, in use or free.
    pub used: u64,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: KeyWord, V: ValueWord> Table<K, V> {
    /// Makes an empty table.
    pub(super) fn new(device: &Device, stream: &Stream, shape: Shape, constants: [u64; 2]) -> Result<Self> {
        let pages = Pool::new(device, shape.page_words(), Shape::pages(shape.roots as u64))?;
        let tables = Pool::new(device, shape.table_words(), shape.groups as usize)?;
        let mut table = Self {
            device: device.clone(),
            shape,
            constants,
            directory: Directory::new(shape.groups),
            segments: Buffer::uninitialized(device, 0)?,
            page_addresses: Buffer::uninitialized(device, 0)?,
            free_numbers: Buffer::uninitialized(device, 0)?,
            tables,
            pages,
            free: 0,
            used: 0,
            types: PhantomData,
        };
        table.clear(stream)?;
        Ok(table)
    }

    /// Resets the table to its initial state.
    pub(super) fn clear(&mut self, stream: &Stream) -> Result<()> {
        self.pages.restart(Shape::pages(self.shape.roots as u64))?;
        self.tables.restart(self.shape.groups as usize)?;
        self.directory = Directory::new(self.shape.groups);
        (self.free, self.used) = (0, 0);
        self.segments = self.segments_of(&self.directory)?;
        self.page_addresses = Buffer::from_slice(&self.device, self.pages.addresses())?;
        self.free_numbers = Buffer::uninitialized(&self.device, self.pages.units() * PAGE as usize)?;
        let roots = self.shape.roots as u64;
        let leaves: Vec<u64> = (0..roots).flat_map(root_leaf).collect();
        let leaves = Buffer::from_slice(&self.device, &leaves)?;
        let (no_keys, no_values) = (Buffer::uninitialized(&self.device, 0)?, Buffer::uninitialized(&self.device, 0)?);
        let none_placed = Buffer::uninitialized(&self.device, 0)?;
        self.build(stream, (&leaves, roots), (&no_keys, &no_values), &none_placed)
    }

    /// Makes a table from bucket tables and from pages with headers and records. These must belong
    /// together. `used` is the count of buckets, and `free` the count of free indices at the front
    /// of their list.
    pub(super) fn of_parts(
        device: &Device,
        shape: Shape,
        constants: [u64; 2],
        directory: Directory,
        (tables, pages): (Pool, Pool),
        used: u64,
        (free_numbers, free): (Buffer<u32>, u64),
    ) -> Result<Self> {
        let mut table = Self {
            device: device.clone(),
            shape,
            constants,
            segments: Buffer::uninitialized(device, 0)?,
            page_addresses: Buffer::from_slice(device, pages.addresses())?,
            free_numbers,
            free,
            used,
            directory,
            tables,
            pages,
            types: PhantomData,
        };
        table.segments = table.segments_of(&table.directory)?;
        Ok(table)
    }

    /// Returns a file section with some words of each bucket below `used`. In each page these words
    /// begin at word `first`, and each bucket has `words` of them.
    pub(super) fn of_each_bucket(&self, first: u64, words: u64) -> Section<'_> {
        let pages = self.pages.places().into_iter().zip((0..self.used).step_by(PAGE as usize));
        pages.fold(Section::new(), |section, ((chunk, page), number)| {
            let buckets = (self.used - number).min(PAGE);
            section.with(chunk, page + first..page + first + buckets * words)
        })
    }

    pub(super) fn layout(&self) -> Layout {
        Self::layout_of(self.constants, &self.shape, self.directory.depth())
    }

    /// Returns the layout of a table whose directory has this depth.
    pub(super) fn layout_of([a, b]: [u64; 2], shape: &Shape, depth: u32) -> Layout {
        let &Shape { roots, table_bits, lines, records, .. } = shape;
        Layout { a, b, roots, table_bits, lines, records, depth, padding: 0 }
    }

    /// Returns the lists of segments and pages for a launch that reads the table.
    pub(super) fn read<'b>(&'b self, batch: &Batch<'b>) -> Lists<K, V> {
        self.pages.read(batch);
        self.tables.read(batch);
        Lists { segments: batch.read(&self.segments), pages: batch.read(&self.page_addresses).cast() }
    }

    /// Returns the lists of segments and pages for a launch that writes the table.
    pub(super) fn write<'b>(&'b self, batch: &Batch<'b>) -> Lists<K, V> {
        self.pages.write(batch);
        self.tables.write(batch);
        Lists { segments: batch.write(&self.segments), pages: batch.write(&self.page_addresses).cast() }
    }

    /// Makes the segment table of a directory with the present addresses of the bucket tables.
    pub(super) fn segments_of(&self, directory: &Directory) -> Result<Buffer<u64>> {
        let at = self.tables.addresses();
        let segments: Vec<u64> =
            directory.segments().map(|(table, depth)| Segment::new(at[table as usize], depth).0).collect();
        Buffer::from_slice(&self.device, &segments)
    }

    /// Returns the count of buckets.
    pub(super) fn buckets(&self) -> u64 {
        self.used - self.free
    }

    /// Makes capacity for `more` buckets besides the existing ones. A kernel sees the same buckets,
    /// possibly at other addresses.
    pub(super) fn reserve_buckets(&mut self, stream: &Stream, more: u64) -> Result<()> {
        let numbers = self.used + more.saturating_sub(self.free);
        crate::error::check_slots(numbers)?;
        if self.pages.reserve(Shape::pages(numbers))? || self.page_addresses.len() < self.pages.units() {
            let addresses = Buffer::from_slice(&self.device, self.pages.addresses())?;
            self.page_addresses = addresses;
        }
        let capacity = self.pages.units() * PAGE as usize;
        if self.free_numbers.len() < capacity {
            let numbers = Buffer::<u32>::uninitialized(&self.device, capacity)?;
            let bytes = self.free as usize * size_of::<u32>();
            stream.batch(|batch| batch.copy(&self.free_numbers, 0..bytes, &numbers))?;
            self.free_numbers = numbers;
        }
        Ok(())
    }

    /// Builds buckets for leaves, from records of the buckets that are split and from `new` pairs,
    /// whose `placed` bits it sets. There must be capacity for the buckets.
    pub(super) fn build(
        &mut self,
        stream: &Stream,
        (leaves, number): (&Buffer<u64>, u64),
        (keys, values): (&Buffer<K>, &Buffer<V>),
        placed: &Buffer<u32>,
    ) -> Result<()> {
        let plan = BuildParams { layout: self.layout(), leaves: number, free: self.free, used: self.used };
        stream.batch(|batch| {
            let Lists { segments, pages } = self.write(batch);
            let build = BuildLeaves::<K, V> {
                leaves: batch.read(leaves),
                keys: batch.read(keys),
                values: batch.read(values),
                placed: batch.write(placed),
                free: batch.read(&self.free_numbers),
                segments,
                pages,
                plan,
            };
            // SAFETY: there are `number` leaves, and the new pairs and bits to which they refer.
            // There are free indices for some leaves, and pages for the other leaves. The directory
            // is as deep as the leaves.
            unsafe { batch.launch(&build, 32 * number) }
        })?;
        self.used += number.saturating_sub(self.free);
        self.free = self.free.saturating_sub(number);
        Ok(())
    }

    /// Frees the buckets in a list. The index of bucket `i` of the list is the 32-bit word
    /// `stride * i + offset`.
    pub(super) fn release<T>(
        &mut self,
        stream: &Stream,
        list: &Buffer<T>,
        (buckets, stride, offset): (u64, u64, u64),
    ) -> Result<()> {
        let plan = ReleaseParams { layout: self.layout(), buckets, stride, offset, free: self.free };
        stream.batch(|batch| {
            let (list, free) = (batch.read(list).cast(), batch.write(&self.free_numbers));
            let release = Release { list, free, pages: self.write(batch).pages.cast(), plan };
            // SAFETY: the list has `buckets` indices of buckets, and the list of free indices has
            // capacity for all of them.
            unsafe { batch.launch(&release, buckets) }
        })?;
        self.free += buckets;
        Ok(())
    }

    /// Makes the list of bucket tables to copy, with a source and a target address for each.
    pub(super) fn copy_list(&self, copies: &[Copy], from: &Pool, to: &Pool) -> Result<Buffer<u64>> {
        let (from, to) = (from.addresses(), to.addresses());
        let pair = |copy: &Copy| [from[copy.from as usize], to[copy.to as usize]];
        Buffer::from_slice(&self.device, &copies.iter().flat_map(pair).collect::<Vec<_>>())
    }

    /// Copies bucket tables between two pools, or within one, by a [`Table::copy_list`].
    pub(super) fn copy_tables(&self, stream: &Stream, list: &Buffer<u64>, from: &Pool, to: &Pool) -> Result<()> {
        let plan = CopyParams { tables: list.len() as u64 / 2, entries: 1 << self.shape.table_bits };
        stream.batch(|batch| {
            from.read(batch);
            to.write(batch);
            // SAFETY: all addresses are addresses of tables in the two pools.
            unsafe { batch.launch(&CopyTables { addresses: batch.read(list), plan }, plan.tables * plan.entries / 4) }
        })
    }

    /// Makes a list of the addresses of all bucket tables.
    pub(super) fn table_list(&self) -> Result<Buffer<u64>> {
        let at = self.tables.addresses();
        let list: Vec<u64> = self.directory.tables().map(|table| at[table as usize]).collect();
        Buffer::from_slice(&self.device, &list)
    }

    /// Returns whether there is more than `times` the needed memory.
    pub(super) fn is_spacious(&self, times: usize) -> bool {
        let (pages, tables) = (Shape::pages(self.buckets()), self.directory.table_count());
        self.pages.units() > times * pages || self.tables.units() > times * tables
    }

    /// Makes a table with the same buckets in as little memory as they need. This table does not
    /// change.
    pub(super) fn packed(&self, stream: &Stream) -> Result<Self> {
        let Self { device, shape, constants, .. } = self;
        let mut directory = self.directory.clone();
        let copies = directory.renumber();
        let pages = Pool::new(device, shape.page_words(), Shape::pages(self.buckets()))?;
        let tables = Pool::new(device, shape.table_words(), directory.table_count())?;
        let free = (Buffer::uninitialized(device, pages.units() * PAGE as usize)?, 0);
        let forward = Buffer::<u32>::uninitialized(device, self.used as usize)?;
        let counts = Buffer::<u64>::zeroed(device, counts::WORDS)?;
        let packed = Self::of_parts(device, *shape, *constants, directory, (tables, pages), self.buckets(), free)?;
        let list = packed.table_list()?;
        let copy_list = packed.copy_list(&copies, &self.tables, &packed.tables)?;
        stream.batch(|batch| {
            self.pages.read(batch);
            packed.pages.write(batch);
            let repack = Repack::<K, V> {
                pages: batch.read(&self.page_addresses).cast(),
                pages_out: batch.read(&packed.page_addresses).cast(),
                forward: batch.write(&forward),
                counts: batch.write(&counts),
                plan: InspectParams { layout: self.layout(), used: self.used },
            };
            // SAFETY: the new pages have capacity for all buckets, and there is a word for each
            // index.
            unsafe { batch.launch(&repack, 32 * self.used) }
        })?;
        packed.copy_tables(stream, &copy_list, &self.tables, &packed.tables)?;
        let plan = RedirectParams { layout: packed.layout(), tables: copies.len() as u64 };
        stream.batch(|batch| {
            packed.tables.write(batch);
            let redirect = Redirect { addresses: batch.read(&list), forward: batch.read(&forward), plan };
            // SAFETY: the list has the new tables, whose entries are indices of the old buckets.
            unsafe { batch.launch(&redirect, plan.tables << shape.table_bits) }
        })?;
        Ok(packed)
    }

    /// Returns the bytes that the table takes on the device.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.pages.memory_bytes() + self.tables.memory_bytes() + self.list_bytes()
    }

    /// Returns the bytes of the lists of segments, pages and free indices.
    pub(super) fn list_bytes(&self) -> u64 {
        8 * (self.segments.len() + self.page_addresses.len()) as u64 + 4 * self.free_numbers.len() as u64
    }
}

/// Returns `None` instead of an error if memory was lacking, for work that can be left undone.
pub(super) fn unless_out_of_memory<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::OutOfMemory { .. }) => Ok(None),
        done => done.map(Some),
    }
}
