//! [`StringCounts`]: the count of occurrences of each string, over any number of batches.

use super::column::Strings;
use super::hashing::RandomState;
use super::ids::{Added, StringIds};
use crate::{Device, Result};
use std::cmp::Reverse;
use std::fmt;
use std::hash::BuildHasher;

/// The count of rows of each distinct string, over any number of batches.
///
/// It is a [`StringIds`] with a 64-bit counter for each id. So a text that does not fit into memory
/// can be counted part by part. [`StringCounts::ids`] returns the strings.
///
/// ```
/// use warpnest::Device;
/// use warpnest::strings::StringCounts;
///
/// let mut counts = StringCounts::new(&Device::best()?);
/// for line in ["to be or not to be", "that is the question", "to sleep"] {
///     counts.add_many(&line.split(' ').collect::<Vec<_>>())?;
/// }
/// assert_eq!(counts.most_common(2), [(&b"to"[..], 3), (b"be", 2)]);
/// assert_eq!((counts.get("sleep"), counts.get("dream"), counts.total()), (1, 0, 12));
/// # Ok::<(), warpnest::Error>(())
/// ```
#[doc(alias("Counter", "word count", "value_counts", "histogram"))]
#[derive(Clone)]
pub struct StringCounts<S = RandomState> {
    ids: StringIds<S>,
    counts: Vec<u64>,
}

impl StringCounts {
    /// Returns a counter without strings, whose batches are deduplicated on `device`.
    pub fn new(device: &Device) -> Self {
        Self::with_hasher(device, RandomState::default())
    }
}

impl<S: BuildHasher + Sync> StringCounts<S> {
    /// Returns a counter without strings, with another hasher. Equal bytes must have equal hashes.
    pub fn with_hasher(device: &Device, hasher: S) -> Self {
        Self { ids: StringIds::with_hasher(device, hasher), counts: Vec::new() }
    }

    /// Counts the strings of a batch. Returns the first row of each new string. New strings get the
    /// next ids, in the order of these rows.
    ///
    /// # Errors
    /// As for [`StringIds::get_or_insert_many`]. After an error nothing has changed.
    pub fn add_many(&mut self, strings: &(impl Strings + ?Sized)) -> Result<Vec<u32>> {
        let Added { rows, ids, new_rows } = self.ids.add(strings)?;
        self.counts.resize(self.ids.len(), 0);
        ids.iter().zip(&rows.counts).for_each(|(&id, &count)| self.counts[id as usize] += u64::from(count));
        Ok(new_rows)
    }

    /// Returns the count of occurrences of a string.
    pub fn get(&self, string: impl AsRef<[u8]>) -> u64 {
        self.ids.get(string).map_or(0, |id| self.counts[id as usize])
    }
}

impl<S> StringCounts<S> {
    /// Returns the count of rows of each distinct string, in the order of first appearance.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the strings and their ids. The ids are indices into [`StringCounts::counts`].
    pub fn ids(&self) -> &StringIds<S> {
        &self.ids
    }

    /// Returns the count of distinct strings.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns whether no string was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the count of all rows.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Iterates over the strings and their counts, in the order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        self.ids.iter().zip(self.counts.iter().copied())
    }

    /// Returns the ids of the `most` strings with the highest counts, the highest first. Strings
    /// with equal counts are in the order of first appearance.
    ///
    /// **Complexity.** All counts are read once, and only the returned ids are sorted.
    pub fn most_common_ids(&self, most: usize) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..self.counts.len() as u32).collect();
        let rank = |&id: &u32| (Reverse(self.counts[id as usize]), id);
        if most < ids.len() {
            ids.select_nth_unstable_by_key(most, rank);
            ids.truncate(most);
        }
        ids.sort_unstable_by_key(rank);
        ids
    }

    /// Returns the `most` strings with the highest counts, and their counts, in the order of
    /// [`StringCounts::most_common_ids`].
    pub fn most_common(&self, most: usize) -> Vec<(&[u8], u64)> {
        let ids = self.most_common_ids(most).into_iter();
        ids.map(|id| (self.ids.string(id).unwrap_or_default(), self.counts[id as usize])).collect()
    }
}

impl<S> fmt::Debug for StringCounts<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StringCounts").field("ids", &self.ids).field("rows", &self.total()).finish()
    }
}
