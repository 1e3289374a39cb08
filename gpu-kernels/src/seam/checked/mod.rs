//! The checking back end. It runs the threads of every phase in shuffled order, and counts the
//! words of shared memory that one thread writes while another reads or writes them in the same
//! phase.
//!
//! The plain CPU back end hides a missing barrier, since thread 0 always comes first. The checking
//! back end reveals it: the order changes from phase to phase, shared memory starts with random
//! words, and every conflict is reported. [`Checker`] does not depend on the kernel; `block`
//! contains the blocks that run kernels.

mod block;

pub use block::{CheckedBlock, CheckedShared, CheckedTile};

use super::std::cell::RefCell;
use super::std::vec::Vec;
use core::cell::Cell;

/// The collector of the conflicts in checked blocks, which run one after the other.
///
/// Code that does not depend on the kernel is here and is not inlined. Inlined into every phase of
/// every kernel, it took most of the compilation time.
#[derive(Debug, Default)]
pub struct Checker {
    random: Cell<u64>,
    conflicts: Cell<u64>,
    log: Log,
    /// The buffers for thread orders that no phase uses at the moment.
    orders: RefCell<Vec<Vec<u32>>>,
}

impl Checker {
    /// Returns a checker whose shuffles are determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { random: Cell::new(seed ^ 0x9e37_79b9_7f4a_7c15), ..Self::default() }
    }

    /// Returns the count of words that two threads used in one phase, where at least one of them
    /// wrote, and at least one access was not atomic.
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

    /// Calls `visit` with the indices 0 … `length` - 1 in random order.
    #[inline(never)]
    fn shuffled(&self, length: u32, visit: &mut dyn FnMut(u32)) {
        let mut order = self.orders.borrow_mut().pop().unwrap_or_default();
        order.clear();
        order.extend(0..length);
        for last in (1..order.len()).rev() {
            // The upper half of the word is used as a fraction, since a division would take longer
            // than all the rest.
            order.swap(last, (((self.random() >> 32) * (last as u64 + 1)) >> 32) as usize);
        }
        order.iter().for_each(|&number| visit(number));
        self.orders.borrow_mut().push(order);
    }

    /// Calls `work` in random order for each of `threads` threads, the first of which has index
    /// `first` in the block. `work` gets the index relative to `first`.
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
    /// The phase of the use. Uses in earlier phases no longer count.
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

/// The log of the accesses to shared memory by the threads of one block in one phase.
#[derive(Debug, Default)]
struct Log {
    thread: Cell<u32>,
    phase: Cell<u32>,
    /// The count of this block's arrays.
    arrays: Cell<u32>,
    /// The uses of every array. Each 32 bits have an entry of their own, since the same memory may
    /// be used as words of different types. Uses by earlier blocks have the index of an earlier
    /// phase.
    uses: RefCell<Vec<Vec<Use>>>,
    /// The conflicts of this phase, each as the index of the array and the offset in it.
    conflicts: RefCell<Vec<(u32, usize)>>,
}

impl Log {
    /// Begins a block, which has no arrays yet.
    fn begin(&self) {
        self.arrays.set(0);
        // A new phase makes all recorded uses old.
        self.phase.set(self.phase.get() + 1);
    }

    /// Adds an array of `length` units of 32 bits. Returns its index.
    fn add(&self, length: usize) -> u32 {
        let (number, mut uses) = (self.arrays.get(), self.uses.borrow_mut());
        self.arrays.set(number + 1);
        if uses.len() == number as usize {
            uses.push(Vec::new());
        }
        // The list is as long as the longest array that has had this index. Accesses beyond the
        // array are refused before.
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

    /// Ends a phase. Returns the count of words that were used in conflict.
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
