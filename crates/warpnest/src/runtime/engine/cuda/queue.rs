//! CUDA streams.

use super::driver::{self, Address, constant};
use super::event::{CudaEvent, cuda_event};
use super::joined;
use super::readback::ReadbackBuffer;
use super::shared::Shared;
use crate::runtime::engine::{Kept, Queue, QueueEvent, Step};
use crate::{Error, Result};
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct CudaQueue {
    pub(super) shared: Arc<Shared>,
    pub(super) stream: driver::Stream,
    /// The object that keeps the stream alive, if this queue does not own the stream.
    owner: Option<Box<dyn Any + Send + Sync>>,
    /// The readback buffer. It is allocated when it is first needed, because allocating page-locked
    /// memory may make the device wait. If its allocation fails, downloads work without it.
    readback: Mutex<Option<Result<ReadbackBuffer>>>,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for CudaQueue {}
// SAFETY: as above.
unsafe impl Sync for CudaQueue {}

impl CudaQueue {
    pub(super) fn new(shared: Arc<Shared>) -> Result<Self> {
        let entered = shared.primary.enter()?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the driver writes to a live variable.
        entered.check(unsafe { entered.driver.cuStreamCreate(&mut stream, constant::STREAM_NON_BLOCKING) })?;
        drop(entered);
        Ok(Self { shared, stream, owner: None, readback: Mutex::default() })
    }

    /// Returns a queue that uses a stream of another library.
    ///
    /// # Safety
    /// The stream must belong to this context, and must live as long as `owner`.
    pub(super) unsafe fn of_other(
        shared: Arc<Shared>,
        stream: driver::Stream,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Self {
        Self { shared, stream, owner: Some(owner), readback: Mutex::default() }
    }
}

/// How strict this thread is beside captures. The drop exchanges it again.
struct CaptureMode {
    driver: &'static driver::Driver,
    mode: u32,
}

impl CaptureMode {
    /// Exchanges the mode with the thread's.
    fn exchange(&mut self) -> driver::Called {
        // SAFETY: the driver reads and writes a live variable.
        unsafe { self.driver.cuThreadExchangeStreamCaptureMode(&mut self.mode) }
    }
}

impl Drop for CaptureMode {
    fn drop(&mut self) {
        // An error means that the context is lost.
        let _ = self.exchange();
    }
}

/// Returns the CUDA queue of a queue.
pub(super) fn cuda_queue(queue: &dyn Queue) -> Result<&CudaQueue> {
    queue.as_any().downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "a stream",
        found: "another device".to_owned(),
        expected: "a CUDA device".to_owned(),
    })
}

impl Drop for CudaQueue {
    fn drop(&mut self) {
        // Graphs that are gone keep no engine when its last stream goes.
        let _gone = joined::Gone;
        let Ok(entered) = self.shared.primary.enter() else { return };
        match self.owner.take() {
            // The owner is dropped while this context is entered, because its drop changes the
            // current context.
            Some(owner) => drop(owner),
            None => {
                // SAFETY: `new` created the stream. The driver destroys it once its work is
                // complete. An error means that the context is lost.
                let _ = entered.check(unsafe { entered.driver.cuStreamDestroy_v2(self.stream) });
            }
        }
    }
}

impl fmt::Debug for CudaQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaQueue({:?})", self.stream)
    }
}

impl Queue for CudaQueue {
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        let _entered = self.shared.primary.enter()?;
        // The legacy stream has two handles, and null would mean no stream.
        let handle = if self.stream.is_null() { driver::constant::STREAM_LEGACY } else { self.stream };
        work(handle.cast());
        Ok(())
    }

    unsafe fn wait_for_foreign(&self, handle: *mut c_void) -> Result<()> {
        self.wait(&CudaEvent::record(&self.shared.primary, handle, false)?)
    }

    unsafe fn release_to_foreign(&self, handle: *mut c_void) -> Result<()> {
        let event = CudaEvent::record(&self.shared.primary, self.stream, false)?;
        event.hold_up(handle)
    }

    unsafe fn is_foreign_captured(&self, handle: *mut c_void) -> Result<bool> {
        // SAFETY: as the caller promises.
        Ok(unsafe { joined::graph_of(&self.shared, handle)? }.is_some())
    }

    unsafe fn join_capture(&self, handle: *mut c_void, steps: &[Step], memory: Kept) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { joined::keep(&self.shared, handle, memory)? };
        // SAFETY: the stream lives, as the caller promises, and is not this queue's.
        let theirs = unsafe { Self::of_other(self.shared.clone(), handle, Box::new(())) };
        // SAFETY: as the caller promises.
        steps.iter().try_for_each(|step| unsafe { step.queue(&theirs) })
    }

    fn beside_captures(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let entered = self.shared.primary.enter()?;
        let mut mode = CaptureMode { driver: entered.driver, mode: constant::CAPTURE_RELAXED };
        entered.check(mode.exchange())?;
        work()
    }

    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        if from.is_empty() {
            // An empty buffer may have an address that the driver does not know.
            return self.synchronize();
        }
        // SAFETY: the target is as large as the slice, as the caller promises.
        if let Some(copied) = unsafe { self.shared.staged.upload(&self.shared.primary, self.stream, from, to) } {
            return copied;
        }
        let entered = self.shared.primary.enter()?;
        let (source, bytes) = (from.as_ptr().cast(), from.len());
        // SAFETY: the target is as large as the slice. The wait below keeps the slice borrowed
        // until the copy is complete, which matters if the slice is page-locked memory.
        let copied = unsafe { entered.driver.cuMemcpyHtoDAsync_v2(to as Address, source, bytes, self.stream) };
        // Wait for the copy even after an error, which may be of earlier work, because the slice
        // must not be read later.
        entered.check(copied).and(self.synchronize())
    }

    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        if to.is_empty() {
            return self.synchronize();
        }
        // SAFETY: the source is as large as the slice, as the caller promises.
        if let Some(copied) = unsafe { self.shared.staged.download(&self.shared.primary, self.stream, from, to) } {
            return copied;
        }
        let entered = self.shared.primary.enter()?;
        if ReadbackBuffer::takes(from, to.len()) {
            let mut readback = self.readback.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(readback) = readback.get_or_insert_with(|| ReadbackBuffer::new(&self.shared)) {
                // SAFETY: the source is as large as the slice, as the caller promises.
                return unsafe { readback.bring(self, from, to) };
            }
        }
        let (target, bytes) = (to.as_mut_ptr().cast(), to.len());
        // SAFETY: the source is as large as the slice, which stays borrowed until the copy is
        // complete.
        let copied = unsafe { entered.driver.cuMemcpyDtoHAsync_v2(target, from as Address, bytes, self.stream) };
        // As in `upload`, the driver must not write the slice after this returns.
        entered.check(copied).and(self.synchronize())
    }

    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        let entered = self.shared.primary.enter()?;
        let (from, to) = (from as Address, to as Address);
        // SAFETY: both ranges lie in allocations of this context.
        entered.check(unsafe { entered.driver.cuMemcpyDtoDAsync_v2(to, from, bytes, self.stream) })
    }

    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        let entered = self.shared.primary.enter()?;
        // SAFETY: the range lies in an allocation of this context.
        entered.check(unsafe { entered.driver.cuMemsetD8Async(at as Address, byte, bytes, self.stream) })
    }

    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let entered = self.shared.primary.enter()?;
        let function = self.shared.modules.function(kernel.entry())?;
        let mut arguments: Vec<*mut c_void> = Vec::new();
        kernel.arguments(&mut |argument, _bytes| arguments.push(argument.cast_mut().cast()));
        let dynamic = kernel.dynamic_bytes();
        // SAFETY: the entry point's parameters and these arguments come from one declaration, and
        // the caller vouches for the pointers among them. The driver copies the arguments before it
        // returns.
        entered.check(unsafe {
            entered.driver.cuLaunchKernel(
                function,
                blocks,
                1,
                1,
                kernel.threads(),
                1,
                1,
                dynamic as u32,
                self.stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }

    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>> {
        Ok(Arc::new(CudaEvent::record(&self.shared.primary, self.stream, timed)?))
    }

    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        cuda_event(queue_event)?.hold_up(self.stream)
    }

    fn synchronize(&self) -> Result<()> {
        let entered = self.shared.primary.enter()?;
        // SAFETY: the queue keeps the stream alive.
        entered.check(unsafe { entered.driver.cuStreamSynchronize(self.stream) })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
