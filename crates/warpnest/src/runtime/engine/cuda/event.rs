//! CUDA events.

use super::context::Primary;
use super::driver::{self, Failure, code, constant};
use crate::runtime::engine::QueueEvent;
use crate::{Error, Result};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A CUDA event.
pub(super) struct CudaEvent {
    primary: Arc<Primary>,
    pub(super) event: driver::Event,
    timed: bool,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Records an event after what has been queued on a stream of this context.
    pub(super) fn record(primary: &Arc<Primary>, stream: driver::Stream, timed: bool) -> Result<Self> {
        let free = if timed { None } else { primary.events.take() };
        let queue_event = match free {
            Some(event) => Self { primary: primary.clone(), event, timed },
            None => Self::unrecorded(primary, timed)?,
        };
        queue_event.record_on(stream)?;
        Ok(queue_event)
    }

    /// Creates an event, which counts as reached until it is recorded.
    pub(super) fn unrecorded(primary: &Arc<Primary>, timed: bool) -> Result<Self> {
        let entered = primary.enter()?;
        let mut event = std::ptr::null_mut();
        let flags = if timed { 0 } else { constant::EVENT_DISABLE_TIMING };
        // SAFETY: the driver writes the handle.
        entered.check(unsafe { entered.driver.cuEventCreate(&mut event, flags) })?;
        Ok(Self { primary: primary.clone(), event, timed })
    }

    /// Moves the event behind what has been queued on a stream of this context.
    pub(super) fn record_on(&self, stream: driver::Stream) -> Result<()> {
        let entered = self.primary.enter()?;
        // SAFETY: both handles live.
        entered.check(unsafe { entered.driver.cuEventRecord(self.event, stream) })
    }

    /// Makes later work of a stream of this context wait for the event.
    pub(super) fn hold_up(&self, stream: driver::Stream) -> Result<()> {
        let entered = self.primary.enter()?;
        // SAFETY: both handles live; the driver keeps what it needs of the event.
        entered.check(unsafe { entered.driver.cuStreamWaitEvent(stream, self.event, 0) })
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        if self.timed || !self.primary.events.keep(self.event) {
            self.primary.destroy_events([self.event]);
        }
    }
}

pub(super) fn cuda_event(queue_event: &dyn QueueEvent) -> Result<&CudaEvent> {
    queue_event.as_any().downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "an event",
        found: "another device".to_owned(),
        expected: "a CUDA device".to_owned(),
    })
}

impl fmt::Debug for CudaEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaEvent({:?})", self.event)
    }
}

impl QueueEvent for CudaEvent {
    fn synchronize(&self) -> Result<()> {
        let entered = self.primary.enter()?;
        // SAFETY: the handle lives.
        entered.check(unsafe { entered.driver.cuEventSynchronize(self.event) })
    }

    fn is_done(&self) -> Result<bool> {
        let entered = self.primary.enter()?;
        // SAFETY: the handle lives.
        match unsafe { entered.driver.cuEventQuery(self.event) } {
            Err(Failure { code: code::NOT_READY, .. }) => Ok(false),
            answer => entered.check(answer).map(|()| true),
        }
    }

    fn milliseconds_since(&self, earlier: &dyn QueueEvent) -> Result<f64> {
        let earlier = cuda_event(earlier)?;
        earlier.synchronize()?;
        self.synchronize()?;
        let entered = self.primary.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: both events are recorded; the driver writes the number.
        entered.check(unsafe { entered.driver.cuEventElapsedTime(&mut milliseconds, earlier.event, self.event) })?;
        Ok(milliseconds as f64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
