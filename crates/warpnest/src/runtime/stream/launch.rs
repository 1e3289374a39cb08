//! Launches and batches in a stream, and the event at the end of each.

use super::Stream;
use super::batch::{Batch, Use, Uses};
use crate::Result;
use crate::runtime::engine::Queue;
use crate::runtime::event::Event;
use gpu_kernels::seam::Kernel;
use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::PoisonError;

impl Stream {
    /// Runs a kernel on at least `threads` threads. `kernel` makes it, with the pointers that
    /// [`Uses`] gives for the buffers. The kernel runs after earlier work of this stream, and after
    /// work of other streams with these buffers.
    ///
    /// A buffer is used until the kernel is queued, so it can neither be dropped nor written in the
    /// closure:
    ///
    /// ```compile_fail,E0505
    /// # use warpnest::{Buffer, Device, low_level::kernels::primitives::iota::{Iota, IotaParams}};
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
    /// # use warpnest::{Buffer, Device, low_level::kernels::primitives::iota::{Iota, IotaParams}};
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
    /// [`InputError::GridTooLarge`](crate::InputError::GridTooLarge),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver);
    /// the error of a change of one of the tables that failed partway;
    /// [`Error::Kernel`](crate::Error::Kernel) if the module of the kernel's package is not loaded,
    /// or its PTX takes other arguments; [`Error::Jit`](crate::Error::Jit) if the driver refuses
    /// the kernel. Nothing is launched then.
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
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver),
    /// and what the arguments' tables say of themselves: `launch` is not called then. What `launch`
    /// returns is not looked at.
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
        let unrecorded = Unrecorded(self.queue());
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
        let _recording = self.order.recording.lock().unwrap_or_else(PoisonError::into_inner);
        // The event is recorded even after an error, since part of the work may have been queued.
        let event = match self.queue().record(false) {
            Ok(event) => Event(event),
            // The first error says more.
            Err(error) => return done.and(Err(error)),
        };
        std::mem::forget(unrecorded);
        for Use { allocation, written } in uses {
            match written {
                Some(waited_for) => allocation.after_write(self.order.id, &event, waited_for),
                None => allocation.after_read(self.order.id, &event),
            }
        }
        done
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
