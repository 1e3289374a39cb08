//! Builds of larger and of smaller tables from the pairs of a table. The old table is kept until
//! the new one is built.

use crate::page::build::plan::Plan;
use crate::page::table::PageTable;
use crate::table::config::Config;
use crate::table::input::{Input, Known};
use crate::table::raw::ReadTable;
use crate::table::retaining::dropped;
use crate::{Buffer, Result, Stream};
use gpu_kernels::types::{KeyWord, Payload, WordOf};

/// Keys, and a value for each key if the table has values.
struct Columns<K, W> {
    keys: Buffer<K>,
    values: Option<Buffer<W>>,
    pairs: u64,
}

impl<K: KeyWord, V: Payload> PageTable<K, V> {
    /// Counts the pairs of a batch whose keys are not in the table, and waits for the count.
    pub(in crate::page) fn count_absent(&self, stream: &Stream, input: Input<'_, K, V>) -> Result<u64> {
        let keys = input.keys.slice(..input.pairs as usize)?;
        let found = Buffer::<u32>::uninitialized(&self.device, keys.len().div_ceil(32))?;
        // SAFETY: there is a word of found-bits for every 32 keys, and nothing else uses them.
        unsafe { self.find(stream, &keys, (None, &found))? };
        Ok(dropped(&self.device, stream, &keys, &found)?.len() as u64)
    }

    /// Replaces the table by a larger one with its own pairs and a batch's pairs. If a key is in
    /// both, the batch's value wins. The new table has capacity for `needed` pairs, and more than
    /// 1.5 times the old capacity if such a table is possible.
    pub(in crate::page) fn grow(&mut self, stream: &Stream, input: Input<'_, K, V>, needed: u64) -> Result<()> {
        self.scratch.release();
        let columns = self.columns_with(stream, Some(input))?;
        let spacious = needed.max(self.capacity() + self.capacity() / 2 + 1);
        let capacity = if self.plan_again(columns.pairs, spacious).is_ok() { spacious } else { needed };
        self.build_again(stream, &columns, capacity)
    }

    /// Ensures capacity for `additional` more keys.
    pub(in crate::page) fn reserve(&mut self, stream: &Stream, additional: u64) -> Result<()> {
        let needed = self.length.saturating_add(additional);
        if needed <= self.capacity() {
            return Ok(());
        }
        // An impossible request should cost nothing.
        self.plan_again(self.length, needed)?;
        self.scratch.release();
        let columns = self.columns_with(stream, None)?;
        self.build_again(stream, &columns, needed)
    }

    /// Replaces the table by one that just fits its keys, if that is smaller. Returns whether it
    /// was.
    pub(in crate::page) fn shrink(&mut self, stream: &Stream) -> Result<bool> {
        let plan = self.plan_again(self.length, self.length)?;
        if plan.table_words() as usize >= self.words_in_use() {
            return Ok(false);
        }
        let columns = self.columns_with(stream, None)?;
        self.build_again(stream, &columns, columns.pairs)?;
        Ok(true)
    }

    /// Returns the plan of a build of `pairs` pairs with capacity for `capacity` pairs. A key may
    /// be both in the table and in a batch, whatever was promised of each.
    fn plan_again(&self, pairs: u64, capacity: u64) -> Result<Plan> {
        let config = Config { unique: false, ..self.config.clone() };
        config.plan_with_capacity::<K, V>(pairs, capacity, Known::Nothing, self.device.machine())
    }

    /// Returns all pairs of the table, followed by the pairs of a batch.
    fn columns_with(&self, stream: &Stream, batch: Option<Input<'_, K, V>>) -> Result<Columns<K, WordOf<V>>> {
        let (length, coming) = (self.length as usize, batch.map_or(0, |batch| batch.pairs as usize));
        let mut keys = Buffer::uninitialized(&self.device, length + coming)?;
        let mut values =
            (V::VALUE_BITS != 0).then(|| Buffer::uninitialized(&self.device, length + coming)).transpose()?;
        // SAFETY: the buffers have an element for each key of the table, and nothing else uses
        // them.
        let written = unsafe { self.write(stream, &keys, values.as_ref())? };
        // There are more pairs if a promise of unique keys was broken, and fewer if the file stated
        // a wrong count.
        let end = length.min(written as usize) + coming;
        if let Some(batch) = batch {
            keys.slice_mut(end - coming..end)?.copy_from(stream, &*batch.keys.slice(..coming)?)?;
            if let Some((values, batch)) = values.as_mut().zip(batch.values) {
                values.slice_mut(end - coming..end)?.copy_from(stream, &*batch.slice(..coming)?)?;
            }
        }
        Ok(Columns { keys, values, pairs: end as u64 })
    }

    /// Replaces the table by one that is built from these pairs and has capacity for `capacity`
    /// pairs.
    fn build_again(&mut self, stream: &Stream, columns: &Columns<K, WordOf<V>>, capacity: u64) -> Result<()> {
        let &Columns { ref keys, ref values, pairs } = columns;
        let plan = self.plan_again(pairs, capacity)?;
        let input = Input { keys, values: values.as_ref(), pairs, known: Known::Nothing };
        *self = Self::build_planned(self.config.clone(), stream, &self.device, (input, &plan))?;
        Ok(())
    }
}
