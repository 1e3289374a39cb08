//! Scatter: copies rows of an array to given indices of another array.

use crate::runtime::stream::Batch;
use crate::types::Plain;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::hash::Divisor;
use gpu_kernels::primitives::scatter::{ScatterParams, ScatterRows};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// Queues copying row `i` of `values` to `output[indices[i]]`, for rows of any plain type whose
/// size is a multiple of 4 bytes: the inverse of [`gather`](super::gather). The call does not wait
/// and allocates nothing.
///
/// A row is skipped if its index is out of bounds, and rows of the output that no index refers to
/// stay as they are. If several rows have the same index, any of them may be stored. If their size
/// is larger than 8 bytes or not a multiple of 8, each 8 or 4 bytes of the stored row may come from
/// a different one of them.
///
/// ```
/// use warpnest::primitives::scatter;
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let values = Buffer::from_slice(&device, &['a', 'b', 'c'])?;
/// let indices = Buffer::from_slice(&device, &[3, 0, 9])?;
/// let mut output = Buffer::from_slice(&device, &['-'; 4])?;
/// scatter(stream, &values, &indices, &mut output)?;
/// assert_eq!(output.download(stream)?, ['b', '-', '-', 'a']);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless there is an index for
/// each row, [`InputError::Misaligned`](crate::InputError::Misaligned),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn scatter<T: Plain>(
    stream: &Stream,
    values: &Buffer<T>,
    indices: &Buffer<u32>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    crate::error::same_length(("the values", values.len()), ("the indices", indices.len()))?;
    // SAFETY: the kernel's documentation allows `sources` to be null.
    stream.batch(|batch| unsafe { launch_scatter(batch, values, Global::null(), indices, output) })
}

/// Queues copying row `sources[i]` of `values`, or row `i` if `sources` is null, to
/// `output[indices[i]]`, for each index.
///
/// # Safety
/// If `sources` is not null, it has an element for each index, and `values` has all rows that
/// `sources` refers to. Otherwise `values` has a row for each index.
pub(crate) unsafe fn launch_scatter<'b, T: Plain>(
    batch: &Batch<'b>,
    values: &'b Buffer<T>,
    sources: Global<u32>,
    indices: &'b Buffer<u32>,
    output: &'b Buffer<T>,
) -> Result<()> {
    const { check_row::<T>() };
    // SAFETY: the caller guarantees the conditions.
    unsafe {
        match size_of::<T>().is_multiple_of(8) {
            true => launch::<T, u64>(batch, values, sources, indices, output),
            false => launch::<T, u32>(batch, values, sources, indices, output),
        }
    }
}

/// Fails to compile for a type whose size is 0 or not a multiple of 4 bytes, which cannot be a row.
pub(crate) const fn check_row<T>() {
    assert!(size_of::<T>() != 0 && size_of::<T>().is_multiple_of(4), "rows are of whole words of 4 bytes");
    assert!(size_of::<T>() / 4 <= u32::MAX as usize, "a row has less than 2^32 words of 4 bytes");
}

/// Queues [`launch_scatter`] in words of type `W`; the size of a row must be a multiple of the
/// word's size.
///
/// # Safety
/// As for [`launch_scatter`].
unsafe fn launch<'b, T, W: Scalar>(
    batch: &Batch<'b>,
    values: &'b Buffer<T>,
    sources: Global<u32>,
    indices: &'b Buffer<u32>,
    output: &'b Buffer<T>,
) -> Result<()> {
    let words = Divisor::new((size_of::<T>() / size_of::<W>()) as u32);
    let plan = ScatterParams { rows: indices.len() as u64, targets: output.len() as u64, words };
    let scatter = ScatterRows::<W> {
        values: batch.read(values).cast(),
        sources,
        indices: batch.read(indices),
        output: batch.write(output).cast(),
        plan,
    };
    // SAFETY: the caller guarantees the conditions; the plan has the output's rows.
    unsafe { batch.launch(&scatter, plan.rows * words.get() as u64) }
}
