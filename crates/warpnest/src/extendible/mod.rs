//! The extendible table, of [`ExtendibleMap`], which grows and shrinks bucket by bucket.
//! docs/extendible.md describes layout, algorithm, guarantees and figures.
//!
//! Read `shape` for the sizes and `table` for the memory, in which `pool` gives units and
//! `directory` knows buckets by them. `insert` and `remove` are the batches, in buffers of `work`.
//! `directory` decides what splits and merges, and needs no device, so it is tested without one.
//!
//! Kernels read addresses of pages and bucket tables from memory (`Global::at_address`), so a
//! launch records all chunks of the pools.

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
/// points to bucket tables, which segments share, and these point to buckets. A batch of insertions
/// is planned before anything moves. Buckets that it would overflow are split as often as
/// necessary, and the directory grows where it must.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** in one batch: the last pair in input order wins.
/// * **Complexity.** A lookup reads an entry of the segment table, one of a bucket table, and a
///   line of 64 bytes of the bucket, rarely two. A batch of insertions is sorted, and each of its
///   records is written once. The records of a bucket that splits are moved once.
/// * **Memory.** Buckets are filled to ln 2 on average. They alone take 13.3 bytes a pair with 32
///   bits each, and 26.3 with keys or values of 64 bits. A map that has grown, with its directory
///   and with memory for later buckets, was measured at 15.8 to 18.7 bytes a pair, and at 35.6 with
///   64 bits each. Besides, a batch takes memory to work in
///   ([`ExtendibleTable::batch_scratch_bytes`]). That memory stays for the next one
///   ([`BulkMap::shrink_to_fit`] gives it back).
/// * **A batch that fails** for lack of memory, or because too many of its keys have the same first
///   bits of their hashes, has changed nothing. After any other error in the middle of a change the
///   map is empty, and the error is [`Error::Emptied`].
/// * **Concurrent use.** Lookups change nothing, so any number of streams may look up at the same
///   time. Batches that change the map take it exclusively, and wait for running lookups by
///   themselves.
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
    /// The reason why the table is not whole, if it is not.
    broken: Option<Error>,
    /// Whether a removal lacked the memory to merge buckets, or to make the directory smaller after
    /// that.
    unmerged: bool,
    work: work::Work<K, V>,
}

/// The kernels of a map, by the part of their names after `extendible_`: those for every type, and
/// those for one pair of types. One more, which merges, is for one type of keys.
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

    /// Loads the kernels of such a map. One that is loaded in the middle of a change takes memory,
    /// and there may be none.
    fn load_kernels(device: &Device) -> Result<()> {
        let [untyped, typed] = KERNELS;
        let typed = typed.iter().map(|kernel| format!("{kernel}_u{}_u{}", K::BITS, V::BITS));
        let around = format!("merge_around_u{}", K::BITS);
        for kernel in untyped.iter().map(|&kernel| kernel.to_owned()).chain(typed).chain([around]) {
            device.engine().load_kernel(&format!("extendible_{kernel}"))?;
        }
        Ok(())
    }

    /// Fails if the table is not whole.
    fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Does work that changes the table; if that fails in the middle, the map is empty.
    fn change<R>(&mut self, stream: &Stream, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let done = work(self).map_err(|source| Error::Emptied { source: Box::new(source) });
        if let Err(error) = &done {
            self.broken = Some(error.clone());
            // If this fails too, lookups return the error, and the next change tries again.
            let _ = self.recover(stream);
        }
        done
    }

    /// Replaces a table that is not whole by an empty one.
    fn recover(&mut self, stream: &Stream) -> Result<()> {
        if self.broken.is_some() {
            self.clear_all(stream)?;
        }
        Ok(())
    }

    /// Returns the most bytes that a batch of `pairs` insertions takes now besides its input and
    /// the map, at the size that the map has then. Bytes that the map keeps for the batch are
    /// included. [`ExtendibleConfig::batch_scratch_bytes`] says for which keys this holds. A
    /// directory that is already deeper is assumed to stay so.
    ///
    /// # Errors
    /// [`InputError::TooManyItems`](crate::InputError::TooManyItems).
    pub fn batch_scratch_bytes(&self, pairs: usize) -> Result<usize> {
        let (table, pairs) = (&self.table, pairs as u64);
        let (records, buckets) = (self.length.saturating_add(pairs), table.buckets());
        let batch = work::Batch { pairs, records, buckets, depth: table.directory.depth(), lists: table.list_bytes() };
        Ok(batch.scratch_bytes::<K, V>(&table.shape, self.work.kept())? as usize)
    }

    /// Returns how the table hashes and is divided, for a lookup kernel of your own: with
    /// [`ExtendibleTable::segments`] and [`ExtendibleTable::page_addresses`] it makes a
    /// [`Table`](gpu_kernels::extendible::Table). A launch must also record all of
    /// [`ExtendibleTable::memory`], with [`Uses::reads`](crate::low_level::Uses::reads).
    pub fn layout(&self) -> Layout {
        self.table.layout()
    }

    /// Returns the segment table: [`Segment`](gpu_kernels::extendible::Segment)s.
    pub fn segments(&self) -> &Buffer<u64> {
        &self.table.segments
    }

    /// Returns the addresses of the pages of buckets.
    pub fn page_addresses(&self) -> &Buffer<u64> {
        &self.table.page_addresses
    }

    /// Returns the memory that addresses point into: the pages' memory, and the memory of the
    /// bucket tables.
    pub fn memory(&self) -> impl Iterator<Item = &Buffer<u64>> {
        self.table.pages.chunks().iter().chain(self.table.tables.chunks())
    }

    /// Removes all keys, and gives back the memory that the map did not have at the beginning.
    fn clear_all(&mut self, stream: &Stream) -> Result<()> {
        stream.check_device(&self.device)?;
        self.length = 0;
        let cleared = self.table.clear(stream);
        self.broken = cleared.clone().err();
        self.unmerged = false;
        cleared
    }

    /// Moves the buckets next to each other if there is capacity for more than `times` as many.
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
            // SAFETY: the kernel's documentation allows no values.
            let values = unsafe { batch.write_or_null(values) };
            let find = Find::<K, V> { queries, segments, pages, values, found, plan };
            // SAFETY: the caller guarantees the outputs. The table is whole. Nobody changes it,
            // since the launch reads it and whatever writes it waits.
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
            // SAFETY: the caller guarantees the outputs, whose capacity the plan has; the table is
            // whole.
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

    /// Copies the table in as little memory as it needs.
    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        self.check()?;
        let (table, work) = (self.table.packed(stream)?, work::Work::new(&self.device)?);
        let (device, config) = (self.device.clone(), self.config.clone());
        Ok(Self { device, config, table, length: self.length, broken: None, unmerged: self.unmerged, work })
    }

    /// Gives back the memory that batches work in, and the memory of buckets that are no longer
    /// there. If there is no memory to move buckets to, they stay where they are.
    fn shrink_to_fit(&mut self) -> Result<()> {
        self.work = work::Work::new(&self.device)?;
        let device = self.device.clone();
        self.recover(device.default_stream())?;
        // Removals that lacked the memory for it may have left the directory deeper than necessary.
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
        // SAFETY: there is an answer for each key, and nobody else has them.
        unsafe { table.remove_keys(stream, keys, &answers.values, &answers.found) }
    }

    fn clear<K: KeyWord, P: Payload>(table: &mut ExtendibleTable<K, WordOf<P>>, stream: &Stream) -> Result<()> {
        table.clear_all(stream)
    }
}
