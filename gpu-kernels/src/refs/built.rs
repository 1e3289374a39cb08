//! Refs of the tables with one value per key, except the linear map.

use super::{MapRef, SetRef, asked};
use crate::hash::HashFunctions;
use crate::seam::Global;
use crate::table::slots::{Slot, cell};
use crate::types::{KeyWord, Payload, Scalar, ValueWord, WordOf};
use crate::{cuckoo, extendible, page, sorted, two_level};
use core::marker::PhantomData;

/// A page map or page set as a kernel's argument. Sets have the payload
/// [`Nothing`](crate::types::Nothing).
///
/// A lookup nearly always reads one bucket: 32 bytes, or 64 if keys or values have 64 bits. The ref
/// only reads: keys and values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageRef<K: KeyWord, V: Payload> {
    words: Global<u64>,
    layout: page::Layout,
    types: PhantomData<(K, V)>,
}

impl<K: KeyWord, V: Payload> PageRef<K, V> {
    const BYTES: usize = size_of::<Global<u64>>() + size_of::<page::Layout>();

    /// Returns the ref of the table whose buckets are at `words`, which is null if the table is
    /// empty.
    #[inline]
    pub fn new(words: Global<u64>, layout: page::Layout) -> Self {
        Self { words, layout, types: PhantomData }
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<WordOf<V>> {
        if self.words.is_null() {
            return None;
        }
        page::Table::<K, V>::new(self.words.cast(), self.layout).get(key)
    }
}

asked! { PageRef, Payload }

/// A cuckoo map or cuckoo set as a kernel's argument. Sets have the payload
/// [`Nothing`](crate::types::Nothing).
///
/// A lookup reads at most one slot for each hash function, one after the other. The ref only reads:
/// keys and values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CuckooRef<K: KeyWord, V: Payload> {
    words: Global<Slot<K, V>>,
    header: Global<u64>,
    functions: HashFunctions,
}

impl<K: KeyWord, V: Payload> CuckooRef<K, V> {
    const BYTES: usize = 2 * size_of::<Global<u64>>() + size_of::<HashFunctions>();

    /// Returns the ref of the table with these slots and functions and this
    /// [`header`](cuckoo::header).
    #[inline]
    pub fn new(words: Global<Slot<K, V>>, header: Global<u64>, functions: HashFunctions) -> Self {
        Self { words, header, functions }
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<WordOf<V>> {
        if key == K::ALL_ONES {
            return cell::value(self.header);
        }
        cuckoo::Table::new(self.words, self.functions).get(key)
    }
}

asked! { CuckooRef, Payload }

/// A two-level map as a kernel's argument.
///
/// A lookup reads the seed of the key's bucket, and then at most one slot in each sub-table. The
/// ref only reads: keys and values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TwoLevelRef<K: KeyWord, V: ValueWord> {
    words: Global<Slot<K, V>>,
    seeds: Global<u32>,
    header: Global<u64>,
    layout: two_level::Layout,
}

impl<K: KeyWord, V: ValueWord> TwoLevelRef<K, V> {
    const BYTES: usize = 3 * size_of::<Global<u64>>() + size_of::<two_level::Layout>();

    /// Returns the ref of the table with these slots and seeds and this
    /// [`header`](two_level::header).
    #[inline]
    pub fn new(words: Global<Slot<K, V>>, seeds: Global<u32>, header: Global<u64>, layout: two_level::Layout) -> Self {
        Self { words, seeds, header, layout }
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<V> {
        if key == K::ALL_ONES {
            return cell::value(self.header);
        }
        two_level::Table::new(self.words, self.seeds, self.layout).get(key)
    }
}

asked! { TwoLevelRef, ValueWord }

/// A sorted map as a kernel's argument.
///
/// A lookup reads one group of keys, 64 or 128 bytes, in each level of the index. The ref only
/// reads: keys and values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SortedRef<K: KeyWord, V: ValueWord> {
    keys: Global<K>,
    values: Global<V>,
    layout: sorted::Layout,
}

impl<K: KeyWord, V: ValueWord> SortedRef<K, V> {
    const BYTES: usize = 2 * size_of::<Global<u64>>() + size_of::<sorted::Layout>();

    /// Returns the ref of the sorted keys with their index, and their values.
    #[inline]
    pub fn new(keys: Global<K>, values: Global<V>, layout: sorted::Layout) -> Self {
        Self { keys, values, layout }
    }

    #[inline(always)]
    fn table(&self) -> sorted::Table<K> {
        sorted::Table::new(self.keys, self.layout)
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<V> {
        self.table().rank(key).map(|rank| self.values.load_read_only(rank as u64))
    }

    /// Returns the count of keys below `key`, in the order of the words. This is the rank of the
    /// first pair of a range that begins at `key`.
    #[inline(always)]
    pub fn lower_bound(&self, key: K) -> u32 {
        self.table().lower_bound(key)
    }

    /// Returns the key and value with rank `rank`, if there are more than `rank` pairs.
    #[inline(always)]
    pub fn pair(&self, rank: u32) -> Option<(K, V)> {
        let at = rank as u64;
        if at < self.layout.keys { Some((self.keys.load_read_only(at), self.values.load_read_only(at))) } else { None }
    }
}

asked! { SortedRef, ValueWord }

/// An extendible map as a kernel's argument.
///
/// A lookup reads the key's segment, the index of its bucket, the address of the bucket's page, and
/// the bucket's line. These are four dependent accesses, of which the first and the third are in
/// caches. The ref only reads: keys and values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ExtendibleRef<K: KeyWord, V: ValueWord> {
    segments: Global<u64>,
    pages: Global<extendible::Pages<K, V>>,
    layout: extendible::Layout,
}

impl<K: KeyWord, V: ValueWord> ExtendibleRef<K, V> {
    const BYTES: usize = 2 * size_of::<Global<u64>>() + size_of::<extendible::Layout>();

    /// Returns the ref of the table with these segments and pages.
    #[inline]
    pub fn new(segments: Global<u64>, pages: Global<extendible::Pages<K, V>>, layout: extendible::Layout) -> Self {
        Self { segments, pages, layout }
    }

    #[inline(always)]
    fn answer(&self, key: K) -> Option<V> {
        let table = extendible::Table::new(self.segments, self.pages, self.layout);
        table.get(key).map(|value| V::from_u64(value.to_u64()))
    }
}

asked! { ExtendibleRef, ValueWord }
