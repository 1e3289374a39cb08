//! Refs of the tables on top of a map from keys to ids.

use super::{MapRef, SetRef};
use crate::seam::Global;
use crate::types::{KeyWord, ValueWord};
use core::marker::PhantomData;

/// A multimap as a kernel's argument; `R` is the ref of its table of keys.
///
/// The ref only reads: keys and their values do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MultiRef<K: KeyWord, V: ValueWord, R> {
    runs: R,
    lasts: Global<u32>,
    values: Global<V>,
    keys: PhantomData<K>,
}

impl<K: KeyWord, V: ValueWord, R> MultiRef<K, V, R> {
    /// Returns the ref of the multimap in which `runs` maps each key to the index of its run. The
    /// runs are adjacent in `values`, and the last index of run `r` is `lasts[r]`.
    #[inline]
    pub fn new(runs: R, lasts: Global<u32>, values: Global<V>) -> Self {
        Self { runs, lasts, values, keys: PhantomData }
    }
}

impl<K: KeyWord, V: ValueWord, R: MapRef<K, u32>> MultiRef<K, V, R> {
    /// Returns whether the key has values.
    #[inline(always)]
    pub fn contains(&self, key: K) -> bool {
        self.runs.contains(key)
    }

    /// Returns the count of values of the key.
    #[inline(always)]
    pub fn count(&self, key: K) -> u32 {
        let values = self.values(key);
        values.end - values.next
    }

    /// Returns the values of the key, in the order of the input, or none if the key is absent.
    ///
    /// One thread reads the values one by one, so a key with very many values keeps the thread and
    /// its warp busy.
    #[inline(always)]
    pub fn values(&self, key: K) -> Values<V> {
        let (mut next, mut end) = (0, 0);
        if let Some(run) = self.runs.get(key) {
            next = if run == 0 { 0 } else { self.lasts.load_read_only(run as u64 - 1) + 1 };
            end = self.lasts.load_read_only(run as u64) + 1;
        }
        Values { values: self.values, next, end }
    }
}

impl<K: KeyWord, V: ValueWord, R: MapRef<K, u32>> SetRef<K> for MultiRef<K, V, R> {
    #[inline(always)]
    fn contains(&self, key: K) -> bool {
        self.runs.contains(key)
    }
}

/// The values of a key of a [`MultiRef`].
#[derive(Clone, Copy, Debug)]
pub struct Values<V> {
    values: Global<V>,
    next: u32,
    end: u32,
}

impl<V: ValueWord> Iterator for Values<V> {
    type Item = V;

    #[inline(always)]
    fn next(&mut self) -> Option<V> {
        if self.next == self.end {
            return None;
        }
        let value = self.values.load_read_only(self.next as u64);
        self.next += 1;
        Some(value)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.end - self.next) as usize;
        (left, Some(left))
    }
}

impl<V: ValueWord> ExactSizeIterator for Values<V> {}

/// A compacting table as a kernel's argument; `R` is the ref of its map from keys to ids.
///
/// The ref only reads: keys and ids do not change during the launch ([`refs`](super)).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompactingRef<K: KeyWord, R> {
    ids: R,
    keys: Global<K>,
    len: u64,
}

impl<K: KeyWord, R> CompactingRef<K, R> {
    /// Returns the ref of the table of `len` keys, by their ids in `keys`.
    #[inline]
    pub fn new(ids: R, keys: Global<K>, len: u64) -> Self {
        Self { ids, keys, len }
    }
}

impl<K: KeyWord, R: MapRef<K, u32>> CompactingRef<K, R> {
    /// Returns whether the table has the key.
    #[inline(always)]
    pub fn contains(&self, key: K) -> bool {
        self.ids.contains(key)
    }

    /// Returns the id of the key.
    #[inline(always)]
    pub fn id(&self, key: K) -> Option<u32> {
        self.ids.get(key)
    }

    /// Returns the key with id `id`, if there is such a key.
    #[inline(always)]
    pub fn key(&self, id: u32) -> Option<K> {
        if (id as u64) < self.len { Some(self.keys.load_read_only(id as u64)) } else { None }
    }

    /// Returns the count of keys.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len as u32
    }

    /// Returns whether there are no keys.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<K: KeyWord, R: MapRef<K, u32>> SetRef<K> for CompactingRef<K, R> {
    #[inline(always)]
    fn contains(&self, key: K) -> bool {
        self.ids.contains(key)
    }
}

impl<K: KeyWord, R: MapRef<K, u32>> MapRef<K, u32> for CompactingRef<K, R> {
    #[inline(always)]
    fn get(&self, key: K) -> Option<u32> {
        self.ids.get(key)
    }
}
