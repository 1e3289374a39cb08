//! The design `Page`, and what maps and sets of it are called.

use super::config::Page;
use super::table::PageTable;
use crate::table::design::{Design, Seeded, Sets, Staged};
use crate::table::raw::sealed::Sealed;
use crate::{BulkMap, BulkSet};
use gpu_kernels::types::{KeyWord, Payload};

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
///   [`Config::assume_unique`](crate::Config::assume_unique) promises that there are none: the
///   build then need not keep the order of the pairs. If a key is repeated all the same,
///   [`BulkMap::len`] and [`BulkMap::to_pairs`] may have it several times, and many copies of a key
///   may make the build fail.
/// * **Complexity.** A build reads and writes every pair once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A lookup reads one bucket of 32 bytes
///   (64 if a key or value has 64 bits). In one to five of a hundred cases, and more in small and
///   full tables, it also reads the next bucket; it seldom reads others.
/// * **Memory.** [`PageConfig::load`](crate::Config::load) says how full the table is.
///   [`Config::memory_bytes`](crate::Config::memory_bytes) and
///   [`Config::scratch_bytes`](crate::Config::scratch_bytes) say beforehand what it takes. A build
///   takes a little more if copies of some keys overflow a bin of a split before the last one.
/// * **Two builds of the same pairs** answer every lookup alike. The slots of the pairs, and so the
///   order of [`BulkMap::to_pairs`], may differ, also with the same seed.
/// * **Changes.** [`BulkMap::insert_many`], [`BulkMap::remove_many`] and their relatives are for
///   batches. In a batch, too, the last pair of a key counts. A small batch goes to its buckets, a
///   large one rewrites all pages. [`Config::assume_unique`](crate::Config::assume_unique) promises
///   that no key is repeated within a batch.
/// * **Growth.** A batch that makes the keys more than [`PageMap::capacity`] builds a table with
///   capacity for half as many more, beside the old one. A batch that only gives keys other values
///   never makes a map grow. [`PageMap::reserve`] grows it beforehand, and
///   [`BulkMap::shrink_to_fit`] makes it as large as its keys need.
/// * **A change that fails** leaves the map as it was, or empty, and then returns
///   [`Error::Emptied`](crate::Error::Emptied).
/// * **Concurrent use.** Any number of streams may look up at the same time. A change takes the map
///   exclusively and waits for running lookups by itself.
///
/// Build it by [`BulkMap::build`], [`BulkMap::from_pairs`] or a [`PageConfig`](crate::PageConfig),
/// or begin with [`BulkMap::new`]. Ask it by [`BulkMap::get_many`] and [`BulkMap::contains_many`];
/// build it anew by [`BulkMap::rebuild`].
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
/// Source: the same as for [`PageMap`]. Alcantara et al., *Building an Efficient Hash Table on the
/// GPU* (2011), section 4.4, make a set from a hash table by leaving the values out.
///
/// * **Keys** are of any [`Key`](crate::Key) type. All values of it are legal, and may be repeated.
///   [`Config::assume_unique`](crate::Config::assume_unique) promises that they are not. If a key
///   is repeated all the same, it is found, but [`BulkSet::len`] and [`BulkSet::to_keys`] may have
///   it several times. Many copies of a key may make the build fail.
/// * **Complexity.** A build reads and writes every key once for each split (none to three, by the
///   size of the table) and once for the pages, in streams. A query reads one bucket, of 32 bytes
///   (64 if keys have 64 bits). In two to six of a hundred cases, and more in full tables, it also
///   reads the next bucket or, about as seldom, others.
/// * **Memory.** [`PageConfig::load`](crate::Config::load) says how full the table is. It takes 2
///   to 5 bytes for a 32-bit key, 10 for a 64-bit one.
/// * **Two builds of the same keys** answer every query alike. The slots of the keys, and so the
///   order of [`BulkSet::to_keys`], may differ, also with the same seed.
/// * **Changes, growth and failures** are as for a [`PageMap`]: [`BulkSet::insert_many`],
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
