//! The page map, [`PageMap`], which is split first and then built in whole pages on chip.
//! docs/page-map.md describes layout, algorithm, guarantees and figures.

mod attempt;
mod build;
mod config;
mod counted;
mod id_table;
pub(crate) mod set;

pub use build::{PageReport, PageStages};
pub use config::PageConfig;

use crate::primitives::Scratch;
use crate::{Buffer, Device, Key, Result, Stream, Tracked, Value};
use gpu_kernels::page::{Find, FindParams, Layout, Unpack, UnpackParams};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{Payload, WordOf};
use std::marker::PhantomData;

/// A map that is built in one go at streaming speed, and answers nearly every lookup, present or
/// absent, with one memory access. It is the map to take unless there is a reason for another.
///
/// Source: the idea of the two-level table (Alcantara et al., *Real-Time Parallel Hashing on the
/// GPU*, 2009) with quotienting (Knuth, *The Art of Computer Programming*, volume 3, section 6.4,
/// exercise 13).
///
/// * **Keys and values** are `u32` or `u64`; all values of these types are legal.
/// * **Repeated keys** end as in `HashMap::from_iter`: the last pair in input order wins.
///   [`PageConfig::assume_unique`] promises that there are none.
/// * **Complexity.** A build reads and writes every pair once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A lookup reads one bucket of 32 bytes
///   (64 if a key or value has 64 bits). In one to five of a hundred cases, and more in small and
///   full tables, it also reads the next bucket; it seldom reads others.
/// * **Memory.** [`PageConfig::load`] says how full the table is. [`PageConfig::memory_bytes`] and
///   [`PageConfig::scratch_bytes`] say beforehand what it takes.
/// * **Two builds of the same pairs** answer every lookup alike. The slots of the pairs, and so the
///   order of [`PageMap::to_pairs`], may differ, also with the same seed.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up at the same time. [`PageMap::rebuild`] takes the map exclusively and waits for running
///   lookups by itself.
#[derive(Debug)]
pub struct PageMap<K: Key, V: Payload> {
    device: Device,
    pub(crate) config: PageConfig,
    layout: Layout,
    words: Buffer<u64>,
    scratch: Scratch,
    length: u64,
    report: PageReport,
    types: PhantomData<(K, V)>,
}

crate::table::lookup::lookup_methods!(PageMap);
crate::table::pairs::pairs_methods!(PageMap);

impl<K: Key, V: Value> PageMap<K, V> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration;
    /// [`PageConfig::build`] takes another.
    ///
    /// ```
    /// use warpnest::{Device, PageMap};
    ///
    /// let device = Device::best()?;
    /// let map: PageMap<u32, u32> = PageMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
    /// assert_eq!(map.len(), 2);
    /// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`PageConfig::build`].
    pub fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self> {
        PageConfig::default().build(device, keys, values)
    }

    fn write_pairs(&self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        self.unpack(stream, keys, Some(values))
    }
}

impl<K: Key, V: Payload> PageMap<K, V> {
    /// Queues a lookup; `values` may be null.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for every 32 of them. The
    /// launch writes `writes`.
    pub(crate) unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<WordOf<V>>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        let find = Find::<K, V> {
            queries: queries.argument(),
            words: self.words.argument(),
            values,
            found: found.argument(),
            plan: FindParams { layout: self.layout, queries: queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 2] = [queries, &self.words];
        // SAFETY: there are as many values, if any, as queries, and a found-word for every 32 of
        // them. The table and its layout belong together.
        unsafe { stream.launch(&find, queries.len() as u64, &reads, writes) }
    }

    /// Returns the number of buckets that may have pairs: none in an empty map, whatever its words
    /// are.
    fn buckets_with_pairs(&self) -> u64 {
        if self.is_empty() { 0 } else { self.layout.buckets() as u64 }
    }

    /// Returns how the table is laid out and how it hashes, for a kernel of your own: with
    /// [`PageMap::words`] it makes a [`Table`](gpu_kernels::page::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the buckets, and perhaps some more words that the table does not use.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the number of keys.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the number of slots of all buckets.
    pub fn slots(&self) -> u64 {
        self.layout.buckets() as u64 * self.layout.slots as u64
    }

    /// Returns the bytes that the map takes on the device, without the scratch that
    /// [`PageMap::rebuild`] may have left.
    pub fn memory_bytes(&self) -> u64 {
        8 * self.words.len() as u64
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
    pub fn report(&self) -> &PageReport {
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
            scratch: Scratch::new(&self.device),
            length: self.length,
            report: self.report.clone(),
            types: PhantomData,
        })
    }

    /// Writes all keys to the front of `keys`, and all values to that of `values`; both are large
    /// enough. `values` is there unless the payload is nothing. Returns when they are written.
    pub(crate) fn unpack(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<WordOf<V>>>) -> Result<()> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        let capacity = values.map_or(keys.len(), |values| values.len().min(keys.len()));
        let unpack = Unpack::<K, V> {
            words: self.words.argument(),
            keys_out: keys.argument(),
            // SAFETY: the kernel's documentation allows null for values if there are keys alone.
            values_out: values.map_or_else(|| unsafe { Global::null() }, Buffer::argument),
            count: count.argument(),
            plan: UnpackParams { layout: self.layout, capacity: capacity as u64 },
        };
        let mut writes: Vec<&dyn Tracked> = vec![keys, &count];
        writes.extend(values.map(|values| values as &dyn Tracked));
        // SAFETY: the outputs have the capacity that the plan says; the table and its layout belong
        // together.
        unsafe { stream.launch(&unpack, self.buckets_with_pairs(), &[&self.words], &writes) }
    }
}
