//! Joins with a build side that fits on chip. Each block loads the whole build side, and processes
//! a part of the probe rows.

use super::buckets::Page;
use super::emit::{Outputs, emit_last, emit_pairs};
use super::fill::{COUNTERS, fill_at_once};
use super::in_turn::JoinInTurn;
use super::probe::{HELD, Thread, find};
use super::rows::{Format, Rows};
use super::written::Emit;
use crate::seam::{Block, Global, vectorized};
use crate::types::KeyWord;

/// The count of threads of a block, for which a multiprocessor has enough registers.
const THREADS: u32 = 1024;

/// The most probe rows of a round.
pub const ON_CHIP_ROUND_ROWS: u32 = THREADS * HELD as u32;

/// The scalar arguments of [`JoinOnChip`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct JoinOnChipParams {
    /// The first constant of the mix.
    pub a: u64,
    /// The second constant of the mix.
    pub b: u64,
    /// The count of build rows.
    pub build: u64,
    /// The count of probe rows.
    pub probe: u64,
    /// The capacity of the outputs, in pairs; if 0, pairs are only counted.
    pub capacity: u64,
    /// The outputs for a probe row, an [`Emit`].
    pub emit: u32,
    /// The most rows of a page, which is the count of build rows. On CPU cores, which fill one page
    /// after the other, it may be smaller; there it is at most
    /// [`MAX_PAGE_ROWS`](super::MAX_PAGE_ROWS).
    pub page_rows: u32,
    /// The binary logarithm of the count of buckets of a page, at least 1.
    pub bucket_bits: u32,
    /// The count of probe rows of a block's round, at most [`ON_CHIP_ROUND_ROWS`].
    pub round_rows: u32,
}

kernel! {
    /// Joins all probe rows with all build rows. Each block loads the build side on chip, so there
    /// should be as many blocks as are resident concurrently.
    ///
    /// The count of pairs is added to the header's [`LENGTH`](super::header::LENGTH). All pairs are
    /// written if there is capacity for them.
    JoinOnChip<K: KeyWord>, "join_on_chip", threads 1024, resident 1, cpu cores,
        dynamic memory: u32 = |kernel| on_chip_words::<K>(kernel.plan.page_rows, kernel.plan.bucket_bits),
        shared start: u64 = 1, shared counters: u32 = COUNTERS, shared sums: u32 = (THREADS / 32) as usize;
    {
        build_keys: Global<K>, probe_keys: Global<K>, build_out: Global<u32>, probe_out: Global<u32>,
        header: Global<u64>, plan: JoinOnChipParams,
    }
}

impl<K: KeyWord> JoinOnChip<K> {
    #[inline(always)]
    fn run<B: Block>(
        self,
        block: &mut B,
        memory: B::Shared<u32>,
        start: B::Shared<u64>,
        counters: B::Shared<u32>,
        sums: B::Shared<u32>,
    ) {
        let JoinOnChipParams { a, b, probe, emit, page_rows, bucket_bits, round_rows, .. } = self.plan;
        let emit = Emit(emit);
        let page = Page::new(memory, 0, bucket_bits, page_rows);
        let (build, outputs) = (self.build(), self.outputs());
        let (index, grid) = (block.index() as u64, block.grid() as u64);
        let mut threads = block.local(|_| Thread::<K>::new());
        fill_at_once::<THREADS, _, _, _>(block, &mut threads, page, (sums, counters), build);
        let mut first = index * round_rows as u64;
        while first < probe {
            let here = (probe - first).min(round_rows as u64) as u32;
            block.each(&mut threads, |thread, state| {
                state.there = 0;
                state.matched = 0;
                for i in 0..HELD {
                    let row = spread(thread, round_rows) + i as u32 * THREADS;
                    if row < here {
                        state.keys[i] = self.probe_keys.load_streaming(first + row as u64).mixed(a, b);
                        state.rows[i] = first as u32 + row;
                        state.there |= 1 << i;
                    }
                }
            });
            find(block, &mut threads, page, emit);
            if emit.has(Emit::PAIRS) {
                emit_pairs(block, &mut threads, outputs, (start, counters), page);
            }
            emit_last(block, &mut threads, outputs, (start, counters), emit);
            first += grid * round_rows as u64;
        }
    }

    #[inline(always)]
    fn cores<B: Block>(
        self,
        block: &mut B,
        memory: B::Shared<u32>,
        _: B::Shared<u64>,
        _: B::Shared<u32>,
        _: B::Shared<u32>,
    ) {
        let JoinOnChipParams { probe, emit, page_rows, bucket_bits, .. } = self.plan;
        let page = Page::new(memory, 0, bucket_bits, page_rows);
        let [begin, end] = [0, 1].map(|next| (probe * (block.index() as u64 + next) / block.grid() as u64) as u32);
        let probe = Rows { count: end - begin, ..self.rows(self.probe_keys, probe).from(begin) };
        let (build, outputs, emit) = (self.build(), self.outputs(), Emit(emit));
        vectorized(JoinInTurn { page, page_rows, build, probe, outputs, emit });
    }

    #[inline(always)]
    fn build(&self) -> Rows<K> {
        self.rows(self.build_keys, self.plan.build)
    }

    #[inline(always)]
    fn rows(&self, keys: Global<K>, count: u64) -> Rows<K> {
        let JoinOnChipParams { a, b, .. } = self.plan;
        // SAFETY: the pointer is never read, since in this format the index of a row is its
        // position.
        let numbers = unsafe { Global::null() };
        Rows { keys, numbers, first: 0, count: count as u32, format: Format::Whole, a, b }
    }

    #[inline(always)]
    fn outputs(&self) -> Outputs<K> {
        Outputs::without_keys(self.build_out, self.probe_out, self.plan.capacity, self.header)
    }
}

/// Returns the index of a thread's row in a round of `round_rows` rows. Few rows are spread over
/// all warps, since each may have many pairs to write.
#[inline(always)]
fn spread(thread: u32, round_rows: u32) -> u32 {
    if round_rows < THREADS { thread % 32 * (THREADS / 32) + thread / 32 } else { thread }
}

/// Returns the count of words of a page with `page_rows` rows and 2^`bucket_bits` buckets.
pub fn on_chip_words<K: KeyWord>(page_rows: u32, bucket_bits: u32) -> u32 {
    Page::<K, ()>::new((), 0, bucket_bits, page_rows).words()
}
