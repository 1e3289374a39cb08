//! The memory of buffers, and the events of its last uses.

use crate::Result;
use crate::runtime::capture;
use crate::runtime::engine::{Engine, LastUse, Queue, Reused, WorkEnd};
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The alignment, in bytes, of the arrays that kernels take, as
/// [`Global::new`](gpu_kernels::seam::Global::new) demands.
pub(crate) const ALIGNMENT: usize = 16;

/// A buffer of any element type, whose uses [`Uses`](crate::low_level::Uses) records and orders.
pub trait Tracked {
    #[doc(hidden)]
    fn allocation(&self) -> &Arc<Allocation>;
}

/// The library that frees an allocation.
#[derive(Debug, PartialEq)]
pub(crate) enum Owner {
    /// This library.
    Engine,
    /// Another library.
    Other,
    /// What lends it to a buffer, for as long as the buffer lives.
    Lender,
}

/// The memory of a buffer on a device, with the events of its last uses.
#[derive(Debug)]
pub struct Allocation {
    engine: Arc<dyn Engine>,
    address: usize,
    bytes: usize,
    owner: Owner,
    uses: Mutex<LastUses>,
    /// Whether other code may know the address, and may use the memory until the drop.
    is_known: AtomicBool,
    /// Whether a graph may use the memory.
    is_captured: AtomicBool,
}

/// The count of reads at which the reads that have finished are removed.
const MANY_READS: usize = 16;

/// The last write of an allocation and the reads since then, for which later uses may have to wait.
/// There are several writes if several threads have written parts of a buffer at the same time.
#[derive(Debug, Default)]
struct LastUses {
    /// The count of all uses so far.
    count: u64,
    writes: Vec<Indexed>,
    reads: Vec<Indexed>,
}

/// A use, with its index among the uses of the memory.
#[derive(Debug)]
struct Indexed {
    index: u64,
    last: LastUse,
}

impl LastUses {
    fn next(&mut self, last: LastUse) -> Indexed {
        self.count += 1;
        Indexed { index: self.count, last }
    }

    fn all(&self) -> impl Iterator<Item = &LastUse> {
        self.writes.iter().chain(&self.reads).map(|indexed| &indexed.last)
    }

    /// Returns the last use of each stream, behind which the stream's earlier uses have ended.
    fn into_last(self) -> Vec<LastUse> {
        let mut all: Vec<Indexed> = self.writes.into_iter().chain(self.reads).collect();
        all.sort_unstable_by_key(|indexed| Reverse(indexed.index));
        let mut of_streams = Vec::<LastUse>::new();
        for Indexed { last, .. } in all {
            if of_streams.iter().all(|later| later.stream() != last.stream()) {
                of_streams.push(last);
            }
        }
        of_streams
    }
}

impl Allocation {
    pub(crate) fn new(engine: Arc<dyn Engine>, address: usize, bytes: usize, owner: Owner) -> Self {
        Self {
            engine,
            address,
            bytes,
            owner,
            uses: Mutex::default(),
            is_known: AtomicBool::default(),
            is_captured: AtomicBool::default(),
        }
    }

    /// Allocates memory of the engine for work of the stream with id `stream`.
    pub(crate) fn take(engine: &Arc<dyn Engine>, bytes: usize, stream: u64) -> Result<Self> {
        capture::refuse("allocates memory")?;
        let Reused { address, uses } = engine.take(bytes, stream)?;
        let mut allocation = Self::new(engine.clone(), address, bytes, Owner::Engine);
        let before = allocation.uses.get_mut().unwrap_or_else(PoisonError::into_inner);
        for last in uses {
            let write = before.next(last);
            before.writes.push(write);
        }
        Ok(allocation)
    }

    /// Records that from now on other code knows the address.
    pub(crate) fn make_known(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// Records that from now on a graph may use the memory.
    pub(crate) fn make_captured(&self) {
        self.is_captured.store(true, Ordering::Relaxed);
    }

    /// Returns whether a graph may use the memory.
    pub(crate) fn is_captured(&self) -> bool {
        self.is_captured.load(Ordering::Relaxed)
    }

    /// Returns whether the memory is lent only while its buffer lives.
    pub(crate) fn is_lent(&self) -> bool {
        self.owner == Owner::Lender
    }

    /// Returns whether the memory is of this library.
    #[cfg(any(feature = "cust", feature = "cudarc"))]
    pub(crate) fn is_of_engine(&self) -> bool {
        self.owner == Owner::Engine
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

    /// Makes the queue of the stream with id `stream` wait for the last writes of other streams.
    /// Returns the count of uses so far.
    pub(crate) fn before_read(&self, stream: u64, queue: &dyn Queue) -> Result<u64> {
        let uses = self.uses();
        let mut writes = uses.writes.iter().map(|write| &write.last).filter(|write| write.stream() != stream);
        writes.try_for_each(|write| write.hold_up(queue))?;
        Ok(uses.count)
    }

    /// Makes the queue of the stream with id `stream` wait for all uses by other streams. Returns
    /// the count of uses so far.
    pub(crate) fn before_write(&self, stream: u64, queue: &dyn Queue) -> Result<u64> {
        let uses = self.uses();
        uses.all().filter(|last| last.stream() != stream).try_for_each(|last| last.hold_up(queue))?;
        Ok(uses.count)
    }

    pub(crate) fn after_read(&self, stream: u64, end: &WorkEnd) {
        let mut uses = self.uses();
        uses.reads.retain(|read| read.last.stream() != stream);
        if uses.reads.len() >= MANY_READS {
            // A finished read needs no wait. A read whose query failed is kept, so that whoever
            // waits for it gets the error.
            uses.reads.retain(|read| !read.last.is_done().unwrap_or(false));
        }
        let read = uses.next(LastUse::new(stream, end.clone()));
        uses.reads.push(read);
    }

    /// Records a write that waited for the first `waited_for` uses. Whoever waits for this write
    /// has then waited for those uses, too.
    pub(crate) fn after_write(&self, stream: u64, end: &WorkEnd, waited_for: u64) {
        let mut uses = self.uses();
        // Keep the later uses, because another thread may have used another part of the buffer
        // meanwhile.
        let meanwhile = |indexed: &Indexed| indexed.index > waited_for && indexed.last.stream() != stream;
        uses.writes.retain(meanwhile);
        uses.reads.retain(meanwhile);
        let write = uses.next(LastUse::new(stream, end.clone()));
        uses.writes.push(write);
    }

    /// Forgets the uses that have ended, since the host has waited for a use by the stream with id
    /// `stream`, which waited for those among the first `waited_for` uses that it had to.
    pub(crate) fn after_end(&self, stream: u64, is_write: bool, waited_for: u64) {
        let mut uses = self.uses();
        let goes_on = |indexed: &Indexed| indexed.index > waited_for;
        uses.writes.retain(goes_on);
        // A read does not wait for the reads of other streams.
        uses.reads.retain(|read| goes_on(read) || !is_write && read.last.stream() != stream);
    }

    /// Waits, on the host, until no work uses the memory.
    pub(crate) fn quiesce(&self) -> Result<()> {
        let mut uses = self.uses();
        LastUse::synchronize_all(uses.all())?;
        // Nothing needs to wait for uses that have ended.
        uses.writes.clear();
        uses.reads.clear();
        Ok(())
    }

    /// Gives up the memory once no work uses it. Its drop then does not free it.
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

    /// Forgets the uses if the memory has another owner, who orders later work after the work that
    /// uses it. Nothing in this library waits for those uses any more.
    pub(crate) fn forget_uses_of_others(&self) {
        if self.owner != Owner::Engine {
            *self.uses() = LastUses::default();
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // After a driver error the context is lost, and the memory with it. A drop cannot return
        // the error, so it is ignored.
        if self.owner != Owner::Engine {
            let _ = self.quiesce();
            return;
        }
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner)).into_last();
        // SAFETY: the engine allocated it. All uses were recorded, or are by others, who must not
        // queue any more, and whose work the engine waits for.
        unsafe {
            match *self.is_known.get_mut() {
                true => self.engine.give_known(self.address, self.bytes, uses),
                false => self.engine.give(self.address, self.bytes, uses),
            }
        }
    }
}
