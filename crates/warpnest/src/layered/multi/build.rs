//! The build of a multimap: a sort, the runs of equal keys, and an id table of these.

use super::{MultiConfig, MultiMap};
use crate::layered::id_table::{IdTable, Numbers};
use crate::primitives::{Scratch, flag_last_of_each, sort_pairs_by_mixed_key, state_words};
use crate::runtime::lent::Lent;
use crate::table::input::{Input, Known};
use crate::table::raw::BuiltTable;
use crate::{Buffer, Device, Key, Result, Stream, Value};
use gpu_kernels::primitives::compact::{CompactRuns, RunsParams, tile};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::types as words;

/// The memory that a build works in, and that a rebuild uses again.
#[derive(Debug)]
pub(super) struct Work<K> {
    /// The mixed keys of all pairs, equal ones side by side.
    keys: Buffer<K>,
    /// A bit for each pair: whether it is the last one of its key.
    last: Buffer<u32>,
    /// The numbers of runs, from 0 on.
    numbers: Buffer<u32>,
    /// The different keys, at the front.
    distinct: Buffer<K>,
    /// The ends of their runs, at the front.
    ends: Buffer<u32>,
    /// The number of different keys.
    count: Buffer<u32>,
    scratch: Scratch,
}

impl<K: words::Key> Work<K> {
    pub fn new(device: &Device) -> Result<Self> {
        let nothing = || Buffer::uninitialized(device, 0);
        let (numbers, ends) = (nothing()?, nothing()?);
        let (last, count, scratch) = (nothing()?, Buffer::uninitialized(device, 1)?, Scratch::new(device));
        let (keys, distinct) = (Buffer::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        Ok(Self { keys, last, numbers, distinct, ends, count, scratch })
    }

    /// Makes the buffers long enough for `pairs` pairs.
    fn fit(&mut self, stream: &Stream, device: &Device, pairs: usize) -> Result<()> {
        self.keys.fit(device, pairs)?;
        self.last.fit(device, pairs.div_ceil(32))?;
        self.distinct.fit(device, pairs)?;
        self.ends.fit(device, pairs)?;
        if self.numbers.len() != pairs {
            self.numbers.fit(device, pairs)?;
            let plan = IotaParams { items: pairs as u64 };
            let launched = stream.batch(|batch| {
                let numbers = Iota { output: batch.write(&self.numbers), plan };
                // SAFETY: the output has as many elements.
                unsafe { batch.launch(&numbers, plan.items) }
            });
            if launched.is_err() {
                // Otherwise the next build would take its contents for the numbers.
                self.numbers.empty();
            }
            return launched;
        }
        Ok(())
    }
}

impl<K: Key, V: Value, D: Numbers<K::Word>> MultiMap<K, V, D> {
    pub(super) fn create(
        config: MultiConfig<D>,
        stream: &Stream,
        device: &Device,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Self> {
        crate::table::input::check_pairs(device, stream, keys.words(), values.words())?;
        config.memory_bytes::<K, V>(keys.len() as u64)?;
        let (no_keys, no_numbers) = (Buffer::<K>::uninitialized(device, 0)?, Buffer::uninitialized(device, 0)?);
        let mut runs = config.keys.clone().assume_unique().build_on(stream, device, &no_keys, &no_numbers)?;
        *runs.table.config_mut() = config.keys.clone();
        let (lasts, grouped) = (no_numbers, Buffer::uninitialized(device, 0)?);
        let work = Work::new(device)?;
        let mut map = Self { config, runs, lasts, values: grouped, work };
        map.fill(stream, keys, values)?;
        map.shrink_to_fit()?;
        Ok(map)
    }

    /// Builds the map anew from other pairs; returns when it is built.
    ///
    /// # Errors
    /// As for [`MultiMap::rebuild_on`]; if the slices cannot be copied, the map is unchanged.
    pub fn rebuild(&mut self, keys: &[K], values: &[V]) -> Result<()> {
        let device = self.device().clone();
        let (keys, values) = Lent::pairs(&device, keys, values)?;
        self.rebuild_on(device.default_stream(), &keys, &values)
    }

    /// Builds the map anew from buffers, on `stream`; waits until it is known that the build
    /// succeeded.
    ///
    /// This is for data that changes as a whole, frame after frame. Memory is used again if the
    /// same amount is wanted, and the scratch stays for the next time ([`MultiMap::shrink_to_fit`]
    /// frees it).
    ///
    /// # Errors
    /// As for [`MultiConfig::build_on`]. If the request makes no sense the map is as it was; after
    /// another error it is empty.
    pub fn rebuild_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<()> {
        crate::table::input::check_pairs(self.runs.device(), stream, keys.words(), values.words())?;
        self.config.memory_bytes::<K, V>(keys.len() as u64)?;
        let built = self.fill(stream, keys, values);
        if built.is_err() {
            self.runs.table.forget(stream);
            self.values.empty();
            self.lasts.empty();
        }
        built
    }

    /// Gives back the scratch of rebuilds, which the next one allocates again, and memory that the
    /// map no longer needs, as [`BulkMap::shrink_to_fit`](crate::BulkMap::shrink_to_fit) does.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver):
    /// all pairs are unchanged.
    pub fn shrink_to_fit(&mut self) -> Result<()> {
        let device = self.runs.device().clone();
        let stream = device.default_stream();
        self.work = Work::new(&device)?;
        self.runs.shrink_to_fit()?;
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
        // Any order that brings equal keys together would do. In this one the keys are also in the
        // order of the table: of its pages, or the slots of its first function.
        let seed = config.keys.seed_or_random();
        let Work { keys: sorted, last, numbers, distinct, ends, count, scratch } = work;
        let constants = crate::table::hash::constants(seed);
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
        // These keys are different, whatever the user's are.
        let unique = std::mem::replace(&mut runs.table.config_mut().unique, true);
        let built = runs.table.rebuild_resized(stream, input);
        runs.table.config_mut().unique = unique;
        built
    }
}

/// Queues the compaction of the keys whose bits are set, and of the ends of their runs, to the
/// front of arrays as long. The keys are written as they were before they were mixed; the number of
/// keys goes to `count`.
fn compact_runs<K: words::Key>(
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
        // SAFETY: there is a bit for each key, and the outputs are as long as the input; the state
        // is large enough and 0.
        unsafe { batch.launch_blocks(&runs, items.div_ceil(tile::<K>())) }
    })
}
