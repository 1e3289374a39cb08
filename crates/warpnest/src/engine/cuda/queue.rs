//! CUDA streams and events.

use super::landing::Landing;
use super::{Primary, failed, result};
use crate::engine::{Mark, Queue};
use crate::{Error, Result};
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct CudaQueue {
    primary: Arc<Primary>,
    pub(super) stream: Stream,
    /// Made when it is first wanted: page-locked memory may make the device wait. If there is none to be had, downloads go without.
    landing: Mutex<Option<Result<Landing>>>,
}

impl CudaQueue {
    pub(super) fn new(primary: Arc<Primary>) -> Result<Self> {
        primary.bind()?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(failed("cuStreamCreate"))?;
        Ok(Self { primary, stream, landing: Mutex::default() })
    }
}

impl fmt::Debug for CudaQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaQueue({:?})", self.stream.as_inner())
    }
}

impl Queue for CudaQueue {
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        self.primary.bind()?;
        // SAFETY: the target has as many bytes as the slice; the wait below keeps the slice borrowed until it is copied, which
        // matters if it is pinned memory.
        let copied = unsafe {
            sys::cuMemcpyHtoDAsync_v2(to as sys::CUdeviceptr, from.as_ptr().cast(), from.len(), self.stream.as_inner())
        };
        result("cuMemcpyHtoDAsync", copied)?;
        self.synchronize()
    }

    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        self.primary.bind()?;
        if Landing::takes(from, to.len()) {
            let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(landing) = landing.get_or_insert_with(|| Landing::new(self.primary.clone())) {
                // SAFETY: the source has as many bytes as the slice, by the caller.
                return unsafe { landing.bring(self, from, to) };
            }
        }
        // SAFETY: the source has as many bytes as the slice, which stays borrowed until the copy is done.
        let copied = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                to.as_mut_ptr().cast(),
                from as sys::CUdeviceptr,
                to.len(),
                self.stream.as_inner(),
            )
        };
        // Waited for even after an error, which may be one of earlier work: nothing may be written once this returns.
        result("cuMemcpyDtoHAsync", copied).and(self.synchronize())
    }

    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        self.primary.bind()?;
        let (from, to) = (from as sys::CUdeviceptr, to as sys::CUdeviceptr);
        // SAFETY: both lie in allocations of this context.
        result("cuMemcpyDtoDAsync", unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, self.stream.as_inner()) })
    }

    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        self.primary.bind()?;
        let at = at as sys::CUdeviceptr;
        // SAFETY: the range lies in an allocation of this context.
        result("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(at, byte, bytes, self.stream.as_inner()) })
    }

    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        self.primary.bind()?;
        let function = self.primary.kernels.function(kernel.name())?;
        let mut arguments: Vec<*mut c_void> = Vec::new();
        kernel.arguments(&mut |argument, _bytes| arguments.push(argument.cast_mut().cast()));
        // SAFETY: one declaration gave both the entry point's parameters and these arguments; the caller vouches for the
        // pointers among them. The driver copies the arguments before it returns.
        result("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
                function,
                blocks,
                1,
                1,
                kernel.threads(),
                1,
                1,
                0,
                self.stream.as_inner(),
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }

    fn record(&self, timed: bool) -> Result<Arc<dyn Mark>> {
        self.primary.bind()?;
        let mut event = std::ptr::null_mut();
        let flags = if timed { 0 } else { sys::CUevent_flags_enum::CU_EVENT_DISABLE_TIMING as u32 };
        // SAFETY: the driver writes the handle.
        result("cuEventCreate", unsafe { sys::cuEventCreate(&mut event, flags) })?;
        let mark = CudaMark { primary: self.primary.clone(), event };
        // SAFETY: both handles live.
        result("cuEventRecord", unsafe { sys::cuEventRecord(event, self.stream.as_inner()) })?;
        Ok(Arc::new(mark))
    }

    fn wait(&self, mark: &dyn Mark) -> Result<()> {
        self.primary.bind()?;
        let event = cuda_mark(mark)?.event;
        // SAFETY: both handles live; the driver keeps what it needs of the event.
        result("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.stream.as_inner(), event, 0) })
    }

    fn synchronize(&self) -> Result<()> {
        self.primary.bind()?;
        self.stream.synchronize().map_err(failed("cuStreamSynchronize"))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An event. `cust`'s own cannot be waited for without being given away.
struct CudaMark {
    primary: Arc<Primary>,
    event: sys::CUevent,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for CudaMark {}
// SAFETY: as above.
unsafe impl Sync for CudaMark {}

impl Drop for CudaMark {
    fn drop(&mut self) {
        if self.primary.bind().is_ok() {
            // SAFETY: `record` made it. The driver destroys it once it has been reached; an error means a lost context.
            let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
        }
    }
}

fn cuda_mark(mark: &dyn Mark) -> Result<&CudaMark> {
    mark.as_any().downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "an event",
        found: "another device".to_owned(),
        expected: "a CUDA device".to_owned(),
    })
}

impl fmt::Debug for CudaMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaMark({:?})", self.event)
    }
}

impl Mark for CudaMark {
    fn synchronize(&self) -> Result<()> {
        self.primary.bind()?;
        // SAFETY: the handle lives.
        result("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.event) })
    }

    fn is_done(&self) -> Result<bool> {
        self.primary.bind()?;
        // SAFETY: the handle lives.
        match unsafe { sys::cuEventQuery(self.event) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            answer => result("cuEventQuery", answer).map(|()| true),
        }
    }

    fn milliseconds_since(&self, earlier: &dyn Mark) -> Result<f64> {
        let earlier = cuda_mark(earlier)?;
        earlier.synchronize()?;
        self.synchronize()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events are recorded; the driver writes the number.
        let answer = unsafe { sys::cuEventElapsedTime(&mut milliseconds, earlier.event, self.event) };
        result("cuEventElapsedTime", answer)?;
        Ok(milliseconds as f64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
