//! This library's buffers as Arrow's buffers.

use crate::types::Plain;
use crate::{Buffer, Result, Stream};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, ScalarBuffer};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// Waits for the contents of a buffer, and returns them as Arrow's buffer. On the CPU engine
/// nothing is copied, and Arrow frees the memory. From a GPU the elements are downloaded once.
///
/// ```
/// use arrow_array::UInt32Array;
/// use warpnest::{Buffer, Device, arrow};
///
/// let device = Device::best()?;
/// let keys = Buffer::from_slice(&device, &[5u32, 6, 7])?;
/// let array = UInt32Array::new(arrow::from_buffer(device.default_stream(), keys)?, None);
/// assert_eq!(array, UInt32Array::from(vec![5, 6, 7]));
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// # Errors
/// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver).
pub fn from_buffer<T: ArrowNativeType + Plain>(stream: &Stream, buffer: Buffer<T>) -> Result<ScalarBuffer<T>> {
    let length = buffer.len();
    Ok(ScalarBuffer::new(arrow_buffer(stream, buffer)?, 0, length))
}

/// Returns a bit for each row, which is set unless the row is null: bit `i % 32` of word `i / 32`.
pub(super) fn valid_bits(nulls: &NullBuffer) -> Vec<u32> {
    // A slice of a bitmap may begin in the middle of a byte.
    let chunks = nulls.inner().bit_chunks();
    let mut words: Vec<u32> = chunks.iter_padded().flat_map(|bits| [bits as u32, (bits >> 32) as u32]).collect();
    words.truncate(nulls.len().div_ceil(32));
    words
}

/// Returns a bitmap, in which bit `i` is bit `i % 32` of word `i / 32`. It copies as
/// [`from_buffer`] does.
pub(super) fn bits(stream: &Stream, words: Buffer<u32>, length: usize) -> Result<NullBuffer> {
    let bits = arrow_buffer(stream, words)?;
    // On a little-endian host, words have Arrow's order of bits.
    Ok(NullBuffer::new(BooleanBuffer::new(bits, 0, length)))
}

fn arrow_buffer<T: ArrowNativeType + Plain>(stream: &Stream, buffer: Buffer<T>) -> Result<arrow_buffer::Buffer> {
    let Some(first) = buffer.in_place(stream)?.filter(|_| !buffer.is_captured()) else {
        return Ok(arrow_buffer::Buffer::from_vec(buffer.download(stream)?));
    };
    let bytes = buffer.len() * size_of::<T>();
    // SAFETY: the memory is the host's, has `bytes` bytes, and is initialized. It lives as long as
    // the buffer, which Arrow owns now, and no graph uses it. So neither queued work nor safe code
    // writes it any more.
    Ok(unsafe { arrow_buffer::Buffer::from_custom_allocation(first.cast(), bytes, Arc::new(AssertUnwindSafe(buffer))) })
}
