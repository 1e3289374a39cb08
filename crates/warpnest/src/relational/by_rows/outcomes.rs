//! The outcome of each row, of which pairs it was in, and appending rows by that.

use crate::Result;
use crate::primitives::Scratch;
use crate::relational::splits::or_null;
use crate::{Buffer, Stream};
use gpu_kernels::relational::rows::{AppendRows, AppendRowsParams, RaiseOutcomes, RaiseOutcomesParams};

/// Returns the outcome of each of the `rows` rows of a table, in memory of the scratch: those of
/// its pairs, of which `keep` has a bit for each equal one.
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
        // SAFETY: there are that many pairs, a bit for each, and a word for each row.
        unsafe { batch.launch(&RaiseOutcomes { rows, keep, outcomes, plan }, plan.pairs) }
    })?;
    Ok(outcomes)
}

/// Queues appending the rows with one of the `wanted` outcomes, from the offset on that the header
/// has, as far as there is capacity. Beside them `NO_ROW` is written to the others, if there are
/// some.
pub(super) fn append(
    stream: &Stream,
    (outcomes, wanted): (&Buffer<u32>, u32),
    (rows_out, others_out): (&Buffer<u32>, Option<&Buffer<u32>>),
    header: &Buffer<u64>,
) -> Result<()> {
    let capacity = others_out.map_or(rows_out.len(), |others| others.len().min(rows_out.len())) as u64;
    let plan = AppendRowsParams { rows: outcomes.len() as u64, capacity, wanted, padding: 0 };
    stream.batch(|batch| {
        let append = AppendRows {
            outcomes: batch.read(outcomes),
            rows_out: batch.write(rows_out),
            others_out: or_null(others_out.map(|others| batch.write(others))),
            next: batch.write(header),
            plan,
        };
        // SAFETY: there is an outcome for each row, both outputs have the capacity, and the others
        // may be null.
        unsafe { batch.launch(&append, plan.rows) }
    })
}
