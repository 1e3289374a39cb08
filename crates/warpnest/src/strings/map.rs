//! [`StringMap`]: a map from strings to values of any type.

use super::arena::Arena;
use super::column::Strings;
use super::hashing::{Hashed, MIN_ROWS, RandomState, With, hashes};
use crate::design::{Builds, Design, Page};
use crate::{BulkMap, Device, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;

/// A map from strings to values of any type, which looks up many strings at once.
///
/// A hash table on the device maps the 64-bit hash of a string to the string's id. The strings and
/// values are on the host, where every found string is compared with the query. So no answer is
/// wrong, even if strings share a hash. [`strings`](crate::strings) describes what an attacker can
/// do.
///
/// * **The hash table** is a [`PageMap`](crate::PageMap) by default.
///   [`StringConfig`](super::StringConfig) allows another design, and another hasher.
/// * **The last pair** of a repeated string wins. Strings keep the order of first appearance.
/// * **It does not change.** For other strings, build it again. Or map the ids of a
///   [`StringIds`](super::StringIds), which can grow, to values in a map that can change.
/// * **Complexity.** A lookup hashes the queries on all cores and finds the hashes on the device.
///   Then it reads a string and a value for each query that is found.
/// * **Memory.** The device has a table of 64-bit keys and 32-bit values
///   ([`Config::memory_bytes`](crate::Config::memory_bytes) of `u64` and `u32`). For each distinct
///   string, the host has its bytes, 8 bytes for its offset, and its value.
///
/// ```
/// use warpnest::Device;
/// use warpnest::strings::StringMap;
///
/// let born = StringMap::build(&Device::best()?, &["Ada", "Grace"], &[1815, 1906])?;
/// assert_eq!(born.get_many(&["Grace", "Alan"])?, [Some(&1906), None]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("HashMap", "dictionary"))]
pub struct StringMap<V, D: Design = Page, S = RandomState> {
    /// The map of each hash to the id of the first string with that hash.
    pub(super) table: BulkMap<u64, u32, D>,
    pub(super) hasher: S,
    pub(super) strings: Arena,
    pub(super) values: Vec<V>,
    /// The ids of the other strings, which share their hash with an earlier string.
    pub(super) sharing: HashMap<Vec<u8>, u32>,
}

impl<V: Sync, D: Design, S: BuildHasher + Sync> StringMap<V, D, S> {
    /// Returns the values of the queries, in their order.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn get_many(&self, queries: &(impl Strings + ?Sized)) -> Result<Vec<Option<&V>>> {
        self.found(&With(queries, &self.hasher), |number| number.map(|number| &self.values[number]))
    }

    /// Returns whether each of the queries is in the map, in their order.
    ///
    /// # Errors
    /// As for [`StringMap::get_many`].
    pub fn contains_many(&self, queries: &(impl Strings + ?Sized)) -> Result<Vec<bool>> {
        self.found(&With(queries, &self.hasher), |number| number.is_some())
    }

    /// Returns the value of one string. It is meant for a few strings, like [`BulkMap::get`].
    ///
    /// # Errors
    /// As for [`StringMap::get_many`].
    pub fn get(&self, query: impl AsRef<[u8]>) -> Result<Option<&V>> {
        Ok(self.get_many(&[query.as_ref()])?[0])
    }

    /// Applies `answer` to the id of each query's string, and returns the results.
    fn found<A: Send>(&self, queries: &dyn Hashed, answer: impl Fn(Option<usize>) -> A + Sync) -> Result<Vec<A>> {
        let numbers = self.table.get_many(&hashes(queries))?;
        let rows = numbers.into_par_iter().enumerate().with_min_len(MIN_ROWS);
        Ok(rows.map(|(row, number)| answer(self.verified(number, queries.row(row)))).collect())
    }

    /// Returns the id of the string `query`, if it is in the map. `first` is the id of the first
    /// string with the same hash.
    fn verified(&self, first: Option<u32>, query: &[u8]) -> Option<usize> {
        let first = first? as usize;
        if self.strings.get(first) == Some(query) {
            return Some(first);
        }
        self.sharing.get(query).map(|&number| number as usize)
    }
}

impl<V, D: Design, S> StringMap<V, D, S> {
    /// Iterates over all strings and values, in the order in which strings first appeared.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &V)> {
        self.keys().zip(&self.values)
    }

    /// Iterates over all strings, in the order of [`StringMap::iter`].
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.strings.iter()
    }

    /// Returns all values, in the order of [`StringMap::iter`].
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Returns the count of distinct strings.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the map has no strings.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the hash table on the device. It maps the hash of a string to the id of the first
    /// string with that hash, and ids are in the order of [`StringMap::iter`].
    pub fn table(&self) -> &BulkMap<u64, u32, D> {
        &self.table
    }

    /// Returns the device that has the hash table.
    pub fn device(&self) -> &Device {
        self.table.device()
    }
}

impl<V, D: Builds, S> fmt::Debug for StringMap<V, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringMap")
            .field("strings", &self.len())
            .field("bytes", &self.strings.memory_bytes())
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}
