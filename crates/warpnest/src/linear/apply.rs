//! Batches of operations, in chunks that fit the spare capacity.

use super::{Change, LinearMap};
use crate::runtime::buffer::Tracked;
use crate::runtime::lent::Lent;
use crate::{Answers, Buffer, Error, Key, Result, Stream, Value};
use gpu_kernels::linear::{
    Apply, ApplyParams, CountInserting, Insert, InsertParams, InsertingParams, Operation, header,
};
use gpu_kernels::seam::{Global, Kernel};
use std::ops::Range;

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
            Self::Get(key) => (Operation::Get as u32, key, V::default()),
            Self::Insert(key, value) => (Operation::Insert as u32, key, value),
            Self::GetOrInsert(key, value) => (Operation::GetOrInsert as u32, key, value),
            Self::Remove(key) => (Operation::Remove as u32, key, V::default()),
        }
    }
}

/// A batch, with one kind for all operations or one for each.
struct Work<'b, K, V> {
    operation: Operation,
    kinds: Option<&'b Buffer<u32>>,
    keys: &'b Buffer<K>,
    values: Option<&'b Buffer<V>>,
    answers: Option<&'b Answers<V>>,
}

/// The granularity of chunks, in operations: chunks of whole multiples do not write the same word
/// of bits as another chunk.
const WHOLE: u64 = 32;

impl<K: Key, V: Value> LinearMap<K, V> {
    /// Gives every key its value; returns how many of the keys were new.
    ///
    /// # Errors
    /// * [`Error::LengthsDiffer`]: nothing was done.
    /// * [`Error::TableFull`] if the map may not grow; [`Error::TooManySlots`],
    ///   [`Error::OutOfMemory`] if it cannot. Pairs that fitted the capacity are in the map,
    ///   [`LinearMap::len`] counts them, and the call can be repeated.
    /// * [`Error::Driver`]: some of the pairs may be in the map, as [`LinearMap::len`] says.
    pub fn insert_many(&mut self, keys: &[K], values: &[V]) -> Result<u64> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        let device = self.device.clone();
        let (keys, values) = (Lent::new(&device, keys)?, Lent::new(&device, values)?);
        self.insert_many_on(device.default_stream(), &keys, &values)
    }

    /// Does [`LinearMap::insert_many`] from buffers; waits until it is done.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`], and [`Error::WrongDevice`].
    pub fn insert_many_on(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        self.insert(stream, Operation::Insert, keys, values, None)
    }

    /// Does [`LinearMap::insert_many`] and returns the values that the keys had before: a key
    /// without one is new.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`].
    pub fn replace_many(&mut self, keys: &[K], values: &[V]) -> Result<Vec<Option<V>>> {
        self.answered(keys, Some(values), |map, stream, keys, values, answers| {
            map.replace_many_into(stream, keys, values, answers).map(drop)
        })?
        .download(self.device.default_stream())
    }

    /// Does [`LinearMap::replace_many`] with buffers; waits until it is done. Returns how many of
    /// the keys were new.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`], and [`Error::WrongDevice`].
    pub fn replace_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<u64> {
        self.insert(stream, Operation::Insert, keys, values, Some(answers))
    }

    /// Returns the value of every key; keys without one first get the given values.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`].
    pub fn get_or_insert_many(&mut self, keys: &[K], values: &[V]) -> Result<Vec<V>> {
        let answers = self.answered(keys, Some(values), |map, stream, keys, values, answers| {
            map.get_or_insert_many_into(stream, keys, values, answers).map(drop)
        })?;
        answers.values().download(self.device.default_stream())
    }

    /// Does [`LinearMap::get_or_insert_many`] with buffers; waits until it is done. A key counts as
    /// found if it was there before. Returns how many were new.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`], and [`Error::WrongDevice`].
    pub fn get_or_insert_many_into(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<u64> {
        self.insert(stream, Operation::GetOrInsert, keys, values, Some(answers))
    }

    /// Removes the keys; returns the values that they had.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Driver`]: [`LinearMap::len`] says whether the keys are
    /// still there. If memory on the device was lacking, nothing was done.
    pub fn remove_many(&mut self, keys: &[K]) -> Result<Vec<Option<V>>> {
        self.answered(keys, None, |map, stream, keys, _, answers| {
            map.remove_many_into(stream, keys, answers).map(drop)
        })?
        .download(self.device.default_stream())
    }

    /// Removes the keys; waits until it is done. Returns how many were there.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Driver`].
    pub fn remove_many_on(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<u64> {
        self.remove(stream, keys, None)
    }

    /// Does [`LinearMap::remove_many_on`], and answers which keys were there, with the values that
    /// they had.
    ///
    /// # Errors
    /// [`Error::LengthsDiffer`], [`Error::WrongDevice`]: nothing was done. [`Error::Driver`].
    pub fn remove_many_into(&mut self, stream: &Stream, keys: &Buffer<K>, answers: &mut Answers<V>) -> Result<u64> {
        self.remove(stream, keys, Some(answers))
    }

    /// Does all operations at the same time; each answer is the value that the key had when its
    /// operation was done.
    ///
    /// Several operations on one key give what they would give in some sequential order.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`].
    pub fn apply_many(&mut self, operations: &[LinearOperation<K, V>]) -> Result<Vec<Option<V>>> {
        let kinds: Vec<u32> = operations.iter().map(|operation| operation.parts().0).collect();
        let keys: Vec<K> = operations.iter().map(|operation| operation.parts().1).collect();
        let values: Vec<V> = operations.iter().map(|operation| operation.parts().2).collect();
        let kinds = Buffer::from_slice(&self.device, &kinds)?;
        self.answered(&keys, Some(&values), |map, stream, keys, values, answers| {
            map.apply_many_into(stream, &kinds, keys, values, answers)
        })?
        .download(self.device.default_stream())
    }

    /// Does [`LinearMap::apply_many`] with buffers; waits until it is done. `kinds` are numbers of
    /// [`Operation`]s; an item whose kind is none of them does nothing.
    ///
    /// # Errors
    /// As for [`LinearMap::insert_many`], and [`Error::WrongDevice`].
    pub fn apply_many_into(
        &mut self,
        stream: &Stream,
        kinds: &Buffer<u32>,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: &mut Answers<V>,
    ) -> Result<()> {
        crate::error::same_length(("the keys", keys.len()), ("the kinds", kinds.len()))?;
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        let work =
            Work { operation: Operation::Get, kinds: Some(kinds), keys, values: Some(values), answers: Some(answers) };
        self.recover(stream)?;
        self.apply(stream, &work)
    }

    /// Copies slices to the device, and allocates memory for the answers.
    fn answered(
        &mut self,
        keys: &[K],
        values: Option<&[V]>,
        work: impl FnOnce(&mut Self, &Stream, &Buffer<K>, &Buffer<V>, &mut Answers<V>) -> Result<()>,
    ) -> Result<Answers<V>> {
        let values = values.unwrap_or(&[]);
        let device = self.device.clone();
        let (keys, values) = (Lent::new(&device, keys)?, Lent::new(&device, values)?);
        let mut answers = Answers::uninitialized(&device, keys.len())?;
        work(self, device.default_stream(), &keys, &values, &mut answers)?;
        Ok(answers)
    }

    fn insert(
        &mut self,
        stream: &Stream,
        operation: Operation,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: Option<&Answers<V>>,
    ) -> Result<u64> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        self.recover(stream)?;
        let before = self.counts.keys;
        self.apply(stream, &Work { operation, kinds: None, keys, values: Some(values), answers })?;
        Ok(self.counts.keys - before)
    }

    fn remove(&mut self, stream: &Stream, keys: &Buffer<K>, answers: Option<&Answers<V>>) -> Result<u64> {
        self.recover(stream)?;
        let before = self.counts.keys;
        self.apply(stream, &Work { operation: Operation::Remove, kinds: None, keys, values: None, answers })?;
        Ok(before - self.counts.keys)
    }

    /// Does a batch, in chunks that cannot take more slots than the spare capacity. Makes capacity
    /// if only small chunks are left.
    fn apply(&mut self, stream: &Stream, work: &Work<'_, K, V>) -> Result<()> {
        if let Some(answers) = work.answers {
            crate::error::same_length(("the keys", work.keys.len()), ("the answers", answers.len()))?;
        }
        let (all, inserts) = (work.keys.len() as u64, work.values.is_some());
        if inserts && work.kinds.is_none() {
            self.tidy(stream, all)?;
        }
        let mut first = 0;
        while first < all {
            let spare_capacity = self.spare_capacity();
            if !inserts || all - first <= spare_capacity {
                return self.chunk(stream, work, first..all, None);
            }
            let rest = self.inserting(stream, work, first..all)?;
            if rest <= spare_capacity {
                return self.chunk(stream, work, first..all, None);
            }
            let (chunk, hindered) = (spare_capacity / WHOLE * WHOLE, self.hindered(rest));
            // Near the limit searches are long: a rehash is then better than the next smaller
            // chunk.
            let worthwhile = if hindered { rest / 4 } else { rest / 16 } + WHOLE;
            if work.kinds.is_none() && chunk >= worthwhile {
                self.chunk(stream, work, first..first + chunk, None)?;
                first += chunk;
            } else if hindered {
                self.drop_tombstones(stream)?;
            } else if self.counts.keys >= rest / 4 || !self.grow_for(stream, rest)? {
                // Many of the keys may be there already, and need no slots.
                return self.chunk_counted(stream, work, first..all);
            }
        }
        Ok(())
    }

    /// Counts the operations of a range of a batch that insert; waits if they are of several kinds.
    fn inserting(&self, stream: &Stream, work: &Work<'_, K, V>, range: Range<u64>) -> Result<u64> {
        let Range { start: first, end } = range;
        let Some(kinds) = work.kinds else { return Ok(end - first) };
        let (header, at) = (self.header.argument::<u64>(), header::INSERTING);
        let count = CountInserting { kinds: kinds.argument(), header, plan: InsertingParams { first, end } };
        stream.batch(&[kinds], &[&self.header], |batch| {
            batch.zero_range(&self.header, at as usize..at as usize + 1)?;
            // SAFETY: there are as many kinds as operations; the header has its words.
            unsafe { batch.launch(&count, end - first) }
        })?;
        self.header.download_at(stream, at as usize)
    }

    /// Does a chunk that may want more new slots than there are, in turns. Between turns it makes
    /// capacity for what was refused, and fails if that is impossible.
    fn chunk_counted(&mut self, stream: &Stream, work: &Work<'_, K, V>, range: Range<u64>) -> Result<()> {
        let mut pending = Buffer::uninitialized(&self.device, work.keys.len().div_ceil(WHOLE as usize))?;
        pending.fill(stream, 0xff)?;
        loop {
            let (refused_before, taken_before) = (self.counts.refused, self.counts.taken);
            self.chunk(stream, work, range.clone(), Some(&pending))?;
            let refused = self.counts.refused - refused_before;
            if refused == 0 {
                return Ok(());
            }
            // Copies of a new key may each have asked for a slot, and others may have given up. As
            // long as there is spare capacity, each turn does some operations.
            if self.spare_capacity() < refused / 4 && self.hindered(refused) {
                self.drop_tombstones(stream)?;
            } else if self.spare_capacity() == 0 {
                match self.grow_for(stream, refused) {
                    Ok(true) => {}
                    // What was refused may ask for keys that this turn inserted: they need no
                    // slots.
                    Ok(false) | Err(Error::OutOfMemory { .. } | Error::TooManySlots { .. })
                        if self.counts.taken != taken_before => {}
                    Ok(false) => {
                        return Err(Error::TableFull {
                            refused,
                            operations: work.keys.len() as u64,
                            taken: self.counts.taken,
                            slots: self.slots(),
                            load: self.config.load,
                        });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Does a range of a batch, all operations or the pending ones, and reads the counters.
    fn chunk(
        &mut self,
        stream: &Stream,
        work: &Work<'_, K, V>,
        range: Range<u64>,
        pending: Option<&Buffer<u32>>,
    ) -> Result<()> {
        self.change(stream, Change::Batch, |map, stream| {
            map.launch(stream, work, range, pending)?;
            map.count(stream)
        })
    }

    /// Queues a range of a batch.
    fn launch(
        &self,
        stream: &Stream,
        work: &Work<'_, K, V>,
        range: Range<u64>,
        pending: Option<&Buffer<u32>>,
    ) -> Result<()> {
        let Work { operation, kinds, keys, values, answers } = *work;
        let Range { start: first, end } = range;
        // SAFETY: the kernel's documentation allows null for kinds, flags and answers, and for
        // values if nothing is inserted.
        let (no_words, no_values) = unsafe { (Global::<u32>::null(), Global::<V>::null()) };
        // Otherwise there is no slot to be used again.
        let anywhere = self.counts.removed != 0 && kinds.is_none() && operation != Operation::Remove;
        let (layout, words, header) = (self.layout, self.words.argument(), self.header.argument());
        let (keys_in, values_in) = (keys.argument(), values.map_or(no_values, Buffer::argument));
        let insert_plan = InsertParams { layout, first, end };
        let insert = || Insert::<K, V, false> { keys: keys_in, values: values_in, words, header, plan: insert_plan };
        let apply = || Apply::<K, V> {
            kinds: kinds.map_or(no_words, Buffer::argument),
            keys: keys_in,
            values: values_in,
            words,
            header,
            answers: answers.map_or(no_values, |answers| answers.values.argument()),
            before: answers.map_or(no_words, |answers| answers.found.argument()),
            pending: pending.map_or(no_words, Buffer::argument),
            plan: ApplyParams {
                layout,
                first,
                end,
                operation: operation as u32,
                anywhere: anywhere as u32,
                max_asked: self.counts.asked + self.spare_capacity(),
            },
        };
        let only_inserts = operation == Operation::Insert && kinds.is_none() && answers.is_none() && pending.is_none();
        let kernel: &dyn Kernel = match (only_inserts, anywhere) {
            (true, false) => &insert(),
            (true, true) => &insert().variant::<true>(),
            (false, _) => &apply(),
        };
        let mut reads: Vec<&dyn Tracked> = vec![keys];
        reads.extend(kinds.map(|buffer| buffer as &dyn Tracked));
        reads.extend(values.map(|buffer| buffer as &dyn Tracked));
        let mut writes: Vec<&dyn Tracked> = vec![&self.words, &self.header];
        if let Some(answers) = answers {
            writes.extend([&answers.values as &dyn Tracked, &answers.found]);
        }
        writes.extend(pending.map(|buffer| buffer as &dyn Tracked));
        // SAFETY: keys, kinds, values and answers are equally long. The range is within them and
        // begins at a whole word of bits. Slots, header and layout belong together, and nobody else
        // uses them meanwhile. A launch that takes any slot only inserts.
        unsafe { stream.launch(kernel, end - first, &reads, &writes) }
    }
}
