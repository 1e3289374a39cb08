//! [`MultiMap`]: several values per key. docs/multimap.md has layout, guarantees and figures.
//!
//! Read `build` first: a sort, and an id table of the keys, in the memory of `work`.

mod build;
mod config;
mod file;
mod work;

pub use config::MultiConfig;

use crate::error::TableKind;
use crate::page::Page;
use crate::primitives::{Scratch, exclusive_scan_in_place};
use crate::relational::IntoColumn;
use crate::table::handle::{Table, pairs};
use crate::table::id_table::{Ids, RunsQuery};
use crate::table::input::keys_on;
use crate::table::kind::{HasValues, KeyWordOf, Kind, Loads};
use crate::table::map::Map;
use crate::table::raw::{ReadTable, sealed::Sealed};
use crate::types::{check_any_bytes, check_size};
use crate::{Buffer, BufferSlice, BulkMap, Key, Result, Stream, Value};
use gpu_kernels::layered::multi::{Gather, GatherParams};
use std::marker::PhantomData;
use work::Work;

/// A map that keeps all values of each key, in the order of the input, and is built in one go.
///
/// Source: the multivalue hash table (Alcantara 2011, §4.4, algorithm 1). Pairs are sorted, and a
/// table maps each key to its first value and the count of its values. Here they are sorted by the
/// table's hashed keys.
///
/// * **The table of keys** is a [`PageMap`](crate::PageMap) by default. [`MultiConfig::on`] selects
///   a [`CuckooMap`](crate::CuckooMap), as in (Alcantara 2011).
/// * **Keys and values** are of any [`Key`](crate::Key) and [`Value`](crate::Value) type, and all
///   values of these types are legal.
/// * **Values of a key** are side by side, in the order of the input.
/// * **Complexity.** A build sorts the pairs (each is moved four or eight times) and builds a table
///   of the distinct keys. A query makes one lookup in that table, and one access to the array of
///   the runs' ends.
/// * **Memory.** The map keeps the values, four bytes for each distinct key, and the table of keys.
///   [`MultiConfig::memory_bytes`] returns beforehand how many bytes these take at most.
/// * **Two builds of the same pairs** give equal answers. If they have the same seed, they also
///   store the values in the same order.
/// * **Concurrent use.** A map does not change after its build, so any number of streams may query
///   it at the same time. [`MultiMap::rebuild`] needs exclusive access to the map, and waits for
///   running queries.
#[doc(alias("multimap", "multi_map", "multivalue", "group_by", "several values"))]
pub type MultiMap<K, V, D = Page> = Table<Multi<K, V, D>>;

/// The kind of a [`MultiMap`].
pub struct Multi<K, V, D>(PhantomData<(K, V, D)>);

/// The table of a [`MultiMap`].
pub struct MultiTable<K: Key, V: Value, D: Ids> {
    config: MultiConfig<D>,
    /// The map of each key to the index of its run.
    runs: BulkMap<K, u32, D>,
    /// The ends of the runs: for each run, the index of its last value.
    lasts: Buffer<u32>,
    values: Buffer<V>,
    work: Work<K::Word>,
}

impl<K: Key, V: Value, D: Ids> Sealed for Multi<K, V, D> {}
impl<K: Key, V: Value, D: Ids> Kind for Multi<K, V, D> {
    type Key = K;
    type Item = (K, V);
    type Word = u32;
    type Table = MultiTable<K, V, D>;

    const CHECK: () = check_size::<V>();

    fn file_kind() -> TableKind {
        let (key_bytes, value_bytes) = (size_of::<K>() as u8, size_of::<V>() as u32);
        TableKind { design: D::NAME, form: "MultiMap", key_bytes, value_bytes }
    }

    fn keyed(table: &Self::Table) -> &dyn ReadTable<KeyWordOf<Self>, u32> {
        &table.runs.table
    }

    fn len(table: &Self::Table) -> u64 {
        table.values.len() as u64
    }

    fn memory_bytes(table: &Self::Table) -> u64 {
        table.runs.table.memory_bytes() + (table.values.len() * size_of::<V>() + 4 * table.runs.len()) as u64
    }

    fn keys(table: &Self::Table) -> Result<Vec<K>> {
        Map::<K, u32, D>::keys(&table.runs.table)
    }

    fn items(table: &Self::Table) -> Result<Vec<(K, V)>> {
        Self::columns(table).map(pairs)
    }

    fn try_clone(table: &Self::Table, stream: &Stream) -> Result<Self::Table> {
        let MultiTable { config, runs, lasts, values, .. } = table;
        let device = runs.device();
        let (lasts, values) = (lasts.duplicate(stream, device)?, values.duplicate(stream, device)?);
        let (runs, work) = (runs.try_clone()?, Work::new(device)?);
        Ok(MultiTable { config: config.clone(), runs, lasts, values, work })
    }

    fn shrink_to_fit(table: &mut Self::Table) -> Result<()> {
        table.shrink_to_fit()
    }
}

impl<K: Key, V: Value, D: Ids> Loads for Multi<K, V, D> {
    const ANY_BYTES: () = {
        check_any_bytes::<K>();
        check_any_bytes::<V>();
    };
}

impl<K: Key, V: Value, D: Ids> HasValues for Multi<K, V, D> {
    type Value = V;

    /// Returns keys and values, in the order in which the values are stored.
    fn columns(table: &Self::Table) -> Result<(Vec<K>, Vec<V>)> {
        let stream = table.runs.device().default_stream();
        let mut keys = table.runs.to_pairs()?;
        keys.sort_unstable_by_key(|&(_, run)| run);
        let (lasts, mut values) = (table.lasts.download(stream)?, table.values.download(stream)?);
        let mut repeated = Vec::with_capacity(values.len());
        for ((key, _), last) in keys.into_iter().zip(lasts) {
            repeated.resize((last as usize + 1).min(values.len()).max(repeated.len()), key);
        }
        values.truncate(repeated.len());
        Ok((repeated, values))
    }

    fn values(table: &Self::Table) -> Result<Vec<V>> {
        table.values.download(table.runs.device().default_stream())
    }
}

/// The values of several queries. The values of query `i` are `values[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Retrieved<Offsets, Values> {
    /// The offset of the first value of each query, followed by the count of all values.
    pub offsets: Offsets,
    /// The values of all queries, in their order. The values of a key are in input order.
    pub values: Values,
}

impl<V> Retrieved<Vec<u64>, Vec<V>> {
    /// Iterates over the queries, which yields the values of each query as a slice.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[V]> {
        self.offsets.windows(2).map(|ends| &self.values[ends[0] as usize..ends[1] as usize])
    }
}

impl<K: Key, V: Value, D: Ids> MultiMap<K, V, D> {
    /// Returns the count of values of each key.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many<'c>(&self, queries: impl IntoColumn<'c, K>) -> Result<Vec<u32>> {
        let stream = self.device().default_stream();
        self.count_many_on(stream, &*keys_on(self.device(), queries)?)?.download(stream)
    }

    /// Queues the lookup of the count of values of each key, without waiting. The count is 0 if the
    /// key is not in the map.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Buffer<u32>> {
        let mut counts = Buffer::uninitialized(self.device(), queries.len())?;
        self.count_many_into(stream, queries, &mut counts)?;
        Ok(counts)
    }

    /// Queues [`MultiMap::count_many_on`] into existing counts, without allocating.
    ///
    /// # Errors
    /// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
    pub fn count_many_into(&self, stream: &Stream, queries: &Buffer<K>, counts: &mut BufferSlice<u32>) -> Result<()> {
        crate::error::same_length(("the queries", queries.len()), ("the counts", counts.len()))?;
        let query = RunsQuery { counts: Some(counts), ..self.ask(queries) };
        // SAFETY: there is a count for each query, and the table has the indices of the runs.
        unsafe { D::id_table(&self.table.runs.table).find_runs(stream, &query) }
    }

    /// Queues the lookup of the runs of keys, without waiting. For each key it writes the index of
    /// the first value in [`MultiMap::value_buffer`] and the count of values, or 0 and 0 if the key
    /// has none.
    ///
    /// # Errors
    /// As for [`MultiMap::count_many_on`].
    pub fn runs_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<(Buffer<u32>, Buffer<u32>)> {
        let mut starts = Buffer::uninitialized(self.device(), queries.len())?;
        let mut counts = Buffer::uninitialized(self.device(), queries.len())?;
        self.runs_many_into(stream, queries, &mut starts, &mut counts)?;
        Ok((starts, counts))
    }

    /// Queues [`MultiMap::runs_many_on`] into existing starts and counts, without allocating.
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
        // SAFETY: there is an answer for each query, and the table has the indices of the runs.
        unsafe { D::id_table(&self.table.runs.table).find_runs(stream, &query) }
    }

    /// Returns a lookup of runs, whose outputs the caller must add.
    fn ask<'b>(&'b self, queries: &'b Buffer<K>) -> RunsQuery<'b, K::Word> {
        RunsQuery { queries: queries.words(), lasts: &self.table.lasts, starts: None, counts: None, wide_counts: None }
    }

    /// Returns all values of each key.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    #[doc(alias("get_all", "equal_range", "join"))]
    pub fn retrieve_many<'c>(&self, queries: impl IntoColumn<'c, K>) -> Result<Retrieved<Vec<u64>, Vec<V>>> {
        let stream = self.device().default_stream();
        let queries = keys_on(self.device(), queries)?;
        let Retrieved { offsets, values } = self.retrieve_many_on(stream, &queries)?;
        Ok(Retrieved { offsets: offsets.download(stream)?, values: values.download(stream)? })
    }

    /// Returns all values of one key, in the order of the input, or none if the key is not in the
    /// map.
    ///
    /// It is meant for a few keys, like [`BulkMap::get`].
    ///
    /// # Errors
    /// As for [`MultiMap::retrieve_many`].
    pub fn get(&self, key: K) -> Result<Vec<V>> {
        Ok(self.retrieve_many(&[key])?.values)
    }

    /// Does [`MultiMap::retrieve_many`] into new buffers. It counts the values, allocates exactly
    /// as much memory as they need, copies them, and waits until that is done.
    ///
    /// The work is divided by values, so it does not matter how they are distributed among the
    /// keys.
    ///
    /// # Errors
    /// As for [`MultiMap::retrieve_many`], and [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn retrieve_many_on(&self, stream: &Stream, queries: &Buffer<K>) -> Result<Retrieved<Buffer<u64>, Buffer<V>>> {
        let (device, number) = (self.device(), queries.len());
        let starts = Buffer::<u32>::uninitialized(device, number)?;
        // There is one offset more, which is 0. The scan makes it the sum of all counts.
        let mut offsets = Buffer::<u64>::zeroed(device, number + 1)?;
        let query = RunsQuery { starts: Some(&starts), wide_counts: Some(&offsets), ..self.ask(queries) };
        // SAFETY: there is an answer for each query, and the table has the indices of the runs.
        unsafe { D::id_table(&self.table.runs.table).find_runs(stream, &query)? };
        exclusive_scan_in_place(stream, &mut Scratch::new(device), &mut offsets)?;
        let total = offsets.download_at(stream, number)?;
        let values = Buffer::<V>::uninitialized(device, total as usize)?;
        stream.batch(|batch| {
            let gather = Gather::<V::Word> {
                values: batch.read(self.table.values.words()),
                starts: batch.read(&starts),
                offsets: batch.read(&offsets),
                output: batch.write(values.words()),
                plan: GatherParams { queries: number as u64, total },
            };
            // SAFETY: the values of each query follow its start in the map's values, and the output
            // has capacity for them behind the query's offset.
            unsafe { batch.launch(&gather, total) }
        })?;
        Ok(Retrieved { offsets, values })
    }

    /// Returns all values. The values of one key are side by side, in the order of the input.
    pub fn value_buffer(&self) -> &Buffer<V> {
        &self.table.values
    }

    /// Returns the map of keys to the indices of their runs, for a kernel of your own. Run `r` ends
    /// with value `lasts()[r]`, and the next run begins behind it.
    pub fn runs(&self) -> &BulkMap<K, u32, D> {
        &self.table.runs
    }

    /// Returns the index of each run's last value.
    pub fn lasts(&self) -> &Buffer<u32> {
        &self.table.lasts
    }

    /// Returns the count of distinct keys.
    pub fn key_count(&self) -> usize {
        self.table.runs.len()
    }

    /// Returns the report of the build of the table of keys.
    pub fn report(&self) -> &D::Report {
        self.table.runs.report()
    }
}
