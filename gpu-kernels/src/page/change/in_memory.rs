//! A page in the table's own memory, which several blocks may change concurrently.

use crate::seam::{Global, Shared, Word};

/// Words of device memory that are accessed as a block's shared memory is. Every access is atomic
/// and relaxed, since threads of other blocks may access the same words.
#[derive(Clone, Copy)]
pub(in crate::page) struct InMemory<T>(pub Global<T>);

impl<T: Word> Shared<T> for InMemory<T> {
    type As<U: Word> = InMemory<U>;
    const IN_PLACE: bool = true;

    #[inline(always)]
    fn staged(self, target: Global<T>, _: u32) -> Self {
        Self(target)
    }
    #[inline(always)]
    fn cast<U: Word>(self) -> InMemory<U> {
        InMemory(self.0.cast())
    }
    #[inline(always)]
    fn get(self, index: u32) -> T {
        self.load_relaxed(index)
    }
    #[inline(always)]
    fn set(self, index: u32, value: T) {
        self.0.atomic(index as u64).store(value);
    }
    #[inline(always)]
    fn fetch_add(self, index: u32, value: T) -> T {
        self.0.atomic(index as u64).fetch_add(value)
    }
    #[inline(always)]
    fn add_float(self, index: u32, value: T) {
        let word = self.0.atomic(index as u64);
        let mut old = word.load();
        // At most as many steps as there are threads that change the word.
        loop {
            let found = word.compare_exchange(old, old.plus_float(value));
            if found == old {
                return;
            }
            old = found;
        }
    }
    #[inline(always)]
    fn fetch_max(self, index: u32, value: T) -> T {
        self.0.atomic(index as u64).fetch_max(value)
    }
    #[inline(always)]
    fn exchange(self, index: u32, value: T) -> T {
        self.0.atomic(index as u64).exchange(value)
    }
    #[inline(always)]
    fn fetch_or(self, index: u32, value: T) -> T {
        let word = self.0.atomic(index as u64);
        let mut held = word.load();
        // Most bits are set already. At most as many steps as bits: other threads only set bits, or
        // fill slots.
        while held.either(value) != held {
            let before = word.compare_exchange(held, held.either(value));
            if before == held {
                break;
            }
            held = before;
        }
        held
    }
    #[inline(always)]
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T {
        self.0.atomic(index as u64).compare_exchange(expected, value)
    }
    #[inline(always)]
    fn load_relaxed(self, index: u32) -> T {
        self.0.atomic(index as u64).load()
    }
    #[inline(always)]
    fn load_pair_relaxed(self, index: u32) -> [T; 2] {
        self.0.load_pair_relaxed(index as u64)
    }
}
