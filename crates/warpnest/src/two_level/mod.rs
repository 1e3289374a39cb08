//! The two-level FKS-cuckoo map of 2009, [`TwoLevelMap`]. docs/two-level.md describes layout,
//! algorithm, guarantees and figures.

mod build;
mod config;
mod id_table;

pub use build::{TwoLevelReport, TwoLevelStages};
pub use config::TwoLevelConfig;

use crate::primitives::Scratch;
use crate::{Buffer, Device, Key, Result, Stream, Tracked, Value};
use gpu_kernels::seam::Global;
use gpu_kernels::table::slots::{EMPTY, Slots, packed, slot_words};
use gpu_kernels::two_level::{Find, FindParams, Histogram, Layout, MAX_SUB_TABLES, header};
use gpu_kernels::types::Scalar;
use std::marker::PhantomData;

/// A map that is built by sorting its pairs into small buckets and building each bucket on chip. It
/// answers every lookup with at most as many probes as a bucket has sub-tables (2 to 4; by default
/// 3).
///
/// Source: Alcantara et al., *Real-Time Parallel Hashing on the GPU* (2009); Sahu, *Two Phase
/// Cuckoo's Hashing on GPU* (2015).
///
/// * **Keys and values** are `u32` or `u64`; all values of these types are legal.
/// * **Repeated keys** end as in `HashMap::from_iter`: the last pair in input order wins. If so
///   many copies of a key are there that a bucket overflows, all pairs are sorted.
///   [`TwoLevelConfig::assume_unique`] never does that.
/// * **Complexity.** A build reads and writes every pair a fixed number of times, in streams. One
///   to three passes order the pairs by bucket (none if there is one bucket), and one builds the
///   buckets. A lookup makes between one and as many random accesses as there are sub-tables. It
///   makes one more into the buckets' seeds, which are few enough for the cache.
/// * **Memory.** By default a map takes 576 slots for each 390 to 409 pairs, of 8 bytes for `u32`
///   keys and values and 16 otherwise. Each bucket takes 4 bytes more.
///   [`TwoLevelConfig::memory_bytes`] says so beforehand, and [`TwoLevelConfig::scratch_bytes`]
///   what a build takes besides.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up at the same time. [`TwoLevelMap::rebuild`] takes the map exclusively and waits for running
///   lookups by itself.
#[derive(Debug)]
pub struct TwoLevelMap<K: Key, V: Value> {
    device: Device,
    config: TwoLevelConfig,
    layout: Layout,
    words: Buffer<u64>,
    seeds: Buffer<u32>,
    header: Buffer<u64>,
    scratch: Scratch,
    length: u64,
    report: TwoLevelReport,
    types: PhantomData<(K, V)>,
}

crate::table::lookup::lookup_methods!(TwoLevelMap);

impl<K: Key, V: Value> TwoLevelMap<K, V> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration;
    /// [`TwoLevelConfig::build`] takes another.
    ///
    /// ```
    /// use warpnest::{Device, TwoLevelMap};
    ///
    /// let device = Device::best()?;
    /// let map: TwoLevelMap<u32, u32> = TwoLevelMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
    /// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`TwoLevelConfig::build`].
    pub fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self> {
        TwoLevelConfig::default().build(device, keys, values)
    }

    /// Queues a lookup; `values` may be null.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for every 32 of them. The
    /// launch writes `writes`.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<V>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        let find = Find::<K, V> {
            queries: queries.argument(),
            words: self.words.argument(),
            seeds: self.seeds.argument(),
            header: self.header.argument(),
            values,
            found: found.argument(),
            plan: FindParams { layout: self.layout, queries: queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 4] = [queries, &self.words, &self.seeds, &self.header];
        // SAFETY: there are as many values, if any, as queries, and a found-word for every 32 of
        // them. The table and its layout belong together.
        unsafe { stream.launch(&find, queries.len() as u64, &reads, writes) }
    }

    /// Returns how the table hashes, for a kernel of your own: with [`TwoLevelMap::words`] and
    /// [`TwoLevelMap::seeds`] it makes a [`Table`](gpu_kernels::two_level::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the slots, of [`slot_words`] words each, and perhaps some more words that the table
    /// does not use.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the seeds, one for each bucket.
    pub fn seeds(&self) -> &Buffer<u32> {
        &self.seeds
    }

    /// Returns the words beside the slots, which [`header`] names.
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }

    /// Returns the number of keys. With [`TwoLevelConfig::assume_unique`], it is the number of
    /// pairs that the map was built from.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the number of buckets.
    pub fn buckets(&self) -> u64 {
        self.layout.buckets.slots() as u64
    }

    /// Returns the number of slots of all buckets.
    pub fn slots(&self) -> u64 {
        self.buckets() * self.layout.bucket_slots() as u64
    }

    /// Returns the bytes that the map takes on the device, without the scratch that
    /// [`TwoLevelMap::rebuild`] may have left.
    pub fn memory_bytes(&self) -> u64 {
        8 * (self.words.len() as u64 + self.header.len() as u64) + 4 * self.seeds.len() as u64
    }

    /// Gives back the scratch of rebuilds. The next rebuild allocates it again.
    pub fn shrink_to_fit(&mut self) {
        self.scratch.release();
    }

    /// Returns the device that the map is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns how the build went.
    pub fn report(&self) -> &TwoLevelReport {
        &self.report
    }

    /// Copies the map on the same device; the copy is made on `stream`, and has no scratch.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self {
            device: self.device.clone(),
            config: self.config.clone(),
            layout: self.layout,
            words: self.words.duplicate(stream, &self.device)?,
            seeds: self.seeds.duplicate(stream, &self.device)?,
            header: self.header.duplicate(stream, &self.device)?,
            scratch: Scratch::new(&self.device),
            length: self.length,
            report: self.report.clone(),
            types: PhantomData,
        })
    }

    /// Counts the keys that a lookup finds with its first probe, its second, and so on: one number
    /// for each sub-table. A key in the cell beside the slots is not counted: it takes no probe.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_histogram(&self) -> Result<Vec<u64>> {
        let stream = self.device.default_stream();
        let probes = Buffer::<u64>::zeroed(&self.device, MAX_SUB_TABLES)?;
        let histogram =
            Histogram::<K, V> { words: self.words.argument(), probes: probes.argument(), layout: self.layout };
        // SAFETY: the table and its layout belong together; there is a word for each sub-table.
        unsafe { stream.launch(&histogram, self.slots(), &[&self.words], &[&probes])? };
        let mut probes = probes.download(stream)?;
        probes.truncate(self.layout.slot_hashes.count() as usize);
        Ok(probes)
    }

    /// Returns all pairs, in no particular order. Copies the whole table to the host.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, V)>> {
        let stream = self.device.default_stream();
        let slot_words = slot_words::<K, V>() as usize;
        let words = self.words.download_front(stream, self.slots() as usize * slot_words)?;
        let header = self.header.download(stream)?;
        let cell = (header[header::CELL as usize] != 0)
            .then(|| (K::ALL_ONES, V::from_u64(header[header::CELL_VALUE as usize])));
        let pairs = words.chunks_exact(slot_words).filter(|slot| slot[0] != EMPTY).map(|slot| {
            let value = if packed::<K, V>() { slot[0] & u32::MAX as u64 } else { slot[1] };
            (Slots::<K, V>::key_of(Scalar::from_u64(slot[0])), V::from_u64(value))
        });
        Ok(cell.into_iter().chain(pairs).collect())
    }
}
