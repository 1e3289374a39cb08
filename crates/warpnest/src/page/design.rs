//! The design `Page`, and the types of its maps and sets.

use super::config::Page;
use super::table::PageTable;
use crate::table::design::{Design, Seeded, Sets, Staged};
use crate::table::raw::sealed::Sealed;
use crate::{BulkMap, BulkSet};
use gpu_kernels::types::{KeyWord, Payload};

/// A map that is built in one go at streaming speed, and answers nearly every lookup, present or
/// absent, with one memory access. Use this map unless there is a reason for another one.
///
/// Source: the idea of the two-level table (Alcantara et al., *Real-Time Parallel Hashing on the
/// GPU*, 2009) with quotienting (Knuth, *The Art of Computer Programming*, volume 3, section 6.4,
/// exercise 13).
///
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Repeated keys** are handled as in `HashMap::from_iter`: the last pair in input order wins.
///   [`Config::assume_unique`](crate::Config::assume_unique) promises that no key is repeated, so
///   that the build need not keep the order of the pairs. If a key is repeated nevertheless,
///   [`BulkMap::len`] and [`BulkMap::to_pairs`] may have it several times, and many copies of a key
///   may make the build fail.
/// * **Complexity.** A build makes sequential passes over the pairs: one for each split (none to
///   three, depending on the size of the table) and one for the pages. A lookup reads one bucket of
///   32 bytes (64 if a key or value has 64 bits). In one to five of a hundred cases, and more in
///   small and full tables, it also reads the next bucket. It seldom reads further buckets.
/// * **Memory.** [`PageConfig::load`](crate::Config::load) sets how full the table is.
///   [`Config::memory_bytes`](crate::Config::memory_bytes) and
///   [`Config::scratch_bytes`](crate::Config::scratch_bytes) return beforehand what a build takes.
///   It takes a little more if copies of some keys overflow a bin of a split before the last one.
/// * **Two builds of the same pairs** answer every lookup alike. The slots of the pairs, and so the
///   order of [`BulkMap::to_pairs`], may differ, even with the same seed.
/// * **Changes.** [`BulkMap::insert_many`], [`BulkMap::remove_many`] and their variants change a
///   map in batches. The last pair of a key wins in a batch, too. A small batch changes single
///   buckets, and a large batch rewrites all pages.
///   [`Config::assume_unique`](crate::Config::assume_unique) promises that no key is repeated
///   within a batch.
/// * **Growth.** A batch that would exceed [`PageMap::capacity`] builds a table with half as much
///   capacity again, beside the old table. A batch that only gives new values to keys of the map
///   never makes it grow. [`PageMap::reserve`] grows a map beforehand, and
///   [`BulkMap::shrink_to_fit`] makes it as large as its keys need.
/// * **A change that fails** leaves the map unchanged, or empties it and returns
///   [`Error::Emptied`](crate::Error::Emptied).
/// * **Concurrent use.** Any number of streams may look up keys at the same time. A change needs
///   exclusive access to the map, and waits for running lookups.
///
/// Build a map by [`BulkMap::build`], [`BulkMap::from_pairs`] or a
/// [`PageConfig`](crate::PageConfig), or begin with [`BulkMap::new`]. Look keys up by
/// [`BulkMap::get_many`] and [`BulkMap::contains_many`]. Replace all pairs by [`BulkMap::rebuild`].
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
/// * **Keys** are of any [`Key`](crate::Key) type. All values of the type are legal and may be
///   repeated. [`Config::assume_unique`](crate::Config::assume_unique) promises that no key is
///   repeated. If a key is repeated nevertheless, it is found, but [`BulkSet::len`] and
///   [`BulkSet::to_keys`] may have it several times. Many copies of a key may make the build fail.
/// * **Complexity.** A build makes sequential passes over the keys: one for each split (none to
///   three, depending on the size of the table) and one for the pages. A query reads one bucket of
///   32 bytes (64 if keys have 64 bits). In two to six of a hundred cases, and more in full tables,
///   it also reads the next bucket or, about as often, other buckets.
/// * **Memory.** [`PageConfig::load`](crate::Config::load) sets how full the table is. A set takes
///   2 to 5 bytes for a 32-bit key, and 10 bytes for a 64-bit key.
/// * **Two builds of the same keys** answer every query alike. The slots of the keys, and so the
///   order of [`BulkSet::to_keys`], may differ, even with the same seed.
/// * **Changes, growth and failures** are the same as for a [`PageMap`]. See
///   [`BulkSet::insert_many`], [`BulkSet::remove_many`], [`PageSet::capacity`] and
///   [`PageSet::reserve`].
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
