//! Conversions of buffers and streams to and from `cudarc`. Events order the work, so nothing waits
//! for a whole context or on the host.

use super::{Other, foreign, primary};
use crate::runtime::allocation::{Allocation, Owner};
use crate::runtime::engine::Engine;
use crate::runtime::engine::cuda::queue::CudaQueue;
use crate::runtime::engine::cuda::{CudaEngine, driver};
use crate::runtime::stream::Shared;
use crate::{Buffer, Device, Error, Result, Stream};
use bytemuck::Pod;
use cudarc::driver::{
    CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceRepr, DeviceSlice,
};
use gpu_kernels::plain::Plain;
use std::mem::ManuallyDrop;
use std::sync::Arc;

const CUDARC: Other = Other { buffer: "what cudarc is to use", theirs: "what cudarc made" };

/// Conversions between `cudarc`'s streams and this library's streams.
impl Stream {
    /// Returns a stream of `cudarc` as a stream of this library. Work runs in the order in which
    /// both queued it. Needs the feature `cudarc`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless the stream is in the primary context of `device`, which must
    /// be a CUDA device.
    pub fn from_cudarc(device: &Device, stream: Arc<CudaStream>) -> Result<Self> {
        over(device.shared().clone(), stream)
    }

    /// Returns this stream as a stream of `cudarc`, in a context of `cudarc` for the same device.
    /// Needs the feature `cudarc`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless this is a stream of a CUDA device and `context` is that
    /// device's primary context.
    ///
    /// # Safety
    /// This stream must live as long as the returned stream, its clones, and the memory that is
    /// allocated on them.
    pub unsafe fn to_cudarc(&self, context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
        check_context(&**self.engine(), context)?;
        let stream = super::cuda_queue(self.queue()).stream;
        // SAFETY: the stream is of this context, the caller keeps it alive, and the stream itself
        // orders its work.
        Ok(unsafe { context.wrap_borrowed_stream(stream.cast()) })
    }
}

/// Sharing memory with `cudarc`, without a copy. Needs the feature `cudarc`.
impl<T: Plain + Pod + DeviceRepr> Buffer<T> {
    /// Takes ownership of a slice of `cudarc`. Work of this library on the slice waits, on the
    /// device, for `cudarc`'s work on it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless the slice was allocated in the primary context of `device`,
    /// which must be a CUDA device. [`Error::Driver`], in which case the memory is freed.
    pub fn from_cudarc(device: &Device, slice: CudaSlice<T>) -> Result<Self> {
        let theirs = Stream::from_cudarc(device, slice.stream().clone())?;
        let length = slice.len();
        if length == 0 {
            return Self::uninitialized(device, 0);
        }
        let entered = primary(&**device.engine(), CUDARC)?.enter()?;
        // `leak` makes `cudarc`'s stream wait for the work that uses the slice.
        let address = slice.leak() as usize;
        drop(entered);
        // The driver's cuMemFree frees memory of both allocators of `cudarc`, once nothing uses it.
        let allocation = Allocation::new(device.engine().clone(), address, length * size_of::<T>(), Owner::Engine);
        let buffer = Self::from_allocation(allocation, length);
        theirs.order_after_uses(&buffer)?;
        Ok(buffer)
    }

    /// Gives the memory to `cudarc` as a slice of `stream`. The stream waits, on the device, for
    /// the work that uses the buffer.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the buffer and the stream are not in the primary context of one
    /// CUDA device, and [`Error::Driver`]. In both cases the buffer is dropped.
    ///
    /// # Panics
    /// `cudarc` panics if it cannot make the events of a slice.
    pub fn into_cudarc(self, stream: &Arc<CudaStream>) -> Result<CudaSlice<T>> {
        let theirs = self.theirs(stream)?;
        primary(&**theirs.engine(), CUDARC)?;
        let whole = self.owned_by_driver(&theirs)?;
        theirs.order_after_uses(&whole)?;
        let _entered = primary(&**theirs.engine(), CUDARC)?.enter()?;
        let (address, length) = (whole.at() as u64, whole.len());
        whole.into_allocation().hand_on();
        // SAFETY: the driver's cuMemAlloc allocated `length` elements, and no other owner frees
        // them. `cudarc`'s stream waits for the work that initialized them.
        let mut slice = unsafe { stream.upgrade_device_ptr::<T>(address, length) };
        written(&mut slice, stream);
        Ok(slice)
    }

    /// Lends the memory to `cudarc` for reading. `work` may queue work with the view on `stream`,
    /// which waits, on the device, for the last writes of the buffer. The context is current while
    /// `work` runs.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the buffer and the stream are not in the primary context of one
    /// CUDA device, [`Error::Driver`].
    ///
    /// # Panics
    /// As for [`Buffer::into_cudarc`].
    pub fn lend_cudarc<R>(&self, stream: &Arc<CudaStream>, work: impl FnOnce(CudaView<'_, T>) -> R) -> Result<R> {
        let theirs = self.theirs(stream)?;
        // SAFETY: the work is queued in order with other uses of the buffer.
        self.lent(CUDARC, &theirs, false, |_| work(unsafe { self.lent_to(stream) }.0.as_view()))
    }

    /// Lends the memory to `cudarc` for reading and writing. `work` may queue work with the view on
    /// `stream`, which waits, on the device, for the last uses of the buffer. The context is
    /// current while `work` runs.
    ///
    /// # Errors
    /// As for [`Buffer::lend_cudarc`].
    ///
    /// # Panics
    /// As for [`Buffer::into_cudarc`].
    pub fn lend_cudarc_mut<R>(
        &mut self,
        stream: &Arc<CudaStream>,
        work: impl FnOnce(CudaViewMut<'_, T>) -> R,
    ) -> Result<R> {
        let theirs = self.theirs(stream)?;
        // SAFETY: the work is queued in order with other uses of the buffer.
        self.lent(CUDARC, &theirs, true, |_| work(unsafe { self.lent_to(stream) }.0.as_view_mut()))
    }

    /// Borrows memory of `cudarc` for reading: inside `work` it is a [`Buffer`]. Work on that
    /// buffer waits, on the device, for the last writes of the slice. Later work of `cudarc` on the
    /// slice waits for the work on the buffer.
    ///
    /// # Errors
    /// The same errors as [`Buffer::from_cudarc`], except that no memory is freed. Also
    /// [`InputError::Misaligned`](crate::InputError::Misaligned) if the view does not begin at a
    /// multiple of 16 bytes, because the kernels read 16 bytes at once.
    pub fn borrow_cudarc<R>(device: &Device, view: &CudaView<'_, T>, work: impl FnOnce(&Buffer<T>) -> R) -> Result<R> {
        let stream = view.stream();
        let theirs = Stream::from_cudarc(device, stream.clone())?;
        if view.is_empty() {
            return Ok(work(&Self::uninitialized(device, 0)?));
        }
        let primary = primary(&**device.engine(), CUDARC)?;
        let (address, read) = {
            let _entered = primary.enter()?;
            view.device_ptr(stream)
        };
        // If `work` panics, or an event cannot be recorded, the buffer's drop makes the host wait
        // for the last uses of the buffer.
        // SAFETY: the view is of this context, and stays borrowed until the buffer is dropped.
        let buffer = unsafe { Self::from_lent(device, address as usize, view.len())? };
        theirs.order_after_uses(&buffer)?;
        let answer = work(&buffer);
        // `cudarc`'s stream waits for every stream that read the buffer. The event of `read`'s drop
        // comes after these waits.
        buffer.hand_back(&theirs)?;
        let _entered = primary.enter()?;
        drop(read);
        Ok(answer)
    }

    /// Returns a stream of `cudarc` as a stream of the buffer's device.
    fn theirs(&self, stream: &Arc<CudaStream>) -> Result<Stream> {
        over(Shared::new(self.engine().clone(), None), stream.clone())
    }

    /// Returns the buffer as a slice of `cudarc` that does not own the memory.
    ///
    /// # Safety
    /// Work on `stream` must be allowed to use the buffer until the returned value is dropped.
    unsafe fn lent_to(&self, stream: &Arc<CudaStream>) -> Lent<T> {
        // SAFETY: the buffer has `len` elements, and the drop of `Lent` does not free them.
        let slice = unsafe { stream.upgrade_device_ptr(self.at() as u64, self.len()) };
        let mut lent = Lent(ManuallyDrop::new(slice));
        written(&mut lent.0, stream);
        lent
    }
}

/// A slice whose memory `cudarc` does not own. Its drop makes its stream wait for the slice's last
/// uses.
struct Lent<T>(ManuallyDrop<CudaSlice<T>>);

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: the slice is taken once, and nothing uses the field after this.
        unsafe { ManuallyDrop::take(&mut self.0) }.leak();
    }
}

/// Makes `cudarc`'s other streams wait for `stream` before they use the slice, as if `stream` had
/// written it.
fn written<T>(slice: &mut CudaSlice<T>, stream: &CudaStream) {
    let (_, written) = slice.device_ptr_mut(stream);
    drop(written);
}

/// Returns a stream of `cudarc` as a stream of this device.
fn over(device: Arc<Shared>, stream: Arc<CudaStream>) -> Result<Stream> {
    check_context(&*device.engine, stream.context())?;
    let handle: driver::Stream = stream.cu_stream().cast();
    if handle == driver::constant::STREAM_PER_THREAD {
        let (found, expected) = ("the default stream of each thread".to_owned(), "one stream".to_owned());
        return Err(Error::WrongDevice { what: CUDARC.theirs, found, expected });
    }
    let shared = device.engine.as_any().downcast_ref::<CudaEngine>().expect("it has a context").shared.clone();
    // SAFETY: the handle lives as long as `stream`, and the queue owns `stream`.
    let queue = unsafe { CudaQueue::of_other(shared, handle, Box::new(stream)) };
    Ok(Stream::of_other(device, Box::new(queue)))
}

/// Fails unless a context of `cudarc` is the primary context of this engine, which must be CUDA.
fn check_context(engine: &dyn Engine, context: &CudaContext) -> Result<()> {
    let primary = primary(engine, CUDARC)?;
    if context.cu_ctx().cast() == primary.handle() { Ok(()) } else { Err(foreign(CUDARC, primary.name())) }
}
