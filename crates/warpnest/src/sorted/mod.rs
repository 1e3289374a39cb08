//! The sorted map, [`SortedMap`]: a sorted array, binary search, and an index for it.
//! docs/sorted.md describes layout, algorithm and guarantees.

mod build;
mod config;
mod ranges;

pub use build::{SortedReport, SortedStages};
pub use config::SortedConfig;

use crate::primitives::Scratch;
use crate::{Buffer, Device, Key, Result, Stream, Tracked, Value};
use gpu_kernels::seam::Global;
use gpu_kernels::sorted::{Find, FindParams, Layout};

/// A map that is sorted by key in one go, and answers lookups by binary search. It also answers
/// what a hash table cannot: the rank of a key, and what lies between two keys.
///
/// Source: the sorted array that Alcantara et al. compare their table with (*Building an Efficient
/// Hash Table on the GPU*, 2011, section 4.5.1). The index for its searches is that of Rao and
/// Ross, *Cache Conscious Indexing for Decision-Support in Main Memory*, 1999.
///
/// * **Keys and values** are `u32` or `u64`; all values of these types are legal.
/// * **Order.** The pairs are in the order of their keys; [`SortedMap::to_pairs`] and all other
///   methods return them so. A *rank* is the number of pairs before a pair in this order.
/// * **Repeated keys** end as in `BTreeMap::from_iter`: the last pair in input order wins.
///   [`SortedConfig::assume_unique`] promises that there are none.
/// * **Complexity.** A build reads and writes every pair once for each 8 bits of the key, in
///   streams, and once more to leave out repeated keys. A lookup compares the key with about lg n
///   others, in groups of 16 neighbours: one group for each 4 steps. docs/sorted.md counts the
///   lines.
/// * **Memory.** A map takes the memory of its pairs, and of one key more for each 15.
///   [`SortedConfig::memory_bytes`] and [`SortedConfig::scratch_bytes`] say beforehand what it
///   takes.
/// * **Two builds of the same pairs** give the same map, word for word.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up at the same time. [`SortedMap::rebuild`] takes the map exclusively and waits for running
///   lookups by itself.
///
/// ```
/// use warpnest::{Device, SortedMap};
///
/// let device = Device::best()?;
/// let map: SortedMap<u32, u32> = SortedMap::build(&device, &[30, 10, 20, 10], &[1, 2, 3, 4])?;
/// assert_eq!(map.to_pairs()?, [(10, 4), (20, 3), (30, 1)]);
/// assert_eq!(map.get_many(&[10, 11])?, [Some(4), None]);
///
/// // How many keys are below each of these, and how many are not above it.
/// assert_eq!(map.lower_bound_many(&[10, 11, 40])?, [0, 1, 3]);
/// assert_eq!(map.upper_bound_many(&[10, 11, 40])?, [1, 1, 3]);
///
/// assert_eq!(map.range(15..=30)?, 1..3);
/// assert_eq!(map.range_pairs(15..=30)?, [(20, 3), (30, 1)]);
/// assert_eq!(map.count_ranges_many(&[0..30, 10..11])?, [2, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Debug)]
pub struct SortedMap<K: Key, V: Value> {
    device: Device,
    config: SortedConfig,
    layout: Layout,
    keys: Buffer<K>,
    values: Buffer<V>,
    scratch: Scratch,
    report: SortedReport,
}

crate::table::lookup::lookup_methods!(SortedMap);

impl<K: Key, V: Value> SortedMap<K, V> {
    /// Builds a map of `keys[i]` to `values[i]` with the default configuration;
    /// [`SortedConfig::build`] takes another.
    ///
    /// # Errors
    /// As for [`SortedConfig::build`].
    pub fn build(device: &Device, keys: &[K], values: &[V]) -> Result<Self> {
        SortedConfig::default().build(device, keys, values)
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
            keys: self.keys.argument(),
            values: self.values.argument(),
            values_out: values,
            found: found.argument(),
            plan: FindParams { layout: self.layout, queries: queries.len() as u64 },
        };
        let reads: [&dyn Tracked; 3] = [queries, &self.keys, &self.values];
        // SAFETY: there are as many values, if any, as queries, and a found-word for every 32 of
        // them. The keys and their layout belong together.
        unsafe { stream.launch(&find, queries.len() as u64, &reads, writes) }
    }

    /// Returns how the keys and their index are laid out, for a kernel of your own: with
    /// [`SortedMap::keys`] it makes a [`Table`](gpu_kernels::sorted::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the keys in their order, the first [`SortedMap::len`] elements. The index follows
    /// them, and perhaps some more.
    pub fn keys(&self) -> &Buffer<K> {
        &self.keys
    }

    /// Returns the values in the order of their keys, the first [`SortedMap::len`] elements, and
    /// perhaps some more.
    pub fn values(&self) -> &Buffer<V> {
        &self.values
    }

    /// Returns the number of keys. With [`SortedConfig::assume_unique`], it is the number of pairs
    /// that the map was built from.
    pub fn len(&self) -> u64 {
        self.layout.keys
    }

    /// Returns whether the map has no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes that the map takes on the device, without the scratch that
    /// [`SortedMap::rebuild`] may have left.
    pub fn memory_bytes(&self) -> u64 {
        config::bytes::<K, V>(self.keys.len() as u64, self.values.len() as u64)
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
    pub fn report(&self) -> &SortedReport {
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
            keys: self.keys.duplicate(stream, &self.device)?,
            values: self.values.duplicate(stream, &self.device)?,
            scratch: Scratch::new(&self.device),
            report: self.report.clone(),
        })
    }

    /// Queues a copy of all pairs, in the order of their keys, to `keys` and `values`.
    ///
    /// # Errors
    /// [`Error::LengthsDiffer`](crate::Error::LengthsDiffer) unless both have [`SortedMap::len`]
    /// elements, [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn pairs_into(&self, stream: &Stream, keys: &mut Buffer<K>, values: &mut Buffer<V>) -> Result<()> {
        crate::error::same_length(("the map", self.len() as usize), ("the keys", keys.len()))?;
        crate::error::same_length(("the map", self.len() as usize), ("the values", values.len()))?;
        self.pairs_at_into(stream, 0..self.len() as u32, keys, values)
    }

    /// Returns all pairs, in the order of their keys.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, V)>> {
        self.pairs_at(0..self.len() as u32)
    }
}
