//! Capturing work: what calls would queue on a stream is recorded as steps instead.
//!
//! Only this library captures, and not the driver, so a call that cannot be captured does no harm:
//! it allocates or waits, gets an error, and nothing was queued.

use crate::runtime::engine::{Queue, QueueEvent, Recorded, Step};
use crate::{Error, InputError, Result};
use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Arc;

thread_local! {
    /// What this thread has captured so far, while it does.
    static CURRENT: RefCell<Option<Captured>> = const { RefCell::new(None) };
}

/// Captured steps, and the memory that they use.
#[derive(Debug, Default)]
pub(super) struct Captured {
    /// The id of the stream whose work is captured.
    stream: u64,
    pub steps: Vec<Step>,
    /// The memory, and whether the steps write it.
    pub memory: Vec<(Arc<dyn Any + Send + Sync>, bool)>,
    /// The first refusal, which fails the capture even if the work ignores it.
    refused: Option<Error>,
}

/// Captures what `work` queues on a stream on this thread. Returns its result, too.
pub(super) fn capture<R>(stream: u64, work: impl FnOnce() -> Result<R>) -> Result<(Captured, R)> {
    refuse("captures other work")?;
    CURRENT.set(Some(Captured { stream, ..Captured::default() }));
    // After a panic, too, this thread captures no more.
    let ended = End;
    let done = work();
    let captured = ended.now();
    match captured.refused {
        Some(refused) => Err(refused),
        None => done.map(|result| (captured, result)),
    }
}

struct End;

impl End {
    fn now(self) -> Captured {
        CURRENT.take().unwrap_or_default()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Returns whether this thread captures.
pub(crate) fn is_on() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Fails if this thread captures. `what` is what a captured call may not do.
pub(crate) fn refuse(what: &'static str) -> Result<()> {
    if is_on() { Err(refused(what)) } else { Ok(()) }
}

/// Refuses what this thread captures, and returns the error.
pub(crate) fn refused(what: &'static str) -> Error {
    let error = Error::Input(InputError::NotCaptured { what });
    CURRENT.with_borrow_mut(|captured| {
        if let Some(captured) = captured {
            captured.refused.get_or_insert_with(|| error.clone());
        }
    });
    error
}

/// Returns whether this thread captures the work of a stream. If it captures another stream's, that
/// is refused.
pub(super) fn is_of(stream: u64) -> Result<bool> {
    match CURRENT.with_borrow(|captured| captured.as_ref().map(|captured| captured.stream)) {
        None => Ok(false),
        Some(captured) if captured == stream => Ok(true),
        Some(_) => Err(refused("queues work on another stream")),
    }
}

/// Adds memory that the captured steps use.
pub(super) fn keep(memory: Arc<dyn Any + Send + Sync>, is_write: bool) {
    CURRENT.with_borrow_mut(|captured| {
        let Some(Captured { memory: all, .. }) = captured else { return };
        match all.iter_mut().find(|(earlier, _)| Arc::ptr_eq(earlier, &memory)) {
            Some((_, writes)) => *writes |= is_write,
            None => all.push((memory, is_write)),
        }
    });
}

/// A queue that records steps.
#[derive(Debug)]
pub(super) struct Recorder;

impl Recorder {
    fn record_step(step: Step) -> Result<()> {
        CURRENT.with_borrow_mut(|captured| captured.as_mut().map(|captured| captured.steps.push(step)));
        Ok(())
    }
}

impl Queue for Recorder {
    unsafe fn upload(&self, _from: &[u8], _to: usize) -> Result<()> {
        refuse("copies from the host")
    }
    unsafe fn download(&self, _from: usize, _to: &mut [u8]) -> Result<()> {
        refuse("copies to the host")
    }
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        Self::record_step(Step::Copy { from, to, bytes })
    }
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        Self::record_step(Step::Fill { at, byte, bytes })
    }
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        Self::record_step(Step::Launch { kernel: Recorded::new(kernel), blocks })
    }
    fn record(&self, _timed: bool) -> Result<Arc<dyn QueueEvent>> {
        Err(refused("records an event"))
    }
    fn wait(&self, _queue_event: &dyn QueueEvent) -> Result<()> {
        refuse("waits for an event")
    }
    fn synchronize(&self) -> Result<()> {
        refuse("waits for work")
    }
    fn foreign(&self, _work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        refuse("lets other code queue work")
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
