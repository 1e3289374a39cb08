//! Batches whose values are combined with the table's values, and batches in which some keys are
//! frequent.

use super::LinearTable;
use super::table::{Change, few_changes, in_cell};
use crate::primitives::exclusive_scan_in_place;
use crate::relational::group_by::combined::combined;
use crate::relational::group_by::sample::are_mostly_distinct;
use crate::table::raw::ReadTable;
use crate::{Buffer, Error, FullError, InputError, Result, Stream};
use gpu_kernels::layered::compacting::{CountBits, RowsParams};
use gpu_kernels::linear::{Combine, CombineParams};
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::seam::Kernel;
use gpu_kernels::table::fold::{Fold, FoldKind};
use gpu_kernels::types::{KeyWord, ValueWord};
use rand_xoshiro::rand_core::Rng;

/// The fewest rows of a combination whose keys are sampled. One block does smaller batches.
const MIN_SAMPLED_COMBINATIONS: usize = 256;

/// The most rows of an insertion whose keys are sampled.
const MAX_SAMPLED: usize = u32::MAX as usize;

/// The fewest rows of an insertion whose keys are sampled. A smaller batch takes no longer than the
/// sample, and its threads do not wait long.
const MIN_SAMPLED_INSERTIONS: usize = 1 << 22;

impl<K: KeyWord, V: ValueWord> LinearTable<K, V> {
    /// Combines the value of each key with the values of its rows, or adds the count of its rows if
    /// there are no values. Returns the count of new keys. An error means that nothing has changed,
    /// unless the device failed.
    pub(super) fn combine(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: Option<&Buffer<V>>,
        fold: Fold,
    ) -> Result<u64> {
        self.recover(stream)?;
        if keys.is_empty() {
            return Ok(0);
        }
        let before = self.counts.keys;
        // Sums of floating-point numbers depend on the order of the rows, which threads do not
        // keep.
        let adds_floats = fold.is_sum() && fold.numbers() == SumKind::Float;
        let are_few = self.config.design.combines_first.is_none() && keys.len() < MIN_SAMPLED_COMBINATIONS;
        let merges = adds_floats || !are_few && self.combines_first(stream, keys)?;
        if !merges && self.has_capacity(stream, keys)? {
            self.combine_rows(stream, keys, values, fold)?;
        } else {
            let combined = combined(stream, &mut self.scratch, keys, values, fold);
            if let Err(Error::OutOfMemory { .. }) = combined {
                self.scratch.release();
            }
            let (keys, values) = combined?;
            self.make_capacity(stream, &keys)?;
            self.combine_rows(stream, &keys, Some(&values), fold)?;
        }
        // A file may contain a key twice, and a rehash merges the two.
        Ok(self.counts.keys.saturating_sub(before))
    }

    /// Returns one pair for each key of a batch of insertions, if some keys are so frequent that
    /// this is faster.
    pub(super) fn first_of_each_key(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: &Buffer<V>,
    ) -> Result<Option<(Buffer<K>, Buffer<V>)>> {
        let is_worth_it = self.config.design.combines_first == Some(true) || keys.len() >= MIN_SAMPLED_INSERTIONS;
        if !is_worth_it || keys.len() > MAX_SAMPLED || values.len() != keys.len() {
            return Ok(None);
        }
        // Any row of a key may provide the value. The maximum provides one, because it returns the
        // word of one row unchanged. Comparing unsigned words works for every type of value.
        let greatest = Fold::new(FoldKind::Max, SumKind::Unsigned, V::BITS);
        let firsts = match self.combines_first(stream, keys) {
            Ok(true) => combined(stream, &mut self.scratch, keys, Some(values), greatest),
            Ok(false) => return Ok(None),
            Err(error) => Err(error),
        };
        match firsts {
            Ok(firsts) => Ok(Some(firsts)),
            // Merging the rows needs more memory than the insertion does.
            Err(Error::OutOfMemory { .. }) => {
                self.scratch.release();
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the rows of each key are merged before they are written to the table.
    fn combines_first(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<bool> {
        match self.config.design.combines_first {
            Some(combines) => Ok(combines),
            // A few threads do not make each other wait for long.
            None if self.device.machine().runs_in_order() => Ok(false),
            None => {
                let seed = self.random.next_u64();
                Ok(!are_mostly_distinct(stream, &mut self.scratch, keys, seed)?)
            }
        }
    }

    /// Combines values row by row. The table must have spare capacity for all new keys.
    fn combine_rows(
        &mut self,
        stream: &Stream,
        keys: &Buffer<K>,
        values: Option<&Buffer<V>>,
        fold: Fold,
    ) -> Result<()> {
        let (layout, rows) = (self.layout, keys.len() as u64);
        let plan = CombineParams { layout, first: 0, end: rows, value: 1, fold, padding: 0 };
        self.change(stream, Change::Batch, |table, stream| {
            // SAFETY: there are as many values as keys, or null, which the kernel's documentation
            // allows. Slots, header and layout belong together, and nothing else uses them
            // meanwhile. A launch that may reuse slots only inserts.
            stream.batch(|batch| unsafe {
                let (words, header) = (batch.write(&table.words), batch.write(&table.header));
                let (keys, values) = (batch.read(keys), batch.read_or_null(values));
                let combine = Combine::<K, V, false> { keys, values, words, header, plan };
                let anywhere = combine.variant::<true>();
                let kernel: &dyn Kernel = if table.counts.removed != 0 { &anywhere } else { &combine };
                batch.launch(kernel, table.threads(rows, few_changes))
            })?;
            table.count(stream)
        })
    }

    /// Returns whether the table has capacity for all rows with new keys, even if these keys are
    /// all different.
    fn has_capacity(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<bool> {
        let spare_capacity = self.spare_capacity();
        Ok(keys.len() as u64 <= spare_capacity || self.absent(stream, keys)? <= spare_capacity)
    }

    /// Returns the count of rows whose keys are not in the table, and waits for it.
    fn absent(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<u64> {
        let words = keys.len().div_ceil(32);
        let found = Buffer::uninitialized(&self.device, words)?;
        // SAFETY: there is a word for every 32 keys.
        unsafe { self.find(stream, keys, (None, &found))? };
        // The last element becomes the sum of all counts.
        let mut sums = Buffer::<u32>::zeroed(&self.device, words + 1)?;
        let plan = RowsParams { rows: words as u64 };
        stream.batch(|batch| {
            let count = CountBits { bits: batch.read(&found), counts: batch.write(&sums), plan };
            // SAFETY: there is a count for each word.
            unsafe { batch.launch(&count, plan.rows) }
        })?;
        exclusive_scan_in_place(stream, &mut self.scratch, &mut sums)?;
        Ok(keys.len() as u64 - sums.download_at(stream, words)? as u64)
    }

    /// Makes capacity for the new keys among these distinct keys, or fails before anything has
    /// changed.
    fn make_capacity(&mut self, stream: &Stream, keys: &Buffer<K>) -> Result<()> {
        if keys.len() as u64 <= self.spare_capacity() {
            return Ok(());
        }
        let new = self.absent(stream, keys)?;
        if self.hindered(new) {
            self.drop_tombstones(stream)?;
        }
        let spare_capacity = self.spare_capacity();
        if new <= spare_capacity {
            return Ok(());
        }
        if self.config.design.grows {
            // The capacity at least doubles, so that not every batch moves all keys.
            let held = self.counts.keys;
            return match self.reserve(stream, new.max(held)) {
                Err(Error::OutOfMemory { .. } | Error::Input(InputError::TooManyKeys { .. })) if new < held => {
                    self.reserve(stream, new)
                }
                reserved => reserved,
            };
        }
        // The key that is stored in the cell takes no slot.
        let cell_is_empty = in_cell(&self.header.download(stream)?) == 0;
        if new == spare_capacity + 1 && cell_is_empty && keys.download(stream)?.contains(&K::ALL_ONES) {
            return Ok(());
        }
        let (slots, load) = (self.slots(), self.load());
        Err(Error::Full(FullError::NoCapacity { new_keys: new, spare_capacity, slots, load }))
    }
}
