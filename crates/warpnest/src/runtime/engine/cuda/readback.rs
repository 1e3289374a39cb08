//! The readback buffer: a small block of page-locked memory. A kernel copies a few words to it
//! faster than the driver could.
//!
//! A copy by the driver and the wait for it take 9 µs after the last kernel, which is a fifth of
//! the build of a million pairs. A readback takes 4 µs (docs/runtime.md).

use super::driver::Address;
use super::page_locked::PageLocked;
use super::shared::Shared;
use crate::runtime::engine::Queue;
use crate::{Error, Result};
use gpu_kernels::primitives::readback::{Readback, ReadbackParams};
use gpu_kernels::seam::{Global, Kernel};
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The most 32-bit words that one readback copies.
const MAX_WORDS: usize = 1024;

/// The time for which a download polls for its words before it lets the driver wait, which then
/// also reports errors.
const PATIENCE: Duration = Duration::from_millis(1);

pub(super) struct ReadbackBuffer {
    /// The address of the words on the host.
    words: *mut AtomicU64,
    /// The memory of the words. Every kernel that writes the words has ended before it is freed.
    _memory: PageLocked,
    /// The address of the words for kernels.
    address: Address,
    /// The epoch of the last readback.
    epoch: u32,
}

// SAFETY: page-locked memory belongs to the process, so any thread may use it.
unsafe impl Send for ReadbackBuffer {}

impl ReadbackBuffer {
    /// Returns whether `bytes` bytes that begin at `from` can be read back.
    pub(super) fn takes(from: usize, bytes: usize) -> bool {
        from.is_multiple_of(4) && bytes.is_multiple_of(4) && (4..=4 * MAX_WORDS).contains(&bytes)
    }

    /// Allocates the memory and loads the kernel now, because there may not be enough memory for
    /// the kernel later. So a readback buffer that exists can always be used.
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        shared.modules.own().function("readback", None)?;
        let entered = shared.primary.enter()?;
        let (memory, mut address) = (PageLocked::new(&shared.primary, 8 * MAX_WORDS)?, 0);
        let words: *mut AtomicU64 = memory.first().cast();
        // SAFETY: the memory has `MAX_WORDS` words, and is aligned to a page. This initializes the
        // words.
        unsafe { words.write_bytes(0, MAX_WORDS) };
        // SAFETY: the driver allocated the memory, and writes the address to a live variable.
        let found = unsafe { entered.driver.cuMemHostGetDevicePointer_v2(&mut address, words.cast(), 0) };
        entered.check(found)?;
        Ok(Self { words, _memory: memory, address, epoch: 0 })
    }

    /// Copies the bytes that begin at `from` to `to` after the queued work, and waits for the copy.
    ///
    /// # Safety
    /// [`ReadbackBuffer::takes`] must be true for these bytes, and `to.len()` bytes must be
    /// allocated at `from`.
    pub(super) unsafe fn bring(&mut self, queue: &dyn Queue, from: usize, to: &mut [u8]) -> Result<()> {
        let words = to.len() / 4;
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            // All epochs have been used, so no word with an old epoch may remain.
            //
            // SAFETY: the memory has `MAX_WORDS` words, and all kernels that write them have ended.
            unsafe { self.words.write_bytes(0, MAX_WORDS) };
            1
        });
        let ahead = from % 16;
        let readback_launch = Readback {
            // SAFETY: the words exist, as the caller promises, in an allocation that begins at a
            // multiple of 16.
            words: unsafe { Global::new(std::ptr::with_exposed_provenance_mut(from - ahead)) },
            // SAFETY: the readback buffer has `words` words and is aligned to a page, and the
            // kernel stores only whole words to it.
            readback: unsafe { Global::new(std::ptr::with_exposed_provenance_mut(self.address as usize)) },
            plan: ReadbackParams { first: ahead as u32 / 4, words: words as u32, epoch: self.epoch, padding: 0 },
        };
        // SAFETY: both arrays have a word for each thread that accesses them.
        unsafe { queue.launch(&readback_launch, (words as u32).div_ceil(readback_launch.threads()))? };
        // SAFETY: the words are initialized, and only the kernel writes them. It stores each word
        // atomically.
        let arrived = unsafe { std::slice::from_raw_parts(self.words, words) };
        let mut patient = Some(Instant::now() + PATIENCE);
        for (word, to) in arrived.iter().zip(to.chunks_exact_mut(4)) {
            to.copy_from_slice(&self.wait_for(word, &mut patient, queue)?.to_ne_bytes());
        }
        Ok(())
    }

    /// Returns the word of this epoch. Waits until the word arrives, or until the driver has waited
    /// for the queue.
    fn wait_for(&self, word: &AtomicU64, patient: &mut Option<Instant>, queue: &dyn Queue) -> Result<u32> {
        loop {
            let found = word.load(Ordering::Acquire);
            if (found >> 32) as u32 == self.epoch {
                return Ok(found as u32);
            }
            match *patient {
                Some(end) if Instant::now() < end => spin_loop(),
                Some(_) => {
                    *patient = None;
                    // Wait even after an error, so that no later write to the readback buffer can
                    // happen.
                    queue.synchronize()?;
                }
                None => {
                    return Err(Error::Kernel {
                        kernel: "readback".to_owned(),
                        fault: "the words did not come".to_owned(),
                    });
                }
            }
        }
    }
}
