//! CUDA graphs of captured steps.

use super::driver;
use super::queue::{CudaQueue, cuda_queue};
use super::shared::Shared;
use crate::Result;
use crate::runtime::engine::{EngineGraph, Queue, Step};
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// A graph that is ready to be launched.
pub(super) struct CudaGraph {
    shared: Arc<Shared>,
    executable: driver::GraphExec,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
// Launches of one graph are queued by the driver one after the other.
unsafe impl Send for CudaGraph {}
// SAFETY: as above; the driver locks what launches of one graph share.
unsafe impl Sync for CudaGraph {}

impl CudaGraph {
    /// Returns the graph of steps, one after the other.
    pub(super) fn new(shared: &Arc<Shared>, steps: &[Step]) -> Result<Self> {
        // The driver captures a new stream, which nothing else uses.
        let queue = CudaQueue::new(shared.clone())?;
        let entered = shared.primary.enter()?;
        let driver = entered.driver;
        // SAFETY: the stream lives, and is not captured yet.
        entered.check(unsafe { driver.cuStreamBeginCapture_v2(queue.stream, driver::constant::CAPTURE_RELAXED) })?;
        // SAFETY: nothing is run.
        let queued = steps.iter().try_for_each(|step| unsafe { step.queue(&queue) });
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is captured, and the driver writes to a live variable.
        let ended = entered.check(unsafe { driver.cuStreamEndCapture(queue.stream, &mut graph) });
        let made = queued.and(ended).and_then(|()| {
            // SAFETY: the graph is complete, and the driver writes to a live variable.
            entered.check(unsafe { driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0) })
        });
        if !graph.is_null() {
            // SAFETY: the executable graph is a copy. An error means that the context is lost.
            let _ = entered.check(unsafe { driver.cuGraphDestroy(graph) });
        }
        made.map(|()| Self { shared: shared.clone(), executable })
    }
}

impl EngineGraph for CudaGraph {
    unsafe fn queue(&self, queue: &dyn Queue) -> Result<()> {
        let stream = cuda_queue(queue)?.stream;
        let entered = self.shared.primary.enter()?;
        // SAFETY: both handles live, and the caller vouches for the steps.
        entered.check(unsafe { entered.driver.cuGraphLaunch(self.executable, stream) })
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        if let Ok(entered) = self.shared.primary.enter() {
            // SAFETY: `new` made it. The driver frees it when its launches have ended. An error
            // means that the context is lost.
            let _ = entered.check(unsafe { entered.driver.cuGraphExecDestroy(self.executable) });
        }
    }
}

impl fmt::Debug for CudaGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaGraph({:?})", self.executable)
    }
}
