//! Appends the indices of selected rows of a table to a buffer.

use crate::split::or_null;
use crate::{Buffer, Result, Stream};
use gpu_kernels::relational::rows::{AppendRows, AppendRowsParams};

/// The rows of a table whose indices are appended.
#[derive(Clone, Copy)]
pub(in crate::relational) enum Chosen<'b> {
    /// The rows whose outcome's bit is in the mask (the second field). The buffer has the outcome
    /// of each row.
    Outcomes(&'b Buffer<u32>, u32),
    /// The rows whose bit is set. The second field is the count of rows.
    Valid(&'b Buffer<u32>, u64),
    /// The rows whose bit is clear. The second field is the count of rows.
    Null(&'b Buffer<u32>, u64),
}

/// Queues appending the indices of the chosen rows to `rows_out`, in any order, as far as there is
/// capacity. They start at the offset in the header. If `others_out` is given, `NO_ROW` is written
/// there for each row.
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
        // SAFETY: there is an outcome or a bit for each row, both outputs have the capacity, and
        // the kernel allows `others_out` to be null.
        unsafe { batch.launch(&append, plan.rows) }
    })
}
