//! The memory of buffers, and the events of its last uses.

use crate::Result;
use crate::runtime::engine::{Engine, Queue};
use crate::runtime::event::Event;
use std::sync::{Arc, Mutex, PoisonError};

/// A buffer of any element type, whose uses are ordered: what [`Uses`](crate::Uses) records.
pub trait Tracked {
    #[doc(hidden)]
    fn allocation(&self) -> &Allocation;
}

/// The owner, which frees the memory.
#[derive(Debug, PartialEq)]
pub(crate) enum Owner {
    /// This library.
    Engine,
    /// Another library.
    Other,
}

/// The memory of a buffer on a device, with the events of its last uses.
#[derive(Debug)]
pub struct Allocation {
    engine: Arc<dyn Engine>,
    address: usize,
    bytes: usize,
    owner: Owner,
    uses: Mutex<LastUses>,
}

/// The number of reading streams from which on finished reads are forgotten.
const MANY_READS: usize = 16;

/// The last write, and the reads since then: a stream's number with each event.
#[derive(Debug, Default)]
struct LastUses {
    write: Option<(u64, Event)>,
    reads: Vec<(u64, Event)>,
}

impl Allocation {
    pub(crate) fn new(engine: Arc<dyn Engine>, address: usize, bytes: usize, owner: Owner) -> Self {
        Self { engine, address, bytes, owner, uses: Mutex::default() }
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub(crate) fn address(&self) -> usize {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn uses(&self) -> std::sync::MutexGuard<'_, LastUses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the queue of the stream with number `stream` wait for the last write.
    pub(crate) fn before_read(&self, stream: u64, queue: &dyn Queue) -> Result<()> {
        match &self.uses().write {
            Some((id, event)) if *id != stream => queue.wait(&*event.0),
            _ => Ok(()),
        }
    }

    /// Makes the queue of the stream with number `stream` wait for all uses.
    pub(crate) fn before_write(&self, stream: u64, queue: &dyn Queue) -> Result<()> {
        let uses = self.uses();
        for (_, event) in uses.write.iter().chain(&uses.reads).filter(|(id, _)| *id != stream) {
            queue.wait(&*event.0)?;
        }
        Ok(())
    }

    pub(crate) fn after_read(&self, stream: u64, event: &Event) {
        let mut uses = self.uses();
        uses.reads.retain(|(id, _)| *id != stream);
        if uses.reads.len() >= MANY_READS {
            // Finished reads need no waiting for. A failed query is kept: whoever waits for it gets
            // the error.
            uses.reads.retain(|(_, event)| !event.is_done().unwrap_or(false));
        }
        uses.reads.push((stream, event.clone()));
    }

    pub(crate) fn after_write(&self, stream: u64, event: &Event) {
        *self.uses() = LastUses { write: Some((stream, event.clone())), reads: Vec::new() };
    }

    /// Waits, on the host, until no work uses the memory.
    pub(crate) fn quiesce(&self) -> Result<()> {
        let uses = self.uses();
        uses.write.iter().chain(&uses.reads).try_for_each(|(_, event)| event.synchronize())
    }

    /// Gives up the memory, once no work uses it: it will not be freed here.
    #[cfg(feature = "cust")]
    pub(crate) fn release(mut self) -> Result<()> {
        self.quiesce()?;
        self.owner = Owner::Other;
        Ok(())
    }

    /// Gives up the memory to a new owner, who orders later work after the work that uses it.
    #[cfg(feature = "cudarc")]
    pub(crate) fn hand_on(mut self) {
        self.owner = Owner::Other;
        *self.uses() = LastUses::default();
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // After a driver error the context is lost, and with it the memory: the error cannot be
        // reported from here.
        let _ = self.quiesce();
        if self.owner == Owner::Engine {
            // SAFETY: the engine allocated it, and nothing uses it any more.
            unsafe { self.engine.free(self.address, self.bytes) };
        }
    }
}
