//! The pointers that kernels get, each to a buffer whose use is recorded.

use crate::runtime::buffer::Buffer;
use crate::runtime::stream::{Batch, Uses};
use crate::runtime::view::BufferSlice;
use gpu_kernels::seam::Global;

impl<'b> Uses<'b> {
    /// Returns the pointer to a buffer that the kernel reads.
    pub fn read<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.0.read(buffer)
    }

    /// Returns the pointer to a buffer that the kernel writes and may read.
    pub fn write<T>(&self, buffer: &'b mut BufferSlice<T>) -> Global<T> {
        self.0.write(buffer)
    }

    /// Returns the batch that records the uses of this launch.
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

    /// Returns the pointer to a buffer that the batch writes and may read.
    pub(crate) fn write<T>(&self, buffer: &'b Buffer<T>) -> Global<T> {
        self.writes(buffer);
        self.pointer(buffer)
    }

    /// Returns [`Batch::read`] of the buffer, or null for `None`.
    ///
    /// # Safety
    /// The kernel must not access a null pointer, as [`Global::null`] demands.
    pub(crate) unsafe fn read_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.read(buffer))
    }

    /// Returns [`Batch::write`] of the buffer, or null for `None`.
    ///
    /// # Safety
    /// As for [`Batch::read_or_null`].
    pub(crate) unsafe fn write_or_null<T>(&self, buffer: Option<&'b Buffer<T>>) -> Global<T> {
        // SAFETY: as the caller promises.
        buffer.map_or_else(|| unsafe { Global::null() }, |buffer| self.write(buffer))
    }

    /// Returns the pointer to a buffer whose use is recorded. If its alignment is too small for
    /// kernels, the batch fails and queues no further step.
    fn pointer<T>(&self, buffer: &Buffer<T>) -> Global<T> {
        if let Err(error) = buffer.check_alignment() {
            self.fail(error);
        }
        // SAFETY: the pointer is passed to launches of the batch that recorded the buffer. They are
        // ordered with other uses, and the buffer stays borrowed until their event is recorded. If
        // a buffer with elements is misaligned, nothing is launched.
        unsafe { Global::new(buffer.at() as *mut T) }
    }
}
