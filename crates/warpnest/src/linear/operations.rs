//! The operations that only a linear map has: insertions with answers, mixed batches, and what it
//! does with its slots.

use super::LinearMap;
use crate::runtime::buffer::zero;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, Key, Result, Stream, Value};
use gpu_kernels::double::Half;
use gpu_kernels::linear::{InspectParams, Operation, ProbeLengths};

/// One operation of a mixed batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinearOperation<K = u32, V = u32> {
    /// Looks up the value of a key.
    Get(K),
    /// Gives a key a value; the answer is the value that it had before.
    Insert(K, V),
    /// Gives a key a value unless it has one; the answer is the value that it had before.
    GetOrInsert(K, V),
    /// Removes a key; the answer is the value that it had.
    Remove(K),
}

impl<K: Key, V: Value> LinearOperation<K, V> {
    /// Returns kind, key and value, as [`LinearMap::apply_many_into`] takes them.
    pub fn parts(self) -> (u32, K, V) {
        match self {
            Self::Get(key) => (Operation::Get as u32, key, zero()),
            Self::Insert(key, value) => (Operation::Insert as u32, key, value),
            Self::GetOrInsert(key, value) => (Operation::GetOrInsert as u32, key, value),
            Self::Remove(key) => (Operation::Remove as u32, key, zero()),
        }
    }
}

/// The distances of the keys of a map from their homes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LinearProbeReport {
    /// The average number of slots that a search for a present key reads.
    pub mean: f64,
    /// The largest number of slots that a search for a present key reads.
    pub longest: u64,
    /// The number of keys by search length: `histogram[n]` keys need n slots. The last entry counts
    /// all keys that need that many or more.
    pub histogram: Vec<u64>,
}

/// The number of words of the histogram.
const HISTOGRAM: usize = 129;

impl<K: Key, V: Value> LinearMap<K, V> {
    /// Does [`BulkMap::insert_many`](crate::BulkMap::insert_many) and returns the values that the
    /// keys had before: a key without one is new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn replace_many(&mut self, keys: &[K], values: &[V]) -> Result<Vec<Option<V>>> {
        self.answered(keys, values, |map, stream, keys, values, answers| {
            map.replace_many_into(stream, keys, values, answers).map(drop)
        })?
        .download(self.device().default_stream())
    }

    /// Does [`LinearMap::replace_many`] with buffers; waits until it is done. Returns how many of
    /// the keys were new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn replace_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<usize> {
        let (keys, values, answers) = (keys.words(), values.words(), answers.words_mut());
        let new = self.table.insert_by(stream, Operation::Insert, keys, values, Some(answers))?;
        Ok(new as usize)
    }

    /// Returns the value of every key; keys without one first get the given values.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn get_or_insert_many(&mut self, keys: &[K], values: &[V]) -> Result<Vec<V>> {
        let answers = self.answered(keys, values, |map, stream, keys, values, answers| {
            map.get_or_insert_many_into(stream, keys, values, answers).map(drop)
        })?;
        answers.values().download(self.device().default_stream())
    }

    /// Does [`LinearMap::get_or_insert_many`] with buffers; waits until it is done. A key counts as
    /// found if it was there before. Returns how many were new.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn get_or_insert_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<usize> {
        let (keys, values, answers) = (keys.words(), values.words(), answers.words_mut());
        let new = self.table.insert_by(stream, Operation::GetOrInsert, keys, values, Some(answers))?;
        Ok(new as usize)
    }

    /// Does all operations at the same time; each answer is the value that the key had when its
    /// operation was done.
    ///
    /// Several operations on one key give what they would give in some sequential order.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many).
    pub fn apply_many(&mut self, operations: &[LinearOperation<K, V>]) -> Result<Vec<Option<V>>> {
        let kinds: Vec<u32> = operations.iter().map(|operation| operation.parts().0).collect();
        let keys: Vec<K> = operations.iter().map(|operation| operation.parts().1).collect();
        let values: Vec<V> = operations.iter().map(|operation| operation.parts().2).collect();
        let kinds = Buffer::from_slice(self.device(), &kinds)?;
        self.answered(&keys, &values, |map, stream, keys, values, answers| {
            map.apply_many_into(stream, &kinds, keys, values, answers)
        })?
        .download(self.device().default_stream())
    }

    /// Does [`LinearMap::apply_many`] with buffers; waits until it is done. `kinds` are numbers of
    /// [`Operation`]s; an item whose kind is none of them does nothing.
    ///
    /// # Errors
    /// As for [`BulkMap::insert_many`](crate::BulkMap::insert_many), and
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn apply_many_into(
        &mut self,
        stream: &Stream,
        kinds: &Buffer<u32>,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<()> {
        self.table.apply_kinds(stream, kinds, (keys.words(), values.words()), answers.words_mut())
    }

    /// Copies slices to the device, and allocates memory for the answers.
    fn answered(
        &mut self,
        keys: &[K],
        values: &[V],
        work: impl FnOnce(&mut Self, &Stream, &Buffer<K>, &Buffer<V>, &mut Answers<V>) -> Result<()>,
    ) -> Result<Answers<V>> {
        let device = self.device().clone();
        let (keys, values) = Lent::pairs(&device, keys, values)?;
        let mut answers = Answers::uninitialized(&device, keys.len())?;
        work(self, device.default_stream(), &keys, &values, &mut answers)?;
        Ok(answers)
    }

    /// Reserves capacity for `additional` more keys, so that the table need not grow until they are
    /// there.
    ///
    /// # Errors
    /// As for [`LinearMap::reserve_on`].
    pub fn reserve(&mut self, additional: usize) -> Result<()> {
        let device = self.device().clone();
        self.reserve_on(device.default_stream(), additional)
    }

    /// Does [`LinearMap::reserve`] on `stream`.
    ///
    /// # Errors
    /// [`InputError::TooManySlots`](crate::InputError::TooManySlots),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory): the map is unchanged.
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn reserve_on(&mut self, stream: &Stream, additional: usize) -> Result<()> {
        self.table.reserve(stream, additional as u64)
    }

    /// Makes the slots of removed keys empty again, which shortens searches; the table keeps its
    /// size.
    ///
    /// # Errors
    /// As for [`LinearMap::reserve_on`].
    pub fn drop_tombstones(&mut self) -> Result<()> {
        let device = self.device().clone();
        self.drop_tombstones_on(device.default_stream())
    }

    /// Does [`LinearMap::drop_tombstones`] on `stream`.
    ///
    /// # Errors
    /// As for [`LinearMap::reserve_on`].
    pub fn drop_tombstones_on(&mut self, stream: &Stream) -> Result<()> {
        self.table.drop_tombstones(stream)
    }

    /// Measures how far keys are from their homes; waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    pub fn probe_lengths(&self) -> Result<LinearProbeReport> {
        let stream = self.device().default_stream();
        let table = &self.table;
        table.check()?;
        let histogram = Buffer::<u64>::zeroed(self.device(), HISTOGRAM)?;
        let totals = Buffer::<u64>::zeroed(self.device(), 2)?;
        stream.batch(|batch| {
            let lengths = ProbeLengths::<Half<K::Word, V::Word>> {
                words: batch.read(&table.words),
                histogram: batch.write(&histogram),
                totals: batch.write(&totals),
                plan: InspectParams { layout: table.layout, capacity: HISTOGRAM as u64 },
            };
            // SAFETY: slots and layout belong together; the histogram has the size that the plan
            // says.
            unsafe { batch.launch(&lengths, table.slots()) }
        })?;
        let (histogram, totals) = (histogram.download(stream)?, totals.download(stream)?);
        let keys: u64 = histogram.iter().sum();
        Ok(LinearProbeReport { mean: totals[0] as f64 / keys.max(1) as f64, longest: totals[1], histogram })
    }
}
