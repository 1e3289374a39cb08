//! Appending the indices of some rows of a table.

use crate::split::or_null;
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::rows::{AppendRows, AppendRowsParams};

/// Which rows of a table are appended.
#[derive(Clone, Copy)]
pub(in crate::relational) enum Chosen<'b> {
    /// The rows with one of these outcomes, of which there is a word for each row.
    Outcomes(&'b Buffer<u32>, u32),
    /// Of so many rows those whose bit is set.
    Valid(&'b Buffer<u32>, u64),
    /// Of so many rows those whose bit is clear.
    Null(&'b Buffer<u32>, u64),
}

/// Queues appending the chosen rows, in any order, beginning at the offset that the header has, as
/// far as there is capacity. Beside them `NO_ROW` is written to the others, if there are some.
pub(in crate::relational) fn append(
    stream: &Stream,
    chosen: Chosen<'_>,
    (rows_out, others_out): (&Buffer<u32>, Option<&Buffer<u32>>),
    header: &Buffer<u64>,
) -> Result<()> {
    let capacity = others_out.map_or(rows_out.len(), |others| others.len().min(rows_out.len())) as u64;
    let (outcomes, rows, wanted, are_bits) = match chosen {
        Chosen::Outcomes(outcomes, wanted) => (outcomes, outcomes.len() as u64, wanted, 0),
        Chosen::Valid(bits, rows) => (bits, rows, 0b10, 1),
        Chosen::Null(bits, rows) => (bits, rows, 0b01, 1),
    };
    let plan = AppendRowsParams { rows, capacity, wanted, are_bits };
    stream.batch(|batch| {
        let append = AppendRows {
            outcomes: batch.read(outcomes),
            rows_out: batch.write(rows_out),
            others_out: or_null(others_out.map(|others| batch.write(others))),
            next: batch.write(header),
            plan,
        };
        // SAFETY: there is an outcome for each row, or a bit, both outputs have the capacity, and
        // the others may be null.
        unsafe { batch.launch(&append, plan.rows) }
    })
}
