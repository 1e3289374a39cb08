//! [`StringMap`]: values of any type by strings.

use super::arena::Arena;
use super::column::Strings;
use super::hashing::{Hashed, MIN_ROWS, RandomState, With, hashes};
use crate::design::{Builds, Design, Page};
use crate::{BulkMap, Device, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;

/// A map from strings to values of any type, for arrays of queries.
///
/// A table on the device leads from the hash of a string, of 64 bits, to the string's id. The
/// strings and values are on the host, where every string that is found is compared with the one
/// that was asked for. So no answer is wrong, whatever strings share a hash; what an attacker can
/// do is said at [`strings`](crate::strings).
///
/// * **The table** is a [`PageMap`](crate::PageMap) by default.
///   [`StringConfig`](super::StringConfig) takes another design, and another hasher.
/// * **The last pair** of a repeated string counts. Strings keep the order of first appearance.
/// * **It does not change**: build it again. Or keep the values in a map that changes, by the ids
///   of a [`StringIds`](super::StringIds), which grows.
/// * **Complexity.** A lookup hashes the queries on all cores, finds the hashes on the device, and
///   reads a string and a value for each query that is found.
/// * **Memory.** The device has a table of 64-bit keys and 32-bit values
///   ([`Config::memory_bytes`](crate::Config::memory_bytes) of `u64` and `u32`). The host has the
///   bytes of each different string, 8 for where it begins, and its value.
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
    /// From hashes to the first string with each.
    pub(super) table: BulkMap<u64, u32, D>,
    pub(super) hasher: S,
    pub(super) strings: Arena,
    pub(super) values: Vec<V>,
    /// The other strings, whose hash an earlier string has, too.
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

    /// Returns the value of one string; for a look at a few, as [`BulkMap::get`] is.
    ///
    /// # Errors
    /// As for [`StringMap::get_many`].
    pub fn get(&self, query: impl AsRef<[u8]>) -> Result<Option<&V>> {
        Ok(self.get_many(&[query.as_ref()])?[0])
    }

    /// Returns what `answer` makes of the id of each query's string.
    fn found<A: Send>(&self, queries: &dyn Hashed, answer: impl Fn(Option<usize>) -> A + Sync) -> Result<Vec<A>> {
        let numbers = self.table.get_many(&hashes(queries))?;
        let rows = numbers.into_par_iter().enumerate().with_min_len(MIN_ROWS);
        Ok(rows.map(|(row, number)| answer(self.verified(number, queries.row(row)))).collect())
    }

    /// Returns the id of the string `query`, if `first` is the id of the first string with its
    /// hash.
    fn verified(&self, first: Option<u32>, query: &[u8]) -> Option<usize> {
        let first = first? as usize;
        if self.strings.get(first) == Some(query) {
            return Some(first);
        }
        self.sharing.get(query).map(|&number| number as usize)
    }
}

impl<V, D: Design, S> StringMap<V, D, S> {
    /// Iterates over all strings and values, in the order in which strings appeared first.
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

    /// Returns the count of different strings.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the map has no strings.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the table on the device: from the hash of a string to the id of the first string
    /// with that hash, in the order of [`StringMap::iter`].
    pub fn table(&self) -> &BulkMap<u64, u32, D> {
        &self.table
    }

    /// Returns the device that the table is on.
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
