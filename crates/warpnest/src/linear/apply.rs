//! Batches of operations, which are done in chunks that fit the spare capacity.

use super::table::{Change, LinearTable, few_changes};
use crate::table::raw::Outputs;
use crate::{Answers, Buffer, Error, FullError, InputError, Result, Stream};
use gpu_kernels::linear::{
    Apply, ApplyParams, CountInserting, Insert, InsertParams, InsertingParams, Operation, header,
};
use gpu_kernels::seam::Kernel;
use gpu_kernels::types::{KeyWord, ValueWord};
use std::ops::Range;

/// A batch whose operations all have one kind, or have a kind each.
struct Work<'b, K, V> {
    operation: Operation,
    kinds: Option<&'b Buffer<u32>>,
    keys: &'b Buffer<K>,
    values: Option<&'b Buffer<V>>,
    /// The answers. `before` tells which keys were in the table before.
    answers: Option<&'b Buffer<V>>,
    before: Option<&'b Buffer<u32>>,
}

impl<'b, K, V: ValueWord> Work<'b, K, V> {
    /// Returns the same work with these answers, if any. Fails unless there is one for each key.
    fn answering(self, answers: Option<&'b Answers<V>>) -> Result<Self> {
        let Some(answers) = answers else { return Ok(self) };
        crate::error::same_length(("the keys", self.keys.len()), ("the answers", answers.len()))?;
        Ok(Self { answers: Some(&answers.values), before: Some(&answers.found), ..self })
    }
}

/// The granularity of chunks, in operations. Two chunks that consist of whole multiples never write
/// the same word of found-bits.
const WHOLE: u64 = 32;

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Does a batch of insertions without answers, and returns the count of new keys.
    pub(super) fn insert(&mut self, stream: &Stream, keys: &Buffer<K>, values: &Buffer<V>) -> Result<u64> {
        match self.first_of_each_key(stream, keys, values)? {
            Some((keys, values)) => self.insert_by(stream, Operation::Insert, &keys, &values, None),
            None => self.insert_by(stream, Operation::Insert, keys, values, None),
        }
    }

    /// Does a batch of insertions of one kind, and returns the count of new keys.
    pub(super) fn insert_by(
        &mut self,
        stream: &Stream,
        operation: Operation,
        keys: &Buffer<K>,
        values: &Buffer<V>,
        answers: Option<&Answers<V>>,
    ) -> Result<u64> {
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        let work = Work { operation, kinds: None, keys, values: Some(values), answers: None, before: None };
        let work = work.answering(answers)?;
        self.recover(stream)?;
        let before = self.counts.keys;
        self.apply(stream, &work)?;
        // A file may contain a key twice, and a rehash merges the two.
        Ok(self.counts.keys.saturating_sub(before))
    }

    /// Removes keys, and returns the count of removed keys.
    ///
    /// # Safety
    /// The outputs, if any, have a value for each key and a word of found-bits for every 32 keys.
    /// Nothing else uses them.
    pub(super) unsafe fn remove_keys(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        outputs: Option<Outputs<'_, V>>,
    ) -> Result<u64> {
        self.recover(stream)?;
        let keys_before = self.counts.keys;
        let (answers, before) = outputs.map_or((None, None), |(answers, before)| (answers, Some(before)));
        self.apply(stream, &Work { operation: Operation::Remove, kinds: None, keys, values: None, answers, before })?;
        Ok(keys_before.saturating_sub(self.counts.keys))
    }

    /// Does a batch of operations of several kinds.
    ///
    /// # Safety
    /// If a kind is the word of a fold, it is a fold of the values' own number type. Other folds
    /// could make words that are not valid values.
    pub(super) unsafe fn apply_kinds(
        &mut self,
        stream: &Stream,
        kinds: &Buffer<u32>,
        (keys, values): (&Buffer<K>, &Buffer<V>),
        answers: &Answers<V>,
    ) -> Result<()> {
        crate::error::same_length(("the keys", keys.len()), ("the kinds", kinds.len()))?;
        crate::error::same_length(("the keys", keys.len()), ("the values", values.len()))?;
        let (operation, kinds, values) = (Operation::Get, Some(kinds), Some(values));
        let work = Work { operation, kinds, keys, values, answers: None, before: None };
        let work = work.answering(Some(answers))?;
        self.recover(stream)?;
        self.apply(stream, &work)
    }

    /// Does a batch in chunks that cannot take more slots than the spare capacity. Makes capacity
    /// when only small chunks would be possible.
    fn apply(&mut self, stream: &Stream, work: &Work<'_, K, V>) -> Result<()> {
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
            // Near the load limit searches are long, so a rehash is better than a small chunk.
            let worthwhile = if hindered { rest / 4 } else { rest / 16 } + WHOLE;
            if work.kinds.is_none() && chunk >= worthwhile {
                self.chunk(stream, work, first..first + chunk, None)?;
                first += chunk;
            } else if hindered {
                self.drop_tombstones(stream)?;
            } else if self.counts.keys >= rest / 4 || !self.grow_for(stream, rest)? {
                // Many of the keys may be in the table already, so they need no slots.
                return self.chunk_counted(stream, work, first..all);
            }
        }
        Ok(())
    }

    /// Counts the inserting operations in a range of a batch. If the batch has several kinds, waits
    /// for the count.
    fn inserting(&self, stream: &Stream, work: &Work<'_, K, V>, range: Range<u64>) -> Result<u64> {
        let Range { start: first, end } = range;
        let Some(kinds) = work.kinds else { return Ok(end - first) };
        let at = header::INSERTING as usize;
        stream.batch(|batch| {
            let (kinds, header) = (batch.read(kinds), batch.write(&self.header));
            batch.zero_range(&self.header, at..at + 1)?;
            let count = CountInserting { kinds, header, plan: InsertingParams { first, end } };
            // SAFETY: there is a kind for each operation, and the header has all of its words.
            unsafe { batch.launch(&count, end - first) }
        })?;
        self.header.download_at(stream, at)
    }

    /// Does a chunk that may request more slots than there are. It repeats the refused operations
    /// until none is left, and makes capacity in between. It fails if that is impossible.
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
            // Copies of a new key may each have requested a slot, so that others were refused. As
            // long as there is spare capacity, every repetition does some operations.
            if self.spare_capacity() < refused / 4 && self.hindered(refused) {
                self.drop_tombstones(stream)?;
            } else if self.spare_capacity() == 0 {
                match self.grow_for(stream, refused) {
                    Ok(true) => {}
                    // Refused operations on keys that this repetition inserted need no slots.
                    Ok(false) | Err(Error::OutOfMemory { .. } | Error::Input(InputError::TooManyKeys { .. }))
                        if self.counts.taken != taken_before => {}
                    Ok(false) => {
                        return Err(Error::Full(FullError::NoSlots {
                            refused,
                            operations: work.keys.len() as u64,
                            taken: self.counts.taken,
                            slots: self.slots(),
                            load: self.load(),
                        }));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Does a range of a batch, either all operations or only the pending ones, and reads the
    /// counters.
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
        let Work { operation, kinds, keys, values, answers, before } = *work;
        let Range { start: first, end } = range;
        // If no key was removed, there is no slot to reuse.
        let anywhere = self.counts.removed != 0 && kinds.is_none() && operation != Operation::Remove;
        let only_inserts = operation == Operation::Insert && kinds.is_none() && answers.is_none() && pending.is_none();
        let layout = self.layout;
        let apply_plan = ApplyParams {
            layout,
            first,
            end,
            operation: operation as u32,
            anywhere: anywhere as u32,
            max_asked: self.counts.asked + self.spare_capacity(),
        };
        // SAFETY: keys, kinds, values and answers are equally long. The range is within them and
        // begins at a whole word of found-bits. Slots, header and layout belong together, and
        // nothing else uses them meanwhile. A launch that may reuse slots only inserts. The
        // kernel's documentation allows null for kinds, flags and answers, and for values if
        // nothing is inserted.
        stream.batch(|batch| unsafe {
            let (words, header) = (batch.write(&self.words), batch.write(&self.header));
            let (keys, values) = (batch.read(keys), batch.read_or_null(values));
            if only_inserts {
                let plan = InsertParams { layout, first, end };
                let insert = Insert::<K, V, false> { keys, values, words, header, plan };
                let kernel: &dyn Kernel = if anywhere { &insert.variant::<true>() } else { &insert };
                return batch.launch(kernel, self.threads(end - first, few_changes));
            }
            let apply = Apply::<K, V, false> {
                kinds: batch.read_or_null(kinds),
                keys,
                values,
                words,
                header,
                answers: batch.write_or_null(answers),
                before: batch.write_or_null(before),
                pending: batch.write_or_null(pending),
                plan: apply_plan,
            };
            match kinds {
                None => batch.launch(&apply, self.threads(end - first, few_changes)),
                Some(_) => batch.launch(&apply.variant::<true>(), end - first),
            }
        })
    }
}
