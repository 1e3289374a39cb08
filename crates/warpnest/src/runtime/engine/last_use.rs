//! The last uses of memory by streams, which later uses wait for.

use super::queue::{Queue, QueueEvent};
use crate::Result;
use std::sync::{Arc, Mutex, PoisonError};

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
        self.end.event()?.synchronize()
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
pub(crate) struct Pending {
    queue: Arc<dyn Queue>,
    event: Mutex<Option<Arc<dyn QueueEvent>>>,
}

impl Pending {
    pub(crate) fn new(queue: Arc<dyn Queue>) -> Arc<Self> {
        Arc::new(Self { queue, event: Mutex::default() })
    }

    /// Returns whether the event still comes behind work that has been queued before this call.
    pub(crate) fn is_open(&self) -> bool {
        self.event.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn event(&self) -> Result<Arc<dyn QueueEvent>> {
        // The lock is held while the event is recorded, so that `is_open` cannot miss it.
        let mut event = self.event.lock().unwrap_or_else(PoisonError::into_inner);
        match &*event {
            Some(event) => Ok(event.clone()),
            None => Ok(event.insert(self.queue.record(false)?).clone()),
        }
    }
}
