//! How long the stages of a build take.

use crate::stream::Batch;
use crate::{Event, Result};

/// The events between the stages of an attempt, if they are wanted.
pub(crate) struct StageClock {
    wanted: bool,
    marks: Vec<Event>,
}

impl StageClock {
    pub fn new(wanted: bool) -> Self {
        Self { wanted, marks: Vec::new() }
    }

    /// The end of a stage, and the beginning of the next one.
    pub fn mark(&mut self, batch: &Batch<'_>) -> Result<()> {
        if self.wanted {
            self.marks.push(batch.record()?);
        }
        Ok(())
    }

    /// The milliseconds between the first `STAGES` + 1 marks, if they were wanted.
    pub fn durations<const STAGES: usize>(&self) -> Result<Option<[f64; STAGES]>> {
        if !self.wanted {
            return Ok(None);
        }
        let mut durations = [0.0; STAGES];
        for (duration, marks) in durations.iter_mut().zip(self.marks.windows(2)) {
            *duration = marks[1].milliseconds_since(&marks[0])?;
        }
        Ok(Some(durations))
    }
}
