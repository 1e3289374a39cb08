//! The memory of engines on host memory: all zeros, at addresses that are multiples of 256 bytes.

use memmap2::{MmapMut, MmapOptions};
use std::alloc::Layout;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The bytes from which on memory comes from the operating system, in huge pages if it has them.
/// The lines of a large table are read in random order: with pages of 4 KiB most reads would also
/// have to look up where their page is.
const MAPPED: usize = 4 << 20;
/// The alignment of addresses, in bytes.
const ALIGNMENT: usize = 256;

/// The allocator of an engine.
#[derive(Debug, Default)]
pub struct HostAllocator {
    /// Large allocations, by their addresses.
    mapped: Mutex<HashMap<usize, MmapMut>>,
}

impl HostAllocator {
    /// Returns the address of `bytes` bytes that are 0, if there is memory for them. They must not
    /// be none.
    pub fn allocate(&self, bytes: usize) -> Option<usize> {
        if bytes < MAPPED || cfg!(miri) {
            let layout = layout(bytes)?;
            // SAFETY: the size is not 0.
            let start = unsafe { std::alloc::alloc_zeroed(layout) };
            return (!start.is_null()).then_some(start as usize);
        }
        let map = MmapOptions::new().len(bytes).map_anon().ok()?;
        // A kernel without huge pages refuses, and the pages are small ones.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let address = map.as_ptr() as usize;
        self.lock().insert(address, map);
        Some(address)
    }

    /// Gives memory back.
    ///
    /// # Safety
    /// It was allocated here with as many bytes, and nothing uses it.
    pub unsafe fn free(&self, address: usize, bytes: usize) {
        if bytes >= MAPPED && !cfg!(miri) {
            self.lock().remove(&address);
        } else if let Some(layout) = layout(bytes) {
            // SAFETY: `allocate` made it with this layout, and the caller says that nothing uses
            // it.
            unsafe { std::alloc::dealloc(address as *mut u8, layout) }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<usize, MmapMut>> {
        // A map that another thread panicked over is whole: inserting and removing does not panic.
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes, ALIGNMENT).ok()
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
        assert!(allocator.lock().is_empty(), "all mapped memory was given back");
    }

    #[test]
    fn more_than_there_can_be_is_refused() {
        let allocator = HostAllocator::default();
        for bytes in [usize::MAX, usize::MAX - ALIGNMENT, 1 << 62] {
            assert_eq!(allocator.allocate(bytes), None);
        }
    }
}
