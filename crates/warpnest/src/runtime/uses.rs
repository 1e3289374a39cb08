//! The pointers that kernels get, each for a buffer whose use is recorded.

use crate::runtime::buffer::Buffer;
use crate::runtime::stream::{Batch, Uses};
use gpu_kernels::seam::Global;

impl<'b> Uses<'b> {
    /// The pointer to a buffer that the kernel reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.0.read(buffer)
    }

    /// The pointer to a buffer that the kernel writes, and perhaps reads.
    pub fn write<T>(&self, buffer: &'b mut Buffer<T>) -> Global<T> {
        self.0.write(buffer)
    }
}

impl<'b> Batch<'b> {
    /// Returns the pointer to a buffer that the batch reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.reads(buffer);
        pointer(buffer)
    }

    /// Returns the pointer to a buffer that the batch writes, and perhaps reads.
    pub fn write<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.writes(buffer);
        pointer(buffer)
    }

    /// Returns [`Batch::read`] of a buffer, or null.
    ///
    /// # Safety
    /// The kernel does not access null, as [`Global::null`] demands.
    pub unsafe fn read_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.read(buffer))
    }

    /// Returns [`Batch::write`] of a buffer, or null.
    ///
    /// # Safety
    /// As for [`Batch::read_or_null`].
    pub unsafe fn write_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.write(buffer))
    }
}

/// The pointer to a buffer whose use has been recorded.
fn pointer<T>(buffer: &Buffer<T>) -> Global<T> {
    // SAFETY: it goes into launches of the batch that recorded the buffer. They are ordered against
    // other uses, and the buffer is borrowed until they have their event.
    unsafe { Global::new(buffer.address() as *mut T) }
}
