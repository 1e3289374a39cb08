//! Graphs: captured work that is launched again and again.

use crate::Result;
use crate::runtime::allocation::Allocation;
use crate::runtime::capture::{Captured, capture, is_on};
use crate::runtime::engine::{Engine, EngineGraph, Step, same_device};
use crate::runtime::stream::Stream;
use std::fmt;
use std::sync::Arc;

/// Work of a stream that was captured, to be launched again and again by one call: a CUDA graph on
/// a GPU.
///
/// A launch takes the host a few microseconds, however many operations it has. They use the same
/// memory in each launch, which the graph keeps alive: new queries are written to the buffer that
/// was captured. On the device, launches are ordered with all other work on the buffers, on any
/// stream, as single operations are.
///
/// ```
/// use warpnest::{Answers, Buffer, Device, PageMap};
///
/// let device = Device::best()?;
/// let stream = device.default_stream();
/// let map = PageMap::build(&device, &[1u32, 2, 3], &[10u32, 20, 30])?;
/// let mut queries = Buffer::from_slice(&device, &[3u32, 4])?;
/// let mut answers = Answers::new(&device, 2)?;
///
/// let graph = stream.capture(|| map.get_many_into(stream, &queries, &mut answers))?;
/// // SAFETY: the map is not changed, and only this thread uses it and the buffers.
/// unsafe { graph.launch(stream)? };
/// assert_eq!(answers.download(stream)?, [Some(30), None]);
///
/// queries.upload(stream, &[2, 1])?;
/// // SAFETY: as above.
/// unsafe { graph.launch(stream)? };
/// assert_eq!(answers.download(stream)?, [Some(20), Some(10)]);
/// # Ok::<(), warpnest::Error>(())
/// ```
///
/// A [`Bounded`](crate::relational::Bounded) result that was captured has the count of its last
/// call until the graph is launched.
pub struct Graph {
    engine: Arc<dyn Engine>,
    steps: Vec<Step>,
    /// The memory that the steps use, and whether they write it.
    memory: Vec<(Arc<Allocation>, bool)>,
    /// The steps as the engine launches them, if it does not queue one after the other.
    ready: Option<Box<dyn EngineGraph>>,
}

impl Stream {
    /// Captures the work that `work` queues on this stream. Nothing is run.
    ///
    /// Operations can be captured that neither wait nor allocate memory: those whose documentation
    /// says so, mostly with names in `_into`. Call an operation once before it is captured, so that
    /// its scratch memory is there and its kernels are loaded. The host waits for earlier work on
    /// the buffers.
    ///
    /// # Errors
    /// The errors of `work`; it gets [`InputError::NotCaptured`](crate::InputError::NotCaptured)
    /// where it allocates, waits, or uses another stream. [`Error::Driver`](crate::Error::Driver).
    pub fn capture(&self, work: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let (Captured { steps, memory, .. }, ()) = capture(self.id(), work)?;
        let memory = memory.into_iter().filter_map(|(memory, is_write)| Some((memory.downcast().ok()?, is_write)));
        let (engine, memory) = (self.engine().clone(), memory.collect());
        let ready = engine.graph(&steps)?;
        Ok(Graph { engine, steps, memory, ready })
    }
}

impl Graph {
    /// Queues the captured work on a stream. Does not wait. A graph that is launched again does not
    /// begin before its last launch has ended.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice),
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// * No table that was captured has been changed since then: it may be in other memory now, or
    ///   have another layout in the same memory. Capture again after a change.
    /// * While this runs, no other host thread uses what was captured: the buffers, tables and
    ///   scratch, and this graph. That is what borrows ensure for other calls.
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        same_device("the graph", &self.engine, stream.engine())?;
        stream.batch(|batch| {
            for (memory, is_write) in &self.memory {
                batch.record_use(memory, *is_write);
            }
            let queue = batch.queue()?;
            match &self.ready {
                // SAFETY: the captured calls vouched for the arguments. The graph keeps the memory,
                // and the batch records its uses.
                Some(ready) if !is_on() => unsafe { ready.queue(queue) },
                // SAFETY: as above.
                _ => self.steps.iter().try_for_each(|step| unsafe { step.queue(queue) }),
            }
        })
    }

    /// Returns the count of operations: launches of kernels, and copies and fills of memory.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether nothing was captured.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} steps on {})", self.len(), self.engine.name())
    }
}
