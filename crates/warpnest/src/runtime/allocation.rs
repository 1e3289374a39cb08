//! The memory of buffers, and the events of its last uses.

use crate::Result;
use crate::runtime::engine::{Engine, Queue};
use crate::runtime::event::Event;
use std::sync::{Arc, Mutex, PoisonError};

/// The alignment of the arrays that kernels take, in bytes, as
/// [`Global::new`](gpu_kernels::seam::Global::new) demands.
pub(crate) const ALIGNMENT: usize = 16;

/// A buffer of any element type, whose uses are ordered: what [`Uses`](crate::low_level::Uses)
/// records.
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

/// The count of reading streams from which on finished reads are forgotten.
const MANY_READS: usize = 16;

/// The uses that later ones may have to wait for: the last write, and the reads since then. There
/// are several writes after those to parts of a buffer, from several threads at a time.
#[derive(Debug, Default)]
struct LastUses {
    /// The count of all uses so far.
    count: u64,
    writes: Vec<LastUse>,
    reads: Vec<LastUse>,
}

/// A use: its index among the uses of the memory, its stream's id, and the event at its end.
#[derive(Debug)]
struct LastUse {
    number: u64,
    stream: u64,
    event: Event,
}

impl LastUses {
    fn next(&mut self, stream: u64, event: &Event) -> LastUse {
        self.count += 1;
        LastUse { number: self.count, stream, event: event.clone() }
    }

    fn all(&self) -> impl Iterator<Item = &LastUse> {
        self.writes.iter().chain(&self.reads)
    }
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

    /// Makes the queue of the stream with id `stream` wait for the last writes.
    pub(crate) fn before_read(&self, stream: u64, queue: &dyn Queue) -> Result<()> {
        self.uses()
            .writes
            .iter()
            .filter(|write| write.stream != stream)
            .try_for_each(|write| queue.wait(&*write.event.0))
    }

    /// Makes the queue of the stream with id `stream` wait for all uses; returns how many there
    /// were.
    pub(crate) fn before_write(&self, stream: u64, queue: &dyn Queue) -> Result<u64> {
        let uses = self.uses();
        uses.all().filter(|last| last.stream != stream).try_for_each(|last| queue.wait(&*last.event.0))?;
        Ok(uses.count)
    }

    pub(crate) fn after_read(&self, stream: u64, event: &Event) {
        let mut uses = self.uses();
        uses.reads.retain(|read| read.stream != stream);
        if uses.reads.len() >= MANY_READS {
            // Finished reads need no waiting for. A failed query is kept: whoever waits for it gets
            // the error.
            uses.reads.retain(|read| !read.event.is_done().unwrap_or(false));
        }
        let read = uses.next(stream, event);
        uses.reads.push(read);
    }

    /// Records a write that came after the first `waited_for` uses: whoever waits for it waits for
    /// those, too.
    pub(crate) fn after_write(&self, stream: u64, event: &Event, waited_for: u64) {
        let mut uses = self.uses();
        // Another thread may have used another part of the buffer meanwhile.
        let meanwhile = |last: &LastUse| last.number > waited_for && last.stream != stream;
        uses.writes.retain(meanwhile);
        uses.reads.retain(meanwhile);
        let write = uses.next(stream, event);
        uses.writes.push(write);
    }

    /// Waits, on the host, until no work uses the memory.
    pub(crate) fn quiesce(&self) -> Result<()> {
        self.uses().all().try_for_each(|last| last.event.synchronize())
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
        self.forget_uses_of_others();
    }

    /// Forgets the uses of memory of another owner, who orders later work after the work that uses
    /// it: nothing here waits for that any more.
    pub(crate) fn forget_uses_of_others(&self) {
        if self.owner == Owner::Other {
            *self.uses() = LastUses::default();
        }
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
