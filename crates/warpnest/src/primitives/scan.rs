//! Exclusive and inclusive scan.

use super::{Scratch, check_items};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::primitives::scan::{InclusiveScan, Scan, ScanParams, state_words, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// Queues an exclusive scan: `output[i] = input[0] + … + input[i - 1]`, wrapping. If `output` has
/// one element more than `input`, its last one becomes the sum of all.
///
/// One pass reads each element twice, the second time from the cache, and writes it once. The
/// scratch takes 8 bytes for each 8,192 elements of `u32`, 16 for each 2,048 of `u64`.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) and those of
/// [`exclusive_scan_in_place`].
pub fn exclusive_scan<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    let with_total = output.len() == input.len() + 1;
    if !with_total {
        crate::error::same_length(("the input", input.len()), ("the output", output.len()))?;
    }
    if input.is_empty() {
        return stream.batch(|batch| {
            batch.reads(input);
            batch.zero(output, output.len())
        });
    }
    let items = check_items(input.len())?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        batch.zero(state, state_words::<T>(items) as usize)?;
        let output = batch.write(output);
        // SAFETY: the kernel's documentation allows no total.
        let total = if with_total { output.offset(items) } else { unsafe { Global::null() } };
        let (input, state) = (batch.read(input), batch.write(state));
        let scan = Scan { input, output, total, state, plan: ScanParams { items } };
        // SAFETY: input and output have that many items, the output one more if there is a total.
        // The state is large enough and zero.
        unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
    })
}

/// Queues the exclusive scan of a buffer in place.
///
/// # Errors
/// [`InputError::TooManyItems`](crate::InputError::TooManyItems),
/// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn exclusive_scan_in_place<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    buffer: &mut BufferSlice<T>,
) -> Result<()> {
    let items = check_items(buffer.len())?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        batch.zero(state, state_words::<T>(items) as usize)?;
        let buffer = batch.write(buffer);
        // SAFETY: the kernel's documentation allows no total.
        let total = unsafe { Global::null() };
        let state = batch.write(state);
        let scan = Scan::<T> { input: buffer, output: buffer, total, state, plan: ScanParams { items } };
        // SAFETY: the buffer has that many items, and the state is large enough and zero.
        unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
    })
}

/// Queues an inclusive scan: `output[i] = input[0] + … + input[i]`, wrapping. The last element
/// becomes the sum of all.
///
/// It reads, writes and takes as scratch what [`exclusive_scan`] does.
///
/// ```
/// use warpnest::primitives::{Scratch, inclusive_scan};
/// use warpnest::{Buffer, Device};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let input = Buffer::from_slice(&device, &[5u32, 0, 2, 1])?;
/// let mut output = Buffer::zeroed(&device, 4)?;
/// inclusive_scan(stream, &mut Scratch::new(&device), &input, &mut output)?;
/// assert_eq!(output.download(stream)?, [5, 5, 7, 8]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) unless `output` is as long as
/// `input`, and those of [`exclusive_scan_in_place`].
pub fn inclusive_scan<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    crate::error::same_length(("the input", input.len()), ("the output", output.len()))?;
    let items = check_items(input.len())?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        let (input, output) = (batch.read(input), batch.write(output));
        // SAFETY: input and output have that many items, and the state has the words for them.
        unsafe { queue_inclusive(batch, state, items, input, output) }
    })
}

/// Queues the inclusive scan of a buffer in place.
///
/// # Errors
/// Those of [`exclusive_scan_in_place`].
pub fn inclusive_scan_in_place<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    buffer: &mut BufferSlice<T>,
) -> Result<()> {
    let items = check_items(buffer.len())?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        let buffer = batch.write(buffer);
        // SAFETY: the buffer has that many items, and the state has the words for them.
        unsafe { queue_inclusive(batch, state, items, buffer, buffer) }
    })
}

/// Queues the inclusive scan of `items` items.
///
/// # Safety
/// Input and output have that many items, and may be the same. The state has [`state_words`]. The
/// batch gave both arrays, the output to write.
unsafe fn queue_inclusive<'b, T: Scalar>(
    batch: &Batch<'b>,
    state: &'b Buffer<u64>,
    items: u64,
    input: Global<T>,
    output: Global<T>,
) -> Result<()> {
    batch.zero(state, state_words::<T>(items) as usize)?;
    let scan = InclusiveScan { input, output, state: batch.write(state), plan: ScanParams { items } };
    // SAFETY: as the caller promises; the state is zero.
    unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
}
