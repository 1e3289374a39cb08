//! The tables of a join on the device: their keys, and which rows have a key.

use super::joined::{JoinKind, JoinMethod};
use super::run::Input;
use crate::error::same_length;
use crate::primitives::{Scratch, check_items, gather};
use crate::relational::columns::{Chosen, Column, KeyColumns, KeysOnDevice, OnDevice, RowKeys, append};
use crate::split::or_null;
use crate::types::KeyOrder;
use crate::{Buffer, Key, Result, Stream};
use gpu_kernels::relational::rows::{RenumberRows, RenumberRowsParams};
use gpu_kernels::types::KeyWord;

/// A table of a join, as the user describes it.
pub(in crate::relational) struct Table<'t, 'q, K> {
    pub keys: &'t KeyColumns<'q, K>,
    /// A bit for each row, set if the row's key is not null; `None` if no key is null.
    pub valid: Option<Column<'q, u32>>,
}

impl<'q, K: Key> Table<'_, 'q, K> {
    /// Returns the count of rows; fails unless all columns have the same count.
    pub(crate) fn rows(&self) -> Result<u64> {
        let rows = self.keys.rows()?;
        if let Some(valid) = &self.valid {
            let words = ("the words that say which keys are valid", valid.rows());
            same_length(("the keys, in words of 32,", rows.div_ceil(32)), words)?;
        }
        check_items(rows)
    }

    /// Returns the additional bytes of scratch that are needed to compact the rows with keys.
    pub(crate) fn scratch_bytes(&self) -> Result<u64> {
        let rows = self.rows()?;
        Ok(self.valid.map_or(0, |_| rows * (4 + size_of::<K::Word>() as u64) + 8))
    }

    /// Copies the table to the device if necessary. If some keys may be null, the rows with keys
    /// are compacted.
    pub(crate) fn on_device(&self, stream: &Stream, scratch: &mut Scratch) -> Result<Side<'q, K::Word>> {
        let device = scratch.device().clone();
        let rows = self.rows()?;
        let keys = match self.keys.on_device(&device)? {
            KeysOnDevice::One(column) => column,
            two @ KeysOnDevice::Two(_) => {
                let combined = Buffer::uninitialized(&device, rows as usize)?;
                combine(stream, two.lent(), &combined)?;
                OnDevice::Own(combined)
            }
        };
        let Some(valid) = &self.valid else { return Ok(Side { keys, nulls: None }) };
        let bits = valid.on_device(&device)?;
        let mut numbers = scratch.lend::<u32>(rows as usize)?;
        let valid_rows = appended(stream, scratch, Chosen::Valid(&bits, rows), &numbers)?;
        numbers.set_length(valid_rows);
        let mut compacted = scratch.lend::<K::Word>(valid_rows)?;
        gather(stream, &keys, &numbers, &mut compacted)?;
        Ok(Side { keys: OnDevice::Own(compacted), nulls: Some(Nulls { bits, rows, numbers }) })
    }
}

fn combine<W: KeyWord>(stream: &Stream, keys: RowKeys<'_, W>, combined: &Buffer<W>) -> Result<()> {
    // SAFETY: there is a word for each row.
    stream.batch(|batch| unsafe { keys.encode(batch, KeyOrder::default(), batch.write(combined)) })
}

/// Writes the indices of the chosen rows; returns the count of these rows.
fn appended(stream: &Stream, scratch: &mut Scratch, chosen: Chosen<'_>, numbers: &Buffer<u32>) -> Result<usize> {
    let header = scratch.lend::<u64>(1)?;
    stream.batch(|batch| batch.zero(&header, 1))?;
    append(stream, chosen, (numbers, None), &header)?;
    let length = header.download_at(stream, 0)?;
    scratch.give_back(header);
    Ok(length as usize)
}

/// A table on the device, which contains only the rows that have keys.
pub(in crate::relational) struct Side<'q, W> {
    keys: OnDevice<'q, W>,
    nulls: Option<Nulls<'q>>,
}

/// The rows with keys and the rows without keys.
struct Nulls<'q> {
    bits: OnDevice<'q, u32>,
    /// The count of all rows.
    rows: u64,
    /// The indices of the rows that have keys.
    numbers: Buffer<u32>,
}

impl<W> Side<'_, W> {
    /// Returns the keys of the rows that have a key.
    pub(crate) fn keys(&self) -> &Buffer<W> {
        &self.keys
    }

    /// Returns the count of rows of the table.
    pub(crate) fn rows(&self) -> usize {
        self.nulls.as_ref().map_or(self.keys().len(), |nulls| nulls.rows as usize)
    }

    /// Returns the indices of the rows that have keys, or `None` if all rows have keys.
    pub(crate) fn numbers(&self) -> Option<&Buffer<u32>> {
        self.nulls.as_ref().map(|nulls| &nulls.numbers)
    }

    /// Returns the count of rows without a key.
    pub(crate) fn null_rows(&self) -> u64 {
        self.nulls.as_ref().map_or(0, |nulls| nulls.rows - nulls.numbers.len() as u64)
    }

    /// Writes the indices of the rows without a key to the front of the buffer, in any order.
    pub(crate) fn write_null_rows(&self, stream: &Stream, scratch: &mut Scratch, rows: &Buffer<u32>) -> Result<()> {
        let Some(nulls) = &self.nulls else { return Ok(()) };
        appended(stream, scratch, Chosen::Null(&nulls.bits, nulls.rows), rows).map(|_| ())
    }

    /// Returns the memory of the compacted rows to the scratch.
    pub(crate) fn give_back(self, scratch: &mut Scratch) {
        if let (OnDevice::Own(keys), Some(nulls)) = (self.keys, self.nulls) {
            scratch.give_back(keys);
            scratch.give_back(nulls.numbers);
        }
    }
}

/// Both tables of a join on the device, and the options of the join.
pub(super) struct Sides<'q, W> {
    pub left: Side<'q, W>,
    pub right: Side<'q, W>,
    pub kind: JoinKind,
    pub method: JoinMethod,
    pub seed: u64,
    pub light_rows: Option<u32>,
}

impl<W: KeyWord> Sides<'_, W> {
    /// Returns the input of the join: the rows that have keys. If rows are split, their indices are
    /// carried along as values.
    pub(super) fn input(&self) -> Input<'_, W> {
        let Self { left, right, kind, method, seed, light_rows } = self;
        let values = [left.numbers(), right.numbers()];
        let keys = [left.keys(), right.keys()];
        Input { keys, values, kind: *kind, method: *method, seed: *seed, light_rows: *light_rows }
    }

    /// Returns the count of rows without a key that the result contains.
    pub(super) fn null_rows(&self) -> u64 {
        let [of_left, of_right] = self.kind.has_rows_alone();
        of_left as u64 * self.left.null_rows() + of_right as u64 * self.right.null_rows()
    }

    /// Replaces the row indices of a join of rows with keys by indices in the tables, and appends
    /// the rows without keys that belong to the result. `method` is the method of the join.
    pub(super) fn finish(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        method: JoinMethod,
        [left, right]: [&mut Buffer<u32>; 2],
    ) -> Result<()> {
        if self.left.nulls.is_none() && self.right.nulls.is_none() {
            return Ok(());
        }
        for (side, rows) in [(&self.left, &*left), (&self.right, &*right)] {
            // Splits write the rows' indices in the table.
            if method != JoinMethod::Split
                && let Some(numbers) = side.numbers()
            {
                renumber(stream, rows, Some(numbers), 0)?;
            }
        }
        if self.null_rows() != 0 {
            self.append_null_rows(stream, scratch, [left, right])?;
        }
        stream.synchronize()
    }

    /// Queues appending the rows without a key that belong to the result.
    fn append_null_rows(
        &self,
        stream: &Stream,
        scratch: &mut Scratch,
        [left, right]: [&mut Buffer<u32>; 2],
    ) -> Result<()> {
        let (pairs, has_right) = (left.len(), self.kind.has_right_rows());
        left.resize(stream, pairs + self.null_rows() as usize)?;
        if has_right {
            right.resize(stream, left.len())?;
        }
        let mut header = scratch.lend::<u64>(1)?;
        header.upload(stream, &[pairs as u64])?;
        let [of_left, of_right] = self.kind.has_rows_alone();
        for (nulls, rows, others) in [
            (self.left.nulls.as_ref().filter(|_| of_left), &*left, has_right.then_some(&*right)),
            (self.right.nulls.as_ref().filter(|_| of_right), &*right, Some(&*left)),
        ] {
            if let Some(nulls) = nulls {
                append(stream, Chosen::Null(&nulls.bits, nulls.rows), (rows, others), &header)?;
            }
        }
        scratch.give_back(header);
        Ok(())
    }

    /// Returns the memory of the compacted rows to the scratch.
    pub(super) fn give_back(self, scratch: &mut Scratch) {
        self.left.give_back(scratch);
        self.right.give_back(scratch);
    }
}

/// Queues replacing row index `r` by `numbers[r] + first`, or without `numbers` by `r + first`.
/// `NO_ROW` stays.
pub(in crate::relational) fn renumber(
    stream: &Stream,
    rows: &Buffer<u32>,
    numbers: Option<&Buffer<u32>>,
    first: u32,
) -> Result<()> {
    let rows_of_table = numbers.map_or(u64::from(u32::MAX), |numbers| numbers.len() as u64);
    let plan = RenumberRowsParams { items: rows.len() as u64, rows: rows_of_table, first, padding: 0 };
    stream.batch(|batch| {
        let numbers = or_null(numbers.map(|numbers| batch.read(numbers)));
        // SAFETY: there are as many row indices as the plan says. `numbers` is null, or has an
        // element for each row of the table.
        unsafe { batch.launch(&RenumberRows { items: batch.write(rows), numbers, plan }, plan.items) }
    })
}
