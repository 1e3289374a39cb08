//! The last uses of memory by streams, which later uses wait for.

use super::queue::{Queue, QueueEvent};
use crate::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The last use of memory by a stream.
#[derive(Clone, Debug)]
pub struct LastUse {
    stream: u64,
    end: WorkEnd,
}

impl LastUse {
    pub(crate) fn new(stream: u64, end: WorkEnd) -> Self {
        Self { stream, end }
    }

    /// Returns the id of the stream.
    pub fn stream(&self) -> u64 {
        self.stream
    }

    /// Returns whether the use has ended.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn is_done(&self) -> Result<bool> {
        self.end.event()?.is_done()
    }

    /// Waits, on the host, until the use has ended.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn synchronize(&self) -> Result<()> {
        match &self.end {
            WorkEnd::Recorded(event) => event.synchronize(),
            WorkEnd::Pending(pending) => pending.synchronize(),
        }
    }

    /// Waits, on the host, until all of these uses have ended, even if waiting for some of them
    /// fails. Returns the last error.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn synchronize_all<'u>(uses: impl IntoIterator<Item = &'u Self>) -> Result<()> {
        let mut done = Ok(());
        for last in uses {
            done = last.synchronize().and(done);
        }
        done
    }

    /// Makes later work of a queue wait until the use has ended.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn hold_up(&self, queue: &dyn Queue) -> Result<()> {
        queue.wait(&*self.end.event()?)
    }
}

/// The end of work that was queued.
#[derive(Clone, Debug)]
pub(crate) enum WorkEnd {
    /// The event behind the work.
    Recorded(Arc<dyn QueueEvent>),
    /// The work's queue, which records the event when something waits for the work.
    Pending(Arc<Pending>),
}

impl WorkEnd {
    fn event(&self) -> Result<Arc<dyn QueueEvent>> {
        match self {
            Self::Recorded(event) => Ok(event.clone()),
            Self::Pending(pending) => pending.event(),
        }
    }
}

/// An event that is not recorded until something waits for it. It then stands behind all work that
/// the queue has by that time, so every use that was given it before has ended when it is reached.
#[derive(Debug)]
pub(crate) struct Pending(Mutex<State>);

#[derive(Debug)]
enum State {
    /// The event is not recorded, and will come from this queue.
    Open(Arc<dyn Queue>),
    Recorded(Arc<dyn QueueEvent>),
}

impl Pending {
    pub(crate) fn new(queue: Arc<dyn Queue>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Open(queue))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the event still comes behind work that has been queued before this call.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*self.state(), State::Open(_))
    }

    /// Records the event, unless it is recorded.
    pub(crate) fn record(&self) -> Result<()> {
        self.event().map(drop)
    }

    fn event(&self) -> Result<Arc<dyn QueueEvent>> {
        // The lock is held while the event is recorded, so that `is_open` cannot miss it.
        let mut state = self.state();
        let event = match &*state {
            State::Recorded(event) => return Ok(event.clone()),
            State::Open(queue) => queue.record(false)?,
        };
        *state = State::Recorded(event.clone());
        Ok(event)
    }

    fn synchronize(&self) -> Result<()> {
        self.event().and_then(|event| event.synchronize()).or_else(|error| match &*self.state() {
            // Without an event all work of the queue is waited for.
            State::Open(queue) => queue.synchronize(),
            State::Recorded(_) => Err(error),
        })
    }
}
