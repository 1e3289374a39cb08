//! Test devices that fail, that count allocations, or that are another device.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use warpnest::low_level::engine::Memory;
use warpnest::low_level::engine::{Cores, Engine, HostEngine, Queue, Runner};
use warpnest::low_level::kernels::seam::Kernel;
use warpnest::{Device, Error, Result};

/// The CPU engine's block runner under another name.
#[derive(Debug)]
struct Elsewhere;

// SAFETY: the CPU engine runs the launch, or nothing runs.
unsafe impl Runner for Elsewhere {
    fn name(&self) -> &str {
        "another CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

/// Returns a device that belongs to none of the engines.
pub fn elsewhere() -> Device {
    Device::from_engine(HostEngine::new(Elsewhere)).expect("a host engine always has a queue")
}

/// Fails unless the error says that `what` is on `found` and that the operation runs on `expected`.
pub fn assert_wrong_device(error: Error, what: &str, found: &Device, expected: &Device) {
    let remedy = match what {
        "the stream" => "take a stream of the operation's device",
        "the other set" => "build that set again",
        _ => "`Buffer::to_device`",
    };
    crate::says(&error, &[what, found.name(), expected.name(), remedy]);
    let Error::WrongDevice { what: figure, found: is_on, expected: runs_on } = error else { panic!("{error:?}") };
    assert_eq!((figure, is_on.as_str(), runs_on.as_str()), (what, found.name(), expected.name()));
}

/// The CPU engine's block runner with one failing launch after a count of successful ones.
#[derive(Debug)]
struct Faulty(Arc<AtomicU32>);

// SAFETY: the CPU engine runs the launch, or nothing runs.
unsafe impl Runner for Faulty {
    fn name(&self) -> &str {
        "faulty CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        if self.0.fetch_sub(1, Relaxed) == 0 {
            return Err(Error::Kernel { kernel: kernel.name().to_owned(), fault: "planted".to_owned() });
        }
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

/// Returns a CPU device with one failing launch, and the count of launches that succeed before it.
pub fn faulty() -> (Device, Arc<AtomicU32>) {
    let good_launches = Arc::new(AtomicU32::new(u32::MAX));
    let engine = HostEngine::new(Faulty(good_launches.clone()));
    (Device::from_engine(engine).expect("a host engine always has a queue"), good_launches)
}

/// The CPU engine's block runner on which all launches fail after a count of successful ones.
#[derive(Debug)]
struct Failing(Arc<AtomicU32>);

// SAFETY: the CPU engine runs the launch, or nothing runs.
unsafe impl Runner for Failing {
    fn name(&self) -> &str {
        "failing CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        if self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return Err(Error::Kernel { kernel: kernel.name().to_owned(), fault: "planted".to_owned() });
        }
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

/// Returns a CPU device on which launches fail, and the count of launches that succeed first.
pub fn failing() -> (Device, Arc<AtomicU32>) {
    let good_launches = Arc::new(AtomicU32::new(u32::MAX));
    let engine = HostEngine::new(Failing(good_launches.clone()));
    (Device::from_engine(engine).expect("a host engine always has a queue"), good_launches)
}

/// Runs `work` while only the first `good` launches or allocations succeed; `left` is the device's
/// countdown.
pub fn only<T>(left: &AtomicU32, good: u32, work: impl FnOnce() -> T) -> T {
    left.store(good, Relaxed);
    let done = work();
    left.store(u32::MAX, Relaxed);
    done
}

/// A CPU engine with a limited count of allocations, whose fresh memory is not 0. It counts the
/// bytes that are allocated now, and the most at once.
#[derive(Debug)]
struct Counting {
    inner: HostEngine<Cores>,
    counts: Arc<Counts>,
}

/// The counts and limits of a counting device.
#[derive(Debug)]
pub struct Counts {
    /// The count of allocations that succeed before one fails.
    pub allocations: AtomicU32,
    /// Whether allocations after the failing one succeed again; otherwise all of them fail.
    pub once: AtomicBool,
    /// The bytes that are allocated now.
    pub bytes: AtomicU64,
    /// The most bytes that were allocated at once.
    pub most: AtomicU64,
}

// SAFETY: the inner engine does all the work; this engine only counts.
unsafe impl Engine for Counting {
    fn name(&self) -> &str {
        "counting CPU"
    }
    fn memory(&self) -> Result<Memory> {
        self.inner.memory()
    }
    fn allocate(&self, bytes: usize) -> Result<usize> {
        let counts = &self.counts;
        if counts.allocations.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            if counts.once.load(Relaxed) {
                counts.allocations.store(u32::MAX, Relaxed);
            }
            return Err(Error::OutOfMemory { asked: bytes as u64, free: 0, total: 0, device: self.name().to_owned() });
        }
        let now = counts.bytes.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        counts.most.fetch_max(now, Relaxed);
        let address = self.inner.allocate(bytes)?;
        // Fresh memory on a GPU may hold any bytes, so here it holds arbitrary ones. SAFETY: the
        // engine's memory is the host's, and the `bytes` bytes at `address` are newly allocated.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write_bytes(0xa5, bytes) };
        Ok(address)
    }
    unsafe fn free(&self, address: usize, bytes: usize) {
        self.counts.bytes.fetch_sub(bytes as u64, Relaxed);
        // SAFETY: the caller upholds the contract.
        unsafe { self.inner.free(address, bytes) };
    }
    fn load(&self, module: &warpnest::Module) -> Result<()> {
        self.inner.load(module)
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        self.inner.queue()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns a counting device, at first without a limit of allocations, and its counts.
pub fn counting() -> (Device, Arc<Counts>) {
    let (allocations, bytes, most) = (AtomicU32::new(u32::MAX), AtomicU64::new(0), AtomicU64::new(0));
    let counts = Arc::new(Counts { allocations, once: AtomicBool::new(false), bytes, most });
    let engine = Counting { inner: HostEngine::new(Cores), counts: counts.clone() };
    (Device::from_engine(engine).expect("a host engine always has a queue"), counts)
}
