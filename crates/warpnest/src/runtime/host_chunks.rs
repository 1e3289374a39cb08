//! Queries in the host's memory, answered in chunks: while one chunk goes to the device, another
//! one is answered there, and the answers of a third come back.
//!
//! Each worker is a thread with a stream, and with two chunks of page-locked memory and of device
//! memory. It copies a chunk of queries to page-locked memory, and queues the upload, the work
//! and the download. Meanwhile it copies the answers of the chunk before to the program's memory.
//! So the bus is used in both directions at a time, and several threads read and write the
//! program's memory, which one alone does at a fraction of the bus's rate (docs/runtime.md).

use crate::runtime::buffer::Buffer;
use crate::runtime::device::Device;
use crate::runtime::engine::QueueEvent;
use crate::runtime::staging::Staging;
use crate::runtime::stream::Stream;
use crate::{Error, Result};
use gpu_kernels::plain::Plain;
use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The fewest chunks that are worth workers and their memory.
const MIN_CHUNKS: usize = 4;
/// The answers of a chunk that say what was found take this part of the bytes of its queries at
/// most: a bit for each 4 bytes.
const FOUND: usize = 32;

/// How queries in the host's memory are answered in chunks.
#[derive(Clone, Copy, Debug)]
pub struct HostChunks {
    /// The bytes of the queries of a chunk, and of the values found for them: a multiple of 1024. A
    /// worker has about four times as many bytes of page-locked memory, and of device memory.
    pub bytes: usize,
    /// The most threads.
    pub max_workers: usize,
}

impl Default for HostChunks {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self { bytes: 1 << 20, max_workers: cores.min(16) }
    }
}

/// What a device keeps to answer queries in the host's memory.
struct Kept {
    /// The fewest bytes of queries, or of values, that are answered in chunks.
    min_bytes: AtomicUsize,
    workers: Mutex<Workers>,
}

/// The workers of a device, for one call at a time, since one is as fast as the bus.
struct Workers {
    settings: HostChunks,
    /// The workers that calls have needed until now, kept for the next: page-locked memory takes
    /// longer to allocate than to use.
    free: Vec<Worker>,
    /// Workers whose work could not be waited for, so that their memory may be in use still.
    lost: Vec<Worker>,
}

impl Default for Kept {
    fn default() -> Self {
        let settings = HostChunks::default();
        let workers = Mutex::new(Workers { settings, free: Vec::new(), lost: Vec::new() });
        Self { min_bytes: settings.min_bytes().into(), workers }
    }
}

impl HostChunks {
    fn min_bytes(&self) -> usize {
        (MIN_CHUNKS - 1) * self.bytes + 1
    }
}

/// A function that queues the work for a chunk. It gets the queries, and the buffers for the
/// values, if there are any, and for the bits that say what was found.
pub(crate) trait Find<K, V>: Fn(&Stream, &Buffer<K>, Option<&Buffer<V>>, &Buffer<u32>) -> Result<()> {}
impl<K, V, F: Fn(&Stream, &Buffer<K>, Option<&Buffer<V>>, &Buffer<u32>) -> Result<()>> Find<K, V> for F {}

/// Changes how queries in the host's memory are answered on a device from now on.
pub(crate) fn set(device: &Device, settings: HostChunks) {
    assert!(settings.bytes > 0 && settings.bytes.is_multiple_of(1024), "a chunk has rows in words of 32");
    let kept = device.kept::<Kept>();
    let mut workers = lock(&kept.workers);
    kept.min_bytes.store(settings.min_bytes(), Relaxed);
    workers.settings = settings;
    workers.free.clear();
}

/// A call whose queries are answered in chunks.
pub(crate) struct Chunked<'d> {
    workers: MutexGuard<'d, Workers>,
    /// The number of workers that the call needs, of those that are free.
    wanted: usize,
    rows: usize,
    has_values: bool,
}

impl<'d> Chunked<'d> {
    /// Begins a call for so many keys `K`, whose answers are values `V`, if there are any, and
    /// bits. Returns `None` where all of them at once are faster: if they are few, and on a device
    /// that has no page-locked memory, as a CPU has none.
    pub fn begin<K, V>(device: &'d Device, queries: usize, has_values: bool) -> Option<Self> {
        let value = if has_values { size_of::<V>() } else { 0 };
        let bytes_of_row = size_of::<K>().max(value).max(4);
        if device.engine().cores().is_some() {
            return None;
        }
        let kept = device.kept::<Kept>();
        // The lock is not asked for in vain: another call may have it for long.
        if queries * bytes_of_row < kept.min_bytes.load(Relaxed) {
            return None;
        }
        let mut workers = lock(&kept.workers);
        let HostChunks { bytes, max_workers } = workers.settings;
        let rows = bytes / bytes_of_row / 32 * 32;
        let wanted = (queries.div_ceil(rows) / 2).min(max_workers);
        while workers.free.len() < wanted
            && let Some(worker) = Worker::new(device, bytes)
        {
            workers.free.push(worker);
        }
        let wanted = wanted.min(workers.free.len());
        (wanted > 0).then_some(Self { workers, wanted, rows, has_values })
    }

    /// Returns the number of rows of each chunk but the last one.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Answers the queries. For each chunk `find` queues the work on a stream, and `give` gets the
    /// values and the bits with an item of `outputs`.
    ///
    /// # Errors
    /// The first one. Nothing more is queued then.
    pub fn answer<K: Plain, V: Plain, O: Send>(
        mut self,
        queries: &[K],
        outputs: impl Iterator<Item = O> + Send,
        find: impl Find<K, V> + Sync,
        give: impl Fn(O, &[V], &[u32]) + Sync,
    ) -> Result<()> {
        let mut workers = mem::take(&mut self.workers.free);
        let shared = Shared {
            rest: Mutex::new(Some(queries.chunks(self.rows).zip(outputs))),
            failed: Mutex::default(),
            work: Work { has_values: self.has_values, values: PhantomData, find, give },
        };
        thread::scope(|scope| {
            let mut workers = workers[..self.wanted].iter_mut();
            let own = workers.next();
            for worker in workers {
                // If there is no thread for it, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, || shared.run(worker));
            }
            if let Some(own) = own {
                shared.run(own);
            }
        });
        let (lost, free): (Vec<_>, _) = workers.into_iter().partition(|worker| worker.is_lost);
        self.workers.lost.extend(lost);
        self.workers.free = free;
        into_inner(shared.failed).map_or(Ok(()), Err)
    }
}

/// What the workers of a call share.
struct Shared<I, W> {
    /// The chunks that no worker has taken yet; none after an error.
    rest: Mutex<Option<I>>,
    failed: Mutex<Option<Error>>,
    work: W,
}

/// The functions of a call: what is queued for a chunk, and what becomes of its answers.
struct Work<V, F, G> {
    has_values: bool,
    values: PhantomData<fn() -> V>,
    find: F,
    give: G,
}

impl<'q, K, V, O, I, F, G> Shared<I, Work<V, F, G>>
where
    K: Plain,
    V: Plain,
    I: Iterator<Item = (&'q [K], O)>,
    F: Find<K, V>,
    G: Fn(O, &[V], &[u32]),
{
    /// Lets a worker answer chunks, until there are no more.
    fn run(&self, worker: &mut Worker) {
        let mut done = Ok(());
        // A GPU's context is current meanwhile, and need not be made so for each step.
        let entered = worker.stream.queue().foreign(&mut |_| done = self.answer(worker));
        if let Err(error) = entered.and(done) {
            *lock(&self.rest) = None;
            lock(&self.failed).get_or_insert(error);
            worker.is_lost = worker.stream.synchronize().is_err();
        }
    }

    fn answer(&self, worker: &Worker) -> Result<()> {
        let Worker { stream, chunks, .. } = worker;
        let mut queued: Option<(&Chunk, usize, O, Arc<dyn QueueEvent>)> = None;
        for chunk in chunks.iter().cycle() {
            let taken = lock(&self.rest).as_mut().and_then(Iterator::next);
            let next = match taken {
                Some((queries, output)) => {
                    let event = chunk.queue(stream, queries, &self.work)?;
                    Some((chunk, queries.len(), output, event))
                }
                None => None,
            };
            let is_last = next.is_none();
            if let Some((chunk, rows, output, event)) = mem::replace(&mut queued, next) {
                event.synchronize()?;
                let (values, found) = chunk.answers::<V>(if self.work.has_values { rows } else { 0 }, rows);
                (self.work.give)(output, values, found);
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

/// A stream with two chunks: the device uses one while the host uses the other.
struct Worker {
    stream: Stream,
    chunks: [Chunk; 2],
    is_lost: bool,
}

impl Worker {
    /// Makes a worker, if there is the memory.
    fn new(device: &Device, bytes: usize) -> Option<Self> {
        let stream = device.stream().ok()?;
        let chunks = [Chunk::new(device, &stream, bytes)?, Chunk::new(device, &stream, bytes)?];
        Some(Self { stream, chunks, is_lost: false })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Copies may be queued if a thread has panicked. An error means that the context is lost.
        let _ = self.stream.synchronize();
    }
}

/// The memory of a chunk, on the host and on the device alike: the queries, the bits that say what
/// was found, and the values.
struct Chunk {
    _host: Staging,
    /// The address of the memory of the host.
    first: *mut u8,
    device: Buffer<u64>,
    /// The bytes of the queries, and of the values.
    bytes: usize,
}

// SAFETY: the memory is the process's, whichever thread uses it, and one does at a time.
unsafe impl Send for Chunk {}

impl Chunk {
    fn new(device: &Device, stream: &Stream, bytes: usize) -> Option<Self> {
        let all = 2 * bytes + bytes / FOUND;
        let mut host = Staging::page_locked(device.engine(), all)?;
        let mut memory = Buffer::uninitialized(device, all / 8).ok()?;
        memory.set_bytes(stream, 0).ok()?;
        Some(Self { first: host.as_mut_ptr(), _host: host, device: memory, bytes })
    }

    /// Queues what answers some queries, which fit, and returns the event at its end. Nothing that
    /// was queued earlier uses the memory still.
    fn queue<K: Plain, V: Plain>(
        &self,
        stream: &Stream,
        queries: &[K],
        Work { has_values, find, .. }: &Work<V, impl Find<K, V>, impl Sized>,
    ) -> Result<Arc<dyn QueueEvent>> {
        let (first, rows, queue) = (self.first, queries.len(), stream.queue());
        let (found_at, values_at) = (self.bytes, self.bytes + self.bytes / FOUND);
        let value = if *has_values { size_of::<V>() } else { 0 };
        assert!(rows * size_of::<K>().max(value) <= self.bytes, "a chunk fits");
        // SAFETY: there are as many bytes for queries, and nothing else uses them.
        unsafe { first.copy_from_nonoverlapping(queries.as_ptr().cast(), size_of_val(queries)) };
        // SAFETY: both have the bytes. The host's are written again when the event was waited for,
        // and the device's are used on this stream alone.
        unsafe { queue.upload_later(first, self.device.address(), size_of_val(queries))? };
        let asked = self.device.elements_at::<K>(0, rows);
        let found = self.device.elements_at::<u32>(found_at as u64 / 8, rows.div_ceil(32));
        let values = has_values.then(|| self.device.elements_at::<V>(values_at as u64 / 8, rows));
        find(stream, &asked, values.as_deref(), &found)?;
        // The bits are in front of the values, so that one copy brings both.
        let answers = if *has_values { values_at - found_at + rows * value } else { size_of::<u32>() * found.len() };
        // SAFETY: both have the bytes. The host's are read when the event was waited for.
        unsafe { queue.download_later(self.device.address() + found_at, first.wrapping_add(found_at), answers)? };
        queue.record(false)
    }

    /// Returns so many values, and the bits of so many rows, which the device has written.
    fn answers<V: Plain>(&self, values: usize, rows: usize) -> (&[V], &[u32]) {
        let found = self.first.wrapping_add(self.bytes);
        let first_value = found.wrapping_add(self.bytes / FOUND);
        // SAFETY: the memory has so many of either, at multiples of 16, and the event behind the
        // copy was waited for. Values come from values of the type, or are 0.
        unsafe {
            (
                std::slice::from_raw_parts(first_value.cast(), values),
                std::slice::from_raw_parts(found.cast(), rows.div_ceil(32)),
            )
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
