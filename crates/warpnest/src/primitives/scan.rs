//! Exclusive scan.

use super::{Scratch, check_items};
use crate::{Buffer, BufferSlice, Result, Stream};
use gpu_kernels::primitives::scan::{Scan, ScanParams, state_words, tile};
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
