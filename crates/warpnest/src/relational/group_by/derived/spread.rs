//! Variances and standard deviations of groups, in two passes over the rows: the first computes
//! means, and the second adds the squares of the deviations from them (Chan, Golub and LeVeque
//! 1983, *Algorithms for Computing the Sample Variance*).

use super::codes::Rows;
use crate::primitives::Scratch;
use crate::relational::columns::{Words, WordsRef};
use crate::relational::group_by::wanted::Wanted;
use crate::{Buffer, Result};
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::relational::group_by::spreads::{DeviationsParams, Spreads, SpreadsParams, SquareDeviations};

/// The sum of the squares of deviations, and the count of rows, for each code in ascending order.
pub(super) struct Squares {
    sums: Buffer<u64>,
    counts: Buffer<u32>,
}

impl Squares {
    /// Computes the squares of a column. `ids` has the rank of each row's code.
    pub(super) fn new(
        rows: &Rows<'_>,
        scratch: &mut Scratch,
        ids: &Buffer<u32>,
        (values, numbers): (WordsRef<'_>, (ColumnParams, SumKind)),
    ) -> Result<Self> {
        let wanted = [Wanted::Mean(0), Wanted::Count];
        let [means, counts] = rows.aggregates(scratch, ids, Some((values, numbers)), wanted)?;
        let (means, counts) = (means.into_buffer::<u64>(), counts.into_buffer());
        let squares = scratch.lend::<u64>(ids.len())?;
        let plan = DeviationsParams { column: numbers.0, items: ids.len() as u64 };
        rows.stream.batch(|batch| {
            let (ids, means, squares) = (batch.read(ids), batch.read(&means), batch.write(&squares));
            // SAFETY: there is a value, an id and a square for each row, and a mean for each id.
            unsafe {
                match values {
                    WordsRef::Narrow(values) => {
                        let values = batch.read(values);
                        batch.launch(&SquareDeviations { values, ids, means, squares, plan }, plan.items)
                    }
                    WordsRef::Wide(values) => {
                        let values = batch.read(values);
                        batch.launch(&SquareDeviations { values, ids, means, squares, plan }, plan.items)
                    }
                }
            }
        })?;
        let of_squares = (WordsRef::Wide(&squares), (ColumnParams::float(64), SumKind::Float));
        let [sums] = rows.aggregates(scratch, ids, Some(of_squares), [Wanted::Sum(0)])?;
        scratch.give_back(squares);
        scratch.give_back(means);
        Ok(Self { sums: sums.into_buffer(), counts })
    }

    /// Returns the variances, or with `is_root` the standard deviations, in memory of the scratch.
    pub(super) fn spreads(
        &self,
        rows: &Rows<'_>,
        scratch: &mut Scratch,
        (ddof, is_root): (u32, bool),
    ) -> Result<Words> {
        let spreads = scratch.lend::<u64>(rows.groups)?;
        let plan = SpreadsParams { groups: rows.groups as u64, ddof, is_root: is_root as u32 };
        rows.stream.batch(|batch| {
            let (squares, counts) = (batch.read(&self.sums), batch.read(&self.counts));
            let kernel = Spreads { squares, counts, spreads: batch.write(&spreads), plan };
            // SAFETY: there is a sum, a count and an output for each group.
            unsafe { batch.launch(&kernel, plan.groups) }
        })?;
        Ok(Words::Wide(spreads))
    }

    pub(super) fn give_back(self, scratch: &mut Scratch) {
        scratch.give_back(self.sums);
        scratch.give_back(self.counts);
    }
}
