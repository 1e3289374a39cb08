//! Work that a CPU may run with wider vectors.

/// The work that [`vectorized`](super::vectorized) runs.
pub trait Work {
    /// The result type.
    type Output;
    /// Runs the work. All functions that it calls must be inlined, so it has no closures that LLVM
    /// may leave as calls.
    fn run(self) -> Self::Output;
}

/// The work that [`vectorized_by_lanes`](super::vectorized_by_lanes) runs.
pub trait LaneWork {
    /// The result type.
    type Output;
    /// Runs the work, as [`Work::run`] does, with the vectors that this CPU has.
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// The comparisons for which a back end's vectors have instructions.
pub trait Lanes: Copy {
    /// Compares eight words. In the result, bit `i` tells whether the upper half of word `i` is
    /// `upper`. Bit `8 + i` tells whether all bits of word `i` are set, and bit `16 + i` whether
    /// all bits of its upper half are set.
    #[inline(always)]
    fn compare_eight(self, words: [u64; 8], upper: u32) -> u32 {
        let mut flags = 0;
        for i in 0..8 {
            flags |= (((words[i] >> 32) as u32 == upper) as u32) << i;
            flags |= ((words[i] == u64::MAX) as u32) << (8 + i);
            flags |= (((words[i] >> 32) as u32 == u32::MAX) as u32) << (16 + i);
        }
        flags
    }

    /// Returns a word in which bit `i` is set for each byte `i` that is not 0.
    #[inline(always)]
    fn nonzero(self, bytes: [u8; 32]) -> u32 {
        let mut flags = 0;
        for i in 0..32 {
            flags |= ((bytes[i] != 0) as u32) << i;
        }
        flags
    }
}

/// The [`Lanes`] of every back end, which use no vector instructions.
#[derive(Clone, Copy, Debug)]
pub struct Narrow;

impl Lanes for Narrow {}
