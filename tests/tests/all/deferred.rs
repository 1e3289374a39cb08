//! An engine that defers work, as a GPU does, and runs it in the least convenient order that
//! streams and events allow.
//!
//! On the host engines every operation is done when its call returns, so a missing wait between
//! streams would go unnoticed. Here queued work runs only when somebody waits for it. Some waits
//! run only the work that they need, others also run random work of other streams.

use gpu_kernels::seam::Kernel;
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use warpnest::low_level::engine::Memory;
use warpnest::low_level::engine::{Engine, HostEngine, Queue, QueueEvent, Recorded};
use warpnest::{Device, Result};
use warpnest_tests::{PtxRunner, engines};

/// Returns a device on a deferring engine over the interpreter, and the complaints that it
/// collects.
pub fn device(seed: u64) -> (Device, Complaints) {
    let inner = HostEngine::new(PtxRunner::hopper(seed));
    let immediate = inner.queue().unwrap();
    let world = Arc::new(World { inner, immediate, state: Mutex::new(State { random: seed, ..State::default() }) });
    (Device::from_engine(Deferred(world.clone())).unwrap(), Complaints(world))
}

/// Runs `test` on every engine, and on the deferring engine with several orders.
pub fn on_all(test: impl Fn(&Device, usize)) {
    for engine in engines() {
        test(&engine.device, engine.max_items);
    }
    for seed in 0..6 {
        let (device, complaints) = device(seed);
        test(&device, 100);
        assert_eq!(complaints.all(), [""; 0], "order {seed}");
    }
}

/// The errors of the library that the engine finds: frees of memory that queued work still uses.
pub struct Complaints(Arc<World>);

impl Complaints {
    /// Returns all complaints so far.
    pub fn all(&self) -> Vec<String> {
        self.0.state().complaints.clone()
    }
}

type Work = Box<dyn FnOnce(&dyn Queue) -> Result<()> + Send>;

/// A step in a queue.
enum Step {
    /// Work, with the begin and the end of each range of memory that it uses.
    Run {
        work: Work,
        uses: Vec<(usize, usize)>,
    },
    WaitFor(Point),
}

/// The point after a count of steps of a queue.
#[derive(Clone, Copy, Debug)]
struct Point {
    queue: usize,
    steps: u64,
}

#[derive(Default)]
struct Line {
    pending: VecDeque<Step>,
    queued: u64,
    done: u64,
}

#[derive(Default)]
struct State {
    lines: Vec<Line>,
    random: u64,
    complaints: Vec<String>,
}

struct World {
    inner: HostEngine<PtxRunner>,
    immediate: Box<dyn Queue>,
    state: Mutex<State>,
}

impl State {
    fn reached(&self, point: Point) -> bool {
        self.lines[point.queue].done >= point.steps
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below
    }

    /// Returns the queue whose next step must run before `queue` can continue: `queue` itself, or a
    /// queue that it waits for.
    fn needed(&self, queue: usize) -> usize {
        match self.lines[queue].pending.front() {
            Some(Step::WaitFor(point)) if !self.reached(*point) => self.needed(point.queue),
            _ => queue,
        }
    }
}

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_until(&self, point: Point) -> Result<()> {
        let mut state = self.state();
        // In half of the waits, only the needed work runs.
        let lazy = state.random(2) == 0;
        while !state.reached(point) {
            let queues = state.lines.len();
            let any = if lazy { point.queue } else { state.random(queues) };
            let any = if state.lines[any].pending.is_empty() { point.queue } else { any };
            let queue = state.needed(any);
            let line = &mut state.lines[queue];
            line.done += 1;
            if let Some(Step::Run { work, .. }) = line.pending.pop_front() {
                work(&*self.immediate)?;
            }
        }
        Ok(())
    }
}

struct Deferred(Arc<World>);

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deferred")
    }
}

// SAFETY: memory is the inner engine's, and it is freed only when no queued work uses it; steps do
// what the queue's methods say.
unsafe impl Engine for Deferred {
    fn name(&self) -> &str {
        "deferring engine"
    }
    fn memory(&self) -> Result<Memory> {
        self.0.inner.memory()
    }
    fn allocate(&self, bytes: usize) -> Result<usize> {
        let address = self.0.inner.allocate(bytes)?;
        // Fresh memory of a GPU may hold any bytes. SAFETY: the allocation has `bytes` bytes, and
        // nobody uses it yet.
        unsafe { self.0.immediate.fill(address, 0xa5, bytes)? };
        Ok(address)
    }
    unsafe fn free(&self, address: usize, bytes: usize) {
        let mut state = self.0.state();
        let overlaps = |&(first, end): &(usize, usize)| first < address + bytes && address < end;
        let in_use = state.lines.iter().flat_map(|line| &line.pending).any(|step| match step {
            Step::Run { uses, .. } => uses.iter().any(overlaps),
            Step::WaitFor(_) => false,
        });
        if in_use {
            // The memory is leaked, so the queued work can still access it.
            return state.complaints.push(format!("{bytes} bytes were given back while queued work uses them"));
        }
        // SAFETY: the caller upholds the contract.
        unsafe { self.0.inner.free(address, bytes) };
    }
    fn load(&self, module: &warpnest::Module) -> Result<()> {
        self.0.inner.load(module)
    }
    fn queue(&self) -> Result<Box<dyn Queue>> {
        let mut state = self.0.state();
        state.lines.push(Line::default());
        Ok(Box::new(DeferredQueue { world: self.0.clone(), index: state.lines.len() - 1 }))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct DeferredQueue {
    world: Arc<World>,
    index: usize,
}

impl fmt::Debug for DeferredQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeferredQueue({})", self.index)
    }
}

impl DeferredQueue {
    fn push(&self, step: Step) -> Result<()> {
        let line = &mut self.world.state().lines[self.index];
        line.pending.push_back(step);
        line.queued += 1;
        Ok(())
    }
    fn run(
        &self,
        uses: Vec<(usize, usize)>,
        work: impl FnOnce(&dyn Queue) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        self.push(Step::Run { work: Box::new(work), uses })
    }
    fn end(&self) -> Point {
        Point { queue: self.index, steps: self.world.state().lines[self.index].queued }
    }
}

impl Queue for DeferredQueue {
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        self.synchronize()?;
        work(std::ptr::null_mut());
        Ok(())
    }
    unsafe fn upload(&self, from: &[u8], to: usize) -> Result<()> {
        self.synchronize()?;
        // SAFETY: the caller upholds the contract.
        unsafe { self.world.immediate.upload(from, to) }
    }
    unsafe fn download(&self, from: usize, to: &mut [u8]) -> Result<()> {
        self.synchronize()?;
        // SAFETY: the caller upholds the contract.
        unsafe { self.world.immediate.download(from, to) }
    }
    unsafe fn copy(&self, from: usize, to: usize, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract; memory in use is not freed.
        self.run(vec![(from, from + bytes), (to, to + bytes)], move |queue| unsafe { queue.copy(from, to, bytes) })
    }
    unsafe fn fill(&self, at: usize, byte: u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller upholds the contract; memory in use stays.
        self.run(vec![(at, at + bytes)], move |queue| unsafe { queue.fill(at, byte, bytes) })
    }
    unsafe fn launch(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        let recorded = Recorded::new(kernel);
        let mut uses = Vec::new();
        kernel.arguments(&mut |argument, bytes| {
            // SAFETY: the kernel passes its own arguments, which have no padding.
            let bytes = unsafe { std::slice::from_raw_parts(argument.cast::<u8>(), bytes) };
            // The argument is a pointer, or a number that is no address.
            uses.extend(<[u8; 8]>::try_from(bytes).map(usize::from_ne_bytes).map(|at| (at, at.saturating_add(1))));
        });
        // SAFETY: the caller upholds the contract, and memory in use stays; the recorded arguments
        // equal the original ones.
        self.run(uses, move |queue| unsafe { queue.launch(&recorded, blocks) })
    }
    fn record(&self, _timed: bool) -> Result<Arc<dyn QueueEvent>> {
        Ok(Arc::new(DeferredEvent { world: self.world.clone(), point: self.end() }))
    }
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        match queue_event.as_any().downcast_ref::<DeferredEvent>() {
            Some(queue_event) => self.push(Step::WaitFor(queue_event.point)),
            None => queue_event.synchronize(),
        }
    }
    fn synchronize(&self) -> Result<()> {
        self.world.run_until(self.end())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct DeferredEvent {
    world: Arc<World>,
    point: Point,
}

impl fmt::Debug for DeferredEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeferredEvent({:?})", self.point)
    }
}

impl QueueEvent for DeferredEvent {
    fn synchronize(&self) -> Result<()> {
        self.world.run_until(self.point)
    }
    fn is_done(&self) -> Result<bool> {
        Ok(self.world.state().reached(self.point))
    }
    fn milliseconds_since(&self, _earlier: &dyn QueueEvent) -> Result<f64> {
        Ok(0.0)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
