//! Launches and batches on a stream, and the event at the end of each.

use super::Stream;
use super::batch::{Batch, Use, Uses};
use crate::Result;
use crate::runtime::engine::Queue;
use gpu_kernels::seam::Kernel;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::PoisonError;

impl Stream {
    /// Runs a kernel on at least `threads` threads. `kernel` returns the kernel with the pointers
    /// that [`Uses`] returns for its buffers. The kernel runs after earlier work on this stream,
    /// and after work on other streams with these buffers.
    ///
    /// A buffer stays borrowed until the kernel is queued, so the closure can neither drop nor
    /// write it:
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
    /// A launch with [`Uses::table_mut`] waits until the kernel has ended.
    ///
    /// # Errors
    /// [`InputError::GridTooLarge`](crate::InputError::GridTooLarge),
    /// [`Error::WrongDevice`](crate::Error::WrongDevice), [`Error::Driver`](crate::Error::Driver);
    /// the error of an earlier change of one of the tables that failed partway;
    /// [`Error::Kernel`](crate::Error::Kernel) if the module of the kernel's package is not loaded,
    /// or its PTX has other parameters; [`Error::Jit`](crate::Error::Jit) if the driver refuses the
    /// kernel. In these cases nothing is launched.
    ///
    /// # Safety
    /// The arguments must be as the kernel's documentation demands. Every pointer and every table
    /// among them must come from [`Uses`] for this launch, or be a null pointer where the
    /// documentation allows it. Pointers and tables that the kernel writes must come from
    /// [`Uses::write`] or [`Uses::table_mut`]. None may be used outside this launch. The kernel
    /// must write only valid values of a buffer's element type, and store only valid values of a
    /// table's types: not every word is a `char`.
    pub unsafe fn launch<'b, K: Kernel>(&'b self, threads: usize, kernel: impl FnOnce(&Uses<'b>) -> K) -> Result<()> {
        self.record_uses(|uses| {
            let kernel = kernel(uses);
            // SAFETY: the caller vouches for the arguments, whose buffers are recorded.
            unsafe { uses.0.launch(&kernel, threads as u64) }
        })
    }

    /// Does the same as [`Stream::launch`], with a kernel whose type the closure chooses.
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

    /// Lets other code queue work on this stream, such as a kernel that is compiled and launched by
    /// CUDA C++. `arguments` makes that code's arguments, as in [`Stream::launch`], and `launch`
    /// gets them with the stream's handle. On a CUDA device the handle is a `CUstream`, and the
    /// device's primary context is current while `launch` runs. On the host the handle is null, and
    /// `launch` does the work itself.
    ///
    /// The queued work runs after earlier work on this stream, and after work on other streams with
    /// the buffers and tables among the arguments. Later work on those streams waits for it.
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
    /// and the errors of the tables among the arguments. In these cases `launch` is not called. The
    /// value that `launch` returns is not inspected.
    ///
    /// # Safety
    /// As for [`Stream::launch`]. Only arguments from [`Uses::write`] and [`Uses::table_mut`] may
    /// be written, with valid values of their types, and no argument may be used elsewhere. All
    /// work must be queued on this stream, or on streams that are joined to it by events.
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

    /// Queues steps, and records one event after all of them. The batch records each buffer that
    /// the steps use, and makes the stream wait for earlier work of other streams with it.
    pub(crate) fn batch<'b, R>(&'b self, steps: impl FnOnce(&Batch<'b>) -> Result<R>) -> Result<R> {
        self.record_uses(|uses| steps(&uses.0))
    }

    /// Runs `steps`, and then records an event for the buffers that they used.
    fn record_uses<'b, R>(&'b self, steps: impl FnOnce(&Uses<'b>) -> Result<R>) -> Result<R> {
        let (mut steps, mut result) = (Some(steps), None);
        self.record_uses_of(&mut |uses| {
            result = steps.take().map(|steps| steps(uses)).transpose()?;
            Ok(())
        })?;
        Ok(result.expect("the steps were run once"))
    }

    /// Does the same as [`Stream::record_uses`] without generics, so that programs compile little
    /// for each caller.
    fn record_uses_of<'b>(&'b self, steps: &mut dyn FnMut(&Uses<'b>) -> Result<()>) -> Result<()> {
        let uses = Uses(Batch {
            stream: self,
            uses: RefCell::default(),
            failure: RefCell::default(),
            queued: Rc::default(),
            ended: Cell::default(),
            finishing: RefCell::default(),
        });
        // Until the buffers have the event, nothing else can wait for the queued work.
        let unrecorded = Unrecorded(self.queue());
        let done = steps(&uses);
        let Batch { uses, failure, finishing, ended, .. } = uses.0;
        let done = failure.into_inner().map_or(done, Err);
        let done = if ended.get() && done.is_ok() {
            // Nothing that was queued still uses the buffers.
            std::mem::forget(unrecorded);
            for Use { allocation, is_write, waited_for } in uses.into_inner() {
                allocation.after_end(self.order.id, is_write, waited_for);
            }
            done
        } else {
            self.record_end(uses.into_inner(), unrecorded, done)
        };
        // The first error is returned, because it says most.
        let mut finished = Ok(());
        for table in finishing.into_inner() {
            finished = finished.and(table.finish(self, done.as_ref().err()));
        }
        done.and(finished)
    }

    /// Records the event after the queued work for the buffers that were used. Returns `done`, or
    /// the error of recording if `done` is not an error.
    fn record_end(&self, uses: Vec<Use<'_>>, unrecorded: Unrecorded<'_>, done: Result<()>) -> Result<()> {
        if uses.is_empty() {
            // The queued work, if there is any, uses no memory.
            std::mem::forget(unrecorded);
            return done;
        }
        let _recording = self.order.recording.lock().unwrap_or_else(PoisonError::into_inner);
        // The event is recorded even after an error, because part of the work may be queued.
        let end = match self.end_of_work() {
            Ok(end) => end,
            // The first error says more.
            Err(error) => return done.and(Err(error)),
        };
        std::mem::forget(unrecorded);
        for Use { allocation, is_write, waited_for } in uses {
            match is_write {
                true => allocation.after_write(self.order.id, &end, waited_for),
                false => allocation.after_read(self.order.id, &end),
            }
        }
        done
    }
}

/// A guard whose drop waits for a queue, because work panicked or its end could not be recorded.
struct Unrecorded<'q>(&'q dyn Queue);

impl Drop for Unrecorded<'_> {
    fn drop(&mut self) {
        // An error means that the context is lost, and its memory with it.
        let _ = self.0.synchronize();
    }
}
