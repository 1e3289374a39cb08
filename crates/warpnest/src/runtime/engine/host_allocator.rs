//! The memory of engines on host memory: all zeros, at addresses that are multiples of 256 bytes.

use foldhash::fast::FixedState;
use memmap2::{MmapMut, MmapOptions};
use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bytes from which on memory comes from the operating system, in huge pages if it has them.
/// The lines of a large table are read in random order: with pages of 4 KiB most reads would also
/// have to look up where their page is.
const MAPPED: usize = 4 << 20;
/// The alignment of addresses, in bytes.
const ALIGNMENT: usize = 256;
/// The most bytes of memory that was given back and is kept for the next allocations. To write
/// zeros there takes a tenth of what the page faults of new memory take, and for few bytes less
/// than the system's allocator takes to find aligned memory.
const MAX_KEPT: usize = 32 << 20;

/// The allocator of an engine.
#[derive(Debug, Default)]
pub(super) struct HostAllocator {
    /// Large allocations, by their addresses.
    mapped: Mutex<HashMap<usize, MmapMut>>,
    kept: Mutex<Kept>,
}

/// Memory that was given back.
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

    /// Returns whether the memory is kept from now on.
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
    /// Returns the address of `bytes` bytes that are 0, if there is memory for them. They must not
    /// be none.
    pub(super) fn allocate(&self, bytes: usize) -> Option<usize> {
        if bytes < MAPPED || cfg!(miri) {
            let layout = layout(bytes)?;
            let kept = lock(&self.kept).take(layout.size());
            if let Some(address) = kept {
                // SAFETY: so many bytes were allocated there, and nothing has used them since they
                // were given back.
                unsafe { (address as *mut u8).write_bytes(0, bytes) };
                return Some(address);
            }
            // SAFETY: the size is not 0.
            let start = unsafe { std::alloc::alloc_zeroed(layout) };
            return (!start.is_null()).then_some(start as usize);
        }
        let map = MmapOptions::new().len(bytes).map_anon().ok()?;
        // A kernel without huge pages refuses, and the pages are small ones.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let address = map.as_ptr() as usize;
        lock(&self.mapped).insert(address, map);
        Some(address)
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It was allocated here with as many bytes, and nothing uses it.
    pub(super) unsafe fn free(&self, address: usize, bytes: usize) {
        if bytes >= MAPPED && !cfg!(miri) {
            lock(&self.mapped).remove(&address);
        } else if let Some(layout) = layout(bytes)
            && !lock(&self.kept).keep(address, layout.size())
        {
            // SAFETY: `allocate` made it with this layout, and the caller says that nothing uses
            // it.
            unsafe { std::alloc::dealloc(address as *mut u8, layout) }
        }
    }
}

impl Drop for HostAllocator {
    fn drop(&mut self) {
        for (bytes, addresses) in lock(&self.kept).addresses.drain() {
            for (address, layout) in addresses.into_iter().zip(std::iter::repeat(layout(bytes))) {
                // SAFETY: `allocate` made it with the layout of so many bytes, and it was given
                // back.
                layout.into_iter().for_each(|layout| unsafe { std::alloc::dealloc(address as *mut u8, layout) });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What another thread panicked over is whole: inserting and removing does not panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the layout of an allocation of so many bytes or some more: one size for several, so that
/// kept memory serves more of them.
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
            // The second time the memory has been written before.
            for _ in 0..2 {
                let address = allocator.allocate(bytes).unwrap();
                assert_eq!(address % ALIGNMENT, 0, "{bytes} bytes");
                // SAFETY: these are the bytes that were allocated, and nothing else uses them.
                let memory = unsafe { std::slice::from_raw_parts_mut(address as *mut u8, bytes) };
                assert!(memory.iter().all(|&byte| byte == 0), "{bytes} bytes");
                memory.fill(0xff);
                // SAFETY: it was allocated here, and is no longer used.
                unsafe { allocator.free(address, bytes) };
            }
        }
        assert!(lock(&allocator.mapped).is_empty(), "all mapped memory was given back");
    }

    #[test]
    fn memory_is_kept_for_allocations_of_about_as_many_bytes_up_to_a_limit() {
        let allocator = HostAllocator::default();
        let first = allocator.allocate(100_000).unwrap();
        // SAFETY: it was allocated here, and is not used.
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
