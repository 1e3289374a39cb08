//! Gather: copies rows of an array, given by their indices.

use super::scatter::check_row;
use crate::runtime::stream::Batch;
use crate::types::Plain;
use crate::{Answers, Buffer, BufferSlice, Result, Stream};
use gpu_kernels::hash::Divisor;
use gpu_kernels::primitives::gather::{GatherParams, GatherRows, WIDE};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// Queues copying row `indices[i]` of `source` to `output[i]`, for rows of any plain type whose
/// size is a multiple of 4 bytes. If an index is out of bounds, the row becomes zeros. The call
/// does not wait and allocates nothing.
///
/// Each row is read in one piece: about one 32-byte sector for each started 32 bytes of a row.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn gather<T: Plain>(
    stream: &Stream,
    source: &Buffer<T>,
    indices: &Buffer<u32>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    launch(stream, source, indices, None, output)
}

/// Queues a [`gather`] of the rows whose indices are the answers of a lookup. If a query was not
/// found, its row becomes zeros. So a table of row indices can store values of any size.
///
/// ```
/// use bytemuck::{Pod, Zeroable};
/// use warpnest::{Buffer, Device, PageMap, primitives::gather_found};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
/// struct Star {
///     position: [f32; 3],
///     magnitude: f32,
///     name: [u8; 8],
/// }
/// warpnest::plain!(Star);
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let sirius = Star { position: [-0.2, 0.9, -0.3], magnitude: -1.5, name: *b"Sirius  " };
/// let vega = Star { position: [0.1, -0.8, 0.6], magnitude: 0.0, name: *b"Vega    " };
/// let stars = Buffer::from_slice(&device, &[sirius, vega])?;
/// let rows = PageMap::build(&device, &[32349u32, 91262], &[0u32, 1])?;
///
/// let queries = Buffer::from_slice(&device, &[91262, 5])?;
/// let found = rows.get_many_on(stream, &queries)?;
/// let mut output = Buffer::zeroed(&device, 2)?;
/// gather_found(stream, &stars, &found, &mut output)?;
/// assert_eq!(output.download(stream)?, [vega, Star::zeroed()]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// As for [`gather`].
pub fn gather_found<T: Plain>(
    stream: &Stream,
    source: &Buffer<T>,
    answers: &Answers<u32>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    gather_where(stream, source, &answers.values, &answers.found, output)
}

/// Queues a [`gather`] of the rows whose bits in `found` are set; the other rows become zeros.
pub(crate) fn gather_where<T: Plain>(
    stream: &Stream,
    source: &Buffer<T>,
    indices: &Buffer<u32>,
    found: &Buffer<u32>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    launch(stream, source, indices, Some(found), output)
}

fn launch<T: Plain>(
    stream: &Stream,
    source: &Buffer<T>,
    indices: &Buffer<u32>,
    found: Option<&Buffer<u32>>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    const { check_row::<T>() };
    crate::error::same_length(("the indices", indices.len()), ("the output", output.len()))?;
    // Kernels get arrays that are aligned to 16 bytes.
    let width = if size_of::<T>().is_multiple_of(16) { WIDE } else { 1 };
    let pieces = Divisor::new((size_of::<T>() as u64 / 4 / width) as u32);
    let plan = GatherParams { rows: indices.len() as u64, sources: source.len() as u64, width, pieces };
    stream.batch(|batch| {
        let gather = GatherRows {
            source: batch.read(source).cast(),
            indices: batch.read(indices),
            // SAFETY: the kernel's documentation allows `found` to be null.
            found: unsafe { batch.read_or_null(found) },
            output: batch.write(output).cast(),
            plan,
        };
        // SAFETY: the output has a row for each index, and `found` a bit, if given. The plan has
        // the rows of the source.
        unsafe { batch.launch(&gather, plan.rows * pieces.get() as u64) }
    })
}

/// Queues the gather of `rows` words, given by their indices.
///
/// # Safety
/// The arrays are from the batch, `output` for writing. There are `sources` source words, `rows`
/// indices and `rows` output words.
pub(crate) unsafe fn launch_gather<W: Scalar>(
    batch: &Batch<'_>,
    (source, sources): (Global<W>, u64),
    (indices, rows): (Global<u32>, u64),
    output: Global<W>,
) -> Result<()> {
    let pieces = Divisor::new(W::BITS / 32);
    let plan = GatherParams { rows, sources, width: 1, pieces };
    // SAFETY: the kernel's documentation allows `found` to be null.
    let found = unsafe { Global::null() };
    let gather = GatherRows { source: source.cast(), indices, found, output: output.cast(), plan };
    // SAFETY: the caller guarantees the conditions.
    unsafe { batch.launch(&gather, rows * pieces.get() as u64) }
}
