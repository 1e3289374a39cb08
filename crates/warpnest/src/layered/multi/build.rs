//! The build of a multimap: a sort, the runs of equal keys, and an id table of the keys.

use super::work::Work;
use super::{MultiConfig, MultiMap, MultiTable};
use crate::primitives::{Scratch, flag_last_of_each, sort_pairs_by_mixed_key, state_words};
use crate::relational::IntoColumn;
use crate::table::id_table::Ids;
use crate::table::input::{Input, Known, pairs_on};
use crate::table::raw::RawTable;
use crate::{Buffer, BulkMap, Device, Key, Result, Stream, Value};
use gpu_kernels::primitives::compact::{CompactRuns, RunsParams, tile};
use gpu_kernels::types as words;

impl<K: Key, V: Value> MultiMap<K, V> {
    /// Builds a map with the default configuration. [`MultiConfig::build`] builds one with another.
    ///
    /// ```
    /// use warpnest::{Device, MultiMap};
    ///
    /// let map = MultiMap::build(&Device::best()?, &[7u32, 8, 7], &[1u32, 2, 3])?;
    /// let found = map.retrieve_many(&[7, 9, 8])?;
    /// assert_eq!(found.offsets, [0, 2, 2, 3]);
    /// assert_eq!(found.values, [1, 3, 2]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`MultiConfig::build`].
    pub fn build<'c>(device: &Device, keys: impl IntoColumn<'c, K>, values: impl IntoColumn<'c, V>) -> Result<Self> {
        MultiConfig::default().build(device, keys, values)
    }

    /// Builds a map of the pairs of an iterator with the default configuration.
    ///
    /// ```
    /// use warpnest::{Device, MultiMap};
    ///
    /// let words = "to be or not to be".split(' ').enumerate();
    /// let pairs = words.map(|(index, word)| (word.len() as u32, index as u32));
    /// let map = MultiMap::from_pairs(&Device::best()?, pairs)?;
    /// assert_eq!(map.get(2)?, [0, 1, 2, 4, 5]);
    /// assert!(map.get(9)?.is_empty());
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`MultiConfig::build`].
    pub fn from_pairs(device: &Device, pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self> {
        let (keys, values): (Vec<K>, Vec<V>) = pairs.into_iter().unzip();
        Self::build(device, &keys, &values)
    }
}

impl<D: Ids> MultiConfig<D> {
    /// Builds a map in which every key has all of its values, in the order of the input, and
    /// returns when it is built.
    ///
    /// # Errors
    /// As for [`Config::build`](crate::Config::build).
    pub fn build<'c, K: Key, V: Value>(
        &self,
        device: &Device,
        keys: impl IntoColumn<'c, K>,
        values: impl IntoColumn<'c, V>,
    ) -> Result<MultiMap<K, V, D>> {
        let (keys, values) = (keys.into_column(), values.into_column());
        self.memory_bytes::<K, V>(keys.rows())?;
        let (keys, values) = pairs_on(device, keys, values)?;
        Ok(MultiMap::of(MultiTable::build(self.clone(), device.default_stream(), device, &keys, &values)?))
    }
}

impl<K: Key, V: Value, D: Ids> MultiMap<K, V, D> {
    /// Builds the map anew from other pairs, and returns when it is built.
    ///
    /// This is for data that changes as a whole, frame after frame. Memory is reused if the same
    /// size is needed. The scratch is kept for the next rebuild ([`MultiMap::shrink_to_fit`] frees
    /// it).
    ///
    /// # Errors
    /// As for [`MultiConfig::build`]. If the request is invalid, or slices cannot be copied, the
    /// map is unchanged. After any other error it is empty.
    pub fn rebuild<'c>(&mut self, keys: impl IntoColumn<'c, K>, values: impl IntoColumn<'c, V>) -> Result<()> {
        let device = self.device().clone();
        let (keys, values) = pairs_on(&device, keys, values)?;
        let (stream, table) = (device.default_stream(), self.changed()?);
        table.config.memory_bytes::<K, V>(keys.len())?;
        let built = table.fill(stream, &keys, &values);
        if built.is_err() {
            D::forget(&mut table.runs.table, stream);
            table.values.empty();
            table.lasts.empty();
        }
        built
    }
}

impl<K: Key, V: Value, D: Ids> MultiTable<K, V, D> {
    fn build(
        config: MultiConfig<D>,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self> {
        config.memory_bytes::<K, V>(keys.len())?;
        let (no_keys, no_numbers) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let nothing = Input { keys: &no_keys, values: Some(&no_numbers), pairs: 0, known: Known::Unique };
        let runs = BulkMap::of(D::build(config.keys.clone(), stream, device, nothing)?);
        let (lasts, grouped) = (no_numbers, Buffer::uninitialized(device, 0)?);
        let work = Work::new(device)?;
        let mut table = Self { config, runs, lasts, values: grouped, work };
        table.fill(stream, keys, values)?;
        table.shrink_to_fit()?;
        Ok(table)
    }

    pub(super) fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.runs.device().clone();
        let stream = device.default_stream();
        self.work = Work::new(&device)?;
        self.runs.table.trim()?;
        if let Some(lasts) = self.lasts.shrunk(stream, &device, self.lasts.len())? {
            self.lasts = lasts;
        }
        if let Some(values) = self.values.shrunk(stream, &device, self.values.len())? {
            self.values = values;
        }
        Ok(())
    }

    /// Fills the map by algorithm 1 of (Alcantara 2011, §4.4): a sort, the runs of equal keys, and
    /// a table from keys to their runs.
    fn fill(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        let Self { config, runs, lasts, values: grouped, work } = self;
        let device = &runs.device().clone();
        work.fit(stream, device, keys.len())?;
        grouped.fit(device, values.len())?;
        // Any order that puts equal keys side by side would do. In this order the keys are also
        // sorted by the page of the table under the map, or by the slot of its first hash function.
        let seed = config.keys.seed_or_random();
        let Work { keys: sorted, last, numbers, distinct, ends, count, scratch } = work;
        let constants = crate::hash::constants(seed);
        sort_pairs_by_mixed_key(
            stream,
            scratch,
            constants,
            (keys.words(), values.words()),
            (&mut *sorted, grouped.words_mut()),
        )?;
        flag_last_of_each(stream, sorted, last)?;
        compact_runs(stream, scratch, (sorted, last), constants, (distinct, ends), count)?;
        let number = count.download(stream)?[0] as usize;
        if number == ends.len() {
            std::mem::swap(lasts, ends);
        } else {
            lasts.fit(device, number)?;
            stream.batch(|batch| batch.copy(ends, 0..number * size_of::<u32>(), lasts))?;
        }
        let known = Known::OrderedBy(seed);
        let input = Input { keys: distinct, values: Some(numbers), pairs: number as u64, known };
        D::rebuild_resized(&mut runs.table, stream, input)
    }
}

/// Queues the compaction of the keys whose bits are set, and of the ends of their runs. They are
/// written to the front of `distinct` and `ends`, which are as long as the input. The keys are
/// unmixed, and `count` gets their count.
fn compact_runs<K: words::KeyWord>(
    stream: &Stream,
    scratch: &mut Scratch,
    (mixed, last): (&Buffer<K>, &Buffer<u32>),
    [a, b]: [u64; 2],
    (distinct, ends): (&mut Buffer<K>, &mut Buffer<u32>),
    count: &mut Buffer<u32>,
) -> Result<()> {
    let items = mixed.len() as u64;
    let state = scratch.reserve(state_words::<K>(items))?;
    stream.batch(|batch| {
        batch.zero(count, 1)?;
        batch.zero(state, state_words::<K>(items) as usize)?;
        let runs = CompactRuns::<K> {
            input: batch.read(mixed),
            keep: batch.read(last),
            output: batch.write(distinct),
            ends: batch.write(ends),
            count: batch.write(count),
            state: batch.write(state),
            plan: RunsParams { items, a, b },
        };
        // SAFETY: there is a bit for each key, and the outputs are as long as the input. The state
        // is large enough and 0.
        unsafe { batch.launch_blocks(&runs, items.div_ceil(tile::<K>())) }
    })
}
