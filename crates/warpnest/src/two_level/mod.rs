//! The two-level FKS-cuckoo table of 2009, for [`TwoLevelMap`]. docs/two-level.md describes layout,
//! algorithm, guarantees and figures.
//!
//! Read `config` for the sizes, then `build`, whose report is in `report`.

mod build;
mod config;
mod file;
mod report;

pub use config::{TwoLevel, TwoLevelConfig};
pub use report::{TwoLevelReport, TwoLevelStages};

use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::design::{Counted, Design, Seeded, Staged};
use crate::table::probes::ProbeLengths;
use crate::table::raw::{Outputs, RawTable, ReadTable, sealed::Sealed};
use crate::table::slots::write_slots;
use crate::{Buffer, BulkMap, Config, Device, Result, Stream};
use gpu_kernels::cuckoo::UnpackParams;
use gpu_kernels::refs::TwoLevelRef;
use gpu_kernels::two_level::{Find, FindParams, Histogram, Layout, MAX_SUB_TABLES};
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use std::marker::PhantomData;

/// A map that is built by sorting its pairs into small buckets and building each bucket on chip. It
/// answers every lookup with at most one probe for each sub-table of a bucket. A bucket has 2 to 4
/// sub-tables, and 3 by default.
///
/// Source: Alcantara et al., *Real-Time Parallel Hashing on the GPU* (2009); Sahu, *Two Phase
/// Cuckoo's Hashing on GPU* (2015).
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** are handled as in `HashMap::from_iter`: the last pair in input order wins.
///   If a key has so many copies that a bucket overflows, the build needs at least one restart, and
///   all pairs are sorted. With [`Config::assume_unique`] they are never sorted. If a key is
///   repeated nevertheless, the build succeeds unless copies make a bucket overflow, and
///   [`BulkMap::len`] counts the key several times.
/// * **Complexity.** A build reads and writes every pair a fixed number of times, sequentially. One
///   to three passes sort the pairs by bucket (none if there is one bucket), and one pass builds
///   the buckets. A lookup makes at least one random access, and at most one for each sub-table. It
///   also reads the bucket's seed, and all seeds together fit the cache.
/// * **Memory.** By default a map takes 576 slots for each 390 to 409 pairs. A slot has 8 bytes for
///   `u32` keys and values, and 16 bytes otherwise. Each bucket takes 4 bytes more.
///   [`Config::memory_bytes`] returns beforehand what a map takes, and [`Config::scratch_bytes`]
///   what a build takes in addition. A build that has to sort because of repeated keys takes more
///   meanwhile: two copies of the pairs, and the scratch of
///   [`sort_pairs`](crate::primitives::sort_pairs).
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up keys at the same time. [`BulkMap::rebuild`] needs exclusive access to the map, and waits
///   for running lookups.
///
/// ```
/// use warpnest::{Device, TwoLevelMap};
///
/// let device = Device::best()?;
/// let map: TwoLevelMap<u32, u32> = TwoLevelMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
/// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
pub type TwoLevelMap<K, V> = BulkMap<K, V, TwoLevel>;

impl Sealed for TwoLevel {}
impl Design for TwoLevel {
    const NAME: &'static str = "TwoLevel";
    type Table<K: KeyWord, P: Payload> = TwoLevelTable<K, WordOf<P>>;
}
impl Seeded for TwoLevel {}
impl Staged for TwoLevel {}
impl Counted for TwoLevel {}

/// The table of a [`TwoLevelMap`].
#[derive(Debug)]
pub struct TwoLevelTable<K: KeyWord, V: ValueWord> {
    device: Device,
    config: Config<TwoLevel>,
    layout: Layout,
    words: Buffer<u64>,
    seeds: Buffer<u32>,
    header: Buffer<u64>,
    scratch: Scratch,
    length: u64,
    report: TwoLevelReport,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: ValueWord> TwoLevelTable<K, V> {
    /// Returns the table's layout and hash constants, for a kernel of your own. With
    /// [`TwoLevelTable::words`] and [`TwoLevelTable::seeds`] it makes a
    /// [`Table`](gpu_kernels::two_level::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the slots, which have [`slot_words`](gpu_kernels::table::slots::slot_words) words
    /// each, possibly followed by words that the table does not use.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the seeds, one for each bucket.
    pub fn seeds(&self) -> &Buffer<u32> {
        &self.seeds
    }

    /// Returns the header, whose words are listed in [`header`](gpu_kernels::two_level::header).
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }

    /// Returns the count of buckets.
    pub fn buckets(&self) -> u64 {
        self.layout.buckets.slots() as u64
    }

    /// Returns the count of words that the buckets take, including the padding that builds need.
    fn words_in_use(&self) -> usize {
        self.config.words::<K, V>(self.buckets()) as usize
    }

    /// Returns the count of slots in all buckets.
    pub fn slots(&self) -> u64 {
        self.buckets() * self.layout.bucket_slots() as u64
    }

    /// Measures the probes of lookups of present keys, at most one for each sub-table. Waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_lengths(&self) -> Result<ProbeLengths> {
        let stream = self.device.default_stream();
        let probes = Buffer::<u64>::zeroed(&self.device, MAX_SUB_TABLES)?;
        stream.batch(|batch| {
            let (words, probes) = (batch.read(&self.words).cast(), batch.write(&probes));
            let histogram = Histogram::<K, V> { words, probes, layout: self.layout };
            // SAFETY: the table and its layout belong together, and there is a word for each
            // sub-table.
            unsafe { batch.launch(&histogram, self.slots()) }
        })?;
        Ok(ProbeLengths::of_probes(&probes.download(stream)?[..self.layout.slot_hashes.count() as usize]))
    }
}

impl<K: KeyWord, V: ValueWord> ReadTable<K, V> for TwoLevelTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn memory_bytes(&self) -> u64 {
        8 * (self.words.len() as u64 + self.header.len() as u64) + 4 * self.seeds.len() as u64
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, V>) -> Result<()> {
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
                seeds: batch.read(&self.seeds),
                header: batch.read(&self.header),
                // SAFETY: the kernel's documentation allows null values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. The table and its layout belong together.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64> {
        // There are no copies, because copies of a key move through a bucket together into one
        // slot.
        let (slots, capacity) = (self.slots(), keys.len() as u64);
        let plan = UnpackParams { functions: self.layout.buckets, slots, capacity, copies: 0, padding: 0 };
        // SAFETY: the caller guarantees the outputs. The table and its layout belong together.
        unsafe { write_slots::<K, V>((stream, &self.device), (&self.words, &self.header), plan, keys, values) }
    }
}

impl<K: KeyWord, V: ValueWord> RawTable<K, V> for TwoLevelTable<K, V> {
    type Ref = TwoLevelRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> TwoLevelRef<K, V> {
        let (words, seeds) = (uses.read(&self.words).cast(), uses.read(&self.seeds));
        TwoLevelRef::new(words, seeds, uses.read(&self.header), self.layout)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self {
            device: self.device.clone(),
            config: self.config.clone(),
            layout: self.layout,
            words: self.words.duplicate_front(stream, &self.device, self.words_in_use())?,
            seeds: self.seeds.duplicate_front(stream, &self.device, self.buckets() as usize)?,
            header: self.header.duplicate(stream, &self.device)?,
            scratch: Scratch::new(&self.device),
            length: self.length,
            report: self.report.clone(),
            types: PhantomData,
        })
    }

    fn shrink_to_fit(&mut self) -> Result<()> {
        self.scratch.release();
        if self.length == 0 {
            return self.shrink_empty();
        }
        let stream = self.device.default_stream();
        // Both buffers are copied before one is replaced. If the second copy fails, the map is
        // unchanged.
        let words = self.words.shrunk(stream, &self.device, self.words_in_use())?;
        let seeds = self.seeds.shrunk(stream, &self.device, self.buckets() as usize)?;
        words.into_iter().for_each(|words| self.words = words);
        seeds.into_iter().for_each(|seeds| self.seeds = seeds);
        Ok(())
    }
}
