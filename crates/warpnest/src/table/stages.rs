//! The times that the stages of a build take.

use crate::runtime::stream::Batch;
use crate::{Event, Result};

/// The events between the stages of an attempt, if they are wanted.
pub(crate) struct StageClock {
    wanted: bool,
    events: Vec<Event>,
}

impl StageClock {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { wanted, events: Vec::new() }
    }

    /// Records the end of a stage, and the beginning of the next one.
    pub(crate) fn lap(&mut self, batch: &Batch<'_>) -> Result<()> {
        if self.wanted {
            self.events.push(batch.record()?);
        }
        Ok(())
    }

    /// Returns the milliseconds between the first `STAGES` + 1 events, if they were wanted.
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
