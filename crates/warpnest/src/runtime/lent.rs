//! The program's slices as inputs of launches, and its vectors as their outputs.

use crate::runtime::allocation::ALIGNMENT;
use crate::{Buffer, Device, Result, Stream};
use gpu_kernels::plain::Plain;
use std::marker::PhantomData;
use std::ops::Deref;

/// A read-only buffer with the elements of a slice. It is the slice itself if the device can read
/// that in place, and otherwise a copy.
#[derive(Debug)]
pub(crate) struct Lent<'s, T> {
    buffer: Buffer<T>,
    slice: PhantomData<&'s [T]>,
}

impl<'s, T: Plain> Lent<'s, T> {
    /// Returns the elements of `slice` on `device`, and waits until they are there.
    pub(crate) fn new(device: &Device, slice: &'s [T]) -> Result<Self> {
        let address = slice.as_ptr().expose_provenance();
        let in_place = device.engine().shares_memory_with_host() && address.is_multiple_of(ALIGNMENT);
        let buffer = if in_place && !slice.is_empty() {
            // SAFETY: no work writes the slice, because the buffer is lent only as `&Buffer`. Its
            // drop waits for the work that reads it, before the borrow ends.
            unsafe { Buffer::from_lent(device, address, slice.len())? }
        } else {
            Buffer::from_slice(device, slice)?
        };
        Ok(Self { buffer, slice: PhantomData })
    }
}

impl<'s, T> Lent<'s, T> {
    /// Returns the same elements as elements of another type.
    ///
    /// # Safety
    /// Every element must be a valid value of the other type, which has the same size.
    pub(crate) unsafe fn reinterpreted<U>(self) -> Lent<'s, U> {
        // SAFETY: as the caller promises.
        Lent { buffer: unsafe { self.buffer.reinterpreted() }, slice: PhantomData }
    }
}

impl<T> Deref for Lent<'_, T> {
    type Target = Buffer<T>;
    fn deref(&self) -> &Buffer<T> {
        &self.buffer
    }
}

/// A buffer that becomes a `Vec`. If the device can write host memory, the buffer uses the vector's
/// memory.
#[derive(Debug)]
pub(crate) struct Output {
    // The buffer is declared before the memory, so its drop waits for work before the memory is
    // freed.
    buffer: Buffer<u32>,
    /// The memory of the buffer, if it is host memory.
    elements: Option<Vec<u32>>,
}

impl Output {
    /// Returns a buffer of `length` elements on `device`, which are zeros if its memory is host
    /// memory.
    pub(crate) fn new(device: &Device, length: usize) -> Result<Self> {
        if device.engine().shares_memory_with_host() && length != 0 {
            let mut elements = vec![0u32; length];
            let address = elements.as_mut_ptr().expose_provenance();
            if address.is_multiple_of(ALIGNMENT) {
                // SAFETY: only the buffer accesses the elements, and it is dropped before them.
                let buffer = unsafe { Buffer::from_lent(device, address, length)? };
                return Ok(Self { buffer, elements: Some(elements) });
            }
        }
        Ok(Self { buffer: Buffer::uninitialized(device, length)?, elements: None })
    }

    /// Returns the first `length` elements, after waiting for the work that writes them.
    pub(crate) fn into_vec(self, stream: &Stream, length: usize) -> Result<Vec<u32>> {
        let Self { buffer, elements } = self;
        let Some(mut elements) = elements else { return buffer.download_front(stream, length) };
        // The drop waits for the work that writes the buffer.
        drop(buffer);
        elements.truncate(length);
        elements.shrink_to_fit();
        Ok(elements)
    }
}

impl Deref for Output {
    type Target = Buffer<u32>;
    fn deref(&self) -> &Buffer<u32> {
        &self.buffer
    }
}
