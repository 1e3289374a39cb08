//! Conversions of buffers and streams to and from `cudarc`. Order is kept by events; nothing waits
//! for a whole context, or on the host.

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
    /// Returns a stream of `cudarc` as one of this library: work on either is in the order in which
    /// it was queued. Needs the feature `cudarc`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless it is in the primary context of `device`, which must be a CUDA
    /// device.
    pub fn from_cudarc(device: &Device, stream: Arc<CudaStream>) -> Result<Self> {
        over(device.shared().clone(), stream)
    }

    /// Returns this stream as one of `cudarc`, in a context of `cudarc` for the same device. Needs
    /// the feature `cudarc`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless this is a stream of a CUDA device, and the context its primary
    /// one.
    ///
    /// # Safety
    /// This stream must live as long as what is returned, its clones, and what is allocated on
    /// them.
    pub unsafe fn to_cudarc(&self, context: &Arc<CudaContext>) -> Result<Arc<CudaStream>> {
        check_context(&**self.engine(), context)?;
        let stream = super::cuda_queue(self.queue()).stream;
        // SAFETY: the stream is of this context, and the caller keeps it alive; its work is ordered
        // by the stream itself.
        Ok(unsafe { context.wrap_borrowed_stream(stream.cast()) })
    }
}

/// Sharing memory with `cudarc`, without a copy. Needs the feature `cudarc`.
impl<T: Plain + Pod + DeviceRepr> Buffer<T> {
    /// Takes over a slice of `cudarc`. Work with it waits, on the device, for what `cudarc` does
    /// with it.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] unless it was allocated in the primary context of `device`, which
    /// must be a CUDA device; [`Error::Driver`], and then the memory is freed.
    pub fn from_cudarc(device: &Device, slice: CudaSlice<T>) -> Result<Self> {
        let theirs = Stream::from_cudarc(device, slice.stream().clone())?;
        let length = slice.len();
        if length == 0 {
            return Self::uninitialized(device, 0);
        }
        let entered = primary(&**device.engine(), CUDARC)?.enter()?;
        // `cudarc`'s stream waits for what uses the slice.
        let address = slice.leak() as usize;
        drop(entered);
        // The driver's cuMemFree frees the memory of either of its allocators, once nothing uses
        // it.
        let allocation = Allocation::new(device.engine().clone(), address, length * size_of::<T>(), Owner::Engine);
        let buffer = Self::from_allocation(allocation, length);
        theirs.order_after_uses(&buffer)?;
        Ok(buffer)
    }

    /// Gives the memory to `cudarc`, as a slice of `stream`, which waits, on the device, for the
    /// work that uses the buffer.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the buffer and the stream are not in the primary context of one
    /// CUDA device, [`Error::Driver`]; the buffer is gone then.
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
        // SAFETY: the driver's cuMemAlloc allocated that many elements, and no other owner frees
        // them. `cudarc`'s stream waits for what initialized them.
        let mut slice = unsafe { stream.upgrade_device_ptr::<T>(address, length) };
        written(&mut slice, stream);
        Ok(slice)
    }

    /// Lends the memory to `cudarc` for reading. `work` may queue work with the view on `stream`,
    /// which waits, on the device, for what writes the buffer. The context is current meanwhile.
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
    /// `stream`, which waits, on the device, for what uses the buffer. The context is current
    /// meanwhile.
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

    /// Borrows memory of `cudarc` for reading: inside `work` it is a [`Buffer`]. Work with it
    /// waits, on the device, for what writes the slice. What `cudarc` does with the slice later
    /// waits for that work.
    ///
    /// # Errors
    /// As for [`Buffer::from_cudarc`], but nothing is freed. Also
    /// [`InputError::Misaligned`](crate::InputError::Misaligned) if the view does not begin at a
    /// multiple of 16 bytes: the kernels read as many at once.
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
        // If `work` panics, or an event cannot be recorded, the buffer's drop waits for its last
        // uses, on the host.
        // SAFETY: the view is of this context, and is borrowed until the buffer is gone.
        let buffer = unsafe { Self::from_foreign(device, address as usize, view.len())? };
        theirs.order_after_uses(&buffer)?;
        let answer = work(&buffer);
        // `cudarc`'s stream waits for every stream that read the buffer, and its event records
        // that.
        buffer.hand_back(&theirs)?;
        let _entered = primary.enter()?;
        drop(read);
        Ok(answer)
    }

    /// Returns a stream of `cudarc` as one of the buffer's device.
    fn theirs(&self, stream: &Arc<CudaStream>) -> Result<Stream> {
        over(Shared::new(self.engine().clone(), None), stream.clone())
    }

    /// Returns the buffer as a slice of `cudarc`, for as long as it is lent.
    ///
    /// # Safety
    /// Work on `stream` may use the buffer while this lives.
    unsafe fn lent_to(&self, stream: &Arc<CudaStream>) -> Lent<T> {
        // SAFETY: the buffer has that many elements, and the slice made here frees none of them.
        let slice = unsafe { stream.upgrade_device_ptr(self.at() as u64, self.len()) };
        let mut lent = Lent(ManuallyDrop::new(slice));
        written(&mut lent.0, stream);
        lent
    }
}

/// A slice whose memory is not `cudarc`'s. When it is dropped, its stream waits for what uses it.
struct Lent<T>(ManuallyDrop<CudaSlice<T>>);

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: the slice is taken once, and nothing uses the field after this.
        unsafe { ManuallyDrop::take(&mut self.0) }.leak();
    }
}

/// Makes other streams of `cudarc` wait for this one before they use the slice, as after a write on
/// it.
fn written<T>(slice: &mut CudaSlice<T>, stream: &CudaStream) {
    let (_, written) = slice.device_ptr_mut(stream);
    drop(written);
}

/// Returns a stream of `cudarc` as one of this device.
fn over(device: Arc<Shared>, stream: Arc<CudaStream>) -> Result<Stream> {
    check_context(&*device.engine, stream.context())?;
    let handle: driver::Stream = stream.cu_stream().cast();
    if handle == driver::constant::STREAM_PER_THREAD {
        let (found, expected) = ("the default stream of each thread".to_owned(), "one stream".to_owned());
        return Err(Error::WrongDevice { what: CUDARC.theirs, found, expected });
    }
    let shared = device.engine.as_any().downcast_ref::<CudaEngine>().expect("it has a context").shared.clone();
    // SAFETY: the handle lives as long as `stream`, which the queue keeps.
    let queue = unsafe { CudaQueue::of_other(shared, handle, Box::new(stream)) };
    Ok(Stream::of(device, Box::new(queue)))
}

/// Fails unless a context of `cudarc` is the primary one of this engine, which is CUDA.
fn check_context(engine: &dyn Engine, context: &CudaContext) -> Result<()> {
    let primary = primary(engine, CUDARC)?;
    if context.cu_ctx().cast() == primary.handle() { Ok(()) } else { Err(foreign(CUDARC, primary.name())) }
}
