//! The allocator of engines on host memory. Allocations are zeroed, at multiples of 256 bytes.

use foldhash::fast::FixedState;
use memmap2::{MmapMut, MmapOptions};
use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The size in bytes at which allocations come from the operating system, in huge pages if
/// possible. The lines of a large table are read in random order. With pages of 4 KiB, most reads
/// would also miss the TLB.
const MAPPED: usize = 4 << 20;
/// The alignment of addresses, in bytes.
const ALIGNMENT: usize = 256;
/// The most bytes of memory that was given back and is kept for the next allocations. To write
/// zeros there takes a tenth of what the page faults of new memory take, and for few bytes less
/// than the system's allocator takes to find aligned memory.
const MAX_KEPT: usize = 32 << 20;

/// The memory allocator of an engine.
#[derive(Debug, Default)]
pub(super) struct HostAllocator {
    /// The large allocations by address.
    mapped: Mutex<HashMap<usize, MmapMut>>,
    kept: Mutex<Kept>,
}

/// Freed memory that is kept for later allocations.
#[derive(Debug, Default)]
struct Kept {
    /// The addresses, by the count of bytes that begin at each.
    addresses: HashMap<usize, Vec<usize>, FixedState>,
    bytes: usize,
}

impl Kept {
    fn take(&mut self, bytes: usize) -> Option<usize> {
        let address = self.addresses.get_mut(&bytes)?.pop()?;
        self.bytes -= bytes;
        Some(address)
    }

    /// Keeps a freed block if the limit allows it, and returns whether it did.
    fn keep(&mut self, address: usize, bytes: usize) -> bool {
        let keeps = self.bytes + bytes <= MAX_KEPT && !cfg!(miri);
        if keeps {
            self.addresses.entry(bytes).or_default().push(address);
            self.bytes += bytes;
        }
        keeps
    }
}

impl HostAllocator {
    /// Returns the address of `bytes` zeroed bytes, or `None` if there is not enough memory.
    /// `bytes` must not be 0.
    pub(super) fn allocate(&self, bytes: usize) -> Option<usize> {
        if bytes < MAPPED || cfg!(miri) {
            let layout = layout(bytes)?;
            let kept = lock(&self.kept).take(layout.size());
            if let Some(address) = kept {
                // SAFETY: at least `bytes` bytes were allocated at this address, and nothing has
                // used them since they were freed.
                unsafe { (address as *mut u8).write_bytes(0, bytes) };
                return Some(address);
            }
            // SAFETY: the size is not 0.
            let start = unsafe { std::alloc::alloc_zeroed(layout) };
            return (!start.is_null()).then_some(start as usize);
        }
        let map = MmapOptions::new().len(bytes).map_anon().ok()?;
        // A Linux kernel without huge pages refuses the advice, and small pages are used.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let address = map.as_ptr() as usize;
        lock(&self.mapped).insert(address, map);
        Some(address)
    }

    /// Frees an allocation.
    ///
    /// # Safety
    /// `allocate(bytes)` of this allocator must have returned the address, and nothing may use the
    /// memory.
    pub(super) unsafe fn free(&self, address: usize, bytes: usize) {
        if bytes >= MAPPED && !cfg!(miri) {
            lock(&self.mapped).remove(&address);
        } else if let Some(layout) = layout(bytes)
            && !lock(&self.kept).keep(address, layout.size())
        {
            // SAFETY: `allocate` used this layout, and the caller promises that nothing uses the
            // memory.
            unsafe { std::alloc::dealloc(address as *mut u8, layout) }
        }
    }
}

impl Drop for HostAllocator {
    fn drop(&mut self) {
        for (bytes, addresses) in lock(&self.kept).addresses.drain() {
            for (address, layout) in addresses.into_iter().zip(std::iter::repeat(layout(bytes))) {
                // SAFETY: `allocate` used the layout of `bytes` bytes, and the memory has been
                // freed by its user.
                layout.into_iter().for_each(|layout| unsafe { std::alloc::dealloc(address as *mut u8, layout) });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent even if another thread panicked, because inserting and removing does
    // not panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the layout of an allocation of at least `bytes` bytes. The size is rounded up, so that
/// kept memory fits more requests.
fn layout(bytes: usize) -> Option<Layout> {
    let eighth = bytes.checked_ilog2().map_or(1, |log| 1 << log >> 3).max(ALIGNMENT);
    Layout::from_size_align(bytes.checked_next_multiple_of(eighth)?, ALIGNMENT).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_zero_on_both_sides_of_the_limit() {
        let allocator = HostAllocator::default();
        for bytes in [1, 255, 4096, MAPPED - 1, MAPPED, MAPPED + 1, 3 * MAPPED + 7] {
            // In the second round the memory has been written before.
            for _ in 0..2 {
                let address = allocator.allocate(bytes).unwrap();
                assert_eq!(address % ALIGNMENT, 0, "{bytes} bytes");
                // SAFETY: the bytes are allocated, and nothing else uses them.
                let memory = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) };
                assert!(memory.iter().all(|&byte| byte == 0), "{bytes} bytes");
                memory.fill(0xff);
                // SAFETY: this allocator allocated the memory, and nothing uses it any more.
                unsafe { allocator.free(address, bytes) };
            }
        }
        assert!(lock(&allocator.mapped).is_empty(), "all mapped memory was given back");
    }

    #[test]
    fn memory_is_kept_for_allocations_of_about_as_many_bytes_up_to_a_limit() {
        let allocator = HostAllocator::default();
        let first = allocator.allocate(100_000).unwrap();
        // SAFETY: this allocator allocated the memory, and nothing uses it.
        unsafe { allocator.free(first, 100_000) };
        assert_eq!(allocator.allocate(101_000), Some(first));
        assert_ne!(allocator.allocate(101_000), Some(first), "nobody gave it back");
        let bytes = MAPPED - 1;
        let many: Vec<usize> = (0..2 * MAX_KEPT / MAPPED).map(|_| allocator.allocate(bytes).unwrap()).collect();
        // SAFETY: as above.
        many.into_iter().for_each(|address| unsafe { allocator.free(address, bytes) });
        let kept = lock(&allocator.kept).bytes;
        assert!(kept <= MAX_KEPT && kept + MAPPED > MAX_KEPT, "{kept} bytes are kept");
    }

    #[test]
    fn more_than_there_can_be_is_refused() {
        let allocator = HostAllocator::default();
        for bytes in [usize::MAX, usize::MAX - ALIGNMENT, 1 << 62] {
            assert_eq!(allocator.allocate(bytes), None);
        }
    }
}
