//! The CPU's back end. A block is one CPU thread, which runs the threads of the block one after the
//! other in each phase.
//!
//! `memory` contains the accesses to the device's memory, and vectors. `storage` keeps the memory
//! of shared arrays for later blocks. `declare` is the host's half of `kernel!`.

#[macro_use]
mod declare;
pub(crate) mod memory;
mod storage;

pub use storage::SharedStorage;

use super::block::LANES;
use super::{Block, Global, Shared, Tile, Word};
use core::mem::MaybeUninit;

/// A block of `THREADS` threads that runs on this CPU thread.
#[derive(Debug)]
pub struct CpuBlock<const THREADS: usize> {
    alone: AloneBlock,
}

impl<const THREADS: usize> CpuBlock<THREADS> {
    /// Returns the block with index `index` of a grid of `grid` blocks.
    pub fn new(index: u32, grid: u32) -> Self {
        Self { alone: AloneBlock { index, grid } }
    }
}

impl<const THREADS: usize> Block for CpuBlock<THREADS> {
    type Local<T> = [T; THREADS];
    type Shared<T: Word> = CpuShared<T>;
    type Tile = CpuTile<LANES>;
    type Strided = AloneBlock;

    #[inline(always)]
    fn strided(&mut self) -> &mut AloneBlock {
        &mut self.alone
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.alone.index
    }
    #[inline(always)]
    fn grid(&self) -> u32 {
        self.alone.grid
    }
    #[inline(always)]
    fn threads(&self) -> u32 {
        THREADS as u32
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; THREADS] {
        array_of(initial)
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        for thread in 0..THREADS {
            work(thread as u32, &mut local[thread]);
        }
    }
    #[inline(always)]
    fn phase<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        self.each(local, work);
    }
    #[inline(always)]
    fn count<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        let mut total = 0;
        for thread in 0..THREADS {
            total += work(thread as u32, &mut local[thread]) as u32;
        }
        total
    }
    #[inline(always)]
    fn tiles(&mut self, work: impl Fn(&mut CpuTile<LANES>) + Sync) {
        for first in (0..THREADS as u32).step_by(LANES) {
            work(&mut CpuTile { first });
        }
    }
    #[inline(always)]
    fn tiles_of<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(&mut CpuTile<LANES>, &mut [T; LANES]) + Sync) {
        let parts = local.as_chunks_mut::<LANES>().0;
        for tile in 0..THREADS / LANES {
            work(&mut CpuTile { first: (tile * LANES) as u32 }, &mut parts[tile]);
        }
    }
    #[inline(always)]
    fn sync(&mut self) {}
}

/// A block of one thread, which does strided work in one loop, in order.
#[derive(Debug)]
pub struct AloneBlock {
    index: u32,
    grid: u32,
}

impl Block for AloneBlock {
    type Local<T> = [T; 1];
    type Shared<T: Word> = CpuShared<T>;
    type Tile = CpuTile<1>;
    type Strided = Self;

    #[inline(always)]
    fn strided(&mut self) -> &mut Self {
        self
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.index
    }
    #[inline(always)]
    fn grid(&self) -> u32 {
        self.grid
    }
    #[inline(always)]
    fn threads(&self) -> u32 {
        1
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; 1] {
        [initial(0)]
    }
    #[inline(always)]
    fn each<T>(&mut self, [state]: &mut [T; 1], work: impl Fn(u32, &mut T) + Sync) {
        work(0, state);
    }
    #[inline(always)]
    fn phase<T>(&mut self, local: &mut [T; 1], work: impl Fn(u32, &mut T) + Sync) {
        self.each(local, work);
    }
    #[inline(always)]
    fn count<T>(&mut self, [state]: &mut [T; 1], work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        work(0, state) as u32
    }
    #[inline(always)]
    fn tiles(&mut self, work: impl Fn(&mut CpuTile<1>) + Sync) {
        work(&mut CpuTile { first: 0 });
    }
    #[inline(always)]
    fn tiles_of<T>(&mut self, local: &mut [T; 1], work: impl Fn(&mut CpuTile<1>, &mut [T; 1]) + Sync) {
        work(&mut CpuTile { first: 0 }, local);
    }
    #[inline(always)]
    fn sync(&mut self) {}
}

/// A tile of `COUNT` threads of a block, which run one after the other: a warp, or a single thread.
#[derive(Debug)]
pub struct CpuTile<const COUNT: usize> {
    pub(super) first: u32,
}

impl<const COUNT: usize> Tile for CpuTile<COUNT> {
    type Local<T> = [T; COUNT];

    #[inline(always)]
    fn first_thread(&self) -> u32 {
        self.first
    }
    #[inline(always)]
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; COUNT] {
        array_of(initial)
    }
    #[inline(always)]
    fn each<T>(&mut self, local: &mut [T; COUNT], work: impl Fn(u32, &mut T) + Sync) {
        for lane in 0..COUNT {
            work(lane as u32, &mut local[lane]);
        }
    }
    #[inline(always)]
    fn ballot<T>(&mut self, local: &[T; COUNT], test: impl Fn(u32, &T) -> bool + Sync) -> u32 {
        let mut votes = 0;
        for lane in 0..COUNT {
            votes |= (test(lane as u32, &local[lane]) as u32) << lane;
        }
        votes
    }
    #[inline(always)]
    fn pick<T>(&mut self, local: &[T; COUNT], lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32 {
        read(&local[lane as usize % COUNT])
    }
    #[inline(always)]
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut [T; COUNT],
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    ) {
        let mut total = N::default();
        for lane in 0..COUNT {
            total = total.plus(read(lane as u32, &local[lane]));
        }
        let mut before = N::default();
        for lane in 0..COUNT {
            let value = read(lane as u32, &local[lane]);
            tell(lane as u32, &mut local[lane], before, total);
            before = before.plus(value);
        }
    }
    #[inline(always)]
    fn sum_floats<T>(&mut self, local: &[T; COUNT], read: impl Fn(u32, &T) -> u64 + Sync) -> u64 {
        (0..COUNT).fold((-0.0f64).to_bits(), |sum, lane| sum.plus_float(read(lane as u32, &local[lane])))
    }
    fn twins<T, N: Word>(
        &mut self,
        local: &mut [T; COUNT],
        _: impl Fn(u32, &T) -> Option<(N, u32)> + Sync,
        tell: impl Fn(u32, &mut T, u32) + Sync,
    ) {
        for lane in 0..COUNT {
            tell(lane as u32, &mut local[lane], lane as u32);
        }
    }
    #[inline(always)]
    fn count_in_order<T, const ROWS: usize>(
        &mut self,
        local: &mut [T; COUNT],
        counters: impl Shared<u32>,
        first: u32,
        _bits: u32,
        class: impl Fn(&T, usize) -> u32 + Sync,
        tell: impl Fn(&mut T, usize, u32) + Sync,
    ) {
        for row in 0..ROWS {
            for state in local.iter_mut() {
                tell(state, row, count_one(counters, first + class(state, row)));
            }
        }
    }
}

/// Returns the values of `initial` for each index in order, as `core::array::from_fn` does, which
/// takes ten times as long to compile. If `initial` panics, the values made so far are not dropped.
#[inline(always)]
pub(super) fn array_of<T, const LENGTH: usize>(initial: impl Fn(u32) -> T) -> [T; LENGTH] {
    let mut values = [const { MaybeUninit::<T>::uninit() }; LENGTH];
    for number in 0..LENGTH {
        values[number].write(initial(number as u32));
    }
    // SAFETY: all values are written, and an array of `T` has the layout of an array of
    // `MaybeUninit<T>`.
    unsafe { (&raw const values).cast::<[T; LENGTH]>().read() }
}

/// Adds one to the 16-bit counter with index `number`. Returns the old value.
#[inline(always)]
pub(super) fn count_one(counters: impl Shared<u32>, number: u32) -> u32 {
    let half = number % 2 * 16;
    counters.fetch_add(number / 2, 1 << half) >> half & 0xffff
}

/// A handle of a shared array.
#[derive(Clone, Copy, Debug)]
pub struct CpuShared<T> {
    words: *mut T,
    length: u32,
}

// SAFETY: all threads of a block run on one CPU thread (`SharedStorage::handle` requires it). Only
// the bounds on closures require `Sync`.
unsafe impl<T> Sync for CpuShared<T> {}

/// Panics. It is not inlined and takes its arguments by value, since a message that borrows them
/// would keep them in memory.
#[cold]
#[inline(never)]
fn beyond(index: u32, length: u32) -> ! {
    panic!("index {index} is beyond a shared array of {length}");
}

impl<T: Word> CpuShared<T> {
    #[inline(always)]
    fn at(self, index: u32) -> *mut T {
        if index >= self.length {
            beyond(index, self.length);
        }
        self.words.wrapping_add(index as usize)
    }
    #[inline(always)]
    fn update(self, index: u32, change: impl Fn(T) -> T) -> T {
        let old = self.get(index);
        self.set(index, change(old));
        old
    }
}

impl<T: Word> Shared<T> for CpuShared<T> {
    type As<U: Word> = CpuShared<U>;
    const IN_PLACE: bool = true;
    #[inline(always)]
    fn staged(self, target: Global<T>, length: u32) -> Self {
        CpuShared { words: target.address(), length }
    }
    #[inline(always)]
    fn cast<U: Word>(self) -> CpuShared<U> {
        let bytes = self.length as usize * size_of::<T>();
        CpuShared { words: self.words.cast(), length: (bytes / size_of::<U>()) as u32 }
    }
    #[inline(always)]
    fn get(self, index: u32) -> T {
        // SAFETY: `at` checked the index. The caller of `SharedStorage::handle` vouched that the
        // storage lives and only this thread uses it.
        unsafe { self.at(index).read() }
    }
    #[inline(always)]
    fn set(self, index: u32, value: T) {
        // SAFETY: as in `get`.
        unsafe { self.at(index).write(value) }
    }
    #[inline(always)]
    fn clear(self, first: u32, count: u32) {
        let end = first as u64 + count as u64;
        assert!(end <= self.length as u64, "{count} words from {first} on are beyond a shared array");
        // SAFETY: as in `get`, for all of these words. Zero bytes are a valid `T`, which is `u32`
        // or `u64`.
        unsafe { self.words.wrapping_add(first as usize).write_bytes(0, count as usize) }
    }
    #[inline(always)]
    fn fetch_add(self, index: u32, value: T) -> T {
        self.update(index, |old| old.plus(value))
    }
    #[inline(always)]
    fn add_float(self, index: u32, value: T) {
        self.update(index, |old| old.plus_float(value));
    }
    #[inline(always)]
    fn fetch_max(self, index: u32, value: T) -> T {
        self.update(index, |old| old.larger(value))
    }
    #[inline(always)]
    fn exchange(self, index: u32, value: T) -> T {
        self.update(index, |_| value)
    }
    #[inline(always)]
    fn fetch_or(self, index: u32, value: T) -> T {
        self.update(index, |old| old.either(value))
    }
    #[inline(always)]
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T {
        self.update(index, |old| if old == expected { value } else { old })
    }
    #[inline(always)]
    fn load_relaxed(self, index: u32) -> T {
        self.get(index)
    }
}
