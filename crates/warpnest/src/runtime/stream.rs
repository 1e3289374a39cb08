//! Streams, which run work in order, and events that order streams.

mod batch;
mod launch;

pub use batch::Uses;
pub(crate) use batch::{Batch, Finish};

use crate::Result;
use crate::runtime::capture;
use crate::runtime::chunk_settings::HostChunks;
use crate::runtime::engine::{Engine, Pending, Queue, WorkEnd};
use crate::runtime::event::Event;
use crate::runtime::machine::Machine;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// The count of streams that have used memory.
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
    /// The event behind the work so far, while no other stream of the device uses memory. It is
    /// recorded only if something waits for it. A stream of another library has none, because it
    /// may be destroyed or captured before something waits.
    pending: Option<Mutex<Arc<Pending>>>,
    /// Whether the event is recorded at the end of each call, and not behind each batch.
    is_by_call: AtomicBool,
    /// The count of streams of the device that have used memory.
    streams: Arc<AtomicU64>,
    /// Whether this is one of them.
    is_counted: AtomicBool,
}

impl Order {
    /// Returns whether no other stream of the device has used memory.
    fn is_alone(&self) -> bool {
        if !self.is_counted.load(Ordering::Relaxed) && !self.is_counted.swap(true, Ordering::Relaxed) {
            self.streams.fetch_add(1, Ordering::Relaxed);
        }
        self.streams.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Order {
    fn drop(&mut self) {
        if *self.is_counted.get_mut() {
            self.streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Stream {
    /// Returns a new stream of a device.
    pub(in crate::runtime) fn new(shared: &Arc<Shared>) -> Result<Self> {
        Ok(Self::of(shared, shared.engine.queue()?))
    }

    /// Returns a stream on a queue that lives as long as the engine.
    pub(in crate::runtime) fn of(shared: &Arc<Shared>, queue: Box<dyn Queue>) -> Self {
        let queue: Arc<dyn Queue> = Arc::from(queue);
        let pending = Mutex::new(Pending::new(queue.clone()));
        Self::with(shared.clone(), queue, Some(pending))
    }

    /// Returns a stream on a queue of another library.
    #[cfg(feature = "cudarc")]
    pub(in crate::runtime) fn of_other(shared: Arc<Shared>, queue: Box<dyn Queue>) -> Self {
        Self::with(shared, Arc::from(queue), None)
    }

    fn with(shared: Arc<Shared>, queue: Arc<dyn Queue>, pending: Option<Mutex<Arc<Pending>>>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let order = Order {
            queue,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            recording: Mutex::default(),
            pending,
            is_by_call: AtomicBool::default(),
            streams: shared.streams.clone(),
            is_counted: AtomicBool::default(),
        };
        Self { shared, order: Arc::new(order) }
    }

    /// Makes the stream record one event for all operations of a call, whose end the caller marks
    /// with [`Stream::end_call`], and not one for each. It is for calls that are short: work of
    /// other streams that waits for one of the operations waits for the whole call.
    pub fn record_by_call(&self) {
        self.order.is_by_call.store(true, Ordering::Relaxed);
    }

    /// Ends a call of a stream that records events [by calls](Stream::record_by_call): what waits
    /// for the operations so far will not wait for later ones.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn end_call(&self) -> Result<()> {
        match &self.order.pending {
            Some(pending) if !self.order.is_alone() => {
                // Clones are with the memory that was used; this one is not used without these.
                let pending = pending.lock().unwrap_or_else(PoisonError::into_inner);
                if Arc::strong_count(&pending) > 1 { pending.record() } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Waits until all work that is queued so far is complete.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) or [`Error::Kernel`](crate::Error::Kernel) if some
    /// of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        capture::refuse("waits for work")?;
        self.queue().synchronize()
    }

    /// Records an event after the work that is queued so far.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn record(&self) -> Result<Event> {
        capture::refuse("records an event")?;
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
        capture::refuse("waits for an event")?;
        self.queue().wait(&*event.0)
    }

    /// Returns the end of the work that has been queued so far. If other streams use memory, the
    /// event behind the work is recorded at once or at the end of the call, so that they do not
    /// wait for later work.
    fn end_of_work(&self) -> Result<WorkEnd> {
        let waits = self.order.is_alone() || self.order.is_by_call.load(Ordering::Relaxed);
        let Some(pending) = self.order.pending.as_ref().filter(|_| waits) else {
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
