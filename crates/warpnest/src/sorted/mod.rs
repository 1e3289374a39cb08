//! The table of [`SortedMap`]: a sorted array, binary search, and an index for the search.
//! docs/sort-by-key.md describes layout, algorithm and guarantees.
//!
//! Read `config` for the sizes, then `build`. `ranges` has the operations of sorted maps alone.

mod build;
mod config;
mod file;
mod ranges;
mod report;

pub use config::{Sorted, SortedConfig};
pub use report::{SortedReport, SortedStages};

use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::design::{Design, Staged};
use crate::table::raw::{Outputs, RawTable, ReadTable, sealed::Sealed};
use crate::{Buffer, BulkMap, Config, Device, Result, Stream};
use gpu_kernels::refs::SortedRef;
use gpu_kernels::sorted::{Find, FindParams, Layout};
use gpu_kernels::types::{KeyWord, Payload, ValueWord, WordOf};
use std::ops::Range;

/// A map that is sorted by key in one go, and answers lookups by binary search. It also answers
/// queries that a hash table cannot answer: the rank of a key, and the keys between two keys.
///
/// Source: the sorted array with which Alcantara et al. compare their table (*Building an Efficient
/// Hash Table on the GPU*, 2011, section 4.5.1). The index for its searches is from Rao and Ross,
/// *Cache Conscious Indexing for Decision-Support in Main Memory*, 1999.
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type.
/// * **Order.** The pairs are in the order of their keys, if these are
///   [`OrderedKey`](crate::types::OrderedKey)s: `u32`, `u64`, `usize` or `char`. Keys of other
///   types are ordered by their bytes as one unsigned number. So negative numbers come last, tuples
///   of two are sorted by their second member first, and arrays by their last byte.
///   [`BulkMap::to_pairs`] and all other methods return pairs in this order. The *rank* of a pair
///   is the count of pairs before it.
/// * **Repeated keys** are handled as in `BTreeMap::from_iter`: the last pair in input order wins.
///   [`Config::assume_unique`] promises that no key is repeated. If a key is repeated nevertheless,
///   the build succeeds, and a lookup returns the value of the key's first pair in input order. The
///   map then has all pairs of the key, and [`BulkMap::len`] counts the key several times.
/// * **Complexity.** A build reads and writes every pair sequentially, once for each 8 bits of the
///   key, and once more to drop repeated keys. A lookup compares the key with about lg n other
///   keys, in groups of 16 neighbours. One group serves 4 steps of the search. docs/sort-by-key.md
///   counts the lines.
/// * **Memory.** A map takes the memory of its pairs, and of one more key for every 15 pairs.
///   [`Config::memory_bytes`] and [`Config::scratch_bytes`] return beforehand what a map and a
///   build take.
/// * **Two builds of the same pairs** result in the same map, word for word.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may look
///   up keys at the same time. [`BulkMap::rebuild`] needs exclusive access to the map, and waits
///   for running lookups.
///
/// ```
/// use warpnest::{Device, SortedMap};
///
/// let device = Device::best()?;
/// let map: SortedMap<u32, u32> = SortedMap::build(&device, &[30, 10, 20, 10], &[1, 2, 3, 4])?;
/// assert_eq!(map.to_pairs()?, [(10, 4), (20, 3), (30, 1)]);
/// assert_eq!(map.get_many(&[10, 11])?, [Some(4), None]);
///
/// // The count of keys below each query, and the count of keys that are not above it.
/// assert_eq!(map.lower_bound_many(&[10, 11, 40])?, [0, 1, 3]);
/// assert_eq!(map.upper_bound_many(&[10, 11, 40])?, [1, 1, 3]);
///
/// assert_eq!(map.range(15..=30)?, 1..3);
/// assert_eq!(map.range_pairs(15..=30)?, [(20, 3), (30, 1)]);
/// assert_eq!(map.count_ranges_many(&[0..30, 10..11])?, [2, 1]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("BTreeMap", "sort_by_key", "ordered", "range query", "binary search"))]
pub type SortedMap<K, V> = BulkMap<K, V, Sorted>;

impl Sealed for Sorted {}
impl Design for Sorted {
    const NAME: &'static str = "Sorted";
    type Table<K: KeyWord, P: Payload> = SortedTable<K, WordOf<P>>;
}
impl Staged for Sorted {}

/// The table of a [`SortedMap`].
#[derive(Debug)]
pub struct SortedTable<K: KeyWord, V: ValueWord> {
    device: Device,
    config: Config<Sorted>,
    layout: Layout,
    keys: Buffer<K>,
    values: Buffer<V>,
    scratch: Scratch,
    report: SortedReport,
}

impl<K: KeyWord, V: ValueWord> SortedTable<K, V> {
    /// Returns the layout of the keys and their index, for a kernel of your own. With
    /// [`SortedTable::keys`] it makes a [`Table`](gpu_kernels::sorted::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the sorted keys, the first [`BulkMap::len`] elements. The index follows, possibly
    /// with unused elements behind it.
    pub fn keys(&self) -> &Buffer<K> {
        &self.keys
    }

    /// Returns the values in the order of their keys, the first [`BulkMap::len`] elements, possibly
    /// with unused elements behind them.
    pub fn values(&self) -> &Buffer<V> {
        &self.values
    }

    /// Returns the counts of key slots and value slots that the pairs and their index take.
    fn lengths(&self) -> (usize, usize) {
        let pairs = self.layout.keys;
        (config::keys_length(pairs) as usize, config::values_length(pairs) as usize)
    }

    /// Queues a copy of the pairs at `ranks`.
    ///
    /// # Safety
    /// The table has these ranks, and `keys` and `values` have an element for each of them.
    unsafe fn copy(&self, stream: &Stream, ranks: Range<u64>, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        let (first, pairs) = (ranks.start as usize, (ranks.end - ranks.start) as usize);
        let of = |bytes: usize| first * bytes..(first + pairs) * bytes;
        stream.batch(|batch| {
            // This use comes first, because an error should leave the copies undone.
            batch.writes(values);
            batch.copy(&self.keys, of(size_of::<K>()), keys)?;
            batch.copy(&self.values, of(size_of::<V>()), values)
        })
    }
}

impl<K: KeyWord, V: ValueWord> ReadTable<K, V> for SortedTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.layout.keys
    }

    fn memory_bytes(&self) -> u64 {
        config::bytes::<K, V>(self.keys.len() as u64, self.values.len() as u64)
    }

    unsafe fn find(&self, stream: &Stream, queries: &Buffer<K>, (values, found): Outputs<'_, V>) -> Result<()> {
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            let find = Find::<K, V> {
                queries: batch.read(queries),
                keys: batch.read(&self.keys),
                values: batch.read(&self.values),
                // SAFETY: the kernel's documentation allows null values.
                values_out: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. The keys and their layout belong together.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    /// Waits for nothing, unlike in other tables, because the pairs are side by side.
    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<V>>) -> Result<u64> {
        let pairs = self.layout.keys;
        if let Some(values) = values {
            // SAFETY: the caller guarantees the outputs.
            unsafe { self.copy(stream, 0..pairs, keys, values)? };
        }
        Ok(pairs)
    }
}

impl<K: KeyWord, V: ValueWord> RawTable<K, V> for SortedTable<K, V> {
    type Ref = SortedRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> SortedRef<K, V> {
        SortedRef::new(uses.read(&self.keys), uses.read(&self.values), self.layout)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        Ok(Self {
            device: self.device.clone(),
            config: self.config.clone(),
            layout: self.layout,
            keys: self.keys.duplicate_front(stream, &self.device, self.lengths().0)?,
            values: self.values.duplicate_front(stream, &self.device, self.lengths().1)?,
            scratch: Scratch::new(&self.device),
            report: self.report.clone(),
        })
    }

    fn shrink_to_fit(&mut self) -> Result<()> {
        self.scratch.release();
        let (stream, (keys, values)) = (self.device.default_stream(), self.lengths());
        // Both buffers are copied before one is replaced. If the second copy fails, the map is
        // unchanged.
        let keys = self.keys.shrunk(stream, &self.device, keys)?;
        let values = self.values.shrunk(stream, &self.device, values)?;
        keys.into_iter().for_each(|keys| self.keys = keys);
        values.into_iter().for_each(|values| self.values = values);
        Ok(())
    }
}
