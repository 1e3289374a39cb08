//! Huge pages for large new host memory. The system clears each page when it is first written.
//! Clearing pages of 4 KiB takes several times as long as the copy that writes them.

use crate::runtime::buffer::zero;
use gpu_kernels::plain::Plain;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

/// The fewest bytes for which huge pages are requested.
const MIN_BYTES: usize = 4 << 20;
/// The size in bytes of a huge page, if small pages have 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// Requests huge pages for memory that is about to be written for the first time, if it is large.
/// Does nothing if there are no huge pages, and on systems other than Linux.
pub fn advise_huge_pages<T>(memory: *mut [T]) {
    let (first, bytes) = (memory.cast::<u8>(), memory.len() * size_of::<T>());
    let ahead = first.addr().wrapping_neg() % HUGE_PAGE;
    let whole = bytes.saturating_sub(ahead) / HUGE_PAGE * HUGE_PAGE;
    if bytes < MIN_BYTES || whole == 0 {
        return;
    }
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the advice covers whole pages, and does not change their contents. The system refuses
    // addresses that do not belong to the process.
    let _ = unsafe { libc::madvise(first.wrapping_add(ahead).cast(), whole, libc::MADV_HUGEPAGE) };
}

/// Returns a vector of `length` zeros, in huge pages if it is large. Its pages are first touched
/// when its elements are written.
pub(crate) fn zeros<T: Plain>(length: usize) -> Vec<T> {
    let layout = Layout::array::<T>(length).expect("no more bytes than a vector may have");
    if layout.size() < MIN_BYTES {
        return vec![zero(); length];
    }
    // SAFETY: the size of the layout is not 0.
    let first = unsafe { alloc_zeroed(layout) };
    if first.is_null() {
        handle_alloc_error(layout);
    }
    advise_huge_pages(std::ptr::slice_from_raw_parts_mut(first, layout.size()));
    // SAFETY: the global allocator allocated memory for `length` elements, and zeros are a value of
    // a plain type.
    unsafe { Vec::from_raw_parts(first.cast(), length, length) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_vectors_are_zeros_and_advice_leaves_what_was_written() {
        for length in [0, 1, MIN_BYTES / 8 - 1, MIN_BYTES / 8, MIN_BYTES / 8 + 1, 3 * MIN_BYTES / 8] {
            let mut words = zeros::<(u32, f32)>(length);
            assert!(words.len() == length && words.iter().all(|&word| word == (0, 0.0)), "{length} words");
            words.iter_mut().enumerate().for_each(|(at, word)| word.0 = at as u32);
            advise_huge_pages(words.get_mut(1..).unwrap_or_default());
            assert!(words.iter().enumerate().all(|(at, word)| word.0 == at as u32), "{length} words");
            // The drop must free the allocated capacity.
            assert_eq!(words.capacity(), length);
        }
    }
}
