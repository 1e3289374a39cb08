//! Batches of steps on a stream, and their buffers.

use super::Stream;
use crate::runtime::allocation::{Allocation, Tracked};
use crate::runtime::capture::{self, Recorder};
use crate::runtime::engine::{Queue, same_device};
use crate::runtime::event::Event;
use crate::{Error, InputError, Result};
use gpu_kernels::seam::Kernel;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The most blocks of a grid (CUDA's limit on its first dimension).
const MAX_BLOCKS: u32 = i32::MAX as u32;

/// The buffers that a launch uses, and the only source of pointers for a kernel's arguments.
///
/// Each buffer is named once, as read or as written. From this follow the pointer, the work of
/// other streams for which the launch waits, and how long the buffer stays borrowed.
///
/// ```compile_fail,E0499
/// # use warpnest::{Buffer, Device};
/// # use warpnest::low_level::kernels::primitives::compact::{CompactParams, LastOfEach};
/// # let device = Device::cpu();
/// let mut buffer = Buffer::<u32>::zeroed(&device, 2).unwrap();
/// unsafe {
///     device.default_stream().launch(2, |uses| LastOfEach {
///         keys: uses.write(&mut buffer),
///         keep: uses.write(&mut buffer),
///         plan: CompactParams { items: 2 },
///     })
/// };
/// ```
///
/// If a buffer is on another device, or a wait fails, the launch returns the error.
#[derive(Debug)]
pub struct Uses<'b>(pub(in crate::runtime) Batch<'b>);

impl<'b> Uses<'b> {
    /// Records memory that the kernel reads through addresses in other memory.
    pub fn reads(&self, memory: &'b dyn Tracked) {
        self.0.reads(memory);
    }

    /// Records memory that the kernel writes through addresses in other memory.
    pub fn writes(&self, memory: &'b mut dyn Tracked) {
        self.0.writes(memory);
    }
}

/// The steps of [`Stream::batch`], and the buffers that they use.
///
/// The batch's pointers may only be used as arguments of its launches. A step before the first
/// error of a buffer is still queued. So if an error should leave the outputs unchanged, record all
/// buffers before the first step that writes one.
#[derive(Debug)]
pub(crate) struct Batch<'b> {
    pub(super) stream: &'b Stream,
    pub(super) uses: RefCell<Vec<Use<'b>>>,
    /// The first error of a buffer, after which nothing is queued.
    pub(super) failure: RefCell<Option<Error>>,
    /// Whether a step may have been queued.
    pub(super) queued: Rc<Cell<bool>>,
    /// Whether the host has waited for all steps.
    pub(super) ended: Cell<bool>,
    /// The tables that must do more work once all steps are queued.
    pub(super) finishing: RefCell<Vec<Box<dyn Finish + 'b>>>,
}

/// The work that a table still has to do after a launch that changes it.
pub(crate) trait Finish: fmt::Debug {
    /// Does the remaining work, and may wait. `failed` is the error of a failed launch.
    fn finish(self: Box<Self>, stream: &Stream, failed: Option<&Error>) -> Result<()>;
}

/// The use of a buffer by a batch.
#[derive(Debug)]
pub(super) struct Use<'b> {
    pub(super) allocation: &'b Allocation,
    pub(super) is_write: bool,
    /// The count of earlier uses of the memory. A write waits for all of them, and a read for the
    /// writes among them.
    pub(super) waited_for: u64,
}

/// Adds memory to what this thread captures, which no work then uses.
fn captured(allocation: &Arc<Allocation>, is_write: bool) -> Result<()> {
    if allocation.is_lent() {
        return Err(capture::refused("uses memory that is lent to it, such as a slice or a mapped file"));
    }
    allocation.quiesce()?;
    allocation.make_captured();
    capture::keep(allocation.clone(), is_write);
    Ok(())
}

impl<'b> Batch<'b> {
    /// Records memory that the batch reads.
    pub(crate) fn reads(&self, memory: &'b dyn Tracked) {
        self.record_use(memory.allocation(), false);
    }

    /// Records memory that the batch writes.
    pub(crate) fn writes(&self, memory: &'b dyn Tracked) {
        self.record_use(memory.allocation(), true);
    }

    /// Makes the queue wait for the work on which a use depends, unless it already waits, and
    /// records the use.
    pub(in crate::runtime) fn record_use(&self, allocation: &'b Arc<Allocation>, is_write: bool) {
        let mut uses = self.uses.borrow_mut();
        let earlier = uses.iter().position(|earlier| std::ptr::eq(earlier.allocation, &raw const **allocation));
        if earlier.is_some_and(|earlier| uses[earlier].is_write || !is_write) || self.failure.borrow().is_some() {
            return;
        }
        let (queue, id) = (self.stream.queue(), self.stream.order.id);
        let waited = same_device("a buffer", allocation.engine(), self.stream.engine()).and_then(|()| {
            if capture::is_of(id)? {
                return captured(allocation, is_write).map(|()| None);
            }
            match is_write {
                true => allocation.before_write(id, queue).map(Some),
                false => allocation.before_read(id, queue).map(Some),
            }
        });
        match (waited, earlier) {
            (Err(error), _) => *self.failure.borrow_mut() = Some(error),
            // The capture has the use.
            (Ok(None), _) => {}
            (Ok(Some(waited_for)), Some(earlier)) => uses[earlier] = Use { allocation, is_write, waited_for },
            (Ok(Some(waited_for)), None) => uses.push(Use { allocation, is_write, waited_for }),
        }
    }

    /// Returns the stream of the batch.
    pub(crate) fn stream(&self) -> &'b Stream {
        self.stream
    }

    /// Returns a flag that becomes true when a step may have been queued.
    pub(crate) fn queued(&self) -> Rc<Cell<bool>> {
        self.queued.clone()
    }

    /// Adds a table that must do more work once all steps are queued.
    pub(crate) fn finish_later(&self, table: Box<dyn Finish + 'b>) {
        self.finishing.borrow_mut().push(table);
    }

    /// Prevents further steps from being queued, and makes the batch return its first error.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Returns the queue, for a step on buffers that are recorded.
    ///
    /// # Errors
    /// The first error of a buffer.
    pub(crate) fn queue(&self) -> Result<&'b dyn Queue> {
        match &*self.failure.borrow() {
            Some(error) => Err(error.clone()),
            None => {
                self.queued.set(true);
                self.ended.set(false);
                Ok(if capture::is_on() { &Recorder } else { self.stream.queue() })
            }
        }
    }

    /// Copies to the host, and waits for that and for the steps before it.
    ///
    /// # Safety
    /// The bytes at `from` must be of a buffer that the batch reads.
    pub(crate) unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue()?.download(from, to)? };
        self.ended.set(true);
        Ok(())
    }

    /// Copies from the host, and waits for that and for the steps before it.
    ///
    /// # Safety
    /// The bytes at `to` must be of a buffer that the batch writes.
    pub(crate) unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue()?.upload(from, to)? };
        self.ended.set(true);
        Ok(())
    }

    /// Runs `kernel` on at least `threads` threads. All launches go through this function.
    ///
    /// # Safety
    /// As for [`Stream::launch`], with pointers from this batch.
    pub(crate) unsafe fn launch(&self, kernel: &dyn Kernel, threads: u64) -> Result<()> {
        let blocks = threads.div_ceil(kernel.threads() as u64);
        if blocks > MAX_BLOCKS as u64 {
            return Err(Error::Input(InputError::GridTooLarge { threads, block: kernel.threads(), limit: MAX_BLOCKS }));
        }
        let queue = self.queue()?;
        // SAFETY: as the caller promises for the kernel's arguments.
        if blocks == 0 { Ok(()) } else { unsafe { queue.launch(kernel, blocks as u32) } }
    }

    /// Runs `blocks` blocks of `kernel`.
    ///
    /// # Safety
    /// As for [`Stream::launch`], with pointers from this batch.
    pub(crate) unsafe fn launch_blocks(&self, kernel: &dyn Kernel, blocks: u64) -> Result<()> {
        // SAFETY: as the caller promises for the kernel's arguments.
        unsafe { self.launch(kernel, blocks.saturating_mul(kernel.threads() as u64)) }
    }

    /// Records an event after the steps that are queued so far.
    pub(crate) fn record(&self) -> Result<Event> {
        Ok(Event(self.queue()?.record(true)?))
    }
}
