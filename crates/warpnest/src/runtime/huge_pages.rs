//! Huge pages for large new memory of the host: a page is cleared when it is first written, and to
//! do so for each 4 KiB takes several times as long as the copy that writes them.

use crate::runtime::buffer::zero;
use gpu_kernels::plain::Plain;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

/// The fewest bytes that huge pages are asked for.
const MIN_BYTES: usize = 4 << 20;
/// The bytes of a huge page, on x86 and where other pages have 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// Asks for huge pages for memory that is about to be written for the first time, if it is large.
/// Where there are none, and on other systems than Linux, nothing happens.
pub fn advise_huge_pages<T>(memory: *mut [T]) {
    let (first, bytes) = (memory.cast::<u8>(), memory.len() * size_of::<T>());
    let ahead = first.addr().wrapping_neg() % HUGE_PAGE;
    let whole = bytes.saturating_sub(ahead) / HUGE_PAGE * HUGE_PAGE;
    if bytes < MIN_BYTES || whole == 0 {
        return;
    }
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the advice changes how the system holds these pages, which are whole ones, and not
    // what they contain. For addresses that are not the process's it is refused.
    let _ = unsafe { libc::madvise(first.wrapping_add(ahead).cast(), whole, libc::MADV_HUGEPAGE) };
}

/// Returns a vector of so many zeros, in huge pages if it is large. Its memory is first written by
/// whoever writes the elements.
pub(crate) fn zeros<T: Plain>(length: usize) -> Vec<T> {
    let layout = Layout::array::<T>(length).expect("no more bytes than a vector may have");
    if layout.size() < MIN_BYTES {
        return vec![zero(); length];
    }
    // SAFETY: the layout has bytes.
    let first = unsafe { alloc_zeroed(layout) };
    if first.is_null() {
        handle_alloc_error(layout);
    }
    advise_huge_pages(std::ptr::slice_from_raw_parts_mut(first, layout.size()));
    // SAFETY: the global allocator gave the memory for so many elements, and zeros are a value of a
    // plain type.
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
            // A vector of that capacity is what its drop frees.
            assert_eq!(words.capacity(), length);
        }
    }
}
