//! A block, its tiles and its shared arrays. Every access to the arrays is reported to the checker.

use super::super::block::LANES;
use super::super::cpu::{array_of, count_one};
use super::super::std::boxed::Box;
use super::super::std::vec::Vec;
use super::super::{Block, Global, Shared, Tile, Word};
use super::{Checker, Log};

/// A block of `THREADS` threads whose phases are checked.
pub struct CheckedBlock<'c, const THREADS: usize> {
    index: u32,
    grid: u32,
    checker: &'c Checker,
    arrays: Vec<Box<[u64]>>,
}

impl<'c, const THREADS: usize> CheckedBlock<'c, THREADS> {
    /// Returns the block with index `index` of a grid of `grid` blocks.
    pub fn new(index: u32, grid: u32, checker: &'c Checker) -> Self {
        checker.log.begin();
        Self { index, grid, checker, arrays: Vec::new() }
    }

    /// Returns a shared array of `length` random words.
    ///
    /// # Safety
    /// The handle must not be used after the block or the checker is dropped, or from another CPU
    /// thread.
    pub unsafe fn shared<T: Word>(&mut self, length: usize) -> CheckedShared<T> {
        self.arrays.push((0..length).map(|_| self.checker.random()).collect());
        let words = self.arrays.last_mut().map_or(core::ptr::null_mut(), |array| array.as_mut_ptr());
        let array = self.checker.log.add(length * 2);
        CheckedShared { words: words.cast(), length: length as u32, array, log: &raw const self.checker.log }
    }
}

impl<const THREADS: usize> Drop for CheckedBlock<'_, THREADS> {
    fn drop(&mut self) {
        self.checker.barrier();
    }
}

impl<'c, const THREADS: usize> Block for CheckedBlock<'c, THREADS> {
    type Local<T> = [T; THREADS];
    type Shared<T: Word> = CheckedShared<T>;
    type Tile = CheckedTile<'c>;
    type Strided = Self;

    fn strided(&mut self) -> &mut Self {
        self
    }

    fn index(&self) -> u32 {
        self.index
    }
    fn grid(&self) -> u32 {
        self.grid
    }
    fn threads(&self) -> u32 {
        THREADS as u32
    }
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; THREADS] {
        array_of(|thread| {
            self.checker.log.thread.set(thread);
            initial(thread)
        })
    }
    fn each<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        self.checker.each_thread(0, THREADS as u32, &mut |thread| work(thread, &mut local[thread as usize]));
    }
    fn phase<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) + Sync) {
        self.each(local, work);
        self.sync();
    }
    fn count<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(u32, &mut T) -> bool + Sync) -> u32 {
        let mut total = 0;
        self.checker.each_thread(0, THREADS as u32, &mut |thread| {
            total += work(thread, &mut local[thread as usize]) as u32;
        });
        self.sync();
        total
    }
    fn tiles(&mut self, work: impl Fn(&mut CheckedTile<'c>) + Sync) {
        self.checker.shuffled((THREADS / LANES) as u32, &mut |tile| {
            work(&mut CheckedTile { first: tile * LANES as u32, checker: self.checker });
        });
    }
    fn tiles_of<T>(&mut self, local: &mut [T; THREADS], work: impl Fn(&mut CheckedTile<'c>, &mut [T; LANES]) + Sync) {
        let parts = local.as_chunks_mut::<LANES>().0;
        self.checker.shuffled((THREADS / LANES) as u32, &mut |tile| {
            let mut lanes = CheckedTile { first: tile * LANES as u32, checker: self.checker };
            work(&mut lanes, &mut parts[tile as usize]);
        });
    }
    fn sync(&mut self) {
        self.checker.barrier();
    }
}

/// A tile whose lanes run in shuffled order.
pub struct CheckedTile<'c> {
    first: u32,
    checker: &'c Checker,
}

impl CheckedTile<'_> {
    /// Calls `work` as each lane, in random order.
    fn each_lane(&self, mut work: impl FnMut(u32)) {
        self.checker.each_thread(self.first, LANES as u32, &mut work);
    }
}

impl Tile for CheckedTile<'_> {
    type Local<T> = [T; LANES];

    fn first_thread(&self) -> u32 {
        self.first
    }
    fn local<T>(&mut self, initial: impl Fn(u32) -> T + Sync) -> [T; LANES] {
        array_of(|lane| {
            self.checker.log.thread.set(self.first + lane);
            initial(lane)
        })
    }
    fn each<T>(&mut self, local: &mut [T; LANES], work: impl Fn(u32, &mut T) + Sync) {
        self.each_lane(|lane| work(lane, &mut local[lane as usize]));
    }
    fn ballot<T>(&mut self, local: &[T; LANES], test: impl Fn(u32, &T) -> bool + Sync) -> u32 {
        let mut votes = 0;
        self.each_lane(|lane| votes |= (test(lane, &local[lane as usize]) as u32) << lane);
        votes
    }
    fn pick<T>(&mut self, local: &[T; LANES], lane: u32, read: impl Fn(&T) -> u32 + Sync) -> u32 {
        read(&local[lane as usize % LANES])
    }
    fn exclusive_sum<T, N: Word>(
        &mut self,
        local: &mut [T; LANES],
        read: impl Fn(u32, &T) -> N + Sync,
        tell: impl Fn(u32, &mut T, N, N) + Sync,
    ) {
        let mut values = [N::default(); LANES];
        self.each_lane(|lane| values[lane as usize] = read(lane, &local[lane as usize]));
        let (before, total) = sums_before(values);
        self.each_lane(|lane| tell(lane, &mut local[lane as usize], before[lane as usize], total));
    }
    fn sum_floats<T>(&mut self, local: &[T; LANES], read: impl Fn(u32, &T) -> u64 + Sync) -> u64 {
        let mut sum = (-0.0f64).to_bits();
        self.each_lane(|lane| sum = sum.plus_float(read(lane, &local[lane as usize])));
        sum
    }
    fn twins<T, N: Word>(
        &mut self,
        local: &mut [T; LANES],
        read: impl Fn(u32, &T) -> Option<(N, u32)> + Sync,
        tell: impl Fn(u32, &mut T, u32) + Sync,
    ) {
        let mut held = [None; LANES];
        self.each_lane(|lane| held[lane as usize] = read(lane, &local[lane as usize]).map(|(word, _)| word));
        self.each_lane(|lane| tell(lane, &mut local[lane as usize], last_twin(&held, lane)));
    }
    fn count_in_order<T, const ROWS: usize>(
        &mut self,
        local: &mut [T; LANES],
        counters: impl Shared<u32>,
        first: u32,
        _bits: u32,
        class: impl Fn(&T, usize) -> u32 + Sync,
        tell: impl Fn(&mut T, usize, u32) + Sync,
    ) {
        for row in 0..ROWS {
            for (state, lane) in local.iter_mut().zip(0..) {
                self.checker.log.thread.set(self.first + lane);
                tell(state, row, count_one(counters, first + class(state, row)));
            }
        }
    }
}

/// Returns the sum of the values before each value, and the sum of all values.
#[inline(never)]
fn sums_before<N: Word>(values: [N; LANES]) -> ([N; LANES], N) {
    let mut sum = N::default();
    let before = values.map(|value| {
        let before = sum;
        sum = sum.plus(value);
        before
    });
    (before, sum)
}

/// Returns the last lane that holds the same word as `lane`, or `lane` if it holds no word.
#[inline(never)]
fn last_twin<N: Word>(held: &[Option<N>], lane: u32) -> u32 {
    let own = held[lane as usize];
    let twin = own.and_then(|_| held.iter().rposition(|&other| other == own));
    twin.map_or(lane, |twin| twin as u32)
}

/// A shared array whose uses are recorded.
#[derive(Clone, Copy)]
pub struct CheckedShared<T> {
    words: *mut T,
    length: u32,
    /// The index of the array in the log.
    array: u32,
    log: *const Log,
}

// SAFETY: a checked block runs on one CPU thread. Only the bounds on closures require `Sync`.
unsafe impl<T> Sync for CheckedShared<T> {}

impl<T: Word> CheckedShared<T> {
    #[inline(never)]
    fn access(self, index: u32, writes: bool, plain: bool, change: impl Fn(T) -> T) -> T {
        assert!(index < self.length, "index {index} is beyond a shared array of {}", self.length);
        let word = self.words.wrapping_add(index as usize);
        let parts = size_of::<T>() / 4;
        // SAFETY: the block owns the array, and borrows the checker that contains the log. The
        // block outlives its kernel, and only that kernel holds this handle. The index is checked
        // above.
        unsafe {
            (*self.log).record_use(self.array, index as usize * parts, parts, writes, plain);
            let old = word.read();
            if writes {
                word.write(change(old));
            }
            old
        }
    }
}

impl<T: Word> Shared<T> for CheckedShared<T> {
    type As<U: Word> = CheckedShared<U>;
    const IN_PLACE: bool = false;
    fn staged(self, _: Global<T>, _: u32) -> Self {
        self
    }
    fn cast<U: Word>(self) -> CheckedShared<U> {
        let bytes = self.length as usize * size_of::<T>();
        CheckedShared {
            words: self.words.cast(),
            length: (bytes / size_of::<U>()) as u32,
            array: self.array,
            log: self.log,
        }
    }
    fn get(self, index: u32) -> T {
        self.access(index, false, true, |old| old)
    }
    fn set(self, index: u32, value: T) {
        self.access(index, true, true, |_| value);
    }
    fn fetch_add(self, index: u32, value: T) -> T {
        self.access(index, true, false, |old| old.plus(value))
    }
    fn add_float(self, index: u32, value: T) {
        self.access(index, true, false, |old| old.plus_float(value));
    }
    fn fetch_max(self, index: u32, value: T) -> T {
        self.access(index, true, false, |old| old.larger(value))
    }
    fn exchange(self, index: u32, value: T) -> T {
        self.access(index, true, false, |_| value)
    }
    fn fetch_or(self, index: u32, value: T) -> T {
        self.access(index, true, false, |old| old.either(value))
    }
    fn compare_exchange(self, index: u32, expected: T, value: T) -> T {
        self.access(index, true, false, |old| if old == expected { value } else { old })
    }
    fn load_relaxed(self, index: u32) -> T {
        self.access(index, false, false, |old| old)
    }
}
