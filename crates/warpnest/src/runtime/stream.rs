//! Streams: work in order, and events between them.

mod batch;
mod launch;

pub use batch::Uses;
pub(crate) use batch::{Batch, Finish};

use crate::Result;
use crate::runtime::engine::{Engine, Queue};
use crate::runtime::event::Event;
use crate::runtime::machine::Machine;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A queue of work on one device. Work on one stream runs in order. Work on two may overlap, except
/// where both use a [`Buffer`](crate::Buffer) and one of them writes it. Then the later one waits
/// for the earlier one, by itself.
pub struct Stream {
    engine: Arc<dyn Engine>,
    queue: Box<dyn Queue>,
    id: u64,
    /// The lock from recording an event until every buffer has it. So a buffer's last event of this
    /// stream is the latest one, also when several host threads use the stream.
    recording: Mutex<()>,
}

impl Stream {
    pub(crate) fn on(engine: Arc<dyn Engine>) -> Result<Self> {
        let queue = engine.queue()?;
        Ok(Self::of(engine, queue))
    }

    /// Returns a stream on a queue of the engine.
    pub(crate) fn of(engine: Arc<dyn Engine>, queue: Box<dyn Queue>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { engine, queue, id: NEXT.fetch_add(1, Ordering::Relaxed), recording: Mutex::default() }
    }

    /// Waits until all work queued so far is done.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver) or [`Error::Kernel`](crate::Error::Kernel) if some
    /// of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    /// Records the end of what has been queued so far.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn record(&self) -> Result<Event> {
        Ok(Event(self.queue.record(true)?))
    }

    /// Returns what plans may ask of the stream's device.
    pub(crate) fn machine(&self) -> Machine {
        self.engine.machine()
    }

    /// Makes work that is queued from now on wait for `event`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the stream is on a CUDA device and the
    /// event is not; [`Error::Driver`](crate::Error::Driver).
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.queue.wait(&*event.0)
    }

    pub(crate) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} on {})", self.id, self.engine.name())
    }
}

#[cfg(test)]
mod tests;
