//! Memory for shared arrays, which each CPU thread keeps for its later blocks.

use super::CpuShared;
use crate::seam::Word;
use crate::seam::std::{boxed::Box, cell::RefCell, thread_local, vec, vec::Vec};
use core::marker::PhantomData;

thread_local! {
    /// The memory that no block of this thread uses at the moment.
    static UNUSED: RefCell<Vec<Box<[u128]>>> = const { RefCell::new(Vec::new()) };
}

/// The storage of a shared array. Like a GPU's shared memory, it contains whatever earlier blocks
/// wrote there.
#[derive(Debug)]
pub struct SharedStorage<T> {
    memory: Box<[u128]>,
    words: PhantomData<T>,
}

impl<T: Word> SharedStorage<T> {
    /// Reserves memory for `length` words. It comes from this CPU thread's unused memory, or from
    /// the allocator if none of that is large enough.
    pub fn new(length: usize) -> Self {
        let needed = (length * size_of::<T>()).div_ceil(size_of::<u128>());
        let memory = UNUSED.with_borrow_mut(|unused| {
            let fitting = unused.iter().enumerate().filter(|(_, memory)| memory.len() >= needed);
            let smallest = fitting.min_by_key(|(_, memory)| memory.len()).map(|(number, _)| number);
            smallest.map(|number| unused.swap_remove(number))
        });
        Self { memory: memory.unwrap_or_else(|| vec![0; needed].into_boxed_slice()), words: PhantomData }
    }

    /// Returns the handle by which the block's threads access the `length` words.
    ///
    /// # Safety
    /// The length must be the one given to [`SharedStorage::new`]. The handle must not be used
    /// after the storage is dropped, or from another CPU thread.
    #[inline(always)]
    pub unsafe fn handle(&mut self, length: usize) -> CpuShared<T> {
        CpuShared { words: self.memory.as_mut_ptr().cast(), length: length as u32 }
    }
}

impl<T> Drop for SharedStorage<T> {
    fn drop(&mut self) {
        let memory = core::mem::take(&mut self.memory);
        // A thread that is ending no longer has this list. In that case the allocator gets the
        // memory back.
        let _ = UNUSED.try_with(|unused| unused.borrow_mut().push(memory));
    }
}
