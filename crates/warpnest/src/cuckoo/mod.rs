//! The single-level cuckoo map of 2011, [`CuckooMap`], and [`CuckooSet`], the same table without
//! values. docs/cuckoo.md describes layout, algorithm, guarantees and figures.

mod build;
mod config;
mod id_table;
mod set;

pub use build::{CuckooReport, EvictionChains};
pub use config::CuckooConfig;
pub use set::{CuckooSet, CuckooSetConfig};

use crate::{Buffer, Device, Key, Result, Stream, Tracked, Value};
use gpu_kernels::cuckoo::{EMPTY, Find, FindParams, Histogram, Slot, header, packed, slot_words};
use gpu_kernels::hash::{HashFunctions, MAX_FUNCTIONS};
use gpu_kernels::seam::Global;
use gpu_kernels::types::{Payload, WordOf};
use std::marker::PhantomData;

/// A map that is built in one go and then answers every lookup with at most as many probes as it
/// has hash functions (2 to 5; by default 4).
///
/// Source: Alcantara et al., *Building an Efficient Hash Table on the GPU*, GPU Computing Gems,
/// Jade edition (2011), chapter 4, sections 4.2 and 4.3.
///
/// * **Keys and values** are `u32` or `u64`; all values of these types are legal.
/// * **Repeated keys** end as in `HashMap::from_iter`: the last pair in input order wins.
///   [`CuckooConfig::assume_unique`] omits that work.
/// * **Complexity.** A build makes about `-m·ln(1 - n/m)` random accesses for n pairs in m slots
///   (section 4.5.3). That is 2 n by default, and more near the largest load factors. A lookup
///   makes between one and as many accesses as there are hash functions.
/// * **Memory.** A slot takes 8 bytes for `u32` keys and values and 16 otherwise; a map takes 72
///   more. [`CuckooConfig::memory_bytes`] says so beforehand. A build that meets repeated keys
///   takes 4 more bytes a slot while it runs.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up at the same time. [`CuckooMap::rebuild`] takes the map exclusively and waits for running
///   lookups by itself.
#[derive(Debug)]
pub struct CuckooMap<K: Key, V: Payload> {
    device: Device,
    config: CuckooConfig,
    functions: HashFunctions,
    words: Buffer<u64>,
    header: Buffer<u64>,
    length: u64,
    report: CuckooReport,
    types: PhantomData<(K, V)>,
}

crate::table::lookup::lookup_methods!(CuckooMap);

impl<K: Key, V: Value> CuckooMap<K, V> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration;
    /// [`CuckooConfig::build`] takes another.
    ///
    /// ```
    /// use warpnest::{CuckooMap, Device};
    ///
    /// let device = Device::best()?;
    /// let map: CuckooMap<u32, u32> = CuckooMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
    /// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`CuckooConfig::build`].
    pub fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self> {
        CuckooConfig::default().build(device, keys, values)
    }

    /// Returns all pairs, in no particular order. Copies the whole table to the host.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, V)>> {
        let stream = self.device.default_stream();
        let (words, header) = (self.words.download(stream)?, self.header.download(stream)?);
        let cell = (header[header::CELL as usize] != 0)
            .then(|| (K::ALL_ONES, V::from_u64(header[header::CELL_VALUE as usize])));
        let slots = slot_words::<K, V>() as usize;
        let key_at = |slot: u32| match words[slot as usize * slots] {
            EMPTY => None,
            word => Some(K::from_u64(if packed::<K, V>() { word >> 32 } else { word })),
        };
        let pairs = (0..self.functions.slots()).filter_map(|slot| {
            let key = key_at(slot)?;
            // There may be copies of a repeated key in several slots; lookups find the one of the
            // earliest function.
            let found = self.functions.search(key, |slot| (key_at(slot) == Some(key)).then_some(slot));
            let word = words[slot as usize * slots + slots - 1];
            (found == Some(slot)).then(|| (key, V::from_u64(word)))
        });
        Ok(cell.into_iter().chain(pairs).collect())
    }
}

impl<K: Key, V: Payload> CuckooMap<K, V> {
    /// Queues a lookup; `values` may be null.
    ///
    /// # Safety
    /// There are as many values, if any, as queries, and a found-word for every 32 of them. The
    /// launch writes `writes`.
    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Global<WordOf<V>>,
        found: &Buffer<u32>,
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        let find = Find::<K, V> {
            queries: queries.argument(),
            words: self.slots_pointer(),
            header: self.header.argument(),
            values,
            found: found.argument(),
            plan: FindParams { functions: self.functions, queries: queries.len() as u64 },
        };
        // SAFETY: there are as many values, if any, as queries, and a found-word for every 32 of
        // them. The table and its functions belong together.
        unsafe { stream.launch(&find, queries.len() as u64, &[queries, &self.words, &self.header], writes) }
    }

    /// Returns the hash functions of the last build, for a kernel of your own: with
    /// [`CuckooMap::words`] they make a [`Table`](gpu_kernels::cuckoo::Table).
    pub fn functions(&self) -> &HashFunctions {
        &self.functions
    }

    /// Returns the slots, of [`slot_words`] 64-bit words each.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the words beside the slots, which [`header`] names.
    pub fn header(&self) -> &Buffer<u64> {
        &self.header
    }

    fn slots_pointer(&self) -> Global<Slot<K, V>> {
        self.words.argument()
    }

    /// Returns the number of keys. With [`CuckooConfig::assume_unique`], it is the number of pairs
    /// that the map was built from.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> u64 {
        self.functions.slots() as u64
    }

    /// Returns the bytes that the map takes on the device.
    pub fn memory_bytes(&self) -> u64 {
        8 * (self.words.len() as u64 + self.header.len() as u64)
    }

    /// Returns the device that the map is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Copies the map on the same device; the copy is made on `stream`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self {
            device: self.device.clone(),
            config: self.config.clone(),
            functions: self.functions,
            words: self.words.duplicate(stream, &self.device)?,
            header: self.header.duplicate(stream, &self.device)?,
            length: self.length,
            report: self.report.clone(),
            types: PhantomData,
        })
    }

    /// Returns how the build went.
    pub fn report(&self) -> &CuckooReport {
        &self.report
    }

    /// Counts the keys that a lookup finds with its first probe, its second, and so on: one number
    /// for each hash function. A key in the cell beside the slots is not counted: it takes no
    /// probe.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_histogram(&self) -> Result<Vec<u64>> {
        let stream = self.device.default_stream();
        let probes = Buffer::<u64>::zeroed(&self.device, MAX_FUNCTIONS)?;
        let histogram =
            Histogram::<K, V> { words: self.slots_pointer(), probes: probes.argument(), functions: self.functions };
        // SAFETY: the table and its functions belong together; the histogram has a word for each
        // function.
        unsafe { stream.launch(&histogram, self.slots(), &[&self.words], &[&probes])? };
        let mut probes = probes.download(stream)?;
        probes.truncate(self.functions.count() as usize);
        Ok(probes)
    }
}
