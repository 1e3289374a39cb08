//! The times that the stages of a build take.

use crate::runtime::stream::Batch;
use crate::{Event, Result};

/// The events at the ends of the stages of an attempt, if times are wanted.
pub(crate) struct StageClock {
    wanted: bool,
    events: Vec<Event>,
}

impl StageClock {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted, events: Vec::new() }
    }

    /// Records the event that ends a stage and begins the next stage.
    pub(crate) fn lap(&mut self, batch: &Batch<'_>) -> Result<()> {
        if self.wanted {
            self.events.push(batch.record()?);
        }
        Ok(())
    }

    /// Returns the milliseconds between consecutive events, from the first `STAGES` + 1 events, if
    /// times are wanted.
    pub(crate) fn durations<const STAGES: usize>(&self) -> Result<Option<[f64; STAGES]>> {
        if !self.wanted {
            return Ok(None);
        }
        let mut durations = [0.0; STAGES];
        for (duration, events) in durations.iter_mut().zip(self.events.windows(2)) {
            *duration = events[1].milliseconds_since(&events[0])?;
        }
        Ok(Some(durations))
    }
}
