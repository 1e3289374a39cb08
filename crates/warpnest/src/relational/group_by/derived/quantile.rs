//! Medians and other quantiles of groups, whose rows are sorted by code and value.

use super::codes::Rows;
use crate::primitives::{Scratch, runs_of_sorted, sort_pairs};
use crate::relational::columns::{Words, WordsRef};
use crate::{Buffer, Result};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::relational::group_by::quantiles::{OrderValues, OrderValuesParams, Quantiles, QuantilesParams};
use gpu_kernels::types::{KeyWord, ValueWord};

/// The values of rows as words that sort like the values, sorted by code and value, in memory of
/// the scratch.
pub(super) struct Sorted {
    words: Words,
    /// The index of each group's first word, in ascending order of the codes, and the end.
    starts: Buffer<u32>,
    column: ColumnParams,
}

impl Sorted {
    /// Sorts the rows by code and value.
    pub(super) fn new(
        rows: &Rows<'_>,
        scratch: &mut Scratch,
        values: WordsRef<'_>,
        column: ColumnParams,
    ) -> Result<Self> {
        match values {
            WordsRef::Narrow(values) => Self::of(rows, scratch, values, column),
            WordsRef::Wide(values) => Self::of(rows, scratch, values, column),
        }
    }

    fn of<W: KeyWord + ValueWord>(
        rows: &Rows<'_>,
        scratch: &mut Scratch,
        values: &Buffer<W>,
        column: ColumnParams,
    ) -> Result<Self> {
        let stream = rows.stream;
        let (mut words, mut codes) = (scratch.lend::<W>(values.len())?, scratch.lend::<u32>(values.len())?);
        let plan = OrderValuesParams { column, items: values.len() as u64, is_descending: 0, padding: 0 };
        stream.batch(|batch| {
            let kernel = OrderValues { values: batch.read(values), ranks: batch.write(&words), plan };
            // SAFETY: there is a word for each value.
            unsafe { batch.launch(&kernel, plan.items) }
        })?;
        codes.copy_from(stream, rows.codes)?;
        // The sorts are stable, so the second keeps the order of the values in each group.
        sort_pairs(stream, scratch, &mut words, &mut codes)?;
        sort_pairs(stream, scratch, &mut codes, &mut words)?;
        let (mut distinct, mut count) = (scratch.lend::<u32>(codes.len())?, scratch.lend::<u32>(1)?);
        let mut starts = scratch.lend::<u32>(codes.len() + 1)?;
        runs_of_sorted(stream, scratch, &codes, &mut distinct, &mut starts, &mut count)?;
        [codes, distinct, count].into_iter().for_each(|buffer| scratch.give_back(buffer));
        Ok(Self { words: Words::of(words), starts, column })
    }

    /// Returns a quantile of each group, from 0 to 1, in memory of the scratch.
    pub(super) fn quantiles(&self, rows: &Rows<'_>, scratch: &mut Scratch, quantile: f64) -> Result<Words> {
        let output = scratch.lend::<u64>(rows.groups)?;
        let plan = QuantilesParams { column: self.column, groups: rows.groups as u64, quantile: quantile.to_bits() };
        rows.stream.batch(|batch| {
            let (starts, quantiles) = (batch.read(&self.starts), batch.write(&output));
            // SAFETY: there is an output for each group, and one start more. All rows of the groups
            // have words.
            unsafe {
                match &self.words {
                    Words::Narrow(words) => {
                        let ranks = batch.read(words);
                        batch.launch(&Quantiles { ranks, starts, quantiles, plan }, plan.groups)
                    }
                    Words::Wide(words) => {
                        let ranks = batch.read(words);
                        batch.launch(&Quantiles { ranks, starts, quantiles, plan }, plan.groups)
                    }
                }
            }
        })?;
        Ok(Words::Wide(output))
    }

    pub(super) fn give_back(self, scratch: &mut Scratch) {
        self.words.give_back(scratch);
        scratch.give_back(self.starts);
    }
}
