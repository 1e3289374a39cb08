//! Memory for shared arrays, which each CPU thread keeps from block to block.

use super::CpuShared;
use crate::seam::Word;
use crate::seam::std::{boxed::Box, cell::RefCell, thread_local, vec, vec::Vec};
use core::marker::PhantomData;

thread_local! {
    /// The memory that no block uses at the moment.
    static UNUSED: RefCell<Vec<Box<[u128]>>> = const { RefCell::new(Vec::new()) };
}

/// The storage of a shared array. Like a GPU's shared memory, it holds what
/// earlier blocks left there.
#[derive(Debug)]
pub struct SharedStorage<T> {
    memory: Box<[u128]>,
    words: PhantomData<T>,
}

impl<T: Word> SharedStorage<T> {
    /// Takes memory for `length` words of this CPU thread, or of the allocator if the thread has
    /// none that is large enough.
    pub fn new(length: usize) -> Self {
        let needed = (length * size_of::<T>()).div_ceil(size_of::<u128>());
        let memory = UNUSED.with_borrow_mut(|unused| {
            let fitting = unused.iter().enumerate().filter(|(_, memory)| memory.len() >= needed);
            let smallest = fitting.min_by_key(|(_, memory)| memory.len()).map(|(number, _)| number);
            smallest.map(|number| unused.swap_remove(number))
        });
        Self { memory: memory.unwrap_or_else(|| vec![0; needed].into_boxed_slice()), words: PhantomData }
    }

    /// Returns the handle of `length` words that the block's threads hold.
    ///
    /// # Safety
    /// The length must be the one given to [`SharedStorage::new`]. The handle must not be used once
    /// the storage is gone or from another CPU thread.
    #[inline(always)]
    pub unsafe fn handle(&mut self, length: usize) -> CpuShared<T> {
        CpuShared { words: self.memory.as_mut_ptr().cast(), length: length as u32 }
    }
}

impl<T> Drop for SharedStorage<T> {
    fn drop(&mut self) {
        let memory = core::mem::take(&mut self.memory);
        // A thread that is ending has no such list any more: the memory then goes back to the
        // allocator.
        let _ = UNUSED.try_with(|unused| unused.borrow_mut().push(memory));
    }
}
