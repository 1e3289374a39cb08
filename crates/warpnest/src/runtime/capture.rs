//! Capturing work: what calls would queue on a stream is recorded as steps instead.
//!
//! Only this library captures, and not the driver, so a call that cannot be captured does no harm:
//! it allocates or waits, gets an error, and nothing was queued.

use crate::runtime::allocation::Allocation;
use crate::runtime::engine::{Queue, QueueEvent, Step};
use crate::runtime::stream::Stream;
use crate::{Error, InputError, Result};
use gpu_kernels::seam::{Entry, Kernel};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
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
    pub memory: Vec<(Arc<Allocation>, bool)>,
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

/// Records a use of memory, for which the host has waited until now. Returns whether this thread
/// captures.
pub(super) fn uses(stream: u64, allocation: &Arc<Allocation>, is_write: bool) -> Result<bool> {
    let Some(captured) = CURRENT.with_borrow(|captured| captured.as_ref().map(|captured| captured.stream)) else {
        return Ok(false);
    };
    if captured != stream {
        return Err(refused("queues work on another stream"));
    }
    if allocation.is_lent() {
        return Err(refused("uses memory that is lent to it, such as a slice or a mapped file"));
    }
    allocation.quiesce()?;
    allocation.make_captured();
    CURRENT.with_borrow_mut(|captured| {
        let Some(Captured { memory, .. }) = captured else { return };
        match memory.iter_mut().find(|(earlier, _)| Arc::ptr_eq(earlier, allocation)) {
            Some((_, writes)) => *writes |= is_write,
            None => memory.push((allocation.clone(), is_write)),
        }
    });
    Ok(true)
}

/// Returns the queue of a stream's work, which records it if this thread captures.
pub(super) fn queue(stream: &Stream) -> &dyn Queue {
    if is_on() { &Recorder } else { stream.queue() }
}

/// A queue that records steps.
#[derive(Debug)]
struct Recorder;

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

/// A kernel with a copy of its arguments, to be launched later.
pub struct Recorded {
    entry: &'static Entry,
    /// The bytes of the entry's struct, with an alignment that suits any struct of words.
    values: Box<[MaybeUninit<u128>]>,
    dynamic_bytes: usize,
}

impl Recorded {
    /// Copies the arguments of a kernel.
    pub fn new(kernel: &dyn Kernel) -> Self {
        let entry = kernel.entry();
        let mut values = vec![MaybeUninit::uninit(); entry.size.div_ceil(size_of::<u128>())].into_boxed_slice();
        // SAFETY: the kernel's struct has `entry.size` bytes, and the copy has at least as many.
        unsafe { values.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(kernel.values().cast(), entry.size) };
        Self { entry, values, dynamic_bytes: kernel.dynamic_bytes() }
    }
}

// SAFETY: the values are a copy of the entry's struct, and the box keeps their address.
unsafe impl Kernel for Recorded {
    fn entry(&self) -> &'static Entry {
        self.entry
    }
    fn values(&self) -> *const () {
        self.values.as_ptr().cast()
    }
    fn dynamic_bytes(&self) -> usize {
        self.dynamic_bytes
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({})", self.entry.name)
    }
}
