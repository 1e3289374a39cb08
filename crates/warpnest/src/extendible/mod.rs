//! [`ExtendibleMap`]: the table that grows and shrinks bucket by bucket. docs/extendible.md has layout, algorithm, guarantees and figures.

mod config;
mod directory;
mod insert;
mod pool;
mod remove;
mod table;
mod work;

pub use config::ExtendibleConfig;

use crate::runtime::buffer::Tracked;
use crate::{Buffer, Device, Error, Key, Result, Stream, Value};
use gpu_kernels::extendible::{Find, FindParams, Layout, Unpack, UnpackParams};
use gpu_kernels::seam::Global;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use table::Table;

/// A map that grows with its keys, and shrinks when they go, without ever being built anew.
///
/// Source: Hu, Xi and Lin, *Extendible Hashing Method Based on GPU* (gEHT, 2015): a segment table points to bucket tables, which segments share, and
/// these to buckets. A batch of insertions is planned before anything moves: buckets that it would overflow are split as far as it takes, and the
/// directory grows where it must.
///
/// * **Keys and values** are `u32` or `u64`; all of them are legal.
/// * **Repeated keys** in one batch: the last pair in input order wins.
/// * **Complexity.** A lookup reads an entry of the segment table, one of a bucket table, and a line of 64 bytes of the bucket, rarely
///   two. A batch of insertions is sorted, and each of its records is written once; those of a bucket that splits are moved once.
/// * **Memory.** Buckets are filled to ln 2 on average: they alone are 13.3 bytes for a pair of 32 bits each, 26.3 with keys or values of
///   64. A map that has grown, with its directory and with memory for buckets to come, was measured at 15.8 to 18.7 bytes a pair, and at
///   35.6 with 64 bits each. A batch takes memory to work in beside it ([`ExtendibleMap::scratch_bytes`]), which stays for the next one
///   ([`ExtendibleMap::shrink_to_fit`] gives it back).
/// * **A batch that fails** for want of memory, or because too many of its keys have the same first bits of their hashes, has changed nothing.
///   After any other error in the middle of a change the map is empty, and the error is [`Error::Emptied`].
/// * **Beside other work.** Lookups change nothing, so any number of streams may look up at the same time. Batches that change the map take it
///   exclusively, and wait for running lookups by themselves.
#[derive(Debug)]
pub struct ExtendibleMap<K: Key = u32, V: Value = u32> {
    device: Device,
    config: ExtendibleConfig,
    table: Table<K, V>,
    length: u64,
    /// Why the table is not whole, if it is not.
    broken: Option<Error>,
    /// Whether a removal lacked the memory to merge buckets, or to make the directory smaller after that.
    unmerged: bool,
    work: work::Work<K, V>,
}

/// How large a map is, and how full.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExtendibleReport {
    /// The global depth: how often the segment table has doubled.
    pub global_depth: u32,
    /// Entries of the segment table.
    pub segments: u64,
    /// Bucket tables. The other segments share one with another segment.
    pub bucket_tables: u64,
    /// Entries of each.
    pub buckets_of_table: u64,
    /// Buckets.
    pub buckets: u64,
    /// Records that a bucket has room for.
    pub records_of_bucket: u64,
    /// Records.
    pub records: u64,
    /// Entries of a directory without bucket tables, of the same buckets: Fagin's, which doubles as a whole.
    pub one_level_entries: u64,
    /// Bytes of the buckets that there are.
    pub bucket_bytes: u64,
    /// Bytes of the segment table and the bucket tables that there are.
    pub directory_bytes: u64,
    /// Bytes on the device, also those kept for what comes.
    pub memory_bytes: u64,
}

impl ExtendibleReport {
    /// Entries of the directory: of the segment table and of all bucket tables.
    pub fn directory_entries(&self) -> u64 {
        self.segments + self.bucket_tables * self.buckets_of_table
    }

    /// How full buckets are on average. With many keys it is about ln 2, .69; of a map that could not be cleared and has no buckets, 0.
    pub fn fill(&self) -> f64 {
        self.records as f64 / (self.buckets * self.records_of_bucket).max(1) as f64
    }
}

crate::table::lookup::lookup_methods!(ExtendibleMap);
crate::table::pairs::pairs_methods!(ExtendibleMap);

impl ExtendibleMap {
    /// An empty map of `u32` keys and values with the default configuration; [`ExtendibleConfig::create`] takes others.
    ///
    /// ```
    /// use warpnest::{Device, ExtendibleMap};
    ///
    /// let mut map = ExtendibleMap::new(&Device::best()?)?;
    /// assert_eq!(map.insert_many(&[7, 8, 7], &[1, 2, 3])?, 2);
    /// assert_eq!(map.remove_many(&[8, 9])?, [Some(2), None]);
    /// assert_eq!(map.get_many(&[7, 8])?, [Some(3), None]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ExtendibleConfig::create`].
    pub fn new(device: &Device) -> Result<Self> {
        ExtendibleConfig::default().create(device)
    }
}

/// The kernels of a map, by what stands behind `extendible_` in their names: those for every type, and those
/// for one pair of types. `merge_around` is for one type of keys.
const KERNELS: [&[&str]; 2] = [
    &["copy_tables", "merge_buddies", "needs", "redirect", "release", "table_depths"],
    &[
        "absorb",
        "build_leaves",
        "divide",
        "find",
        "insert_fresh",
        "locate",
        "overflows",
        "remove",
        "repack",
        "unpack",
        "update",
    ],
];

impl<K: Key, V: Value> ExtendibleMap<K, V> {
    fn create(config: ExtendibleConfig, device: &Device) -> Result<Self> {
        let shape = config.shape::<K, V>()?;
        // Now, since a kernel that is loaded in the middle of a change takes memory, and there may be none.
        let [untyped, typed] = KERNELS;
        let typed = typed.iter().map(|kernel| format!("{kernel}_u{}_u{}", K::BITS, V::BITS));
        let around = format!("merge_around_u{}", K::BITS);
        for kernel in untyped.iter().map(|&kernel| kernel.to_owned()).chain(typed).chain([around]) {
            device.engine().load_kernel(&format!("extendible_{kernel}"))?;
        }
        let mut random = Xoshiro256StarStar::seed_from_u64(config.seed.unwrap_or_else(crate::table::hash::random_seed));
        let constants = [random.next_u64(), random.next_u64()];
        let table = Table::new(device, device.default_stream(), shape, constants)?;
        let work = work::Work::new(device)?;
        Ok(Self { device: device.clone(), config, table, length: 0, broken: None, unmerged: false, work })
    }

    /// Queues a lookup: `values` may be null.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for each 32 of them; the launch
    /// writes `writes`.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<V>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        self.check()?;
        let find = Find::<K, V> {
            queries: queries.argument(),
            segments: self.table.segments.argument(),
            pages: self.table.page_list(),
            values,
            found: found.argument(),
            plan: FindParams { layout: self.table.layout(), queries: queries.len() as u64 },
        };
        let mut reads = self.table.tracked();
        reads.push(queries);
        // SAFETY: as many values, if any, and found-words as queries; the table is whole, and nobody changes it, since the launch reads
        // it and whatever writes it waits.
        unsafe { stream.launch(&find, queries.len() as u64, &reads, writes) }
    }

    /// Fails if the table is not whole.
    fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Does what changes the table; if that fails in the middle, the map is empty.
    fn change<R>(&mut self, stream: &Stream, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let done = work(self).map_err(|source| Error::Emptied { source: Box::new(source) });
        if let Err(error) = &done {
            self.broken = Some(error.clone());
            // If this fails too, lookups say why, and the next change tries again.
            let _ = self.recover(stream);
        }
        done
    }

    /// Makes an empty table of one that is not whole.
    fn recover(&mut self, stream: &Stream) -> Result<()> {
        if self.broken.is_some() {
            self.clear(stream)?;
        }
        Ok(())
    }

    /// Removes all keys, and gives back the memory that it did not have at the beginning.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]: nothing was done. [`Error::OutOfMemory`], [`Error::Driver`]: then the map cannot be used until it has succeeded, and says so.
    pub fn clear(&mut self, stream: &Stream) -> Result<()> {
        stream.check_device(&self.device)?;
        self.length = 0;
        let cleared = self.table.clear(stream);
        self.broken = cleared.clone().err();
        self.unmerged = false;
        cleared
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it has no keys.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes that the map keeps on the device, without what batches work in ([`ExtendibleMap::scratch_bytes`]).
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// The most bytes that a batch of `pairs` insertions takes now besides its input and the map, as large as that is then; those that the
    /// map keeps for it are among them. For which keys this goes [`ExtendibleConfig::scratch_bytes`] says; a directory that is deeper
    /// already is thought to stay so.
    ///
    /// # Errors
    /// [`Error::TooManyItems`].
    pub fn scratch_bytes(&self, pairs: u64) -> Result<u64> {
        let table = &self.table;
        let (records, buckets) = (self.length.saturating_add(pairs), table.buckets());
        let batch = work::Batch { pairs, records, buckets, depth: table.directory.depth(), lists: table.list_bytes() };
        batch.scratch_bytes::<K, V>(&table.shape, self.work.kept())
    }

    /// How large the map is, and how full.
    pub fn report(&self) -> ExtendibleReport {
        let (Table { directory, shape, .. }, records_of_bucket) = (&self.table, self.table.shape.records as u64);
        let (segments, bucket_tables) = (directory.segments().len() as u64, directory.table_count() as u64);
        let (buckets, buckets_of_table) = (self.table.buckets(), 1 << shape.table_bits);
        // A bucket's lines have 64 bytes, and its note 16.
        let of_bucket = 64 * shape.lines as u64 + 16;
        ExtendibleReport {
            global_depth: directory.depth(),
            segments,
            bucket_tables,
            buckets_of_table,
            buckets,
            records_of_bucket,
            records: self.length,
            one_level_entries: (shape.roots as u64) << directory.depth(),
            bucket_bytes: buckets * of_bucket,
            directory_bytes: 8 * segments + 4 * buckets_of_table * bucket_tables,
            memory_bytes: self.memory_bytes(),
        }
    }

    /// How the table hashes and is divided, for a kernel of your own that looks up: with [`ExtendibleMap::segments`] and
    /// [`ExtendibleMap::page_addresses`] it makes a [`Table`](gpu_kernels::extendible::Table). A launch must name these two buffers and all of
    /// [`ExtendibleMap::memory`].
    pub fn layout(&self) -> Layout {
        self.table.layout()
    }

    /// The segment table: [`Segment`](gpu_kernels::extendible::Segment)s.
    pub fn segments(&self) -> &Buffer<u64> {
        &self.table.segments
    }

    /// Where the pages of buckets are.
    pub fn page_addresses(&self) -> &Buffer<u64> {
        &self.table.page_addresses
    }

    /// The memory that addresses point into: that of the pages, and that of the bucket tables.
    pub fn memory(&self) -> impl Iterator<Item = &Buffer<u64>> {
        self.table.pages.chunks().iter().chain(self.table.tables.chunks())
    }

    /// Gives back the memory that batches work in, and that of buckets that there are no more.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]; the map is as it was. If there is no memory to move buckets to they stay where they are.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        self.work = work::Work::new(&self.device)?;
        let device = self.device.clone();
        self.recover(device.default_stream())?;
        // Removals that lacked the memory for it may have left the directory deeper than it must be.
        self.shrink_directory(device.default_stream())?;
        self.pack(device.default_stream(), 1)
    }

    /// Moves the buckets next to each other if there is room for more than `times` as many.
    fn pack(&mut self, stream: &Stream, times: usize) -> Result<()> {
        if self.table.is_spacious(times)
            && let Some(packed) = table::unless_out_of_memory(self.table.packed(stream))?
        {
            self.table = packed;
        }
        Ok(())
    }

    /// A copy of the map on the same device, made on `stream`, in as little memory as it needs.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::WrongDevice`], [`Error::Driver`].
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        self.check()?;
        stream.check_device(&self.device)?;
        let (table, work) = (self.table.packed(stream)?, work::Work::new(&self.device)?);
        let (device, config) = (self.device.clone(), self.config.clone());
        Ok(Self { device, config, table, length: self.length, broken: None, unmerged: self.unmerged, work })
    }

    /// Writes all pairs to buffers that have room for them.
    fn write_pairs(&self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        self.check()?;
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let unpack = Unpack::<K, V> {
            pages: self.table.page_list(),
            keys_out: keys.argument(),
            values_out: values.argument(),
            count: count.argument(),
            plan: UnpackParams {
                layout: self.table.layout(),
                used: self.table.used,
                capacity: keys.len().min(values.len()) as u64,
            },
        };
        let of_bucket = self.table.shape.slots::<K, V>();
        let (slots, reads) = (self.table.used * of_bucket, self.table.tracked());
        // SAFETY: the outputs have the room that the plan says, and the table is whole.
        unsafe { stream.launch(&unpack, slots, &reads, &[keys, values, &count]) }
    }
}
