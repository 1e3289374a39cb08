//! Events that nobody has, to be recorded again: to make one and to destroy it takes calls of the
//! driver.

use super::driver::Event;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most events that are kept.
const MOST_KEPT: usize = 256;

/// Events of a context without a time. What waits for an event waits for its last record so far, so
/// it can be recorded again at once.
#[derive(Default)]
pub(super) struct FreeEvents(Mutex<Vec<Event>>);

impl FreeEvents {
    fn events(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Option<Event> {
        self.events().pop()
    }

    /// Returns whether the event is kept.
    pub(super) fn keep(&self, event: Event) -> bool {
        let mut events = self.events();
        let keeps = events.len() < MOST_KEPT;
        if keeps {
            events.push(event);
        }
        keeps
    }

    /// Takes all of them.
    pub(super) fn take_all(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events())
    }
}
