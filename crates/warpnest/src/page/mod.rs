//! The page table, of [`PageMap`] and [`PageSet`], which is split first and then built in whole
//! pages on chip. Batches change it page by page or pair by pair. docs/page-map.md and docs/sets.md
//! describe layout, algorithm, guarantees and figures.

mod attempt;
mod batch;
mod build;
mod change;
mod config;
mod counted;
mod direct;
mod file;
mod grow;
mod id_table;
mod outcome;
mod plan;
mod report;
mod rewrite;
mod unordered;
mod unordered_plan;

pub use config::{Page, PageConfig};
pub use report::{PageReport, PageStages};

use crate::primitives::Scratch;
use crate::runtime::stream::Uses;
use crate::table::design::{Design, Seeded, Sets, Staged};
use crate::table::file::{Incoming, Parts};
use crate::table::raw::{RawTable, ReadTable, sealed::Sealed};
use crate::{Buffer, BulkMap, BulkSet, Config, Device, Result, Stream};
use gpu_kernels::page::{BUCKET_WORDS, Find, FindParams, Layout, Unpack, UnpackParams};
use gpu_kernels::refs::PageRef;
use gpu_kernels::seam::Global;
use gpu_kernels::types::{KeyWord, Payload, Scalar, WordOf};
use std::marker::PhantomData;

/// A map that is built in one go at streaming speed, and answers nearly every lookup, present or
/// absent, with one memory access. It is the map to take unless there is a reason for another.
///
/// Source: the idea of the two-level table (Alcantara et al., *Real-Time Parallel Hashing on the
/// GPU*, 2009) with quotienting (Knuth, *The Art of Computer Programming*, volume 3, section 6.4,
/// exercise 13).
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** end as in `HashMap::from_iter`: the last pair in input order wins.
///   [`Config::assume_unique`] promises that there are none: the build then need not keep the order
///   of the pairs. If a key is repeated all the same, [`BulkMap::len`] and [`BulkMap::to_pairs`]
///   may have it several times, and many copies of a key may make the build fail.
/// * **Complexity.** A build reads and writes every pair once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A lookup reads one bucket of 32 bytes
///   (64 if a key or value has 64 bits). In one to five of a hundred cases, and more in small and
///   full tables, it also reads the next bucket; it seldom reads others.
/// * **Memory.** [`PageConfig::load`](Config::load) says how full the table is.
///   [`Config::memory_bytes`] and [`Config::scratch_bytes`] say beforehand what it takes. A build
///   takes a little more if copies of some keys overflow a bin of a split before the last one.
/// * **Two builds of the same pairs** answer every lookup alike. The slots of the pairs, and so the
///   order of [`BulkMap::to_pairs`], may differ, also with the same seed.
/// * **Changes.** [`BulkMap::insert_many`], [`BulkMap::remove_many`] and their relatives are for
///   batches. In a batch, too, the last pair of a key counts. A small batch goes to its buckets, a
///   large one rewrites all pages. [`Config::assume_unique`] promises that no key is repeated
///   within a batch.
/// * **Growth.** A batch that makes the keys more than [`PageMap::capacity`] builds a table with
///   capacity for half as many more, beside the old one. A batch that only gives keys other values
///   never makes a map grow. [`PageMap::reserve`] grows it beforehand, and
///   [`BulkMap::shrink_to_fit`] makes it as large as its keys need.
/// * **A change that fails** leaves the map as it was, or empty, and then returns
///   [`Error::Emptied`](crate::Error::Emptied).
/// * **Concurrent use.** Any number of streams may look up at the same time. A change takes the map
///   exclusively and waits for running lookups by itself.
///
/// Build it by [`BulkMap::build`], [`BulkMap::from_pairs`] or a [`PageConfig`], or begin with
/// [`BulkMap::new`]. Ask it by [`BulkMap::get_many`] and [`BulkMap::contains_many`]; build it anew
/// by [`BulkMap::rebuild`].
///
/// ```
/// use warpnest::{Device, PageMap};
///
/// let device = Device::best()?;
/// let mut map: PageMap<u32, u32> = PageMap::build(&device, &[7, 8, 7], &[1, 2, 3])?;
/// assert_eq!(map.len(), 2);
/// assert_eq!(map.get_many(&[7, 8, 9])?, [Some(3), Some(2), None]);
/// // One of the keys is new.
/// assert_eq!(map.insert_many(&[9, 8], &[4, 5])?, 1);
/// assert_eq!(map.remove_many(&[7, 8])?, [Some(3), Some(5)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashMap", "hash_map", "hash table"))]
pub type PageMap<K, V> = BulkMap<K, V, Page>;

/// A set that is built in one go at streaming speed, and answers nearly every query, present or
/// absent, with one memory access. It is a [`PageMap`] without values, whose buckets hold two to
/// four times as many keys.
///
/// Source: that of [`PageMap`]. Alcantara et al., *Building an Efficient Hash Table on the GPU*
/// (2011), section 4.4, make a set from a hash table by leaving the values out.
///
/// * **Keys** are of any [`Key`](crate::Key) type. All values of it are legal, and may be repeated.
///   [`Config::assume_unique`] promises that they are not. If a key is repeated all the same, it is
///   found, but [`BulkSet::len`] and [`BulkSet::to_keys`] may have it several times. Many copies of
///   a key may make the build fail.
/// * **Complexity.** A build reads and writes every key once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A query reads one bucket, of 32 bytes
///   (64 if keys have 64 bits). In two to six of a hundred cases, and more in full tables, it also
///   reads the next bucket or, about as seldom, others.
/// * **Memory.** [`PageConfig::load`](Config::load) says how full the table is. It takes 2 to 5
///   bytes for a 32-bit key, 10 for a 64-bit one.
/// * **Two builds of the same keys** answer every query alike. The slots of the keys, and so the
///   order of [`BulkSet::to_keys`], may differ, also with the same seed.
/// * **Changes, growth and failures** are those of a [`PageMap`]: [`BulkSet::insert_many`],
///   [`BulkSet::remove_many`] and their relatives, [`PageSet::capacity`] and [`PageSet::reserve`].
///
/// ```
/// use warpnest::{Device, PageSet};
///
/// let set = PageSet::build(&Device::best()?, &[7u32, 8, 7])?;
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.contains_many(&[7, 8, 9])?, [true, true, false]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashSet", "hash_set", "isin", "membership", "unique", "distinct"))]
pub type PageSet<K> = BulkSet<K, Page>;

impl Sealed for Page {}
impl Design for Page {
    const NAME: &'static str = "Page";
    type Table<K: KeyWord, P: Payload> = PageTable<K, P>;
}
impl Seeded for Page {}
impl Staged for Page {}
impl Sets for Page {}

/// The table of a [`PageMap`], or of a [`PageSet`] if the payload is nothing.
#[derive(Debug)]
pub struct PageTable<K: KeyWord, V: Payload> {
    device: Device,
    config: Config<Page>,
    layout: Layout,
    words: Buffer<u64>,
    scratch: Scratch,
    length: u64,
    /// The number of keys in batches that went to pairs directly, since the pages were written
    /// whole.
    changed: u64,
    /// Whether the buckets are those of a mapped file. They are not changed, and not checked.
    mapped: bool,
    report: PageReport,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Returns how the table is laid out and how it hashes, for a kernel of your own: with
    /// [`PageTable::words`] it makes a [`Table`](gpu_kernels::page::Table).
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the buckets, and perhaps some more words that the table does not use.
    pub fn words(&self) -> &Buffer<u64> {
        &self.words
    }

    /// Returns the number of slots of all buckets.
    pub fn slots(&self) -> u64 {
        self.layout.buckets() as u64 * self.layout.slots as u64
    }

    /// Returns whether pairs may have been removed from full buckets. A bucket with an empty slot
    /// then does not say that a pair is in none of its later candidates.
    pub fn has_holes(&self) -> bool {
        self.layout.holes != 0
    }

    /// Returns the number of pairs, or keys of a set, that the table takes at its load factor. A
    /// batch that makes them more makes the table grow.
    pub fn capacity(&self) -> u64 {
        self.config.capacity_of::<K, V>(&self.layout)
    }

    /// Returns the number of words that the buckets take.
    fn words_in_use(&self) -> usize {
        words_of::<K, V>(&self.layout) as usize
    }

    /// Returns the number of buckets that may have pairs: none in an empty map, whatever its words
    /// are.
    fn buckets_with_pairs(&self) -> u64 {
        if self.length == 0 { 0 } else { self.layout.buckets() as u64 }
    }
}

/// Returns the number of 64-bit words of the buckets.
fn words_of<K: KeyWord, V: Payload>(layout: &Layout) -> u64 {
    layout.buckets() as u64 * (BUCKET_WORDS * <K::PackedWord<V> as Scalar>::BITS / 64) as u64
}

impl<K: KeyWord, V: Payload> ReadTable<K, WordOf<V>> for PageTable<K, V> {
    fn device(&self) -> &Device {
        &self.device
    }

    fn len(&self) -> u64 {
        self.length
    }

    fn memory_bytes(&self) -> u64 {
        8 * self.words.len() as u64
    }

    unsafe fn find(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        values: Option<&Buffer<WordOf<V>>>,
        found: &Buffer<u32>,
    ) -> Result<()> {
        let plan = FindParams { layout: self.layout, queries: queries.len() as u64 };
        stream.batch(|batch| {
            if self.length == 0 {
                // What a change left that failed is not found, even if it could not be overwritten.
                batch.reads(queries);
                values.map_or(Ok(()), |values| batch.zero(values, values.len()))?;
                return batch.zero(found, found.len());
            }
            let find = Find::<K, V> {
                queries: batch.read(queries),
                words: batch.read(&self.words).cast(),
                // SAFETY: the kernel's documentation allows no values.
                values: unsafe { batch.write_or_null(values) },
                found: batch.write(found),
                plan,
            };
            // SAFETY: the caller guarantees the outputs. The table and its layout belong together.
            unsafe { batch.launch(&find, plan.queries) }
        })
    }

    unsafe fn write(&self, stream: &Stream, keys: &Buffer<K>, values: Option<&Buffer<WordOf<V>>>) -> Result<u64> {
        let count = Buffer::<u64>::zeroed(&self.device, 1)?;
        stream.batch(|batch| {
            let unpack = Unpack::<K, V> {
                words: batch.read(&self.words).cast(),
                keys_out: batch.write(keys),
                // SAFETY: the kernel's documentation allows null for values if there are keys
                // alone.
                values_out: unsafe { batch.write_or_null(values) },
                count: batch.write(&count),
                plan: UnpackParams { layout: self.layout, capacity: keys.len() as u64 },
            };
            // SAFETY: the caller guarantees as many values as keys, if there are any; the table and
            // its layout belong together.
            unsafe { batch.launch(&unpack, self.buckets_with_pairs()) }
        })?;
        count.download_at(stream, 0)
    }
}

impl<K: KeyWord, V: Payload> RawTable<K, WordOf<V>> for PageTable<K, V> {
    type Ref = PageRef<K, V>;

    fn lend<'b>(&'b self, uses: &Uses<'b>) -> PageRef<K, V> {
        let words = uses.read(&self.words);
        // SAFETY: the ref does not access null.
        let words = if self.length == 0 { unsafe { Global::null() } } else { words };
        PageRef::new(words, self.layout)
    }

    fn try_clone(&self, stream: &Stream) -> Result<Self> {
        let table = Self {
            device: self.device.clone(),
            config: self.config.clone(),
            layout: self.layout,
            words: self.words.duplicate_front(stream, &self.device, self.words_in_use())?,
            scratch: Scratch::new(&self.device),
            length: self.length,
            changed: self.changed,
            mapped: false,
            report: self.report.clone(),
            types: PhantomData,
        };
        if self.mapped {
            // The copy can be changed.
            table.check_tags(stream)?;
        }
        Ok(table)
    }

    fn shrink_to_fit(&mut self) -> Result<()> {
        self.scratch.release();
        let device = self.device.clone();
        if self.length != 0 && self.shrink(device.default_stream())? {
            return Ok(());
        }
        self.trim()
    }

    fn trim(&mut self) -> Result<()> {
        self.scratch.release();
        if self.length == 0 {
            return self.shrink_empty();
        }
        let (stream, words) = (self.device.default_stream(), self.words_in_use());
        if let Some(words) = self.words.shrunk(stream, &self.device, words)? {
            self.words = words;
        }
        Ok(())
    }

    fn parts<'t>(&'t self, parts: &mut Parts<'t>) -> Result<()> {
        self.take_apart(parts)
    }

    fn from_parts(incoming: &mut Incoming<'_>) -> Result<Self> {
        Self::put_together(incoming)
    }
}
