//! Events: points in a stream's work.

use crate::Result;
use crate::runtime::engine::QueueEvent;
use std::sync::Arc;

/// A point in a stream's work.
#[derive(Clone, Debug)]
pub struct Event(pub(crate) Arc<dyn QueueEvent>);

impl Event {
    /// Returns whether the stream has passed this point.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn is_done(&self) -> Result<bool> {
        self.0.is_done()
    }

    /// Waits until the stream has passed this point.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn synchronize(&self) -> Result<()> {
        self.0.synchronize()
    }

    /// Returns the milliseconds of device time from `earlier` to this event, after waiting for both
    /// events.
    ///
    /// # Errors
    /// [`Error::WrongDevice`](crate::Error::WrongDevice) if the events are on devices of different
    /// kinds, [`Error::Driver`](crate::Error::Driver).
    pub fn milliseconds_since(&self, earlier: &Event) -> Result<f64> {
        self.0.milliseconds_since(&*earlier.0)
    }
}
