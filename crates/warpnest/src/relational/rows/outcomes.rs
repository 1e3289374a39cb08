//! The outcome of each row, which tells what kinds of pairs the row was in.

use crate::Result;
use crate::primitives::Scratch;
use crate::{Buffer, Stream};
use gpu_kernels::relational::rows::{RaiseOutcomes, RaiseOutcomesParams};

/// Returns the outcome of each of the `rows` rows of a table, in memory of the scratch. It tells
/// whether the row is in an equal pair, only in unequal pairs, or in no pair. `keep` has a bit for
/// each pair, set if the pair is equal.
pub(super) fn outcomes(
    stream: &Stream,
    scratch: &mut Scratch,
    rows: u64,
    (rows_of_pairs, keep): (&Buffer<u32>, &Buffer<u32>),
) -> Result<Buffer<u32>> {
    let outcomes = scratch.lend(rows as usize)?;
    let plan = RaiseOutcomesParams { pairs: rows_of_pairs.len() as u64, rows };
    stream.batch(|batch| {
        batch.zero(&outcomes, outcomes.len())?;
        let (rows, keep, outcomes) = (batch.read(rows_of_pairs), batch.read(keep), batch.write(&outcomes));
        // SAFETY: there are as many pairs as the plan says, a bit for each pair, and a word for
        // each row.
        unsafe { batch.launch(&RaiseOutcomes { rows, keep, outcomes, plan }, plan.pairs) }
    })?;
    Ok(outcomes)
}
