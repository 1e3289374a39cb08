//! Large copies between ordinary host memory and a GPU. Several threads copy to or from page-locked
//! memory while the driver copies between page-locked memory and the GPU.
//!
//! The driver also copies ordinary memory through page-locked memory, but only on the calling
//! thread. One thread does not read or write as fast as the bus. It is slowest in newly allocated
//! memory, where each page causes a page fault (docs/runtime.md).

use super::context::Primary;
use super::driver::{self, Address, constant};
use super::event::CudaEvent;
use super::page_locked::PageLocked;
use crate::Result;
use crate::runtime::engine::QueueEvent;
use crate::runtime::units::{Units, lock};
use std::ffi::c_uint;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

/// The fewest bytes of a copy by several threads. One thread copies fewer bytes as fast
/// (docs/runtime.md).
const MIN_BYTES: usize = 8 << 20;
/// The bytes of a unit. Smaller units need more calls of the driver, and larger units more memory.
const UNIT: usize = 1 << 20;
/// The most workers of an upload. Eight workers read as fast as the bus transfers.
const MAX_UPLOADING: usize = 8;
/// The most workers of a download. Half as many workers write as fast as the bus transfers into
/// memory that was written before. New memory needs more, because the kernel must first clear each
/// page.
const MAX_DOWNLOADING: usize = 16;

/// The settings of large copies between a GPU and ordinary host memory.
#[derive(Clone, Copy, Debug)]
pub struct LargeCopies {
    /// The fewest bytes of a copy by several threads.
    pub min_bytes: usize,
    /// The bytes that a thread copies at a time. The thread has two staging buffers of this size.
    pub unit: usize,
    /// The most threads of an upload.
    pub max_uploading: usize,
    /// The most threads of a download.
    pub max_downloading: usize,
}

impl Default for LargeCopies {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let (max_uploading, max_downloading) = (cores.min(MAX_UPLOADING), cores.min(MAX_DOWNLOADING));
        Self { min_bytes: MIN_BYTES, unit: UNIT, max_uploading, max_downloading }
    }
}

/// The large copies of a device. Each direction runs one copy at a time, because one copy already
/// uses the whole bandwidth of the bus in that direction.
pub(super) struct StagedCopies {
    /// The fewest bytes of a copy by several threads.
    min_bytes: AtomicUsize,
    uploads: Mutex<Staging>,
    downloads: Mutex<Staging>,
}

/// The workers of one direction.
struct Staging {
    /// The bytes of a unit.
    unit: usize,
    max_workers: usize,
    /// The workers that earlier copies needed. They are kept because allocating page-locked memory
    /// takes half a millisecond per mebibyte, which is longer than copying that mebibyte.
    workers: Vec<Worker>,
    /// Workers whose copies could not be waited for. The driver may still use their memory, so it
    /// is kept until the engine is dropped. Usually the context is lost.
    lost: Vec<Worker>,
}

impl Staging {
    fn new(unit: usize, max_workers: usize) -> Mutex<Self> {
        Mutex::new(Self { unit, max_workers, workers: Vec::new(), lost: Vec::new() })
    }

    fn set(&mut self, unit: usize, max_workers: usize) {
        (self.unit, self.max_workers) = (unit, max_workers);
        self.workers.clear();
    }
}

impl Default for StagedCopies {
    fn default() -> Self {
        let LargeCopies { min_bytes, unit, max_uploading, max_downloading } = LargeCopies::default();
        let (uploads, downloads) = (Staging::new(unit, max_uploading), Staging::new(unit, max_downloading));
        Self { min_bytes: min_bytes.into(), uploads, downloads }
    }
}

impl StagedCopies {
    /// Changes the settings for later copies.
    pub(super) fn set(&self, settings: LargeCopies) {
        assert!(settings.unit > 0, "a unit has bytes");
        self.min_bytes.store(settings.min_bytes, Relaxed);
        lock(&self.uploads).set(settings.unit, settings.max_uploading);
        lock(&self.downloads).set(settings.unit, settings.max_downloading);
    }

    /// Copies from the host after the work that is queued on a stream, and waits. Returns `None`,
    /// and does nothing, if the driver's own copy is better: for few bytes, from page-locked
    /// memory, or without workers.
    ///
    /// # Safety
    /// An allocation of the context must have `from.len()` bytes that begin at `to`, and the stream
    /// must belong to the context.
    pub(super) unsafe fn upload(
        &self,
        primary: &Arc<Primary>,
        stream: driver::Stream,
        from: &[u8],
        to: usize,
    ) -> Option<Result<()>> {
        let queue = Queued { primary, stream };
        self.copy(&queue, &self.uploads, from.as_ptr(), from.len(), |workers, unit| {
            let units = Units::new((to..).step_by(unit).zip(from.chunks(unit)));
            // SAFETY: the caller promises a target as long as the slice.
            units.share(workers, |worker| unsafe { worker.upload(&queue, &units) })
        })
    }

    /// Copies to the host as [`StagedCopies::upload`] copies from it.
    ///
    /// # Safety
    /// An allocation of the context must have `to.len()` bytes that begin at `from`, and the stream
    /// must belong to the context.
    pub(super) unsafe fn download(
        &self,
        primary: &Arc<Primary>,
        stream: driver::Stream,
        from: usize,
        to: &mut [u8],
    ) -> Option<Result<()>> {
        let queue = Queued { primary, stream };
        self.copy(&queue, &self.downloads, to.as_ptr(), to.len(), |workers, unit| {
            let units = Units::new((from..).step_by(unit).zip(to.chunks_mut(unit)));
            // SAFETY: the caller promises a source as long as the slice.
            units.share(workers, |worker| unsafe { worker.download(&queue, &units) })
        })
    }

    /// Chooses the workers of a direction for a copy of `bytes` bytes at `host`. Calls `copy` with
    /// these workers and the unit in bytes, and then waits for the stream.
    fn copy(
        &self,
        queue: &Queued<'_>,
        direction: &Mutex<Staging>,
        host: *const u8,
        bytes: usize,
        copy: impl FnOnce(&mut [Worker], usize) -> Result<()>,
    ) -> Option<Result<()>> {
        if bytes < self.min_bytes.load(Relaxed) || queue.knows(host) {
            return None;
        }
        // Wait for earlier work before taking the lock, so that copies of other streams do not wait
        // for it.
        if let Err(error) = queue.synchronize() {
            return Some(Err(error));
        }
        let mut staging = lock(direction);
        let unit = staging.unit;
        let wanted = (bytes / (2 * unit)).min(staging.max_workers);
        if wanted < 2 {
            return None;
        }
        while staging.workers.len() < wanted
            && let Ok(worker) = Worker::new(queue.primary, unit)
        {
            staging.workers.push(worker);
        }
        let mut workers = mem::take(&mut staging.workers);
        let count = workers.len().min(wanted);
        if count == 0 {
            return None;
        }
        let copied = copy(&mut workers[..count], unit);
        // Wait for the copies even after an error, because they use the workers' memory.
        let waited = queue.synchronize();
        match waited {
            Ok(()) => staging.workers = workers,
            Err(_) => staging.lost.extend(workers),
        }
        Some(copied.and(waited))
    }
}

/// The stream of a copy.
struct Queued<'c> {
    primary: &'c Arc<Primary>,
    stream: driver::Stream,
}

// SAFETY: the driver's handles may be used from any thread that has made the context current.
unsafe impl Sync for Queued<'_> {}

impl Queued<'_> {
    /// Returns whether the driver knows the memory at an address, such as page-locked memory.
    fn knows(&self, address: *const u8) -> bool {
        let Ok(entered) = self.primary.enter() else { return false };
        let (mut kind, attribute): (c_uint, _) = (0, constant::POINTER_ATTRIBUTE_MEMORY_TYPE);
        let address = address.addr() as Address;
        // SAFETY: the driver writes the type to a live variable, and does not access the address.
        unsafe { entered.driver.cuPointerGetAttribute((&raw mut kind).cast(), attribute, address) }.is_ok()
    }

    fn synchronize(&self) -> Result<()> {
        let entered = self.primary.enter()?;
        // SAFETY: the caller keeps the stream alive.
        entered.check(unsafe { entered.driver.cuStreamSynchronize(self.stream) })
    }
}

/// The memory of a thread that copies. It has two staging buffers: the thread uses one while the
/// driver uses the other.
struct Worker {
    memory: PageLocked,
    /// The size of a staging buffer in bytes.
    unit: usize,
    /// The events after the driver's last copy from or to each staging buffer.
    copied: [CudaEvent; 2],
}

impl Worker {
    fn new(primary: &Arc<Primary>, unit: usize) -> Result<Self> {
        let copied = [CudaEvent::unrecorded(primary, false)?, CudaEvent::unrecorded(primary, false)?];
        Ok(Self { memory: PageLocked::new(primary, 2 * unit)?, unit, copied })
    }

    /// Returns the two staging buffers alternately, without end.
    fn buffers(&self) -> impl Iterator<Item = (*mut u8, &CudaEvent)> {
        // The second staging buffer is within the memory.
        let of = |at: usize| self.memory.first().wrapping_add(at * self.unit);
        self.copied.iter().enumerate().map(move |(at, copied)| (of(at), copied)).cycle()
    }

    /// Copies units to the device until there are no more. The last copies may still be in
    /// progress.
    ///
    /// # Safety
    /// Each address must have as many bytes of the context's memory as its slice. No slice may be
    /// longer than a staging buffer. The stream must belong to the context.
    unsafe fn upload<'s>(
        &mut self,
        queue: &Queued<'_>,
        units: &Units<impl Iterator<Item = (usize, &'s [u8])> + Send>,
    ) -> Result<()> {
        let entered = queue.primary.enter()?;
        let mut buffers = self.buffers();
        while let (Some((to, from)), Some((buffer, copied))) = (units.next(), buffers.next()) {
            copied.synchronize()?;
            // SAFETY: the buffer is as large as the slice, as the caller promises, and the driver
            // has read its old contents.
            unsafe { buffer.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
            let (to, bytes) = (to as Address, from.len());
            // SAFETY: the target is as large as the slice, as the caller promises. The buffer is
            // written again only after the event below, or after a wait for the stream.
            entered.check(unsafe { entered.driver.cuMemcpyHtoDAsync_v2(to, buffer.cast(), bytes, queue.stream) })?;
            copied.record_on(queue.stream)?;
        }
        Ok(())
    }

    /// Copies units from the device, until there are no more.
    ///
    /// # Safety
    /// As for [`Worker::upload`].
    unsafe fn download<'s>(
        &mut self,
        queue: &Queued<'_>,
        units: &Units<impl Iterator<Item = (usize, &'s mut [u8])> + Send>,
    ) -> Result<()> {
        let entered = queue.primary.enter()?;
        let mut buffers = self.buffers();
        let mut queued: Option<(&mut [u8], *mut u8, &CudaEvent)> = None;
        loop {
            let mut next = None;
            if let (Some((from, to)), Some((buffer, copied))) = (units.next(), buffers.next()) {
                let (from, bytes) = (from as Address, to.len());
                // SAFETY: the source is as large as the slice, as the caller promises. The buffer's
                // previous contents were read in an earlier iteration.
                let called = unsafe { entered.driver.cuMemcpyDtoHAsync_v2(buffer.cast(), from, bytes, queue.stream) };
                entered.check(called)?;
                copied.record_on(queue.stream)?;
                next = Some((to, buffer, copied));
            }
            let Some((to, buffer, copied)) = mem::replace(&mut queued, next) else {
                if queued.is_none() {
                    return Ok(());
                }
                continue;
            };
            copied.synchronize()?;
            // SAFETY: the driver has written `to.len()` bytes to the buffer, and its copy is
            // complete.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(buffer, to.len()) };
        }
    }
}
