//! Queues of work and the events in them, which an engine implements.

use super::recorded::Recorded;
use crate::Result;
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::Arc;

/// A queue of work that runs in order. Every operation may return before it is complete, except the
/// copies from and to the host.
///
/// For the `unsafe` methods, every address range must lie in allocations of the engine that no
/// other queue accesses in conflict. It may also lie in memory that
/// [`Engine::shares_memory_with_host`](super::Engine::shares_memory_with_host) allows.
/// [`Stream`](crate::Stream) ensures this through the buffers' events. A handle of another library
/// must be a live stream of the device.
#[allow(clippy::missing_safety_doc, reason = "the trait's own text has it")]
pub trait Queue: Debug + Send + Sync {
    /// Copies from the host to the device, and waits.
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()>;
    /// Copies from the device to the host, and waits.
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()>;
    /// Copies bytes within the device.
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()>;
    /// Fills memory with a byte.
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()>;
    /// Runs `blocks` blocks of a kernel.
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()>;
    /// Records an event after the queued work. `timed` says whether the event's time will be read.
    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>>;
    /// Makes later work wait for an event.
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()>;
    /// Waits, on the host, until all queued work is complete.
    fn synchronize(&self) -> Result<()>;
    /// Calls `work`, which queues operations by other means than these methods, after the
    /// operations that are already queued. `work` gets the queue's handle, a `CUstream` whose
    /// context is current while `work` runs. If the device is the host, the handle is null and all
    /// earlier work is complete.
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()>;
    /// Makes later work wait for the work that is queued on a stream of another library, given by
    /// its handle. An engine on host memory has no such streams and does nothing. Other engines
    /// must override this.
    unsafe fn wait_for_foreign(&self, _handle: *mut c_void) -> Result<()> {
        Ok(())
    }
    /// Makes work that is queued later on a stream of another library wait for the work that is
    /// queued here. On an engine on host memory, the work is complete when this returns.
    unsafe fn release_to_foreign(&self, _handle: *mut c_void) -> Result<()> {
        self.synchronize()
    }
    /// Returns whether another library is capturing its stream into a graph.
    unsafe fn is_foreign_captured(&self, _handle: *mut c_void) -> Result<bool> {
        Ok(false)
    }
    /// Adds steps to the graph into which another library is capturing its stream. The graph keeps
    /// `memory`. Only queues that can say that such a stream is captured are asked.
    unsafe fn join_capture(&self, _handle: *mut c_void, _steps: &[Step], _memory: Kept) -> Result<()> {
        Ok(())
    }
    /// Calls `work`, during which this thread may call the driver although streams are captured.
    fn beside_captures(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }
    /// Returns the queue as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// What a graph of another library keeps.
pub type Kept = Box<dyn Any + Send + Sync>;

/// A point in a queue.
pub trait QueueEvent: Debug + Send + Sync {
    /// Waits, on the host, until the queue has passed the event.
    fn synchronize(&self) -> Result<()>;
    /// Returns whether the queue has passed the event.
    fn is_done(&self) -> Result<bool>;
    /// Returns the milliseconds from `earlier` to this event, and waits for both. Both events must
    /// be timed and of the same engine.
    fn milliseconds_since(&self, earlier: &dyn QueueEvent) -> Result<f64>;
    /// Returns the event as `Any`, for downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// One operation of captured work. Its addresses are valid as long as the memory that was captured
/// with it lives.
#[derive(Debug)]
pub enum Step {
    /// A copy within the device.
    Copy {
        /// The address of the first byte.
        from: usize,
        /// The address to which it is copied.
        to: usize,
        /// The count of bytes.
        bytes: usize,
    },
    /// Memory that is filled with a byte.
    Fill {
        /// The address of the first byte.
        at: usize,
        /// The byte.
        byte: u8,
        /// The count of bytes.
        bytes: usize,
    },
    /// The launch of a kernel.
    Launch {
        /// The kernel with its arguments.
        kernel: Recorded,
        /// The count of blocks.
        blocks: u32,
    },
}

impl Step {
    /// Queues the step.
    ///
    /// # Safety
    /// As for the method of [`Queue`] that does it.
    pub unsafe fn queue(&self, queue: &dyn Queue) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match *self {
                Self::Copy { from, to, bytes } => queue.copy(from, to, bytes),
                Self::Fill { at, byte, bytes } => queue.fill(at, byte, bytes),
                Self::Launch { ref kernel, blocks } => queue.launch(kernel, blocks),
            }
        }
    }
}

/// Steps that an engine has made ready to be queued together.
pub trait EngineGraph: Debug + Send + Sync {
    /// Queues the steps, behind their earlier runs.
    ///
    /// # Safety
    /// As for [`Step::queue`], for each of the steps.
    unsafe fn queue(&self, queue: &dyn Queue) -> Result<()>;
}
