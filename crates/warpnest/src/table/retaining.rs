//! Selects the elements that a mask keeps, or the elements that it drops.

use crate::primitives::{Scratch, check_items, compact, invert};
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::types::Scalar;

/// Returns the elements whose bit in `keep` is 1, in their order; waits for their count.
///
/// # Errors
/// As for [`compact`].
pub(crate) fn kept<T: Scalar>(
    device: &Device,
    stream: &Stream,
    elements: &Buffer<T>,
    keep: &Buffer<u32>,
) -> Result<Buffer<T>> {
    let mut kept = Buffer::uninitialized(device, elements.len())?;
    let mut count = Buffer::uninitialized(device, 1)?;
    compact(stream, &mut Scratch::new(device), elements, keep, &mut kept, &mut count)?;
    kept.set_length(count.download_at(stream, 0)? as usize);
    Ok(kept)
}

/// Returns the elements whose bit in `keep` is 0, in their order; waits for their count.
///
/// # Errors
/// As for [`compact`].
pub(crate) fn dropped<T: Scalar>(
    device: &Device,
    stream: &Stream,
    elements: &Buffer<T>,
    keep: &Buffer<u32>,
) -> Result<Buffer<T>> {
    let words = elements.len().div_ceil(32);
    crate::error::same_length(("the keys, in words of 32,", words), ("the words to keep", keep.len()))?;
    keep.check_argument("the buffer of words to keep", device)?;
    let items = check_items(elements.len())?;
    let others = keep.duplicate(stream, device)?;
    invert(stream, &others, items)?;
    kept(device, stream, elements, &others)
}
