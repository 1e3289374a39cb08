//! The CPU engine with a fault planted in any operation of its memory or queues.

use std::any::Any;
use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use warpnest::low_level::engine::Memory;
use warpnest::low_level::engine::{Cores, Engine, HostEngine, Queue, QueueEvent};
use warpnest::low_level::kernels::seam::Kernel;
use warpnest::{Buffer, Device, Error, Result};

/// An operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Allocates memory.
    Allocate,
    /// Copies from the host.
    Upload,
    /// Copies to the host.
    Download,
    /// Copies on the device.
    Copy,
    /// Fills memory.
    Fill,
    /// Runs a kernel.
    Launch,
    /// Lets other code queue work.
    Foreign,
    /// Records an event in a queue.
    Record,
    /// Makes a queue wait for an event.
    Wait,
}

/// The kind of failure of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Whether the operation is done before it fails. An allocation is never done.
    pub done: bool,
    /// Whether all later operations fail, too.
    pub lasting: bool,
    /// Whether the error is that memory is exhausted, instead of a kernel error.
    pub out_of_memory: bool,
}

/// The kinds of failure of a single operation, after which later operations succeed.
pub const SINGLE_FAULTS: [Fault; 4] = [
    Fault { done: false, lasting: false, out_of_memory: false },
    Fault { done: true, lasting: false, out_of_memory: false },
    Fault { done: false, lasting: false, out_of_memory: true },
    Fault { done: true, lasting: false, out_of_memory: true },
];

/// The kinds of failure of an operation and of all later operations.
pub const LASTING_FAULTS: [Fault; 4] = [
    Fault { lasting: true, ..SINGLE_FAULTS[0] },
    Fault { lasting: true, ..SINGLE_FAULTS[1] },
    Fault { lasting: true, ..SINGLE_FAULTS[2] },
    Fault { lasting: true, ..SINGLE_FAULTS[3] },
];

/// The fault that is planted in a device, and the operations that failed because of it.
#[derive(Debug, Default)]
pub struct FaultPlan {
    state: Mutex<Planted>,
    bytes: AtomicU64,
    most_bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Planted {
    /// The fault, and the count of operations that still succeed before it.
    next: Option<(Fault, u32)>,
    failed: Vec<Operation>,
}

impl FaultPlan {
    /// Runs `work` with a fault after `good` successful operations, and returns the operations that
    /// failed. None fails if `work` has at most `good` operations.
    pub fn with<T>(&self, fault: Fault, good: u32, work: impl FnOnce() -> T) -> (T, Vec<Operation>) {
        let state = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state() = Planted { next: Some((fault, good)), failed: Vec::new() };
        let done = work();
        (done, std::mem::take(&mut *state()).failed)
    }

    /// Returns the bytes that are allocated now.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Returns the most bytes that were allocated at any time.
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes.load(Relaxed)
    }

    /// Counts an operation, does it unless it must fail first, and returns its result.
    fn go<T>(&self, operation: Operation, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let fault = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut state.next {
                None => None,
                Some((_, good)) if *good > 0 => {
                    *good -= 1;
                    None
                }
                Some((fault, _)) => {
                    let fault = *fault;
                    if !fault.lasting {
                        state.next = None;
                    }
                    state.failed.push(operation);
                    Some(fault)
                }
            }
        };
        let Some(fault) = fault else { return work() };
        if fault.done && operation != Operation::Allocate {
            work()?;
        }
        if fault.out_of_memory || operation == Operation::Allocate {
            return Err(Error::OutOfMemory { asked: 1, free: 0, total: 0, device: "planted".to_owned() });
        }
        Err(Error::Kernel { kernel: format!("{operation:?}"), fault: "planted".to_owned() })
    }
}

/// Returns whether the error comes from a planted fault.
pub fn is_planted(error: &Error) -> bool {
    match error {
        Error::OutOfMemory { device, .. } => device == "planted",
        Error::Kernel { fault, .. } => fault == "planted",
        _ => false,
    }
}

/// The size in bytes of the guard after each allocation, which nothing may write.
const GUARD: usize = 1 << 16;
/// The original contents of a guard. One comparison checks all of them, because tests free memory
/// a million times.
static WHOLE: [u8; GUARD] = [0xa5; GUARD];

/// The CPU engine with planted faults. New memory is not zeroed, and each allocation is followed by
/// a guard.
#[derive(Debug)]
struct PlantedEngine {
    inner: HostEngine<Cores>,
    plan: Arc<FaultPlan>,
}

// SAFETY: the inner engine does all operations that succeed.
unsafe impl Engine for PlantedEngine {
    fn name(&self) -> &str {
        "planted"
    }
    fn memory(&self) -> Result<Memory> {
        self.inner.memory()
    }
    fn allocate(&self, bytes: usize) -> Result<usize> {
        let address = self.plan.go(Operation::Allocate, || self.inner.allocate(bytes + GUARD))?;
        let before = self.plan.bytes.fetch_add(bytes as u64, Relaxed);
        self.plan.most_bytes.fetch_max(before + bytes as u64, Relaxed);
        // SAFETY: the engine's memory is host memory, and these bytes were just allocated.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0xa5, bytes + GUARD) };
        Ok(address)
    }
    unsafe fn free(&self, address: usize, bytes: usize) {
        self.plan.bytes.fetch_sub(bytes as u64, Relaxed);
        let guard = std::ptr::with_exposed_provenance::<u8>(address + bytes);
        // SAFETY: the allocation ends with `GUARD` more bytes, and nothing uses it any more.
        let whole = unsafe { std::slice::from_raw_parts(guard, GUARD) } == WHOLE;
        // SAFETY: the caller upholds the contract, and the allocation has `bytes + GUARD` bytes.
        unsafe { self.inner.free(address, bytes + GUARD) };
        assert!(whole || std::thread::panicking(), "something was written behind an allocation of {bytes} bytes");
    }
    fn load(&self, module: &warpnest::Module) -> Result<()> {
        self.inner.load(module)
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(PlantedQueue { inner: self.inner.queue()?, plan: self.plan.clone() }))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct PlantedQueue {
    inner: Box<dyn Queue>,
    plan: Arc<FaultPlan>,
}

impl Queue for PlantedQueue {
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        self.plan.go(Operation::Foreign, || self.inner.foreign(work))
    }
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        self.plan.go(Operation::Upload, || unsafe { self.inner.upload(from, to) })
    }
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        self.plan.go(Operation::Download, || unsafe { self.inner.download(from, to) })
    }
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        self.plan.go(Operation::Copy, || unsafe { self.inner.copy(from, to, bytes) })
    }
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        self.plan.go(Operation::Fill, || unsafe { self.inner.fill(at, byte, bytes) })
    }
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        self.plan.go(Operation::Launch, || unsafe { self.inner.launch(kernel, blocks) })
    }
    fn record(&self, timed: bool) -> Result<Arc<dyn QueueEvent>> {
        self.plan.go(Operation::Record, || self.inner.record(timed))
    }
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        self.plan.go(Operation::Wait, || self.inner.wait(queue_event))
    }
    fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns a device without a fault, and its fault plan.
pub fn planted() -> (Device, Arc<FaultPlan>) {
    let plan = Arc::new(FaultPlan::default());
    let engine = PlantedEngine { inner: HostEngine::new(Cores), plan: plan.clone() };
    let device = Device::from_engine(engine).expect("a host engine always has a queue");
    // While one stream alone uses memory, no events are recorded. This second stream, which is
    // never dropped, makes the device record one after each batch, so that tests can make recording
    // fail.
    let second = device.stream().expect("a host engine always has a queue");
    drop(Buffer::<u32>::zeroed(&second.device(), 1).expect("there is memory"));
    std::mem::forget(second);
    (device, plan)
}

/// The failed operations, which are printed if `check` panics.
struct At(String);

impl Drop for At {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("where: {}", self.0);
        }
    }
}

/// Makes each operation of a call fail by each of `faults`, one operation per call, until the call
/// has no more operations. `check` gets the state after each call. Returns the operations that
/// failed.
pub fn in_each_operation<T, R>(
    plan: &FaultPlan,
    faults: &[Fault],
    begin: impl Fn() -> T,
    call: impl Fn(&mut T) -> R,
    mut check: impl FnMut(T, R),
) -> Vec<Operation> {
    let mut seen: Vec<Operation> = Vec::new();
    for &fault in faults {
        for good in 0.. {
            let mut subject = begin();
            let (done, failed) = plan.with(fault, good, || call(&mut subject));
            let _at = At(format!("{failed:?}, after {good} that went well, {fault:?}"));
            if failed.is_empty() {
                break;
            }
            check(subject, done);
            seen.extend(failed.into_iter().filter(|operation| !seen.contains(operation)).collect::<Vec<_>>());
        }
    }
    seen
}

/// Fails unless `seen` contains all operations of `expected`.
pub fn all_failed(seen: &[Operation], expected: &[Operation]) {
    assert!(expected.iter().all(|operation| seen.contains(operation)), "only {seen:?} of {expected:?}");
}

/// Fails if the result is an error that was not planted.
pub fn assert_planted<T: Debug>(done: &Result<T>) {
    if let Err(error) = done {
        assert!(is_planted(error), "{error}");
    }
}
