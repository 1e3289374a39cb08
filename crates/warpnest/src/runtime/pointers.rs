//! The pointers that kernels get, each for a buffer whose use is recorded.

use crate::runtime::buffer::Buffer;
use crate::runtime::stream::{Batch, Uses};
use crate::runtime::view::BufferSlice;
use gpu_kernels::seam::Global;

impl<'b> Uses<'b> {
    /// Returns the pointer to a buffer that the kernel reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.0.read(buffer)
    }

    /// Returns the pointer to a buffer that the kernel writes, and perhaps reads.
    pub fn write<T>(&self, buffer: &'b mut BufferSlice<T>) -> Global<T> {
        self.0.write(buffer)
    }

    /// Returns the pointers and steps behind these.
    pub(crate) fn batch(&self) -> &Batch<'b> {
        &self.0
    }
}

impl<'b> Batch<'b> {
    /// Returns the pointer to a buffer that the batch reads.
    pub(crate) fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.reads(buffer);
        self.pointer(buffer)
    }

    /// Returns the pointer to a buffer that the batch writes, and perhaps reads.
    pub(crate) fn write<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.writes(buffer);
        self.pointer(buffer)
    }

    /// Returns [`Batch::read`] of a buffer, or null.
    ///
    /// # Safety
    /// The kernel does not access null, as [`Global::null`] demands.
    pub(crate) unsafe fn read_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.read(buffer))
    }

    /// Returns [`Batch::write`] of a buffer, or null.
    ///
    /// # Safety
    /// As for [`Batch::read_or_null`].
    pub(crate) unsafe fn write_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.write(buffer))
    }

    /// Returns the pointer to a buffer whose use has been recorded. If kernels cannot take it, no
    /// step is queued from now on.
    fn pointer<T>(&self, buffer: &Buffer<T>) -> Global<T> {
        if let Err(error) = buffer.check_alignment() {
            self.fail(error);
        }
        // SAFETY: it goes into launches of the batch that recorded the buffer. They are ordered
        // against other uses, and the buffer is borrowed until they have their event. If there are
        // elements at an address that is not aligned, nothing is launched.
        unsafe { Global::new(buffer.at() as *mut T) }
    }
}
