//! Conversions of buffers and streams to and from `cust`.

use super::{Other, foreign, primary};
use crate::runtime::allocation::{Allocation, Owner};
use crate::runtime::engine::cuda::driver::{self, constant};
use crate::runtime::engine::cuda::queue::CudaQueue;
use crate::runtime::stream::Shared;
use crate::{Buffer, Device, Result, Stream};
use bytemuck::Pod;
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use gpu_kernels::plain::Plain;

const CUST: Other = Other { buffer: "a buffer that cust is to use", theirs: "a cust buffer" };

impl CudaQueue {
    fn cust(&self) -> &cust::stream::Stream {
        const {
            assert!(size_of::<cust::stream::Stream>() == size_of::<*const ()>());
            assert!(align_of::<cust::stream::Stream>() == align_of::<*const ()>());
        }
        // SAFETY: a `cust` stream is a struct with one field, the driver's handle. The struct is no
        // larger than the handle (asserted above), so the field is at its beginning. The reference
        // never drops the stream, and lives no longer than the handle.
        let stream = unsafe { &*(&raw const self.stream).cast::<cust::stream::Stream>() };
        debug_assert_eq!(stream.as_inner().cast(), self.stream);
        stream
    }
}

/// The streams of a CUDA device as `cust` sees them.
impl Stream {
    /// Returns the stream as a `cust` stream; `None` on another engine. Needs the feature `cust`.
    ///
    /// `cust`'s synchronous operations run on the default stream, which does not wait for this
    /// stream.
    pub fn cust(&self) -> Option<&cust::stream::Stream> {
        Some(self.queue().as_any().downcast_ref::<CudaQueue>()?.cust())
    }
}

/// Sharing memory with `cust`, without a copy. Needs the feature `cust`.
impl<T: Plain + Pod + DeviceCopy> Buffer<T> {
    /// Takes ownership of a `cust` buffer. Waits for the work in progress in the context, because
    /// nothing else tells when `cust`'s work on the buffer will be complete.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) unless the buffer was allocated in the
    /// primary context of `device`, which must be a CUDA device.
    ///
    /// # Safety
    /// No copy of the buffer's slice may be used after this call, although `cust` allows copies.
    pub unsafe fn from_cust(device: &Device, buffer: DeviceBuffer<T>) -> Result<Self> {
        check_context(device, &buffer)?;
        if buffer.is_empty() {
            return Self::uninitialized(device, 0);
        }
        let (address, length) = (buffer.as_device_ptr().as_raw() as usize, buffer.len());
        std::mem::forget(buffer);
        let allocation = Allocation::new(device.engine().clone(), address, length * size_of::<T>(), Owner::Engine);
        Ok(Self::from_allocation(allocation, length))
    }

    /// Gives the memory to `cust`, after the work that uses it is complete. `cust` frees the memory
    /// in the context that is current at that time, which must be the primary context.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the buffer is not on a CUDA device.
    /// [`Error::Driver`](crate::Error::Driver) if work that uses the buffer failed, in which case
    /// the buffer is dropped.
    pub fn into_cust(self) -> Result<DeviceBuffer<T>> {
        primary(&**self.engine(), CUST)?;
        let length = self.len();
        if length == 0 {
            // `cust` does not free an empty buffer, but an empty buffer of this library has memory.
            // SAFETY: there are no elements, so nothing reads or frees them.
            return Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::null(), 0) });
        }
        let stream = Stream::new(&Shared::new(self.engine().clone(), None))?;
        let whole = self.owned_by_driver(&stream)?;
        let address = whole.at();
        whole.into_allocation().release()?;
        // SAFETY: the driver's cuMemAlloc allocated the memory, and no other owner frees it.
        Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(address as u64), length) })
    }

    /// Lends the memory to `cust` for reading. `work` may queue work on the stream that it gets.
    /// The context is current while `work` runs.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the buffer and the stream are not on
    /// one CUDA device, [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// `work` must access the memory only by asynchronous operations on the stream that it gets.
    /// `cust`'s synchronous operations run on the default stream, which does not wait for that
    /// stream. `work` must not write the memory. It must not keep a copy of the slice, although
    /// `cust` allows slices to be copied.
    pub unsafe fn lend<R>(
        &self,
        stream: &Stream,
        work: impl FnOnce(&DeviceSlice<T>, &cust::stream::Stream) -> R,
    ) -> Result<R> {
        self.lent(CUST, stream, false, |queue| work(&self.device_slice(), queue.cust()))
    }

    /// Lends the memory to `cust` for reading and writing. `work` may queue work on the stream that
    /// it gets. The context is current while `work` runs.
    ///
    /// # Errors
    /// As for [`Buffer::lend`].
    ///
    /// # Safety
    /// As for [`Buffer::lend`], except that `work` may write.
    pub unsafe fn lend_mut<R>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce(&mut DeviceSlice<T>, &cust::stream::Stream) -> R,
    ) -> Result<R> {
        self.lent(CUST, stream, true, |queue| work(&mut self.device_slice(), queue.cust()))
    }

    fn device_slice(&self) -> DeviceSlice<T> {
        // SAFETY: the buffer has `len` elements, which begin at its address.
        unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(self.at() as u64), self.len()) }
    }

    /// Borrows a `cust` buffer for reading: inside `work` it is a [`Buffer`]. At the beginning,
    /// waits for the work in progress in the context, because nothing else tells when `cust`'s work
    /// on the buffer will be complete. At the end, waits for the work that uses the buffer.
    ///
    /// # Errors
    /// The same errors as [`Buffer::from_cust`]. Also
    /// [`InputError::Misaligned`](crate::InputError::Misaligned) if the slice does not begin at a
    /// multiple of 16 bytes, because the kernels read 16 bytes at once.
    ///
    /// # Safety
    /// Until this returns, no other code may write or free the memory, even through a copy of the
    /// slice, which `cust` allows.
    pub unsafe fn borrow_cust<R>(
        device: &Device,
        slice: &DeviceSlice<T>,
        work: impl FnOnce(&Buffer<T>) -> R,
    ) -> Result<R> {
        check_context(device, slice)?;
        if slice.is_empty() {
            return Ok(work(&Self::uninitialized(device, 0)?));
        }
        // The buffer's drop waits for its last uses, even if `work` panics.
        // SAFETY: the slice is of this context, and is not changed or freed, as the caller
        // promises.
        let buffer = unsafe { Self::from_lent(device, slice.as_device_ptr().as_raw() as usize, slice.len())? };
        Ok(work(&buffer))
    }
}

/// Fails unless the slice was allocated in the primary context of `device`. Waits for the work in
/// progress in that context.
fn check_context<T: DeviceCopy>(device: &Device, slice: &DeviceSlice<T>) -> Result<()> {
    let primary = primary(&**device.engine(), CUST)?;
    if slice.is_empty() {
        return Ok(());
    }
    let entered = primary.enter()?;
    // SAFETY: `entered` keeps a context current.
    entered.check(unsafe { entered.driver.cuCtxSynchronize() })?;
    let (attribute, address) = (constant::POINTER_ATTRIBUTE_CONTEXT, slice.as_device_ptr().as_raw());
    let mut context: driver::Context = std::ptr::null_mut();
    // SAFETY: this attribute is a context handle, which the driver writes.
    entered.check(unsafe { entered.driver.cuPointerGetAttribute((&raw mut context).cast(), attribute, address) })?;
    if context == primary.handle() { Ok(()) } else { Err(foreign(CUST, device.name())) }
}
