//! The table of [`ExtendibleMap`], which grows and shrinks bucket by bucket. docs/extendible.md
//! describes layout, algorithm, guarantees and figures.
//!
//! Read `shape` first for the sizes, then `table` for the memory. `pool` allocates this memory in
//! units. `insert` and `remove` process batches in the buffers of `work`. `directory` decides which
//! tables are split and merged. It needs no device, so it is tested without one.
//!
//! Kernels read the addresses of pages and bucket tables from memory (`Global::at_address`). So a
//! launch must record the use of all chunks of the pools.

mod config;
mod directory;
mod file;
mod insert;
mod pool;
mod remove;
mod report;
mod shape;
mod table;
mod work;

pub use config::{Extendible, ExtendibleConfig};
pub use report::ExtendibleReport;

use crate::runtime::stream::Uses;
use crate::table::design::{Changes, Design, Seeded};
use crate::table::input::Input;
use crate::table::raw::{Outputs, RawTable, ReadTable, sealed::Sealed};
use crate::{Answers, Buffer, BulkMap, Device, Error, Result, Stream};
use gpu_kernels::extendible::{Find, FindParams, Layout, Unpack, UnpackParams};
use gpu_kernels::refs::ExtendibleRef;
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use table::{Lists, Table};

/// A map that grows with its keys, and shrinks when they are removed, without ever being rebuilt.
///
/// Source: Hu, Xi and Lin, *Extendible Hashing Method Based on GPU* (gEHT, 2015). A segment table
/// points to bucket tables, which several segments may share, and a bucket table points to buckets.
/// A batch of insertions is planned before any record moves. Buckets that would overflow are split
/// as often as necessary, and the directory grows where it must.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** in one batch: the last pair in input order wins.
/// * **Complexity.** A lookup reads an entry of the segment table, an entry of a bucket table, and
///   one line of 64 bytes of the bucket, rarely two. A batch of insertions is sorted, and each of
///   its records is written once. The records of a bucket that splits are moved once.
/// * **Memory.** Buckets are filled to ln 2 on average. Buckets alone take 13.3 bytes per pair if
///   keys and values have 32 bits, and 26.3 if either has 64 bits. A map that has grown also has
///   its directory and memory for later buckets. It was measured at 15.8 to 18.7 bytes per pair,
///   and at 35.6 if both have 64 bits. In addition, a batch takes scratch memory
///   ([`ExtendibleTable::batch_scratch_bytes`]), which stays allocated for the next batch.
///   [`BulkMap::shrink_to_fit`] frees it.
/// * **A batch that fails** for lack of memory, or because the hashes of too many keys have the
///   same first bits, has changed nothing. After any other error during a change the map is empty,
///   and the error is [`Error::Emptied`].
/// * **Concurrent use.** Lookups change nothing, so any number of streams may look up keys at the
///   same time. A batch that changes the map needs exclusive access to it, and waits for running
///   lookups.
///
/// ```
/// use warpnest::{Device, ExtendibleMap};
///
/// let mut map: ExtendibleMap<u32, u32> = ExtendibleMap::new(&Device::best()?)?;
/// assert_eq!(map.insert_many(&[7, 8, 7], &[1, 2, 3])?, 2);
/// assert_eq!(map.remove_many(&[8, 9])?, [Some(2), None]);
/// assert_eq!(map.get_many(&[7, 8])?, [Some(3), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("extendible hashing", "resizable"))]
pub type ExtendibleMap<K, V> = BulkMap<K, V, Extendible>;

impl Sealed for Extendible {}
impl Design for Extendible {
    const NAME: &'static str = "Extendible";
    type Table<K: KeyWord, P: Payload> = ExtendibleTable<K, WordOf<P>>;
}
impl Seeded for Extendible {}

/// The table of an [`ExtendibleMap`].
#[derive(Debug)]
pub struct ExtendibleTable<K: KeyWord, V: ValueWord> {
    device: Device,
    config: ExtendibleConfig,
    table: Table<K, V>,
    length: u64,
    /// The error that left the table invalid, if it is invalid.
    broken: Option<Error>,
    /// Whether a removal lacked the memory to merge buckets or to shrink the directory afterwards.
    unmerged: bool,
    work: work::Work<K, V>,
}

/// The kernels of a map, by the part of their names after `extendible_`. The first list has kernels
/// without types, the second one kernels for a pair of types. One more kernel is for a type of
/// keys.
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

impl<K: KeyWord, V: ValueWord> ExtendibleTable<K, V> {
    fn new(config: ExtendibleConfig, device: &Device) -> Result<Self> {
        let shape = config.shape::<K, V>()?;
        Self::load_kernels(device)?;
        let mut random = Xoshiro256StarStar::seed_from_u64(config.seed_or_random());
        let constants = [random.next_u64(), random.next_u64()];
        let table = Table::new(device, device.default_stream(), shape, constants)?;
        let work = work::Work::new(device)?;
        Ok(Self { device: device.clone(), config, table, length: 0, broken: None, unmerged: false, work })
    }

    /// Loads the kernels of a map of these types. Loading a kernel takes memory, which may be
    /// lacking in the middle of a change.
    fn load_kernels(device: &Device) -> Result<()> {
        let [untyped, typed] = KERNELS;
        let typed = typed.iter().map(|kernel| format!("{kernel}_u{}_u{}", K::BITS, V::BITS));
        let around = format!("merge_around_u{}", K::BITS);
        for kernel in untyped.iter().map(|&kernel| kernel.to_owned()).chain(typed).chain([around]) {
            device.engine().load_kernel(&format!("extendible_{kernel}"))?;
        }
        Ok(())
    }

    /// Fails if the table is invalid.
    fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Runs a change of the table. If the change fails halfway, the map is empty.
    fn change<R>(&mut self, stream: &Stream, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let done = work(self).map_err(|source| Error::Emptied { source: Box::new(source) });
        if let Err(error) = &done {
            self.broken = Some(error.clone());
            // If this fails too, lookups return the error, and the next change tries it again.
            let _ = self.recover(stream);
        }
        done
    }

    /// Replaces an invalid table by an empty one.
    fn recover(&mut self, stream: &Stream) -> Result<()> {
        if self.broken.is_some() {
            self.clear_all(stream)?;
        }
        Ok(())
    }

    /// Returns the most bytes that the next batch of `pairs` insertions takes in addition to its
    /// input and to the grown map. Bytes that the map keeps allocated for batches are included.
    /// [`ExtendibleConfig::batch_scratch_bytes`] says for which keys the result is right. If the
    /// directory is deeper than expected, it is assumed to keep its depth.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems).
    pub fn batch_scratch_bytes(&self, pairs: usize) -> Result<usize> {
        let (table, pairs) = (&self.table, pairs as u64);
        let (records, buckets) = (self.length.saturating_add(pairs), table.buckets());
        let batch = work::Batch { pairs, records, buckets, depth: table.directory.depth(), lists: table.list_bytes() };
        Ok(batch.scratch_bytes::<K, V>(&table.shape, self.work.kept())? as usize)
    }

    /// Returns the table's layout and hash constants, for a lookup kernel of your own. With
    /// [`ExtendibleTable::segments`] and [`ExtendibleTable::page_addresses`] it makes a
    /// [`Table`](gpu_kernels::extendible::Table). A launch must also record all buffers of
    /// [`ExtendibleTable::memory`], with [`Uses::reads`](crate::low_level::Uses::reads).
    pub fn layout(&self) -> Layout {
        self.table.layout()
    }

    /// Returns the segment table, whose elements are
    /// [`Segment`](gpu_kernels::extendible::Segment)s.
    pub fn segments(&self) -> &Buffer<u64> {
        &self.table.segments
    }

    /// Returns the addresses of the pages of buckets.
    pub fn page_addresses(&self) -> &Buffer<u64> {
        &self.table.page_addresses
    }

    /// Returns the memory into which the addresses point: the pages and the bucket tables.
    pub fn memory(&self) -> impl Iterator<Item = &Buffer<u64>> {
        self.table.pages.chunks().iter().chain(self.table.tables.chunks())
    }

    /// Removes all keys, and frees the memory that an initial map does not have.
    fn clear_all(&mut self, stream: &Stream) -> Result<()> {
        stream.check_device(&self.device)?;
        self.length = 0;
        let cleared = self.table.clear(stream);
        self.broken = cleared.clone().err();
        self.unmerged = false;
        cleared
    }

    /// Moves the buckets next to each other if there is capacity for more than `times` as many
    /// buckets.
    fn pack(&mut self, stream: &Stream, times: usize) -> Result<()> {
        if self.table.is_spacious(times)
            && let Some(packed) = table::unless_out_of_memory(self.table.packed(stream))?
        {
            self.table = packed;
        }
        Ok(())
    }
}

impl<K: KeyWord, V: ValueWord> ReadTable<K, V> for ExtendibleTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    fn check_usable(&self) -> Result<()> {
        self.check()
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, V>) -> Result<()> {
        self.check()?;
        let plan = FindParams { layout: self.table.layout(), queries: queries.len() as u64 };
        stream.batch(|batch| {
            let Lists { segments, pages } = self.table.read(batch);
            let (queries, found) = (batch.read(queries), batch.write(found));
            // SAFETY: the kernel's documentation allows null values.
            let values = unsafe { batch.write_or_null(values) };
            let find = Find::<K, V> { queries, segments, pages, values, found, plan };
            // SAFETY: the caller guarantees the outputs. The table is valid. Nothing changes it
            // meanwhile, because writers wait for this launch.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64> {
        self.check()?;
        let Some(values) = values else { return Ok(0) };
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let plan = UnpackParams { layout: self.table.layout(), used: self.table.used, capacity: keys.len() as u64 };
        stream.batch(|batch| {
            let unpack = Unpack::<K, V> {
                pages: self.table.read(batch).pages,
                keys_out: batch.write(keys),
                values_out: batch.write(values),
                count: batch.write(&count),
                plan,
            };
            // SAFETY: the caller guarantees outputs with the plan's capacity, and the table is
            // valid.
            unsafe { batch.launch(&unpack, plan.used * self.table.shape.slots::<K, V>()) }
        })?;
        count.download_at(stream, 0)
    }
}

impl<K: KeyWord, V: ValueWord> RawTable<K, V> for ExtendibleTable<K, V> {
    type Ref = ExtendibleRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> ExtendibleRef<K, V> {
        if let Err(error) = self.check() {
            uses.batch().fail(error);
        }
        let Lists { segments, pages } = self.table.read(uses.batch());
        ExtendibleRef::new(segments, pages, self.table.layout())
    }

    /// Copies the table to as little memory as it needs.
    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        self.check()?;
        let (table, work) = (self.table.packed(stream)?, work::Work::new(&self.device)?);
        let (device, config) = (self.device.clone(), self.config.clone());
        Ok(Self { device, config, table, length: self.length, broken: None, unmerged: self.unmerged, work })
    }

    /// Frees the scratch memory of batches, and the memory of buckets that are no longer in use. If
    /// there is no memory to which the buckets can move, they stay where they are.
    fn shrink_to_fit(&mut self) -> Result<()> {
        self.work = work::Work::new(&self.device)?;
        let device = self.device.clone();
        self.recover(device.default_stream())?;
        // Earlier removals may have lacked the memory to shrink the directory.
        self.shrink_directory(device.default_stream())?;
        self.pack(device.default_stream(), 1)
    }
}

impl Changes for Extendible {
    fn create<K: KeyWord, P: Payload>(
        config: ExtendibleConfig,
        device: &Device,
    ) -> Result<ExtendibleTable<K, WordOf<P>>> {
        ExtendibleTable::new(config, device)
    }

    fn insert<K: KeyWord, P: Payload>(
        table: &mut ExtendibleTable<K, WordOf<P>>,
        stream: &Stream,
        input: Input<'_, K, P>,
    ) -> Result<u64> {
        // There are no extendible sets.
        let Some(values) = input.values else { return Ok(0) };
        table.insert_pairs(stream, input.keys, values)
    }

    unsafe fn remove<K: KeyWord, P: Payload>(
        table: &mut ExtendibleTable<K, WordOf<P>>,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, WordOf<P>>>,
    ) -> Result<u64> {
        if let Some((Some(values), found)) = outputs {
            // SAFETY: the caller guarantees the outputs.
            return unsafe { table.remove_keys(stream, keys, values, found) };
        }
        let answers = Answers::uninitialized(&table.device, keys.len())?;
        // SAFETY: there is an answer for each key, and nothing else uses the answers.
        unsafe { table.remove_keys(stream, keys, &answers.values, &answers.found) }
    }

    fn clear<K: KeyWord, P: Payload>(table: &mut ExtendibleTable<K, WordOf<P>>, stream: &Stream) -> Result<()> {
        table.clear_all(stream)
    }
}
