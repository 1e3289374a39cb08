//! Streams: work in order, and events between them.

use crate::runtime::allocation::{Allocation, Tracked};
use crate::runtime::engine::{Engine, Queue, same_device};
use crate::runtime::event::Event;
use crate::{Error, InputError, Result};
use gpu_kernels::seam::Kernel;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::fmt;
use std::rc::Rc;
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

    /// Returns a stream on a queue of the engine.
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

    /// Runs a kernel on at least `threads` threads. `kernel` makes it, with the pointers that
    /// [`Uses`] gives for the buffers. The kernel runs after earlier work of this stream, and after
    /// work of other streams with these buffers.
    ///
    /// A buffer is used until the kernel is queued, so it can neither be dropped nor written in the
    /// closure:
    ///
    /// ```compile_fail,E0505
    /// # use warpnest::{Buffer, Device, kernels::primitives::iota::{Iota, IotaParams}};
    /// # let device = Device::cpu();
    /// let mut output = Buffer::<u32>::zeroed(&device, 8).unwrap();
    /// let plan = IotaParams { items: 8, first: 0, padding: 0 };
    /// let launched = unsafe {
    ///     device.default_stream().launch(8, |uses| {
    ///         let iota = Iota { output: uses.write(&mut output), plan };
    ///         drop(output);
    ///         iota
    ///     })
    /// };
    /// ```
    ///
    /// ```compile_fail,E0499
    /// # use warpnest::{Buffer, Device, kernels::primitives::iota::{Iota, IotaParams}};
    /// # let device = Device::cpu();
    /// let mut output = Buffer::<u32>::zeroed(&device, 8).unwrap();
    /// let plan = IotaParams { items: 8, first: 0, padding: 0 };
    /// let launched = unsafe {
    ///     device.default_stream().launch(8, |uses| {
    ///         let iota = Iota { output: uses.write(&mut output), plan };
    ///         output.fill(device.default_stream(), 0).unwrap();
    ///         iota
    ///     })
    /// };
    /// ```
    ///
    /// A launch with [`Uses::table_mut`] waits until the kernel is done.
    ///
    /// # Errors
    /// [`InputError::GridTooLarge`], [`Error::WrongDevice`], [`Error::Driver`]; the error of a
    /// change of one of the tables that failed partway; [`Error::Kernel`]
    /// if the module of the kernel's package is not loaded, or its PTX takes other arguments;
    /// [`Error::Jit`] if the driver refuses the kernel. Nothing is launched then.
    ///
    /// # Safety
    /// The kernel's arguments must be what the kernel's documentation demands. Every pointer and
    /// every table among them must be one that [`Uses`] gave for this launch, or a pointer null
    /// where that text allows it. Those that the kernel writes through must be from [`Uses::write`]
    /// or [`Uses::table_mut`]. They may go nowhere else. What it writes to a buffer must be values
    /// of its elements' type, and what it puts into a table values of the table's types: not every
    /// word is a `char`.
    pub unsafe fn launch<'b, K: Kernel>(&'b self, threads: usize, kernel: impl FnOnce(&Uses<'b>) -> K) -> Result<()> {
        self.record_uses(|uses| {
            let kernel = kernel(uses);
            // SAFETY: the caller vouches for the arguments, whose buffers are recorded.
            unsafe { uses.0.launch(&kernel, threads as u64) }
        })
    }

    /// Does [`Stream::launch`] with a kernel that the closure chooses among several types.
    ///
    /// # Errors
    /// As for [`Stream::launch`].
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub unsafe fn launch_dyn<'b>(
        &'b self,
        threads: usize,
        kernel: impl FnOnce(&Uses<'b>) -> Box<dyn Kernel>,
    ) -> Result<()> {
        self.record_uses(|uses| {
            let kernel = kernel(uses);
            // SAFETY: the caller vouches for the arguments, whose buffers are recorded.
            unsafe { uses.0.launch(&*kernel, threads as u64) }
        })
    }

    /// Lets code of others queue work on this stream, such as a kernel that CUDA C++ compiled and
    /// launches. `arguments` makes what that code gets, as for [`Stream::launch`]; `launch` gets it
    /// with the stream's handle. On a CUDA device this is a `CUstream`, and the device's primary
    /// context is current meanwhile. On the host it is null: `launch` does the work itself.
    ///
    /// What is queued runs after earlier work of this stream, and after work of other streams with
    /// the buffers and tables among the arguments; their later work waits for it.
    ///
    /// ```
    /// use warpnest::{Buffer, Device};
    ///
    /// let device = Device::cpu();
    /// let mut buffer = Buffer::from_slice(&device, &[1u32, 2, 3])?;
    /// // SAFETY: three words are written at a pointer to three words.
    /// unsafe {
    ///     device.default_stream().launch_foreign(
    ///         |uses| uses.write(&mut buffer),
    ///         |words, stream| {
    ///             assert!(stream.is_null(), "this is the host");
    ///             words.as_ptr().cast::<[u32; 3]>().write([4, 5, 6]);
    ///         },
    ///     )?;
    /// }
    /// assert_eq!(buffer.download(device.default_stream())?, [4, 5, 6]);
    /// # Ok::<(), warpnest::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Driver`], and what the arguments' tables say of themselves:
    /// `launch` is not called then. What `launch` returns is not looked at.
    ///
    /// # Safety
    /// As for [`Stream::launch`]: of the arguments only those from [`Uses::write`] and
    /// [`Uses::table_mut`] may be written through, with values of their types, and they may go
    /// nowhere else. What is queued must be on this stream alone, or joined to it by events.
    pub unsafe fn launch_foreign<'b, A, R>(
        &'b self,
        arguments: impl FnOnce(&Uses<'b>) -> A,
        launch: impl FnOnce(A, *mut c_void) -> R,
    ) -> Result<R> {
        self.record_uses(|uses| {
            let arguments = arguments(uses);
            let queue = uses.0.queue()?;
            let (mut work, mut done) = (Some((arguments, launch)), None);
            queue.foreign(&mut |handle| done = work.take().map(|(arguments, launch)| launch(arguments, handle)))?;
            Ok(done.expect("a queue runs the work once, or fails"))
        })
    }

    /// Returns the answer of [`Engine::cores`](crate::runtime::engine::Engine::cores).
    pub(crate) fn cores(&self) -> Option<usize> {
        self.engine.cores()
    }

    /// Queues steps with one event for all of them. Each buffer that they use is recorded by the
    /// batch, which waits for the work of other streams that the use depends on.
    pub(crate) fn batch<'b, R>(&'b self, steps: impl FnOnce(&Batch<'b>) -> Result<R>) -> Result<R> {
        self.record_uses(|uses| steps(&uses.0))
    }

    /// Runs `steps`, and gives the buffers that they recorded the event at their end.
    fn record_uses<'b, R>(&'b self, steps: impl FnOnce(&Uses<'b>) -> Result<R>) -> Result<R> {
        let (mut steps, mut result) = (Some(steps), None);
        self.record_uses_of(&mut |uses| {
            result = steps.take().map(|steps| steps(uses)).transpose()?;
            Ok(())
        })?;
        Ok(result.expect("the steps were run once"))
    }

    /// Does the same for steps of any type: programs compile only what calls this anew.
    fn record_uses_of<'b>(&'b self, steps: &mut dyn FnMut(&Uses<'b>) -> Result<()>) -> Result<()> {
        let uses = Uses(Batch {
            stream: self,
            uses: RefCell::default(),
            failure: RefCell::default(),
            queued: Rc::default(),
            finishing: RefCell::default(),
        });
        // Until the buffers have the event, nothing else can wait for the work.
        let unrecorded = Unrecorded(&*self.queue);
        let done = steps(&uses);
        let Batch { uses, failure, finishing, .. } = uses.0;
        let done = failure.into_inner().map_or(done, Err);
        let done = self.record_end(uses.into_inner(), unrecorded, done);
        // The first error says most.
        let mut finished = Ok(());
        for table in finishing.into_inner() {
            finished = finished.and(table.finish(self, done.as_ref().err()));
        }
        done.and(finished)
    }

    /// Gives the buffers that were used the event at the end of what was queued; returns `done`, or
    /// the error of that.
    fn record_end(&self, uses: Vec<Use<'_>>, unrecorded: Unrecorded<'_>, done: Result<()>) -> Result<()> {
        if uses.is_empty() {
            // No memory is used by what was queued, if anything was.
            std::mem::forget(unrecorded);
            return done;
        }
        let _recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        // The event is recorded even after an error, since part of the work may have been queued.
        let event = match self.queue.record(false) {
            Ok(event) => Event(event),
            // The first error says more.
            Err(error) => return done.and(Err(error)),
        };
        std::mem::forget(unrecorded);
        for Use { allocation, written } in uses {
            match written {
                Some(waited_for) => allocation.after_write(self.id, &event, waited_for),
                None => allocation.after_read(self.id, &event),
            }
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

/// The buffers that a launch uses: the only source of pointers for a kernel's arguments.
///
/// A buffer is named once, as read or as written. From that come the pointer, the work of other
/// streams that the launch waits for, and the time for which the buffer stays borrowed.
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
/// If a buffer is on another device, or waiting fails, the launch returns the error.
#[derive(Debug)]
pub struct Uses<'b>(pub(super) Batch<'b>);

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
/// The pointers that it gives are for the arguments of its launches, and for nothing else. A step
/// that comes before the error of a buffer is queued. So where an error should leave the outputs as
/// they were, all buffers are recorded before the first step that writes one.
#[derive(Debug)]
pub(crate) struct Batch<'b> {
    stream: &'b Stream,
    uses: RefCell<Vec<Use<'b>>>,
    /// The first error of a buffer. After it nothing is queued.
    failure: RefCell<Option<Error>>,
    /// Whether a step may have been queued.
    queued: Rc<Cell<bool>>,
    /// The tables that have something to do once all is queued.
    finishing: RefCell<Vec<Box<dyn Finish + 'b>>>,
}

/// What a table that a launch changes still has to do when the launch is queued.
pub(crate) trait Finish: fmt::Debug {
    /// Does it; `failed` is the error of the launch. It may wait.
    fn finish(self: Box<Self>, stream: &Stream, failed: Option<&Error>) -> Result<()>;
}

/// The use of a buffer by a batch.
#[derive(Debug)]
struct Use<'b> {
    allocation: &'b Allocation,
    /// For a write, the number of earlier uses of the memory, which it comes after.
    written: Option<u64>,
}

impl<'b> Batch<'b> {
    /// Returns the answer of [`Engine::cores`](crate::runtime::engine::Engine::cores).
    pub fn cores(&self) -> Option<usize> {
        self.stream.cores()
    }

    /// Records memory that the batch reads.
    pub fn reads(&self, memory: &'b dyn Tracked) {
        self.record_use(memory.allocation(), false);
    }

    /// Records memory that the batch writes.
    pub fn writes(&self, memory: &'b dyn Tracked) {
        self.record_use(memory.allocation(), true);
    }

    /// Makes the queue wait for what a use depends on, unless an earlier use has, and records it.
    fn record_use(&self, allocation: &'b Allocation, written: bool) {
        let mut uses = self.uses.borrow_mut();
        let earlier = uses.iter().position(|earlier| std::ptr::eq(earlier.allocation, allocation));
        if earlier.is_some_and(|earlier| uses[earlier].written.is_some() || !written) || self.failure.borrow().is_some()
        {
            return;
        }
        let Stream { engine, queue, id, .. } = self.stream;
        let waited = same_device("a buffer", allocation.engine(), engine).and_then(|()| match written {
            true => allocation.before_write(*id, &**queue).map(Some),
            false => allocation.before_read(*id, &**queue).map(|()| None),
        });
        match (waited, earlier) {
            (Err(error), _) => *self.failure.borrow_mut() = Some(error),
            (Ok(written), Some(earlier)) => uses[earlier].written = written,
            (Ok(written), None) => uses.push(Use { allocation, written }),
        }
    }

    /// Returns the stream of the batch.
    pub fn stream(&self) -> &'b Stream {
        self.stream
    }

    /// Returns whether a step may have been queued, now and later.
    pub fn queued(&self) -> Rc<Cell<bool>> {
        self.queued.clone()
    }

    /// Records what is to be done once all is queued.
    pub fn finish_later(&self, table: Box<dyn Finish + 'b>) {
        self.finishing.borrow_mut().push(table);
    }

    /// Keeps steps from being queued from now on; the batch returns the first error.
    pub fn fail(&self, error: Error) {
        self.failure.borrow_mut().get_or_insert(error);
    }

    /// Returns the queue, for a step on buffers that are recorded.
    ///
    /// # Errors
    /// The first error of a buffer.
    pub fn queue(&self) -> Result<&'b dyn Queue> {
        match &*self.failure.borrow() {
            Some(error) => Err(error.clone()),
            None => {
                self.queued.set(true);
                Ok(&*self.stream.queue)
            }
        }
    }

    /// Runs `kernel` on at least `threads` threads. All launches go through this function.
    ///
    /// # Safety
    /// As for [`Stream::launch`], with pointers that this batch gave.
    pub unsafe fn launch(&self, kernel: &dyn Kernel, threads: u64) -> Result<()> {
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
    /// As for [`Stream::launch`], with pointers that this batch gave.
    pub unsafe fn launch_blocks(&self, kernel: &dyn Kernel, blocks: u64) -> Result<()> {
        // SAFETY: as the caller promises for the kernel's arguments.
        unsafe { self.launch(kernel, blocks.saturating_mul(kernel.threads() as u64)) }
    }

    /// Records the end of what has been queued so far.
    pub fn record(&self) -> Result<Event> {
        Ok(Event(self.queue()?.record(true)?))
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

#[cfg(test)]
mod tests;
