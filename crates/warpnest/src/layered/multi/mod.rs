//! [`MultiMap`]: many values a key. docs/multimap.md has layout, guarantees and figures.
//!
//! Read `build`: a sort, and an id table of the keys, in the memory of `work`.

mod build;
mod config;
mod file;
mod work;

pub use config::MultiConfig;

use crate::page::Page;
use crate::primitives::{Scratch, exclusive_scan_in_place};
use crate::runtime::lent::Lent;
use crate::table::id_table::{Ids, RunsQuery};
use crate::{Buffer, BufferSlice, BulkMap, Device, Key, Result, Stream, Value};
use gpu_kernels::layered::multi::{Gather, GatherParams};
use std::fmt;
use work::Work;

/// A map that keeps all values of each key, in the order of the input; built in one go.
///
/// Source: the multivalue hash table (Alcantara 2011, §4.4, algorithm 1). Pairs are sorted, and a
/// table says where each key's values begin and how many there are. Here the sort is by the table's
/// hashed keys.
///
/// * **The table of keys** is a [`PageMap`](crate::PageMap) by default. [`MultiConfig::on`] makes
///   it a [`CuckooMap`](crate::CuckooMap), as in (Alcantara 2011).
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type; all of
///   them are legal.
/// * **Values of a key** are side by side, in the order of the input.
/// * **Complexity.** A build sorts the pairs (each is moved four or eight times) and builds a table
///   of the different keys. A query takes one lookup there, and one access to the array of the
///   runs' ends.
/// * **Memory.** The map keeps the values, and for each different key four bytes and what the table
///   takes. [`MultiConfig::memory_bytes`] says beforehand how much it is at most.
/// * **Two builds of the same pairs** give equal answers, and with the same seed they group values
///   in the same order.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may query
///   at the same time. [`MultiMap::rebuild`] takes the map exclusively and waits for running
///   queries by itself.
#[doc(alias("multimap", "multi_map", "multivalue", "group_by", "several values"))]
pub struct MultiMap<K: Key, V: Value, D: Ids = Page> {
    config: MultiConfig<D>,
    /// The number of each key's run.
    runs: BulkMap<K, u32, D>,
    /// The ends of the runs: the index of the last value of each.
    lasts: Buffer<u32>,
    values: Buffer<V>,
    work: Work<K::Word>,
}

/// The values of several queries: those of query `i` are `values[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Retrieved<Offsets, Values> {
    /// The offsets at which the values of each query begin, and at the end the offset behind the
    /// last value.
    pub offsets: Offsets,
    /// All values, query after query, each key's in the order of the input.
    pub values: Values,
}

impl<V> Retrieved<Vec<u64>, Vec<V>> {
    /// Iterates over the queries: the values of each, as a slice.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[V]> {
        self.offsets.windows(2).map(|ends| &self.values[ends[0] as usize..ends[1] as usize])
    }
}

impl<K: Key, V: Value, D: Ids> MultiMap<K, V, D> {
    /// Returns whether each of `queries` is in the map, in their order.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many`].
    pub fn contains_many(&self, queries: &[K]) -> Result<Vec<bool>> {
        self.runs.contains_many(queries)
    }

    /// Queues the lookup whether each of `queries` is in the map.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_on`].
    pub fn contains_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        self.runs.contains_many_on(stream, queries)
    }

    /// Queues [`MultiMap::contains_many_on`] into existing words.
    ///
    /// # Errors
    /// As for [`BulkMap::contains_many_into`].
    pub fn contains_many_into(&self, stream: &Stream, queries: &Buffer<K>, found: &mut BufferSlice<u32>) -> Result<()> {
        self.runs.contains_many_into(stream, queries, found)
    }

    /// Returns the number of values of each of the keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many(&self, queries: &[K]) -> Result<Vec<u32>> {
        let stream = self.device().default_stream();
        self.count_many_on(stream, &*Lent::new(self.device(), queries)?)?.download(stream)
    }

    /// Queues the lookup of the number of values of each of the keys; 0 if the key is not in the
    /// map. Waits for nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        let mut counts = Buffer::uninitialized(self.device(), queries.len())?;
        self.count_many_into(stream, queries, &mut counts)?;
        Ok(counts)
    }

    /// Queues [`MultiMap::count_many_on`] into existing counts; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many_into(&self, stream: &Stream, queries: &Buffer<K>, counts: &mut BufferSlice<u32>) -> Result<()> {
        crate::error::same_length(("the queries", queries.len()), ("the counts", counts.len()))?;
        let query = RunsQuery { counts: Some(counts), ..self.ask(queries) };
        // SAFETY: there are as many counts as queries; the table has the numbers of the runs.
        unsafe { D::id_table(&self.runs.table).find_runs(stream, &query) }
    }

    /// Queues the lookup of where the values of each key begin in [`MultiMap::value_buffer`], and
    /// how many there are; 0 and 0 if there are none. Waits for nothing.
    ///
    /// # Errors
    /// As for [`MultiMap::count_many_on`].
    pub fn runs_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<(Buffer<u32>, Buffer<u32>)> {
        let mut starts = Buffer::uninitialized(self.device(), queries.len())?;
        let mut counts = Buffer::uninitialized(self.device(), queries.len())?;
        self.runs_many_into(stream, queries, &mut starts, &mut counts)?;
        Ok((starts, counts))
    }

    /// Queues [`MultiMap::runs_many_on`] into existing starts and counts; allocates nothing.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn runs_many_into(
        &self,
        stream: &Stream,
        queries: &Buffer<K>,
        starts: &mut BufferSlice<u32>,
        counts: &mut BufferSlice<u32>,
    ) -> Result<()> {
        crate::error::same_length(("the queries", queries.len()), ("the starts", starts.len()))?;
        crate::error::same_length(("the queries", queries.len()), ("the counts", counts.len()))?;
        let query = RunsQuery { starts: Some(starts), counts: Some(counts), ..self.ask(queries) };
        // SAFETY: there are as many answers as queries; the table has the numbers of the runs.
        unsafe { D::id_table(&self.runs.table).find_runs(stream, &query) }
    }

    /// Returns a lookup of runs that has no outputs yet.
    fn ask<'b>(&'b self, queries: &'b Buffer<K>) -> RunsQuery<'b, K::Word> {
        RunsQuery { queries: queries.words(), lasts: &self.lasts, starts: None, counts: None, wide_counts: None }
    }

    /// Returns all values of each of the keys.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    #[doc(alias("get_all", "equal_range", "join"))]
    pub fn retrieve_many(&self, queries: &[K]) -> Result<Retrieved<Vec<u64>, Vec<V>>> {
        let stream = self.device().default_stream();
        let queries = Lent::new(self.device(), queries)?;
        let Retrieved { offsets, values } = self.retrieve_many_on(stream, &queries)?;
        Ok(Retrieved { offsets: offsets.download(stream)?, values: values.download(stream)? })
    }

    /// Returns all values of one key, in the order of the input; none if the key is not in the map.
    ///
    /// It is for a look at a few keys, as [`BulkMap::get`] is.
    ///
    /// # Errors
    /// As for [`MultiMap::retrieve_many`].
    pub fn get(&self, key: K) -> Result<Vec<V>> {
        Ok(self.retrieve_many(&[key])?.values)
    }

    /// Returns whether one key is in the map; for a look at a few keys.
    ///
    /// # Errors
    /// As for [`MultiMap::contains_many`].
    pub fn contains(&self, key: K) -> Result<bool> {
        self.runs.contains(key)
    }

    /// Retrieves into buffers, as [`MultiMap::retrieve_many`] does: counts the values, allocates
    /// exactly that much memory, and copies them. Waits until that is done.
    ///
    /// The work is divided by values, so their distribution among the keys does not matter.
    ///
    /// # Errors
    /// As for [`MultiMap::retrieve_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn retrieve_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Retrieved<Buffer<u64>, Buffer<V>>> {
        let (device, number) = (self.device(), queries.len());
        let starts = Buffer::<u32>::uninitialized(device, number)?;
        // There is one offset more, which is 0: the scan makes it the sum of all.
        let mut offsets = Buffer::<u64>::zeroed(device, number + 1)?;
        let query = RunsQuery { starts: Some(&starts), wide_counts: Some(&offsets), ..self.ask(queries) };
        // SAFETY: there are as many answers as queries; the table has the numbers of the runs.
        unsafe { D::id_table(&self.runs.table).find_runs(stream, &query)? };
        exclusive_scan_in_place(stream, &mut Scratch::new(device), &mut offsets)?;
        let total = offsets.download_at(stream, number)?;
        let values = Buffer::<V>::uninitialized(device, total as usize)?;
        stream.batch(|batch| {
            let gather = Gather::<V::Word> {
                values: batch.read(self.values.words()),
                starts: batch.read(&starts),
                offsets: batch.read(&offsets),
                output: batch.write(values.words()),
                plan: GatherParams { queries: number as u64, total },
            };
            // SAFETY: each query has a start and an offset, and as many values from both on; the
            // output has capacity for all.
            unsafe { batch.launch(&gather, total) }
        })?;
        Ok(Retrieved { offsets, values })
    }

    /// Returns all values, those of one key side by side, in the order of the input.
    pub fn value_buffer(&self) -> &Buffer<V> {
        &self.values
    }

    /// Returns the map of keys to the numbers of their runs, for a kernel of your own. Run `r` ends
    /// with value `lasts()[r]`, and runs follow each other.
    pub fn runs(&self) -> &BulkMap<K, u32, D> {
        &self.runs
    }

    /// Returns the index of each run's last value.
    pub fn lasts(&self) -> &Buffer<u32> {
        &self.lasts
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of different keys.
    pub fn key_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns whether the map has no pairs.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the bytes that the map keeps on the device.
    pub fn memory_bytes(&self) -> usize {
        self.runs.memory_bytes() + self.len() * size_of::<V>() + 4 * self.key_count()
    }

    /// Returns the device that the map is on.
    pub fn device(&self) -> &Device {
        self.runs.device()
    }

    /// Returns the report of the build of the table of keys.
    pub fn report(&self) -> &D::Report {
        self.runs.report()
    }

    /// Returns all pairs, with the keys in the order in which [`MultiMap::value_buffer`] has their
    /// values. Each key occurs as often as it has values, with these in the order of the input.
    /// Copies all of the map to the host.
    ///
    /// That order of the keys follows from the seed and has no meaning.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn to_pairs(&self) -> Result<Vec<(K, V)>> {
        let (keys, values) = self.to_columns()?;
        Ok(keys.into_iter().zip(values).collect())
    }

    /// Returns the keys and values of all pairs, in the order of [`MultiMap::to_pairs`].
    ///
    /// # Errors
    /// As for [`MultiMap::to_pairs`].
    pub fn to_columns(&self) -> Result<(Vec<K>, Vec<V>)> {
        let stream = self.device().default_stream();
        let mut keys = self.runs.to_pairs()?;
        keys.sort_unstable_by_key(|&(_, run)| run);
        let (lasts, mut values) = (self.lasts.download(stream)?, self.values.download(stream)?);
        let mut repeated = Vec::with_capacity(values.len());
        for ((key, _), last) in keys.into_iter().zip(lasts) {
            repeated.resize((last as usize + 1).min(values.len()).max(repeated.len()), key);
        }
        values.truncate(repeated.len());
        Ok((repeated, values))
    }

    /// Iterates over all pairs, in the order of [`MultiMap::to_pairs`]: over a copy on the host.
    ///
    /// # Errors
    /// As for [`MultiMap::to_pairs`].
    pub fn iter(&self) -> Result<impl ExactSizeIterator<Item = (K, V)> + use<K, V, D>> {
        Ok(self.to_pairs()?.into_iter())
    }

    /// Iterates over the different keys, in no particular order: over a copy on the host.
    ///
    /// # Errors
    /// As for [`MultiMap::to_pairs`].
    pub fn keys(&self) -> Result<impl ExactSizeIterator<Item = K> + use<K, V, D>> {
        self.runs.keys()
    }

    /// Iterates over all values, in the order of [`MultiMap::to_pairs`]: over a copy on the host.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn values(&self) -> Result<impl ExactSizeIterator<Item = V> + use<K, V, D>> {
        Ok(self.values.download(self.device().default_stream())?.into_iter())
    }

    /// Returns a copy of the map on the same device, without scratch.
    ///
    /// # Errors
    /// As for [`MultiMap::try_clone_on`].
    pub fn try_clone(&self) -> Result<Self> {
        self.try_clone_on(self.device().default_stream())
    }

    /// Returns a copy of the map on the same device, made on `stream`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn try_clone_on(&self, stream: &Stream) -> Result<Self> {
        let runs = self.runs.try_clone_on(stream)?;
        let lasts = self.lasts.duplicate(stream, self.device())?;
        let values = self.values.duplicate(stream, self.device())?;
        let (config, work) = (self.config.clone(), Work::new(self.device())?);
        Ok(Self { config, runs, lasts, values, work })
    }
}

impl<K: Key, V: Value, D: Ids> Clone for MultiMap<K, V, D> {
    /// Copies the map on its device.
    ///
    /// # Panics
    /// If the device lacks the memory, or fails; [`MultiMap::try_clone`] returns an error then.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("a map cannot be cloned: {error}"))
    }
}

impl<K: Key, V: Value, D: Ids> fmt::Debug for MultiMap<K, V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiMap")
            .field("keys", &self.key_count())
            .field("pairs", &self.len())
            .field("bytes", &self.memory_bytes())
            .field("device", &self.device().name())
            .finish_non_exhaustive()
    }
}
