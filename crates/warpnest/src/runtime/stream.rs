//! Streams: work in order, and events between them.

use crate::runtime::allocation::Tracked;
use crate::runtime::engine::{Engine, Queue};
use crate::runtime::event::Event;
use crate::{Error, InputError, Result};
use gpu_kernels::seam::Kernel;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A queue of work on one device. Work on one stream runs in order. Work on two may overlap, except
/// where both use a [`Buffer`](crate::Buffer) and one of them writes it. Then the later one waits
/// for the earlier one, by itself.
pub struct Stream {
    engine: Arc<dyn Engine>,
    queue: Box<dyn Queue>,
    id: u64,
    /// The lock from recording an event until every buffer has it. So a buffer's last event of this
    /// stream is the latest one, also when several host threads use the stream.
    recording: Mutex<()>,
}

/// The most blocks of a grid (CUDA's limit on its first dimension).
const MAX_BLOCKS: u32 = i32::MAX as u32;

impl Stream {
    pub(crate) fn on(engine: Arc<dyn Engine>) -> Result<Self> {
        let queue = engine.queue()?;
        Ok(Self::of(engine, queue))
    }

    /// A stream on a queue of the engine.
    pub(crate) fn of(engine: Arc<dyn Engine>, queue: Box<dyn Queue>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { engine, queue, id: NEXT.fetch_add(1, Ordering::Relaxed), recording: Mutex::default() }
    }

    /// Waits until all work queued so far is done.
    ///
    /// # Errors
    /// [`Error::Driver`] or [`Error::Kernel`] if some of the work failed.
    pub fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    /// Records the end of what has been queued so far.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn record(&self) -> Result<Event> {
        Ok(Event(self.queue.record(true)?))
    }

    /// Runs `kernel` on at least `threads` threads, after earlier work of this stream and after
    /// work of other streams with the buffers.
    ///
    /// # Errors
    /// [`InputError::GridTooLarge`], [`Error::WrongDevice`], [`Error::Driver`].
    ///
    /// # Safety
    /// The kernel's arguments must be what the kernel's documentation demands. Every pointer among
    /// them must come from a buffer in `reads` or `writes`, and those that it writes through from
    /// `writes`. No other host thread may queue work with a buffer in `writes` at the same time.
    pub unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        threads: u64,
        reads: &[&dyn Tracked],
        writes: &[&dyn Tracked],
    ) -> Result<()> {
        // SAFETY: the caller vouches for the arguments; `batch` orders the launch against other
        // uses of the buffers.
        self.batch(reads, writes, |batch| unsafe { batch.launch(kernel, threads) })
    }

    /// Queues several steps on the same buffers, after the work of other streams that they depend
    /// on, with one event for all of them.
    pub(crate) fn batch(
        &self,
        reads: &[&dyn Tracked],
        writes: &[&dyn Tracked],
        steps: impl FnOnce(&Batch<'_>) -> Result<()>,
    ) -> Result<()> {
        self.enqueue(reads, writes, |queue| steps(&Batch(queue)))
    }

    /// Queues `work`, which reads and writes the given buffers, after the work of other streams
    /// that it depends on.
    pub(crate) fn enqueue(
        &self,
        reads: &[&dyn Tracked],
        writes: &[&dyn Tracked],
        work: impl FnOnce(&dyn Queue) -> Result<()>,
    ) -> Result<()> {
        for buffer in reads.iter().chain(writes) {
            crate::runtime::engine::same_device("a buffer", buffer.allocation().engine(), &self.engine)?;
        }
        for buffer in reads {
            buffer.allocation().before_read(self.id, &*self.queue)?;
        }
        for buffer in writes {
            buffer.allocation().before_write(self.id, &*self.queue)?;
        }
        // Until the buffers have the event, nothing else can wait for the work.
        let unrecorded = Unrecorded(&*self.queue);
        let done = work(&*self.queue);
        let _recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        // The event is recorded even after an error, since part of the work may have been queued.
        let event = Event(self.queue.record(false)?);
        std::mem::forget(unrecorded);
        for buffer in reads {
            buffer.allocation().after_read(self.id, &event);
        }
        for buffer in writes {
            buffer.allocation().after_write(self.id, &event);
        }
        done
    }

    /// Makes work that is queued from now on wait for `event`.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream is on a CUDA device and the event is not;
    /// [`Error::Driver`].
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.queue.wait(&*event.0)
    }

    pub(crate) fn queue(&self) -> &dyn Queue {
        &*self.queue
    }

    pub(crate) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }
}

/// The queue for the steps of [`Stream::batch`].
pub(crate) struct Batch<'q>(pub(super) &'q dyn Queue);

impl Batch<'_> {
    /// Runs `kernel` on at least `threads` threads. All launches go through this function.
    ///
    /// # Safety
    /// As for [`Stream::launch`], with the buffers of the batch.
    pub unsafe fn launch(&self, kernel: &dyn Kernel, threads: u64) -> Result<()> {
        let blocks = threads.div_ceil(kernel.threads() as u64);
        if blocks > MAX_BLOCKS as u64 {
            return Err(Error::Input(InputError::GridTooLarge { threads, block: kernel.threads(), limit: MAX_BLOCKS }));
        }
        // SAFETY: as the caller promises for the kernel's arguments.
        if blocks == 0 { Ok(()) } else { unsafe { self.0.launch(kernel, blocks as u32) } }
    }

    /// Runs `blocks` blocks of `kernel`.
    ///
    /// # Safety
    /// As for [`Stream::launch`], with the buffers of the batch.
    pub unsafe fn launch_blocks(&self, kernel: &dyn Kernel, blocks: u64) -> Result<()> {
        // SAFETY: as the caller promises for the kernel's arguments.
        unsafe { self.launch(kernel, blocks.saturating_mul(kernel.threads() as u64)) }
    }

    /// Copies bytes from one address on the device to another.
    ///
    /// # Safety
    /// Both ranges lie in buffers of the batch, which writes the second.
    pub unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: both ranges lie in buffers of the batch, as the caller promises.
        if bytes == 0 { Ok(()) } else { unsafe { self.0.copy(from, to, bytes) } }
    }

    /// Records the end of what has been queued so far.
    pub fn record(&self) -> Result<Event> {
        Ok(Event(self.0.record(true)?))
    }
}

/// A guard that waits for a queue when it is dropped: when work panicked or could not be recorded.
struct Unrecorded<'q>(&'q dyn Queue);

impl Drop for Unrecorded<'_> {
    fn drop(&mut self) {
        // An error means that the context is lost, and its memory with it.
        let _ = self.0.synchronize();
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} on {})", self.id, self.engine.name())
    }
}
