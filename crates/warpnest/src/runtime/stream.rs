//! Streams, which run work in order, and events that order streams.

mod batch;
mod launch;

pub use batch::Uses;
pub(crate) use batch::{Batch, Finish};

use crate::Result;
use crate::runtime::chunk_settings::HostChunks;
use crate::runtime::engine::{Engine, Pending, Queue, WorkEnd};
use crate::runtime::event::Event;
use crate::runtime::machine::Machine;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A queue of work on one device. Work on one stream runs in order, and work on two streams may
/// overlap. If both streams use the same [`Buffer`](crate::Buffer) and one of them writes it, the
/// later work waits for the earlier work automatically.
///
/// A stream is cheap to clone, and clones are the same stream.
#[derive(Clone)]
pub struct Stream {
    shared: Arc<Shared>,
    order: Arc<Order>,
}

/// The state that all handles of a device and its streams share.
pub(in crate::runtime) struct Shared {
    pub(in crate::runtime) engine: Arc<dyn Engine>,
    pub(in crate::runtime) fallback_reason: Option<String>,
    pub(in crate::runtime) host_chunks: Mutex<HostChunks>,
    /// The count of streams.
    streams: Arc<AtomicU64>,
}

impl Shared {
    /// Returns the shared state of the handles of a device on this engine.
    pub(in crate::runtime) fn new(engine: Arc<dyn Engine>, fallback_reason: Option<String>) -> Arc<Self> {
        Arc::new(Self { engine, fallback_reason, host_chunks: Mutex::default(), streams: Arc::default() })
    }
}

/// The state of one stream.
struct Order {
    queue: Arc<dyn Queue>,
    id: u64,
    /// A lock that is held from recording an event until every buffer has the event. So a buffer's
    /// last event of this stream is the latest event, even if several host threads use the stream.
    recording: Mutex<()>,
    /// The event behind the work so far, while the device has no other stream. It is recorded only
    /// if something waits for it. A stream of another library has none, because it may be
    /// destroyed or captured before something waits.
    pending: Option<Mutex<Arc<Pending>>>,
    /// The count of streams of the device.
    streams: Arc<AtomicU64>,
}

impl Drop for Order {
    fn drop(&mut self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Stream {
    /// Returns a new stream of a device.
    pub(in crate::runtime) fn new(shared: &Arc<Shared>) -> Result<Self> {
        let queue: Arc<dyn Queue> = Arc::from(shared.engine.queue()?);
        let pending = Mutex::new(Pending::new(queue.clone()));
        Ok(Self::with(shared.clone(), queue, Some(pending)))
    }

    /// Returns a stream on a queue of another library.
    #[cfg(feature = "cudarc")]
    pub(in crate::runtime) fn of_other(shared: Arc<Shared>, queue: Box<dyn Queue>) -> Self {
        Self::with(shared, Arc::from(queue), None)
    }

    fn with(shared: Arc<Shared>, queue: Arc<dyn Queue>, pending: Option<Mutex<Arc<Pending>>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let streams = shared.streams.clone();
        streams.fetch_add(1, Ordering::Relaxed);
        Self { shared, order: Arc::new(Order { queue, id, recording: Mutex::default(), pending, streams }) }
    }

    /// Waits until all work that is queued so far is complete.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) or [`Error::Kernel`](crate::Error::Kernel) if some
    /// of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.queue().synchronize()
    }

    /// Records an event after the work that is queued so far.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn record(&self) -> Result<Event> {
        Ok(Event(self.queue().record(true)?))
    }

    /// Returns the device's properties that plans need.
    pub(crate) fn machine(&self) -> Machine {
        self.engine().machine()
    }

    /// Makes work that is queued from now on wait for `event`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the stream is on a CUDA device and the
    /// event is not. [`Error::Driver`](crate::Error::Driver).
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.queue().wait(&*event.0)
    }

    /// Returns the end of the work that has been queued so far. If the device has other streams,
    /// the event behind the work is recorded at once, so that they do not wait for later work.
    fn end_of_work(&self) -> Result<WorkEnd> {
        let is_alone = self.order.streams.load(Ordering::Relaxed) == 1;
        let Some(pending) = self.order.pending.as_ref().filter(|_| is_alone) else {
            return self.queue().record(false).map(WorkEnd::Recorded);
        };
        let mut pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
        if !pending.is_open() {
            *pending = Pending::new(self.order.queue.clone());
        }
        Ok(WorkEnd::Pending(pending.clone()))
    }

    pub(crate) fn queue(&self) -> &dyn Queue {
        &*self.order.queue
    }

    /// Returns the stream's unique id.
    pub(crate) fn id(&self) -> u64 {
        self.order.id
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    pub(in crate::runtime) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} on {})", self.order.id, self.engine().name())
    }
}

#[cfg(test)]
mod tests;
