//! Exclusive and inclusive scans (prefix sums).

use super::{Scratch, check_items};
use crate::runtime::stream::Batch;
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::primitives::scan::{InclusiveScan, Scan, ScanParams, state_words, tile};
use gpu_kernels::seam::Global;
use gpu_kernels::types::Scalar;

/// Queues an exclusive scan: `output[i] = input[0] + … + input[i - 1]`, with wrapping additions. If
/// `output` has one element more than `input`, its last element becomes the sum of all elements.
///
/// One pass reads each element twice, the second time from the cache, and writes it once. The
/// scratch takes 8 bytes per 8,192 elements of `u32`, or 16 bytes per 2,048 of `u64`.
///
/// # Errors
/// [`InputError::LengthsDiffer`](crate::InputError::LengthsDiffer) and the errors of
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
    with_state::<T>(stream, scratch, input.len(), |batch, items, state| {
        let (input, output) = (batch.read(input), batch.write(output));
        // SAFETY: the kernel's documentation allows `total` to be null.
        let total = if with_total { output.offset(items) } else { unsafe { Global::null() } };
        let scan = Scan { input, output, total, state, plan: ScanParams { items } };
        // SAFETY: input and output have `items` items, and the output has one more if there is a
        // total.
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
    with_state::<T>(stream, scratch, buffer.len(), |batch, items, state| {
        let buffer = batch.write(buffer);
        // SAFETY: the kernel's documentation allows `total` to be null.
        let total = unsafe { Global::null() };
        let scan = Scan::<T> { input: buffer, output: buffer, total, state, plan: ScanParams { items } };
        // SAFETY: the buffer has `items` items.
        unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
    })
}

/// Queues an inclusive scan: `output[i] = input[0] + … + input[i]`, with wrapping additions. The
/// last element becomes the sum of all elements.
///
/// Its reads, its writes and its scratch are the same as in [`exclusive_scan`].
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
/// `input`, and the errors of [`exclusive_scan_in_place`].
pub fn inclusive_scan<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    input: &Buffer<T>,
    output: &mut BufferSlice<T>,
) -> Result<()> {
    crate::error::same_length(("the input", input.len()), ("the output", output.len()))?;
    with_state::<T>(stream, scratch, input.len(), |batch, items, state| {
        let scan =
            InclusiveScan { input: batch.read(input), output: batch.write(output), state, plan: ScanParams { items } };
        // SAFETY: input and output have `items` items.
        unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
    })
}

/// Queues the inclusive scan of a buffer in place.
///
/// # Errors
/// The errors of [`exclusive_scan_in_place`].
pub fn inclusive_scan_in_place<T: Scalar>(
    stream: &Stream,
    scratch: &mut Scratch,
    buffer: &mut BufferSlice<T>,
) -> Result<()> {
    with_state::<T>(stream, scratch, buffer.len(), |batch, items, state| {
        let buffer = batch.write(buffer);
        let scan = InclusiveScan { input: buffer, output: buffer, state, plan: ScanParams { items } };
        // SAFETY: the buffer has `items` items.
        unsafe { batch.launch_blocks(&scan, items.div_ceil(tile::<T>())) }
    })
}

/// Queues a scan of `items` items, with a state that is large enough and was set to 0.
fn with_state<'b, T: Scalar>(
    stream: &'b Stream,
    scratch: &'b mut Scratch,
    items: usize,
    queue: impl FnOnce(&Batch<'b>, u64, Global<u64>) -> Result<()>,
) -> Result<()> {
    let items = check_items(items)?;
    let state = scratch.reserve(state_words::<T>(items))?;
    stream.batch(|batch| {
        batch.zero(state, state_words::<T>(items) as usize)?;
        queue(batch, items, batch.write(state))
    })
}
