//! The limits of the memory system: random accesses of each kind within a footprint, strided
//! updates, and a streaming copy.
//!
//! `cargo xtask bench` runs these kernels beside the tables, so that every rate has a limit from
//! the same run. The strided updates are an experiment of the papers (`cargo xtask figures`).

use gpu_kernels::seam::{Block, Global};
use gpu_kernels::types::{KeyWord, Scalar};

/// The access that each thread makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Access {
    /// Reads a random word.
    Read = 0,
    /// Writes a random word.
    Write = 1,
    /// Exchanges a random word.
    Exchange = 2,
    /// Compares and swaps a random word without reading it before; most of these swaps fail.
    CompareExchange = 3,
    /// Makes the accesses of an ideal insertion: reads a streamed pair and exchanges a random word.
    Insert = 4,
    /// Makes the accesses of an ideal lookup: reads a streamed key, reads a random word, and writes
    /// half of it to a stream.
    Find = 5,
}

/// The arguments of [`Random`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RandomParams {
    /// The number of accesses.
    pub accesses: u64,
    /// The number of words over which the accesses are spread.
    pub words: u64,
    /// The seed of the sequence of accesses.
    pub seed: u64,
    /// The value of an [`Access`].
    pub access: u32,
    /// A field that is always 0.
    pub padding: u32,
}

gpu_kernels::kernel! {
    /// Makes access `i` in thread `i`. `input` has 2 × `accesses` words for `Insert` and `accesses`
    /// words for `Find`; `output` has `accesses` words. Both may be null for the other kinds.
    Random<>, "roofline_random", threads 256;
    { memory: Global<u64>, input: Global<u32>, output: Global<u32>, plan: RandomParams }
}

impl Random {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let plan = args.plan;
        let first = block.first_thread();
        let mut targets = block.local(|thread| {
            let index = first + thread as u64;
            if index >= plan.accesses {
                return 0;
            }
            let mut streamed = 0;
            if plan.access >= Access::Insert as u32 {
                streamed = args.input.load_streaming(index) as u64;
            }
            if plan.access == Access::Insert as u32 {
                streamed |= (args.input.load_streaming(plan.accesses + index) as u64) << 32;
            }
            // The input is always 0. Only the host knows this, so the access has to wait for the
            // input.
            let spread = (index ^ plan.seed).wrapping_add(streamed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let random = (spread.mix(0x2545_f491_4f6c_dd1d, 0x9fb2_1c65_1e98_df25) as u64) << 32 | (spread >> 32);
            let word = ((random as u128 * plan.words as u128) >> 64) as u64;
            args.memory.prefetch(word);
            word
        });
        block.each(&mut targets, |thread, &mut word| {
            let index = first + thread as u64;
            if index >= plan.accesses {
                return;
            }
            let seen = if plan.access == Access::Read as u32 || plan.access == Access::Find as u32 {
                args.memory.load_read_only(word)
            } else if plan.access == Access::Write as u32 {
                args.memory.atomic(word).store(index);
                0
            } else if plan.access == Access::CompareExchange as u32 {
                args.memory.atomic(word).compare_exchange(u64::MAX, index)
            } else {
                args.memory.atomic(word).exchange(index)
            };
            if plan.access == Access::Find as u32 {
                args.output.store_streaming(index, seen as u32);
            } else if seen == u64::MAX {
                // This never happens, but it keeps the compiler from removing the access.
                args.memory.atomic(0).store(0);
            }
        });
    }
}

gpu_kernels::kernel! {
    /// Copies `words` words, an even number. Each thread copies two words in one access.
    Copy<>, "roofline_copy", threads 256;
    { source: Global<u64>, target: Global<u64>, words: u64 }
}

impl Copy {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        block.each_thread(|thread| {
            let word = 2 * (first + thread as u64);
            if word + 1 < args.words {
                let [a, b] = args.source.load_pair_read_only(word);
                args.target.store_streaming(word, a);
                args.target.store_streaming(word + 1, b);
            }
        });
    }
}

/// The arguments of [`Strided`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StridedParams {
    /// The value of every word before the launch.
    pub before: u64,
    /// The value of every word after the launch.
    pub after: u64,
    /// The binary logarithm of the number of words, which is also the number of threads: at most
    /// 32.
    pub words_log2: u32,
    /// The binary logarithm of the stride in words: at most `words_log2`.
    pub stride_log2: u32,
    /// The kind of update: 1 to exchange words, 0 to read and then write them.
    pub atomic: u32,
    /// A field that is always 0.
    pub padding: u32,
}

impl StridedParams {
    /// Returns the index of thread `thread`'s word. The words of neighbouring threads are a stride
    /// apart. When a round reaches the last words, the next round begins at another of the first
    /// `stride` words. These come in bit-reversed order, so that adjacent words are reached long
    /// after one another. Each word belongs to one thread.
    #[inline(always)]
    pub fn word_of(&self, thread: u64) -> u64 {
        let round_log2 = self.words_log2 - self.stride_log2;
        let round = thread >> round_log2;
        let first = (round.reverse_bits() >> 1) >> (63 - self.stride_log2);
        (thread & ((1 << round_log2) - 1)) << self.stride_log2 | first
    }
}

gpu_kernels::kernel! {
    /// Updates word `plan.word_of(i)` in thread `i`. The word must have the value `before`; any
    /// other value is counted in `wrong[0]`.
    Strided<T: Scalar>, "roofline_strided", threads 256;
    { memory: Global<T>, wrong: Global<u32>, plan: StridedParams }
}

impl<T: Scalar> Strided<T> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let plan = args.plan;
        let first = block.first_thread();
        let mut words = block.local(|thread| {
            let word = plan.word_of(first + thread as u64);
            args.memory.prefetch(word);
            word
        });
        block.each(&mut words, |thread, &mut word| {
            if first + thread as u64 >= 1 << plan.words_log2 {
                return;
            }
            let after = T::from_u64(plan.after);
            let found = if plan.atomic == 0 {
                let found = args.memory.load(word);
                args.memory.store(word, after);
                found
            } else {
                args.memory.atomic(word).exchange(after)
            };
            if found != T::from_u64(plan.before) {
                args.wrong.atomic(0).fetch_add(1);
            }
        });
    }
}
