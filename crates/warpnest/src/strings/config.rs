//! The configuration of a [`StringMap`], and the builds of string maps.

use super::arena::Arena;
use super::column::Strings;
use super::hashing::{Hashed, RandomState, With};
use super::map::StringMap;
use super::numbered::Numbered;
use super::numbering::numbered;
use crate::design::{Builds, Page};
use crate::{Config, Device, Result};
use std::hash::BuildHasher;

/// The configuration of a [`StringMap`]: the configuration of its hash table, and a hasher.
///
/// ```
/// use std::hash::RandomState;
/// use warpnest::strings::StringConfig;
/// use warpnest::{CuckooConfig, Device};
///
/// let table = CuckooConfig::default().slots_per_pair(1.2);
/// let config = StringConfig::on(table).hasher(RandomState::new());
/// let map = config.build(&Device::best()?, &["a", "b", "a"], &[1, 2, 3])?;
/// assert_eq!(map.get_many(&["a", "b"])?, [Some(&3), Some(&2)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StringConfig<D = Page, S = RandomState> {
    table: Config<D>,
    hasher: S,
}

// No other `D` has a default, because rustc could then not infer which type
// `StringConfig::default()` has.
impl Default for StringConfig {
    /// Returns the configuration on a page map with the default configuration. Its hasher has a
    /// random seed.
    fn default() -> Self {
        Self::on(Config::default())
    }
}

impl<D: Builds> StringConfig<D> {
    /// Returns the configuration of a map whose hash table has the configuration `table`. Its
    /// hasher has a random seed.
    pub fn on(table: Config<D>) -> Self {
        Self { table, hasher: RandomState::default() }
    }
}

impl<D: Builds, S> StringConfig<D, S> {
    /// Sets another hasher. Equal bytes must have equal hashes. If different bytes have equal
    /// hashes, answers are still right.
    #[must_use]
    pub fn hasher<T: BuildHasher + Sync>(self, hasher: T) -> StringConfig<D, T> {
        StringConfig { table: self.table, hasher }
    }
}

impl<D: Builds, S: BuildHasher + Clone + Sync> StringConfig<D, S> {
    /// Builds a map of each row's string to its value. The last pair of a repeated string wins.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer), and as for
    /// [`Config::build`] and [`unique`](super::unique).
    pub fn build<V: Clone>(
        &self,
        device: &Device,
        strings: &(impl Strings + ?Sized),
        values: &[V],
    ) -> Result<StringMap<V, D, S>> {
        crate::error::same_length(("the strings", strings.rows()), ("the values", values.len()))?;
        let strings = With(strings, &self.hasher);
        self.build_by(device, &strings, |last_rows| last_rows.iter().map(|&row| values[row as usize].clone()).collect())
    }

    /// Builds a map of the pairs of an iterator, and moves the values into the map.
    ///
    /// # Errors
    /// As for [`StringConfig::build`].
    pub fn build_from_pairs<T: AsRef<[u8]> + Sync, V>(
        &self,
        device: &Device,
        pairs: impl IntoIterator<Item = (T, V)>,
    ) -> Result<StringMap<V, D, S>> {
        let (strings, values): (Vec<T>, Vec<V>) = pairs.into_iter().unzip();
        let mut values: Vec<Option<V>> = values.into_iter().map(Some).collect();
        // Each row is the last row of at most one string, so no value is taken twice.
        let strings = With(&strings, &self.hasher);
        self.build_by(device, &strings, |rows| rows.iter().filter_map(|&row| values[row as usize].take()).collect())
    }

    /// Builds a map. `pick` returns the values for the last rows of all strings.
    fn build_by<V>(
        &self,
        device: &Device,
        strings: &dyn Hashed,
        pick: impl FnOnce(&[u32]) -> Vec<V>,
    ) -> Result<StringMap<V, D, S>> {
        let Numbered { ids, first_rows, hashes, sharing, .. } = numbered(device, strings)?;
        let string = |id: usize| strings.row(first_rows[id] as usize);
        let shares = |id: &u32| sharing.binary_search(id).is_ok();
        let firsts: Vec<u32> = (0..first_rows.len() as u32).filter(|id| !shares(id)).collect();
        let keys: Vec<u64> = firsts.iter().map(|&id| hashes[id as usize]).collect();
        let table = self.table.clone().assume_unique().build(device, &keys, &firsts)?;
        let mut last_rows = first_rows.clone();
        ids.iter().zip(0..).for_each(|(&id, row)| last_rows[id as usize] = row);
        Ok(StringMap {
            table,
            hasher: self.hasher.clone(),
            strings: Arena::of((0..first_rows.len()).map(string)),
            values: pick(&last_rows),
            sharing: sharing.iter().map(|&id| (string(id as usize).to_owned(), id)).collect(),
        })
    }
}

impl<V> StringMap<V> {
    /// Builds a map of each row's string to its value. [`StringConfig::build`] allows another table
    /// and another hasher.
    ///
    /// # Errors
    /// As for [`StringConfig::build`].
    pub fn build(device: &Device, strings: &(impl Strings + ?Sized), values: &[V]) -> Result<Self>
    where
        V: Clone,
    {
        StringConfig::default().build(device, strings, values)
    }

    /// Builds a map of the pairs of an iterator.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use warpnest::Device;
    /// use warpnest::strings::StringMap;
    ///
    /// let roots = HashMap::from([("two".to_owned(), 1.414), ("three".to_owned(), 1.732)]);
    /// let map = StringMap::from_pairs(&Device::best()?, roots)?;
    /// assert_eq!(map.get("two")?, Some(&1.414));
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`StringConfig::build`].
    pub fn from_pairs<T: AsRef<[u8]> + Sync>(device: &Device, pairs: impl IntoIterator<Item = (T, V)>) -> Result<Self> {
        StringConfig::default().build_from_pairs(device, pairs)
    }
}
