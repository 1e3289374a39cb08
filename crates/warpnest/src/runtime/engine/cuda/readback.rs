//! The readback buffer: a little page-locked memory, to which a kernel copies a few words sooner
//! than a copy of the driver does.
//!
//! A copy and the driver's wait for it take 9 µs after the last kernel, a fifth of a build of a
//! million pairs; this takes 4 µs (docs/runtime.md).

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

/// The most words of 32 bits that one readback copies.
const MAX_WORDS: usize = 1024;

/// The time that a download waits for its words before the driver is asked to wait, which then also
/// reports errors.
const PATIENCE: Duration = Duration::from_millis(1);

pub(super) struct ReadbackBuffer {
    /// The address for the host.
    words: *mut AtomicU64,
    /// The memory of the words. Every kernel that writes them is waited for before it is freed.
    _memory: PageLocked,
    /// The address for kernels.
    address: Address,
    /// The epoch of the last words.
    epoch: u32,
}

// SAFETY: page-locked memory is the process's, whichever thread uses it.
unsafe impl Send for ReadbackBuffer {}

impl ReadbackBuffer {
    /// Returns whether so many bytes from this address can be read back.
    pub(super) fn takes(from: usize, bytes: usize) -> bool {
        from.is_multiple_of(4) && bytes.is_multiple_of(4) && (4..=4 * MAX_WORDS).contains(&bytes)
    }

    /// Allocates the memory and loads the kernel, for which there may be no memory left later. So a
    /// readback buffer that exists needs no more.
    pub(super) fn new(shared: &Shared) -> Result<Self> {
        shared.modules.own().function("readback", None)?;
        let entered = shared.primary.enter()?;
        let (memory, mut address) = (PageLocked::new(&shared.primary, 8 * MAX_WORDS)?, 0);
        let words: *mut AtomicU64 = memory.first().cast();
        // SAFETY: it has that many words, aligned to a page. From here on they are initialized.
        unsafe { words.write_bytes(0, MAX_WORDS) };
        // SAFETY: the memory is the driver's, which writes the address.
        let found = unsafe { entered.driver.cuMemHostGetDevicePointer_v2(&mut address, words.cast(), 0) };
        entered.check(found)?;
        Ok(Self { words, _memory: memory, address, epoch: 0 })
    }

    /// Copies the bytes that begin at `from`, as they are after the queued work, to `to`, and waits
    /// for them.
    ///
    /// # Safety
    /// The buffer [takes](ReadbackBuffer::takes) it, and as many bytes begin at `from`.
    pub(super) unsafe fn bring(&mut self, queue: &dyn Queue, from: usize, to: &mut [u8]) -> Result<()> {
        let words = to.len() / 4;
        self.epoch = self.epoch.checked_add(1).unwrap_or_else(|| {
            // All epochs have been used: no word with an old epoch may remain.
            //
            // SAFETY: it has that many words, and every kernel that writes them was waited for.
            unsafe { self.words.write_bytes(0, MAX_WORDS) };
            1
        });
        let ahead = from % 16;
        let readback_launch = Readback {
            // SAFETY: the words are there, as the caller promises, in an allocation that begins at
            // a multiple of 16.
            words: unsafe { Global::new(std::ptr::with_exposed_provenance_mut(from - ahead)) },
            // SAFETY: the readback buffer has that many words, at a multiple of the size of a page;
            // whole words alone are stored to it.
            readback: unsafe { Global::new(std::ptr::with_exposed_provenance_mut(self.address as usize)) },
            plan: ReadbackParams { first: ahead as u32 / 4, words: words as u32, epoch: self.epoch, padding: 0 },
        };
        // SAFETY: there is a thread for each word of both arrays.
        unsafe { queue.launch(&readback_launch, (words as u32).div_ceil(readback_launch.threads()))? };
        // SAFETY: the words are initialized; only the kernel writes them, and it stores each
        // atomically.
        let arrived = unsafe { std::slice::from_raw_parts(self.words, words) };
        let mut patient = Some(Instant::now() + PATIENCE);
        for (word, to) in arrived.iter().zip(to.chunks_exact_mut(4)) {
            to.copy_from_slice(&self.wait_for(word, &mut patient, queue)?.to_ne_bytes());
        }
        Ok(())
    }

    /// Returns the word of this epoch; waits until it is there, or until the driver has waited for
    /// the queue.
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
                    // Even after an error, no write to the readback buffer may remain that was not
                    // waited for.
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
