//! Buffers and streams to and from `cust`, without a copy.

use super::{CudaEngine, CudaQueue, result};
use crate::buffer::{Allocation, Owner};
use crate::{Buffer, Device, Error, Result, Stream};
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use cust::sys;
use gpu_kernels::seam::Word;

/// `cust`'s view of a CUDA device's streams.
impl Stream {
    /// The stream as `cust` knows it; `None` on another engine.
    pub fn cust(&self) -> Option<&cust::stream::Stream> {
        Some(&self.queue().as_any().downcast_ref::<CudaQueue>()?.stream)
    }
}

/// Sharing memory with `cust`, without a copy.
impl<T: Word + DeviceCopy> Buffer<T> {
    /// Takes over a `cust` buffer.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless it was allocated in the primary context of `device`, which must be a CUDA device.
    pub fn from_cust(device: &Device, buffer: DeviceBuffer<T>) -> Result<Self> {
        check_context(device, &buffer)?;
        if buffer.is_empty() {
            return Self::uninitialized(device, 0);
        }
        let (address, length) = (buffer.as_device_ptr().as_raw() as usize, buffer.len());
        std::mem::forget(buffer);
        let allocation = Allocation::new(device.engine().clone(), address, length * size_of::<T>(), Owner::Engine);
        Ok(Self::from_allocation(allocation, length))
    }

    /// Gives the memory to `cust`, after the work that uses it is done.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the buffer is not on a CUDA device, [`Error::Driver`] if work that uses it failed; the buffer
    /// is gone then.
    pub fn into_cust(self) -> Result<DeviceBuffer<T>> {
        cuda_engine(self.allocation.engine().as_any(), self.allocation.engine().name())?;
        let (address, length) = (self.address(), self.len());
        if length == 0 {
            // `cust` frees no empty buffer, and ours have an address.
            // SAFETY: no elements, so none is uninitialized.
            return unsafe { DeviceBuffer::uninitialized(0) }.map_err(super::failed("cuMemAlloc"));
        }
        self.allocation.release()?;
        // SAFETY: the memory was allocated by the driver's cuMemAlloc, and nobody else frees it.
        Ok(unsafe { DeviceBuffer::from_raw_parts(DevicePointer::from_raw(address as u64), length) })
    }

    /// Lends the memory to `cust` for reading: `work` may queue work on the stream that it is given.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the buffer or the stream is not on one CUDA device, [`Error::Driver`].
    ///
    /// # Safety
    /// `work` must access the memory only by asynchronous operations on the stream that it is given (`cust`'s synchronous ones
    /// run on the default stream, which does not wait for this one), must not write it, and must not keep the slice, which
    /// `cust` lets be copied.
    pub unsafe fn lend<R>(
        &self,
        stream: &Stream,
        work: impl FnOnce(&DeviceSlice<T>, &cust::stream::Stream) -> R,
    ) -> Result<R> {
        self.lent(stream, false, |slice, stream| work(slice, stream))
    }

    /// Lends the memory to `cust` for reading and writing: `work` may queue work on the stream that it is given.
    ///
    /// # Errors
    /// As for [`Buffer::lend`].
    ///
    /// # Safety
    /// As for [`Buffer::lend`], but `work` may write.
    pub unsafe fn lend_mut<R>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce(&mut DeviceSlice<T>, &cust::stream::Stream) -> R,
    ) -> Result<R> {
        self.lent(stream, true, work)
    }

    fn lent<R>(
        &self,
        stream: &Stream,
        written: bool,
        work: impl FnOnce(&mut DeviceSlice<T>, &cust::stream::Stream) -> R,
    ) -> Result<R> {
        let engine = self.allocation.engine();
        cuda_engine(engine.as_any(), engine.name())?;
        let pointer = DevicePointer::from_raw(self.address() as u64);
        // SAFETY: the buffer has that many elements.
        let mut slice = unsafe { DeviceSlice::from_raw_parts_mut(pointer, self.len()) };
        let lent: [&dyn crate::Tracked; 1] = [self];
        let (reads, writes): (&[_], &[_]) = if written { (&[], &lent) } else { (&lent, &[]) };
        let mut answer = None;
        stream.enqueue(reads, writes, |queue| {
            let queue = queue.as_any().downcast_ref::<CudaQueue>().expect("the stream is on the buffer's engine");
            answer = Some(work(&mut slice, &queue.stream));
            Ok(())
        })?;
        Ok(answer.expect("the work ran"))
    }

    /// Borrows a `cust` buffer for reading: inside `work` it is a [`Buffer`]. Waits, at the end, for the work that uses it.
    ///
    /// # Errors
    /// As for [`Buffer::from_cust`], and [`Error::Misaligned`] if the slice does not begin at a multiple of 16 bytes: the kernels
    /// read as many at once.
    pub fn borrow_cust<R>(device: &Device, slice: &DeviceSlice<T>, work: impl FnOnce(&Buffer<T>) -> R) -> Result<R> {
        check_context(device, slice)?;
        if slice.is_empty() {
            return Ok(work(&Self::uninitialized(device, 0)?));
        }
        let address = slice.as_device_ptr().as_raw() as usize;
        if !address.is_multiple_of(ALIGNMENT) {
            return Err(Error::Misaligned { address: address as u64, alignment: ALIGNMENT as u64 });
        }
        let allocation = Allocation::new(device.engine().clone(), address, slice.len() * size_of::<T>(), Owner::Other);
        // Its drop waits for its last uses, also when `work` panics.
        let buffer = Self::from_allocation(allocation, slice.len());
        Ok(work(&buffer))
    }
}

/// What the start of an array is aligned to, as [`Global::new`](gpu_kernels::seam::Global::new) demands.
const ALIGNMENT: usize = 16;

fn cuda_engine<'e>(engine: &'e dyn std::any::Any, name: &str) -> Result<&'e CudaEngine> {
    engine.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "a buffer that cust is to use",
        found: name.to_owned(),
        expected: "a CUDA device".to_owned(),
    })
}

/// Fails unless the slice was allocated in the primary context of `device`. Waits for the work that is under way there, since
/// nothing else tells when what `cust` does with the slice will be done.
fn check_context<T: DeviceCopy>(device: &Device, slice: &DeviceSlice<T>) -> Result<()> {
    let engine = cuda_engine(device.engine().as_any(), device.name())?;
    engine.primary.bind()?;
    if slice.is_empty() {
        return Ok(());
    }
    // SAFETY: a context is current.
    result("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })?;
    let mut primary = std::ptr::null_mut();
    // SAFETY: the driver writes the handle of the current context, which `bind` made the primary one.
    result("cuCtxGetCurrent", unsafe { sys::cuCtxGetCurrent(&mut primary) })?;
    let mut context: sys::CUcontext = std::ptr::null_mut();
    let attribute = sys::CUpointer_attribute_enum::CU_POINTER_ATTRIBUTE_CONTEXT;
    // SAFETY: this attribute is a context handle, and the pointer is one of the driver's.
    let asked =
        unsafe { sys::cuPointerGetAttribute((&raw mut context).cast(), attribute, slice.as_device_ptr().as_raw()) };
    result("cuPointerGetAttribute", asked)?;
    if context == primary {
        return Ok(());
    }
    let found = "another context".to_owned();
    Err(Error::WrongDevice { what: "a cust buffer", found, expected: device.name().to_owned() })
}
