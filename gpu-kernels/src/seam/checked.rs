//! The checking back end: the threads of every phase run in shuffled order. It counts the words of
//! shared memory that one thread writes while another reads or writes them in the same phase.
//!
//! The plain CPU back end hides a missing barrier, because thread 0 always comes first. This one
//! does not: the order changes from phase to phase, shared memory starts with random words, and
//! every conflict is reported.

use super::cpu::{array_of, count_one};
use super::std::boxed::Box;
use super::std::cell::RefCell;
use super::std::vec::Vec;
use super::{Block, Global, Shared, Tile, Word};
use core::cell::Cell;

/// The collector of what checked blocks report. They run one after the other.
///
/// What all kernels have in common is here, behind calls: inlined into every phase of every kernel
/// it took most of the time to compile them.
#[derive(Debug, Default)]
pub struct Checker {
    random: Cell<u64>,
    conflicts: Cell<u64>,
    log: Log,
    /// The memory of orders that no phase uses at the moment.
    orders: RefCell<Vec<Vec<u32>>>,
}

impl Checker {
    /// Returns a checker whose shuffles follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { random: Cell::new(seed ^ 0x9e37_79b9_7f4a_7c15), ..Self::default() }
    }

    /// Returns the number of words that two threads used in one phase, at least one of them
    /// writing, without an atomic operation.
    pub fn conflicts(&self) -> u64 {
        self.conflicts.get()
    }

    /// Returns the next word of the SplitMix64 sequence (Steele, Lea and Flood, 2014).
    fn random(&self) -> u64 {
        self.random.set(self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut x = self.random.get();
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Calls `visit` with the numbers 0 … `length` - 1 in random order.
    #[inline(never)]
    fn shuffled(&self, length: u32, visit: &mut dyn FnMut(u32)) {
        let mut order = self.orders.borrow_mut().pop().unwrap_or_default();
        order.clear();
        order.extend(0..length);
        for last in (1..order.len()).rev() {
            // The upper half of the word is used as a fraction: a division would take longer than
            // all the rest.
            order.swap(last, (((self.random() >> 32) * (last as u64 + 1)) >> 32) as usize);
        }
        order.iter().for_each(|&number| visit(number));
        self.orders.borrow_mut().push(order);
    }

    /// Calls `work` in random order as each of the `threads` threads from `first` on, with its
    /// number among them.
    #[inline(never)]
    fn each_thread(&self, first: u32, threads: u32, work: &mut dyn FnMut(u32)) {
        self.shuffled(threads, &mut |thread| {
            self.log.thread.set(first + thread);
            work(thread);
        });
    }

    #[inline(never)]
    fn barrier(&self) {
        self.conflicts.set(self.conflicts.get() + self.log.barrier());
    }
}

/// The use of 32 bits of shared memory in a phase.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// The phase of the use: uses in earlier phases no longer count.
    phase: u32,
    thread: u32,
    others: bool,
    written: bool,
    plain: bool,
    /// Whether the bits were used as the upper half of a word.
    upper: bool,
}

impl Use {
    const NONE: Self = Self { phase: 0, thread: 0, others: false, written: false, plain: false, upper: false };

    fn is_conflict(&self) -> bool {
        self.others && self.written && self.plain
    }
}

/// The log of what the threads of one block do in a phase.
#[derive(Debug, Default)]
struct Log {
    thread: Cell<u32>,
    phase: Cell<u32>,
    /// The number of arrays of this block.
    arrays: Cell<u32>,
    /// The uses of every array, for each 32 bits separately, since the same memory may be used as
    /// words of different types. Those of earlier blocks are of earlier phases.
    uses: RefCell<Vec<Vec<Use>>>,
    /// The conflicts of this phase: the array and the offset in it.
    conflicts: RefCell<Vec<(u32, usize)>>,
}

impl Log {
    /// Begins a block, which has no arrays.
    fn begin(&self) {
        self.arrays.set(0);
        // No array counts as used in the first phase.
        self.phase.set(self.phase.get() + 1);
    }

    /// Adds an array of `length` times 32 bits; returns its number.
    fn add(&self, length: usize) -> u32 {
        let (number, mut uses) = (self.arrays.get(), self.uses.borrow_mut());
        self.arrays.set(number + 1);
        if uses.len() == number as usize {
            uses.push(Vec::new());
        }
        // As long as the longest that had this number: what is beyond an array is checked before.
        let uses = &mut uses[number as usize];
        uses.resize(length.max(uses.len()), Use::NONE);
        number
    }

    #[inline(never)]
    fn record_use(&self, array: u32, first: usize, parts: usize, writes: bool, plain: bool) {
        let (thread, phase) = (self.thread.get(), self.phase.get());
        let uses = &mut self.uses.borrow_mut()[array as usize];
        for (part, used) in uses[first..first + parts].iter_mut().enumerate() {
            if used.phase != phase {
                *used = Use { phase, thread, ..Use::NONE };
            }
            let was_conflict = used.is_conflict();
            used.others |= used.thread != thread;
            used.written |= writes;
            used.plain |= plain;
            used.upper |= part != 0;
            if used.is_conflict() && !was_conflict {
                self.conflicts.borrow_mut().push((array, first + part));
            }
        }
    }

    /// Ends a phase; returns the number of words that were used in conflict.
    fn barrier(&self) -> u64 {
        let uses = self.uses.borrow();
        let mut conflicts = self.conflicts.borrow_mut();
        // The two halves of a word count as one conflict.
        let once = conflicts.iter().filter(|&&(array, at)| {
            let uses = &uses[array as usize];
            let lower_too = || uses[at - 1].phase == self.phase.get() && uses[at - 1].is_conflict();
            !(uses[at].upper && lower_too())
        });
        let once = once.count() as u64;
        conflicts.clear();
        self.phase.set(self.phase.get() + 1);
        once
    }
}

/// A block of `THREADS` threads whose phases are checked.
pub struct CheckedBlock<'c, const THREADS: usize> {
    index: u32,
    grid: u32,
    checker: &'c Checker,
    arrays: Vec<Box<[u64]>>,
}

impl<'c, const THREADS: usize> CheckedBlock<'c, THREADS> {
    /// Returns the block with number `index` of a grid of `grid` blocks.
    pub fn new(index: u32, grid: u32, checker: &'c Checker) -> Self {
        checker.log.begin();
        Self { index, grid, checker, arrays: Vec::new() }
    }

    /// Returns a shared array of `length` random words.
    ///
    /// # Safety
    /// The handle must not be used once the block or the checker is gone, or from another CPU
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
    type Tile<const LANES: usize> = CheckedTile<'c, LANES>;
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
    fn tiles<const LANES: usize>(&mut self, work: impl Fn(&mut CheckedTile<'c, LANES>) + Sync) {
        self.checker.shuffled((THREADS / LANES) as u32, &mut |tile| {
            work(&mut CheckedTile { first: tile * LANES as u32, checker: self.checker });
        });
    }
    fn tiles_of<const LANES: usize, T>(
        &mut self,
        local: &mut [T; THREADS],
        work: impl Fn(&mut CheckedTile<'c, LANES>, &mut [T; LANES]) + Sync,
    ) {
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
pub struct CheckedTile<'c, const LANES: usize> {
    first: u32,
    checker: &'c Checker,
}

impl<const LANES: usize> CheckedTile<'_, LANES> {
    /// Calls `work` as each lane, in random order.
    fn each_lane(&self, mut work: impl FnMut(u32)) {
        self.checker.each_thread(self.first, LANES as u32, &mut work);
    }
}

impl<const LANES: usize> Tile for CheckedTile<'_, LANES> {
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

/// Returns the sums of the values before each, and of all.
#[inline(never)]
fn sums_before<N: Word, const LANES: usize>(values: [N; LANES]) -> ([N; LANES], N) {
    let mut sum = N::default();
    let before = values.map(|value| {
        let before = sum;
        sum = sum.plus(value);
        before
    });
    (before, sum)
}

/// Returns the last lane that holds the same word as `lane`, or `lane` if that holds none.
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
    /// The number of the array in the log.
    array: u32,
    log: *const Log,
}

// SAFETY: a checked block runs on one CPU thread; the bound is for closures.
unsafe impl<T> Sync for CheckedShared<T> {}

impl<T: Word> CheckedShared<T> {
    #[inline(never)]
    fn access(self, index: u32, writes: bool, plain: bool, change: impl Fn(T) -> T) -> T {
        assert!(index < self.length, "index {index} is beyond a shared array of {}", self.length);
        let word = self.words.wrapping_add(index as usize);
        let parts = size_of::<T>() / 4;
        // SAFETY: the block owns the array, and borrows the checker with the log; it outlives its
        // kernel, which alone holds this handle. The index is checked above.
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
